"""softirq_waits: what bpftrace counted, by either version's words, or why it is not known."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bot.domain.errors import CannotRead
from bot.probes.softirq_waits import PROBE, SoftirqWait, SoftirqWaitsReading, parse
from tests.readings.node_tools import printed, tool
from tests.readings.recorded import once

SECOND = 1_000_000_000


def told(**maps: Any) -> str:
    """Return what bpftrace prints of these maps."""
    usual = {"ended": 900 * SECOND, "raised": {}, "waits": {"39,1": 300}, "worst": {"39,1": 40}}
    lines = [{"type": "attached_probes", "data": {"probes": 4}}]
    lines += [{"type": "map", "data": {f"@{name}": value}} for name, value in (usual | maps).items()]
    return "\n".join(map(json.dumps, lines)) + "\n"


def read(text: str) -> SoftirqWaitsReading:
    return parse(once("bpftrace", text))


def test_waits_are_by_core_and_kind_the_longest_first() -> None:
    reading = read(told(waits={"39,1": 300, "2,3": 9}, worst={"39,1": 40, "2,3": 12_880}, gap={"eth0": 8_100}))
    assert reading.waits == (SoftirqWait(2, "NET_RX", 9, 12_880), SoftirqWait(39, "TIMER", 300, 40))
    assert (reading.worst_ms, reading.worst_gap_ms) == (12.88, 8.1)
    assert reading.of(39) == SoftirqWait(39, "TIMER", 300, 40)
    assert reading.of(7) is None


def test_one_that_still_waits_at_the_end_counts_and_says_so() -> None:
    raised = {"39,3": 900 * SECOND - 2_900_000_000, "39,1": 0}
    assert read(told(raised=raised)).waits[0] == SoftirqWait(39, "NET_RX", 0, 2_900_000, ended=False)


def test_what_no_card_brought_is_the_backlog_and_a_hostile_name_is_safe() -> None:
    assert set(read(told(gap={"(no_device)": 5, "\x1b[2J\u202eeth": 6})).gaps) == {"backlog", r"\x1b[2J\u202eeth"}


@pytest.mark.parametrize(
    "text",
    [
        told(ended="soon"),
        told(worst={"39,10": 4}),
        told(worst={"99999,1": 4}),
        told(worst={"39": 4}),
        told(worst=[1]),
        told(worst={"39,1": -4}),
        told(worst={"39,1": True}),
        told(waits={}),
        told(gap=7),
        told().replace('{"@ended"', '["@ended"'),
        "\n".join(told().splitlines()[:1]),
        "[" * 5000,
    ],
)
def test_what_is_cut_or_no_count_is_unread(text: str) -> None:
    with pytest.raises(CannotRead):
        read(text)


@pytest.mark.parametrize(
    ("version", "arg"), [("v0.9.4", "args->"), ("v0.18.1", "args->"), ("v0.19.0", "args."), ("v0.23.2", "args.")]
)
def test_the_words_are_those_of_its_version(tmp_path: Path, version: str, arg: str) -> None:
    """The fragment itself, with a bpftrace that says which program it was given; sudo only runs what it is told to."""
    own = tmp_path / "bpftrace"
    tool(own, f'[ "$1" = --version ] && {{ echo "bpftrace {version}"; exit; }}\nfor w; do :; done; echo "$w"')
    tool(tmp_path / "sudo", 'shift; exec "$@"')
    said = printed(PROBE.commands[0].alternatives[0][2].replace("/usr/bin/bpftrace", str(own)), tools=tmp_path)
    assert said.startswith(f"tracepoint:irq:softirq_raise /!@raised[cpu,{arg}vec]/")
    assert said.rstrip("\n") in [way[4] for way in PROBE.commands[0].sudo], "what sudoers allows, word by word"


def test_without_bpftrace_it_is_missing(tmp_path: Path) -> None:
    script = PROBE.commands[0].alternatives[0][2]
    for folder in ("/usr/bin", "/usr/sbin", "/usr/local/bin"):
        script = script.replace(f"{folder}/bpftrace", f"{tmp_path}/bpftrace")
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (127, "")


def test_no_cut_of_its_line_makes_another_option() -> None:
    """sudo compares arguments as one text: whoever may run the line may cut it at its spaces into other words."""
    for way in PROBE.commands[0].sudo:
        options = [word for word in " ".join(way[1:]).split(" ") if word.startswith("-")]
        assert options == ["-f", "-e"]
