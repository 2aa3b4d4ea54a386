"""`all_but`: a playbook that takes every probe and cause of the program, and what of those has to be read."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from bot.actions import ACTIONS
from bot.domain.cause import Cause
from bot.domain.errors import PlaybookError
from bot.domain.playbook import Playbook
from bot.domain.verdict import Status
from bot.library import Library
from tests.unit.library.tables import CAUSES, EXTENDING, PROBES, WHOLE

TAKING = WHOLE.replace("probes: [host", "all_but: [reclaim]\nprobes: [host").replace(", reclaim]", "]", 1)
TAKING = TAKING.partition("conditions:")[0]
LOOP = replace(CAUSES["crash-looping-unit"], remedy=("disable_unit",), lasting_fix="Mend the unit.")
NEW = CAUSES | {"crash-looping-unit": LOOP}


def playbook(folder: Path, text: str = TAKING, causes: Mapping[str, Cause] = NEW, child: str = "") -> Playbook:
    (folder / "health.yaml").write_text(text)
    if child:
        (folder / "child.yaml").write_text(child)
    return Library.load([folder], PROBES, causes, ACTIONS).get("book" if child else "node-health")


def test_what_is_not_named_comes_after_what_is_with_its_own_figures(tmp_path: Path) -> None:
    book = playbook(tmp_path)
    assert [probe.name for probe in book.probes] == ["host", "cpu", "cgroups", "kernel_log", "units"]
    assert [used.cause.name for used in book.causes] == ["leaked-memory-cgroups", "lockup", "crash-looping-unit"]
    taken = book.causes[-1]
    assert (taken.thresholds, taken.remedy, taken.lasting_fix) == (LOOP.thresholds, ("disable_unit",), "Mend the unit.")


def test_what_a_taken_cause_needs_to_be_critical_must_be_read(tmp_path: Path) -> None:
    assert playbook(tmp_path).must_read == ("cpu", "cgroups", "units")
    mild = CAUSES | {"crash-looping-unit": replace(LOOP, worst=Status.DEGRADED)}
    assert playbook(tmp_path, causes=mild).must_read == ("cpu", "cgroups"), "it is listed where it is unread"


def test_probe_that_a_named_cause_evaluates_by_now_must_be_read_too(tmp_path: Path) -> None:
    lockup = replace(CAUSES["lockup"], probes=("kernel_log", "units"))
    assert "units" in playbook(tmp_path, causes=NEW | {"lockup": lockup}).must_read


@pytest.mark.parametrize("left_out", ["crash-looping-unit", "units"])
def test_what_is_left_out_and_what_needs_it_does_not_come(left_out: str, tmp_path: Path) -> None:
    book = playbook(tmp_path, TAKING.replace("[reclaim]", f"[reclaim, {left_out}]"))
    assert [used.cause.name for used in book.causes] == ["leaked-memory-cgroups", "lockup"]
    assert left_out not in {probe.name for probe in book.probes}
    assert book.must_read == ("cpu", "cgroups")


def test_playbook_may_tune_what_a_cause_brings_and_offer_nothing(tmp_path: Path) -> None:
    tuned = "  crash-looping-unit:\n    remedy: []\n    thresholds: {restarts: {value: 5, reason: ours}}\n"
    used = playbook(tmp_path, TAKING.replace("  lockup:\n", f"{tuned}  lockup:\n")).causes[1]
    assert (used.cause.name, used.tuning["restarts"], used.remedy) == ("crash-looping-unit", 5, ())
    assert used.lasting_fix == "Mend the unit."


def test_playbook_that_extends_has_what_was_taken_and_may_take_more(tmp_path: Path) -> None:
    assert len(playbook(tmp_path, child=EXTENDING).causes) == 3
    more = playbook(tmp_path, WHOLE, child=EXTENDING + "all_but: []\n")
    assert [used.cause.name for used in more.causes] == ["leaked-memory-cgroups", "lockup", "crash-looping-unit"]
    assert more.must_read == ("cpu", "cgroups", "units")


@pytest.mark.parametrize(
    ("all_but", "causes", "says"),
    [
        ("reclam", NEW, 'health.yaml:5: unknown probe or cause "reclam" in all_but. Did you mean reclaim'),
        ("cpu", NEW, "health.yaml:5: cpu is named in all_but and elsewhere"),
        ("lockup", NEW, "health.yaml:5: lockup is named in all_but and elsewhere"),
        ("reclaim", NEW | {"x": replace(LOOP, name="x", remedy=("reboot",))}, "remedy of x: a reboot needs"),
    ],
)
def test_slip_is_told_with_its_line(all_but: str, causes: Mapping[str, Cause], says: str, tmp_path: Path) -> None:
    with pytest.raises(PlaybookError) as refused:
        playbook(tmp_path, TAKING.replace("[reclaim]", f"[{all_but}]"), causes)
    assert says in str(refused.value)
