"""The kubelet's certificates: ended, late, renewed in time, hidden, and those that nobody checks."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bot.domain.verdict import Status
from bot.probes.certificates import Certificate, CertificatesReading
from tests.unit.causes import builders as b
from tests.unit.causes.builders import found, ruled_out, undecided

EXPIRY = "certificate-expiry"
NOW = datetime(2026, 11, 22, tzinfo=UTC)
CLIENT = "/var/lib/kubelet/pki/kubelet-client-current.pem"
SERVER = "/var/lib/kubelet/pki/kubelet-server-current.pem"


def certificate(path: str = CLIENT, used: float = 0.5, days: float = 365, own: bool = False) -> Certificate:
    """One that lives for so many days, and of whose life this share is gone."""
    begins_at = NOW - timedelta(days=days) * used
    return Certificate(path, begins_at, begins_at + timedelta(days=days), own, (f"{path} notAfter=…",))


def kept(*certificates: Certificate, hidden: tuple[str, ...] = ()) -> CertificatesReading:
    return CertificatesReading(NOW, True, certificates, hidden)


@pytest.mark.parametrize("path", [CLIENT, SERVER, "/served", "/var/lib/rancher/k3s/agent/client-kubelet.crt"])
def test_certificate_that_ended_is_critical(path: str) -> None:
    finding = found(EXPIRY, kept(certificate(path, used=1.01)))
    assert (finding.status, finding.remedy) == (Status.CRITICAL, ())
    assert "ended 3.6 days ago" in finding.summary
    assert finding.evidence[0].source == (f"{path} notAfter=…",)


def test_end_is_exact() -> None:
    assert found(EXPIRY, kept(certificate(used=1.0))).status is Status.CRITICAL
    assert found(EXPIRY, kept(certificate(used=0.9999))).status is Status.DEGRADED


def test_certificate_that_was_not_renewed_in_time_is_degraded() -> None:
    finding = found(EXPIRY, kept(certificate(used=0.93)))
    assert (finding.status, "ends in 25.6 days" in finding.summary) == (Status.DEGRADED, True)


def test_kubelet_renews_until_nine_tenths_of_its_life_are_gone() -> None:
    ruled_out(EXPIRY, kept(certificate(used=0.89)))
    # eleven days left of a year are late, eleven of 45 are not
    found(EXPIRY, kept(certificate(days=365, used=0.97)))
    ruled_out(EXPIRY, kept(certificate(days=45, used=0.75)))


def test_short_lived_one_is_no_alarm_until_it_has_ended() -> None:
    ruled_out(EXPIRY, kept(certificate(days=1 / 24, used=0.97)))
    assert found(EXPIRY, kept(certificate(days=1 / 24, used=1.2))).status is Status.CRITICAL


def test_kubelets_own_server_certificate_is_checked_by_nobody() -> None:
    for used in (0.97, 1.1):
        assert "anybody checks" in ruled_out(EXPIRY, kept(certificate("/served", used, own=True))).because


def test_certificate_that_begins_only_later_points_at_the_clock() -> None:
    finding = found(EXPIRY, kept(certificate(used=-0.01)))
    assert (finding.status, "is the clock right?" in finding.summary) == (Status.CRITICAL, True)


def test_port_that_shows_no_certificate_in_time_leaves_it_open() -> None:
    told = undecided(EXPIRY, replace(kept(), is_silent=True))
    assert (told.because, "10250" in told.would_decide) == ("the kubelet's port showed no certificate in time", True)
    assert found(EXPIRY, replace(kept(certificate("/x", used=1.1)), is_silent=True)).status is Status.CRITICAL


def test_hidden_certificate_is_open_and_hides_no_other() -> None:
    told = undecided(EXPIRY, kept(certificate("/served"), hidden=(CLIENT,)))
    assert (CLIENT in told.because, "as root" in told.would_decide) == (True, True)
    assert found(EXPIRY, kept(certificate("/served", used=1.1), hidden=(CLIENT,))).status is Status.CRITICAL


def test_node_without_kubelet_or_without_certificates_is_ruled_out() -> None:
    assert "no kubelet" in ruled_out(EXPIRY, CertificatesReading(NOW)).because
    assert "no certificate" in ruled_out(EXPIRY, kept()).because


def test_first_to_end_is_named() -> None:
    told = ruled_out(EXPIRY, kept(certificate(SERVER, days=45), certificate(days=365)))
    assert "server certificate" in told.because


def test_certificates_that_were_not_read_are_open() -> None:
    assert "not read" in undecided(EXPIRY, b.unread("certificates")).because
