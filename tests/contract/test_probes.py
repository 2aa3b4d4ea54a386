"""Every probe keeps the promises of probes; a new module in bot/probes/ is held to them by being there."""

import importlib
import json
import math
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bot.domain.batch import Batch, Sampling
from bot.domain.command import Completed, Outputs, SampleTimes
from bot.domain.probe import Probe, Unread
from bot.domain.safe_text import decode
from bot.probes import PROBES
from bot.probes.formats.core_list import MOST_CORES
from tests.examples import up_to
from tests.readings.mutation import HOSTILE, mutated
from tests.readings.recorded import CAPTURES, plain, recorded

ROOT = Path(__file__).parents[2]
# What may be below zero: a change, the time to an end, and that something was never logged.
SIGNED = re.compile(r"growth|growth_per_hour|least_left_seconds|last_[a-z_]+_seconds")
NOT_ASKED = {"profile"}  # what somebody had to ask for: no playbook asks it, and the table of questions has it not
MODULES = sorted({path.stem for path in (ROOT / "bot" / "probes").glob("*.py")} - {"__init__"} - NOT_ASKED)
RECORDED = sorted(path for path in CAPTURES.glob("*/*.out") if path.with_suffix(".json").exists())
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

every_probe = pytest.mark.parametrize("probe", PROBES.values(), ids=PROBES)


def answers(probe: Probe, **run: Any) -> Outputs:
    """Every command of the probe came to the same, at every look."""
    looks = {SampleTimes.ONCE: (0,), SampleTimes.TWICE: (0, 1), SampleTimes.THROUGHOUT: (0,)}
    run = {"stdout": "", **run}
    return Outputs(*(Completed(probe.name, c.name, look, **run) for c in probe.commands for look in looks[c.looks]))


def leaves(value: Any) -> Iterator[Any]:
    """Every string, number and key in a reading."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item)
    else:
        yield value


def figures(value: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """Every number of a reading, with the name of its field or property."""
    if is_dataclass(value):
        derived = [key for key, of in vars(type(value)).items() if isinstance(of, property)]
        for key in (*(field.name for field in fields(value)), *derived):
            yield from figures(getattr(value, key), key)
    elif isinstance(value, (Mapping, tuple)):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from figures(item, name)
    elif isinstance(value, (int, float, timedelta)) and not isinstance(value, bool):
        yield name, value.total_seconds() if isinstance(value, timedelta) else value


def assert_sane(probe: Probe, outputs: Outputs) -> None:
    """Only a typed reading or a reason comes out, without control characters and without impossible numbers."""
    read = probe.read(outputs)
    assert isinstance(read, (Unread, probe.reading))
    for name, figure in figures(read):
        assert figure >= (name == "rises") or SIGNED.fullmatch(name), (name, figure)
        assert figure <= 100 or not name.endswith("_percent") or name.endswith("used_percent"), (name, figure)
        assert figure <= 1 or not name.endswith("ratio"), (name, figure)
        assert figure < MOST_CORES or name not in ("core", "cores"), (name, figure)
    for leaf in leaves(plain(read)):
        if isinstance(leaf, str):
            assert not _CONTROL.search(leaf), leaf
        if isinstance(leaf, float):
            assert math.isfinite(leaf)


@pytest.mark.parametrize("module", MODULES)
def test_module_exports_its_probe_and_the_table_shows_it(module: str) -> None:
    probe = importlib.import_module(f"bot.probes.{module}").PROBE
    assert isinstance(probe, Probe)
    assert probe.name == module
    assert PROBES[module] is probe
    assert probe.reading.probe == module


@every_probe
@pytest.mark.parametrize(
    "run",
    [
        {},
        {"stdout": "\n \n"},
        {"exit_status": 1, "stderr": "boom"},
        {"exit_status": 127, "stderr": "timeout: failed to run command: No such file or directory"},
        {"exit_status": 1, "stderr": "sudo: a password is required"},
        {"exit_status": 124},
        {"exit_status": None},
        {"stdout": "cut he", "cut": True},
    ],
    ids=["empty", "blank", "failed", "missing", "sudo", "stalled", "never-ended", "cut"],
)
def test_no_answer_is_unread_with_a_reason(probe: Probe, run: dict[str, Any]) -> None:
    read = probe.read(answers(probe, **run))
    assert isinstance(read, Unread), read
    assert read.probe == probe.name
    assert len(read.reason) > 8
    assert "\n" not in read.reason


@every_probe
def test_no_run_at_all_is_unread_with_a_reason(probe: Probe) -> None:
    assert isinstance(probe.read(Outputs()), Unread)


@every_probe
@settings(max_examples=up_to(40), deadline=None)
@given(text=st.text() | st.text(alphabet='0123456789 :.,-%/()=\n{}[]"acehimnopstuCPU'))
@example(text=HOSTILE)
def test_any_text_becomes_a_reading_or_a_reason(probe: Probe, text: str) -> None:
    assert_sane(probe, answers(probe, stdout=decode(text.encode("utf-8", "surrogatepass"))))


@pytest.mark.parametrize("path", RECORDED, ids=[f"{path.parent.name}/{path.stem}" for path in RECORDED])
def test_capture_becomes_the_reading_beside_it(path: Path) -> None:
    read = plain(PROBES[path.parent.name].read(recorded(path)))
    assert json.loads(json.dumps(read)) == json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", RECORDED, ids=[f"{path.parent.name}/{path.stem}" for path in RECORDED])
@settings(max_examples=up_to(20), deadline=None)
@given(data=st.data())
def test_damaged_capture_becomes_a_reading_or_a_reason(path: Path, data: st.DataObject) -> None:
    whole = recorded(path)
    runs = [run for c in PROBES[path.parent.name].commands for look in (0, 1) if (run := whole.get(c.name, look))]
    hit = data.draw(st.sampled_from(range(len(runs))))
    damaged = decode(data.draw(mutated(runs[hit].stdout)).encode())
    took = runs[hit].took
    runs[hit] = Completed("", runs[hit].name, runs[hit].look, damaged, runs[hit].stderr, took=took)
    assert_sane(PROBES[path.parent.name], Outputs(*runs))


@every_probe
def test_commands_are_argument_lists_without_what_the_batch_does_itself(probe: Probe) -> None:
    assert probe.commands
    assert len({command.name for command in probe.commands}) == len(probe.commands)
    for command in probe.commands:
        for argv in (command.argv, *command.alternatives):
            assert argv[0] not in ("nice", "ionice", "timeout", "env", "sudo")
            assert not any("\n" in word or "LC_ALL" in word for word in argv)


def test_default_playbook_watches_by_two_commands_and_the_others_take_turns() -> None:
    """What runs beside all others is paid for at the peak of a node's memory: see `bot/domain/batch_lanes.py`."""
    asked = yaml.safe_load((ROOT / "playbooks" / "node-health.yaml").read_text(encoding="utf-8"))["probes"]
    watching = [c.name for name in asked for c in PROBES[name].commands if c.looks is SampleTimes.THROUGHOUT]
    assert watching == ["mpstat", "processes"]


def test_default_playbook_asks_first_what_can_be_critical() -> None:
    """A slow node may not answer all: beside cores and processes first cgroups, units and the kernel's log."""
    asked = yaml.safe_load((ROOT / "playbooks" / "node-health.yaml").read_text(encoding="utf-8"))["probes"]
    commands = [(name, command) for name in asked for command in PROBES[name].commands]
    batch = Batch.of(commands, Sampling(5), together=True)
    (turns,) = re.findall(r"^set -- (.*)$", batch.script("0" * 24), re.MULTILINE)
    first, second, third, *rest = ({q.probe for q in batch.parts[f"{lane}p0"]} for lane in turns.split())
    assert {"host", "cgroups", "reclaim"} <= first
    assert "units" in second
    assert "kernel_log" in third
    graver = {"host", "cgroups", "units", "reclaim", "kernel_log"}
    assert all(not graver & probes for probes in rest)


@pytest.mark.parametrize("shell", [["dash"], ["bash"], ["busybox", "sh"], ["sh"]], ids=lambda shell: shell[0])
def test_shells_accept_every_probe_in_one_script(shell: list[str]) -> None:
    if shutil.which(shell[0]) is None:
        pytest.skip(f"{shell[0]} is not installed")
    batch = Batch.of([(probe.name, command) for probe in PROBES.values() for command in probe.commands], Sampling(5))
    script = batch.script("abc123")
    fragments = [
        argv[2]
        for q in batch.questions
        for argv in (q.command.argv, *q.command.alternatives)
        if argv[:2] == ("sh", "-c")
    ]
    for text in (script, *fragments):
        done = subprocess.run([*shell, "-n"], input=text, capture_output=True, text=True, timeout=30, check=False)
        assert (done.returncode, done.stderr) == (0, ""), text
