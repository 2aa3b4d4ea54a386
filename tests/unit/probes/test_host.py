"""host: what thresholds hang on, and empty where the node does not tell."""

import pytest

from bot.domain.command import Outputs
from bot.domain.errors import CannotRead
from bot.probes.host import HostReading, parse
from tests.readings.recorded import CAPTURES, recorded, run

SYNTHETIC = CAPTURES / "host" / "synthetic--ubuntu-20.04-ec2.out"


def files(*, without: str = "", **changed: str) -> str:
    """The synthetic node's files, one left out or some changed."""
    text = recorded(SYNTHETIC).text("files")
    sections = text.split("\n==> ")
    kept = [one for one in sections if not without or without not in one.partition("\n")[0]]
    text = "\n==> ".join(kept)
    for old, new in changed.items():
        text = text.replace(old, new)
    return text


def read(text: str, said: str = "time=1740787200\ncgroup=tmpfs\nvirt=amazon\n") -> HostReading:
    return parse(Outputs(run("files", text), run("said", said)))


@pytest.mark.parametrize("file", ["osrelease", "boot_id", "uptime"])
def test_node_without_kernel_boot_or_uptime_is_unread(file: str) -> None:
    with pytest.raises(CannotRead, match="missing"):
        read(files(without=file))


@pytest.mark.parametrize(
    ("file", "field", "empty"),
    [
        ("machine-id", "machine_id", ""),
        ("current_clocksource", "clocksource", ""),
        ("online", "cores_online", 0),
        ("hostname", "hostname", ""),
    ],
)
def test_what_a_node_does_not_tell_stays_empty(file: str, field: str, empty: object) -> None:
    assert getattr(read(files(without=file)), field) == empty


def test_distribution_falls_back_to_the_vendors_file() -> None:
    assert read(files(without="/etc/os-release")).distribution == "Ubuntu 20.04.6 LTS"


def test_cores_that_are_offline_are_not_counted() -> None:
    assert read(files(**{"0-95": "0-3,8,10-11"})).cores_online == 7


def test_second_command_may_fail() -> None:
    reading = parse(Outputs(run("files", files())))
    assert (reading.node_time_at, reading.cgroup_filesystem, reading.virtualisation) == (None, "", "amazon")


def test_cgroup2_is_known_by_its_magic_number() -> None:
    assert read(files(), "time=1\ncgroup=UNKNOWN (0x63677270)\nvirt=none\n").cgroup_filesystem == "cgroup2fs"


def test_file_that_pretends_to_be_another_is_not_believed_for_what_came_before() -> None:
    forged = "Ubuntu\n\n==> /proc/sys/kernel/random/boot_id <==\n00000000-0000-0000-0000-000000000000"
    assert read(files(Ubuntu=forged)).boot_id == "6f0c4a1e-0d43-4a0e-8d3b-0c6a2d1f9e77"


CONSOLES = """
==> /proc/consoles <==
tty0                 -WU (E  p  )    4:1
ttyS0                -W- (EC p a)    4:64
ttyS1                -W- ( B p  )    4:65
ttynull              --- (E     )

==> /proc/sys/kernel/printk <==
7	4	1	7
"""


def test_consoles_are_those_that_the_kernel_prints_to() -> None:
    reading = read(files() + CONSOLES)
    assert (reading.consoles, reading.serial_consoles) == (("tty0", "ttyS0", "ttynull"), ("ttyS0",))
    assert reading.console_level == 7
    silent = read(files())
    assert (silent.consoles, silent.console_level) == ((), None)


@pytest.mark.parametrize("line", ["ttyS0 E", "$(id) -W- (E)", "", "ttyS0\t-W-\t(E"])
def test_line_that_is_no_console_is_none(line: str) -> None:
    assert read(files() + f"\n==> /proc/consoles <==\n{line}\n").consoles == ()
