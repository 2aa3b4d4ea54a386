"""dns: what is asked of each server, by the tools of old and new, and what is no answer."""

import os
import subprocess
from pathlib import Path

import pytest

from bot.domain.errors import CannotRead
from bot.probes.dns import PROBE, DnsReading, NameServer, parse
from tests.readings.recorded import once

HEADER = ";; ->>HEADER<<- opcode: QUERY, status: {}, id: 4711"


def look(folder: Path, resolv: str, **tools: str) -> DnsReading:
    """Run the fragment as it is, on this resolv.conf, with these stand-ins for dig and host alone."""
    (folder / "resolv.conf").write_text(resolv)
    for name in ("awk", "sed", "head", "sh", "sleep"):
        found = subprocess.run(["sh", "-c", f"command -v {name}"], capture_output=True, text=True, check=True).stdout
        (folder / name).symlink_to(os.path.realpath(found.strip()))
    for name, script in tools.items():
        (folder / name).write_text(f'#!/bin/sh\necho "$0 $*" >>{folder}/asked\n{script}\n')
        (folder / name).chmod(0o755)
    script = PROBE.commands[0].argv[2].replace("/etc/resolv.conf", str(folder / "resolv.conf"))
    done = subprocess.run(
        ["/bin/sh", "-c", script], env={"PATH": str(folder)}, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr == ""
    return parse(once("look", done.stdout))


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
