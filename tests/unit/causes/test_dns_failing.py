"""Name servers that answer, fail, or are not the one that is asked."""

import pytest

from bot.domain.verdict import Status
from bot.probes.dns import DnsReading, NameServer
from tests.unit.causes import builders as b
from tests.unit.causes.builders import found, ruled_out, undecided

DNS = "dns-failing"


def server(*codes: str, address: str = "10.0.0.2") -> NameServer:
    return NameServer(address, codes, f"server {address} {' '.join(codes)}")


FINE = ("NOERROR", "NXDOMAIN", "NOERROR")


def test_server_that_answers_nothing_is_degraded() -> None:
    finding = found(DNS, DnsReading((server(),)))
    assert (finding.status, finding.remedy) == (Status.DEGRADED, ())
    assert finding.summary == "Name server 10.0.0.2 answered none of 3 questions"


@pytest.mark.parametrize(
    "codes", [("NOERROR",), ("SERVFAIL", "SERVFAIL", "SERVFAIL"), ("SERVFAIL", "NOERROR", "SERVFAIL"), ("SERVFAIL",)]
)
def test_two_of_three_that_fail_are_a_failing_server(codes: tuple[str, ...]) -> None:
    assert found(DNS, DnsReading((server(*codes),))).status is Status.DEGRADED


@pytest.mark.parametrize(
    "codes",
    [
        FINE,
        ("NXDOMAIN", "NXDOMAIN", "NXDOMAIN"),
        ("REFUSED", "NOERROR", "NXDOMAIN"),
        ("SERVFAIL", "NOERROR", "NOERROR"),  # a private server that cannot reach the root
        ("NOERROR", "NOERROR"),  # a packet was lost
        ("NOTIMP", "FORMERR", "NOERROR"),
    ],
)
def test_answers_are_answers_whatever_they_say(codes: tuple[str, ...]) -> None:
    ruled_out(DNS, DnsReading((server(*codes),)))


def test_first_server_is_waited_for_by_everybody_and_the_others_only_after_it() -> None:
    other = server(*FINE, address="10.0.1.2")
    finding = found(DNS, DnsReading((server(), other)))
    assert (finding.status, "asked first" in finding.summary) == (Status.DEGRADED, True)
    silent = server(address="10.0.1.2")
    assert "asked only after it" in ruled_out(DNS, DnsReading((server(*FINE), silent))).because


def test_all_of_them_are_named() -> None:
    finding = found(DNS, DnsReading((server(), server("SERVFAIL", "SERVFAIL", address="10.0.1.2"))))
    assert finding.status is Status.DEGRADED
    assert "asked first" not in finding.summary
    assert finding.summary.endswith("name server 10.0.1.2 failed 3 of 3 questions")
    assert [item.source for item in finding.evidence] == [("server 10.0.0.2 ",), ("server 10.0.1.2 SERVFAIL SERVFAIL",)]


def test_what_was_not_asked_is_open() -> None:
    assert "not asked" in undecided(DNS, b.unread("dns")).because
    assert "names no server" in undecided(DNS, DnsReading()).because
