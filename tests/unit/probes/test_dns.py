"""dns: what is asked of each server, by the tools of old and new, and what is no answer."""

import os
import shutil
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bot.domain.errors import CannotRead
from bot.probes.dns import PROBE, DnsReading, NameServer, parse
from tests.readings.node_tools import Way, every_shell, on_path, printed_by
from tests.readings.recorded import once

HEADER = ";; ->>HEADER<<- opcode: QUERY, status: {}, id: 4711"

BASH = ("bash", "env", "printf", "timeout", "od")


def look(folder: Path, resolv: str, *found: str, shell: Way = ("/bin/sh",), port: int = 53, **tools: str) -> DnsReading:
    """Run the fragment as it is, on this resolv.conf, with these programs and these stand-ins alone."""
    (folder / "resolv.conf").write_text(resolv)
    (folder / "hostname").write_text("one.tenletterz\n")
    for name in ("awk", "sed", "head", "sh", "sleep", "grep", *found):
        (folder / name).symlink_to(os.path.realpath(shutil.which(name) or name))
    for name, script in tools.items():
        (folder / name).write_text(f'#!/bin/sh\necho "$0 $*" >>{folder}/asked\n{script}\n')
        (folder / name).chmod(0o755)
    script = PROBE.commands[0].argv[2].replace("/etc/resolv.conf", str(folder / "resolv.conf"))
    script = script.replace("/53", f"/{port}").replace("/proc/sys/kernel/hostname", str(folder / "hostname"))
    return parse(once("look", printed_by([*on_path(shell), "-c", script], str(folder))))


def test_dig_asks_three_names_of_each_of_three_servers(tmp_path: Path) -> None:
    says = f"[ $1 = @10.0.1.2 ] || echo '{HEADER.format('NOERROR')}\n{HEADER.format('NXDOMAIN')}'"
    resolv = "# nameserver 9.9.9.9\nsearch example.org other.org\n" + "".join(
        f"nameserver {address}\n" for address in ("10.0.0.2", "10.0.1.2", "fd00::53", "10.0.3.2")
    )
    reading = look(tmp_path, resolv, dig=says)
    codes = ("NOERROR", "NXDOMAIN")
    assert [(each.address, each.codes) for each in reading.servers] == [
        ("10.0.0.2", codes), ("10.0.1.2", ()), ("fd00::53", codes)
    ]  # fmt: skip
    assert (reading.silent_count, reading.servers[0].failed) == (1, 1)
    asked = (tmp_path / "asked").read_text()
    assert asked.count("dig @") == 3
    assert ". NS " in asked
    assert asked.count(" example.org. SOA") == 3


def test_host_is_asked_where_there_is_no_dig(tmp_path: Path) -> None:
    reading = look(tmp_path, "nameserver 127.0.0.53\n", host=f"echo '{HEADER.format('SERVFAIL')}'")
    assert reading.servers == (
        NameServer("127.0.0.53", ("SERVFAIL",) * 3, "server 127.0.0.53 SERVFAIL SERVFAIL SERVFAIL"),
    )
    assert (tmp_path / "asked").read_text().count("host -v") == 3


def test_host_asks_a_server_no_more_that_was_silent_twice(tmp_path: Path) -> None:
    reading = look(
        tmp_path, "nameserver 127.0.0.53\n", host="echo ';; connection timed out; no servers could be reached'"
    )
    assert (reading.servers[0].codes, reading.silent_count) == ((), 1)
    assert (tmp_path / "asked").read_text().count("host -v") == 2


def answering(server: socket.socket, code: Callable[[str], int | None]) -> list[tuple[str, int, int]]:
    """Answer three questions, and return their names, types and classes; None is no answer."""
    asked = []
    for _ in range(3):
        said, who = server.recvfrom(512)
        assert said[2:12] == bytes([1, 0, 0, 1, 0, 0, 0, 0, 0, 0])  # one question, and nothing else
        name, at = [], 12
        while length := said[at]:
            name.append(said[at + 1 : at + 1 + length].decode("ascii"))
            at += length + 1
        assert len(said) == at + 5
        asked.append((".".join(name), said[at + 2], said[at + 4]))
        if (answer := code(asked[-1][0])) is not None:
            server.sendto(said[:2] + bytes([0x81, 0x80 | answer]) + said[4:] + b"\0" * 400, who)
    return asked


@pytest.mark.slow
@every_shell
@pytest.mark.parametrize(
    ("answers", "codes"),
    [
        ({"": 0, "one.tenletterz": 3, "bad.tenletters.org": 2}, ("NOERROR", "NXDOMAIN", "SERVFAIL")),
        ({"": 5, "bad.tenletters.org": 0}, ("REFUSED", "NOERROR")),
        ({"": 4, "one.tenletterz": 1, "bad.tenletters.org": 9}, ("NOTIMP", "FORMERR", "OTHER")),
    ],
)
def test_bash_asks_where_no_tool_is(
    tmp_path: Path, shell: Way, answers: dict[str, int], codes: tuple[str, ...]
) -> None:
    """Names of ten letters, too: their length is a line's end, at which a shell sends what it has."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server, ThreadPoolExecutor(1) as threads:
        server.bind(("127.0.0.1", 0))
        server.settimeout(20)
        asked = threads.submit(answering, server, answers.get)
        resolv = "search bad.tenletters.org\nnameserver 127.0.0.1\n"
        reading = look(tmp_path, resolv, *BASH, shell=shell, port=server.getsockname()[1])
        assert asked.result() == [("", 2, 1), ("one.tenletterz", 1, 1), ("bad.tenletters.org", 6, 1)]
    assert reading.servers[0].codes == codes


@pytest.mark.slow
def test_bash_hears_nothing_of_a_server_that_is_silent_or_not_there(tmp_path: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        resolv = "nameserver 127.0.0.1\nnameserver 127.0.0.99\n"
        reading = look(tmp_path, resolv, *BASH, port=server.getsockname()[1])
    assert [(each.codes, each.failed) for each in reading.servers] == [((), 3), ((), 3)]


@pytest.mark.parametrize("lacks", BASH)
def test_bash_that_lacks_what_it_asks_by_is_not_asked(tmp_path: Path, lacks: str) -> None:
    with pytest.raises(CannotRead, match="nor a bash"):
        look(tmp_path, "nameserver 127.0.0.1\n", *(name for name in BASH if name != lacks))


def test_bash_that_knows_no_network_is_not_asked(tmp_path: Path) -> None:
    with pytest.raises(CannotRead, match="nor a bash"):
        look(tmp_path, "nameserver 127.0.0.1\n", *BASH[1:], bash="exit 1")


# networking/nslookup.c: what it prints for each of its questions.
_TYPES = "[ $# -gt 0 ] || { echo 'Usage: nslookup [-type=QUERY_TYPE] [-debug] HOST [DNS_SERVER]' >&2; exit 1; }; "
_SAYS = "echo 'Server:\t\t10.0.0.2'; echo 'Address:\t10.0.0.2:53'; echo; "


@pytest.mark.slow
@every_shell
@pytest.mark.parametrize(
    ("says", "codes"),
    [
        (_SAYS + """echo "** server can't find $4: NXDOMAIN"; exit 1""", ("NXDOMAIN",) * 3),
        (_SAYS + """echo "** server can't find $4: SERVFAIL"; exit 1""", ("SERVFAIL",) * 3),
        (_SAYS + """echo "*** Can't find $4: No answer" """, ("NOERROR",) * 3),
        (_SAYS + "echo 'Non-authoritative answer:'; echo 'Name: x'; echo 'Address: 10.1.1.1'", ("NOERROR",) * 3),
        ("echo ';; connection timed out; no servers could be reached'; exit 1", ()),
    ],
)
def test_busybox_asks_where_no_bash_is(tmp_path: Path, shell: Way, says: str, codes: tuple[str, ...]) -> None:
    reading = look(tmp_path, "nameserver 10.0.0.2\n", shell=shell, nslookup=_TYPES + says)
    assert reading.servers[0].codes == codes
    asked = (tmp_path / "asked").read_text().splitlines()[1:]
    assert [line.partition("-retry=1 ")[2] for line in asked] == [
        "-type=ns . 10.0.0.2", "-type=a one.tenletterz. 10.0.0.2", "-type=soa localhost. 10.0.0.2",
    ][: len(asked)]  # fmt: skip
    assert len(asked) == (3 if codes else 2)


def test_nslookup_that_cannot_say_why_it_found_nothing_is_not_asked(tmp_path: Path) -> None:
    old = "[ $# -gt 0 ] || { echo 'Usage: nslookup [HOST] [SERVER]' >&2; exit 1; }; echo \"can't resolve\""
    with pytest.raises(CannotRead, match="nor a bash"):
        look(tmp_path, "nameserver 10.0.0.2\n", nslookup=old)


def test_addresses_and_names_that_are_none_are_never_asked(tmp_path: Path) -> None:
    hostile = "nameserver -x\nnameserver $(id)\nnameserver 10.0.0.2;id\nsearch -f/etc/passwd\nnameserver 10.0.0.2\n"
    reading = look(tmp_path, hostile, dig=f"echo '{HEADER.format('NOERROR')}'")
    assert [each.address for each in reading.servers] == ["10.0.0.2"]
    assert "passwd" not in (tmp_path / "asked").read_text()


def test_neither_tool_is_unread_and_no_server_is_not(tmp_path: Path) -> None:
    with pytest.raises(CannotRead, match="neither dig nor host"):
        look(tmp_path, "nameserver 10.0.0.2\n")
    assert parse(once("look", "tool \nservers\n-- end --\n")) == DnsReading()


@pytest.mark.parametrize(
    "text",
    [
        "no resolv.conf\n",
        "tool dig\nservers 10.0.0.2\nserver 10.0.0.2 NOERROR\n",
        "tool dig\nservers 10.0.0.2\n-- end --\n",
        "tool dig\nservers 10.0.0.2\nserver 10.0.0.9 NOERROR\n-- end --\n",
        "tool dig\nservers 10.0.0.2\nserver 10.0.0.2 no error\n-- end --\n",
    ],
)
def test_half_an_answer_is_unread(text: str) -> None:
    with pytest.raises(CannotRead, match="dns"):
        parse(once("look", text))
