"""What was proven: the table that ships is whole, and its sentence says no more than its rows do."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from bot.actions import ACTIONS
from bot.app.factories import library
from bot.app.kubernetes import draining
from bot.causes import CAUSES
from bot.domain.action import ProvenOn
from bot.domain.playbook import Playbook
from bot.domain.probe import Snapshot
from bot.domain.verdict import Verdict
from bot.lab.fault import FAULTS
from bot.probes.host import HostReading
from bot.response import proven_cures
from bot.response.diagnosis.planning import DrainSettings, with_plan
from bot.response.proven_cures import ProvenRow, ProvenTable, proven_on, read_table
from bot.settings import Settings
from bot.settings.tables import ActSettings
from tests.known import known
from tests.record.incidents import BEGAN_AT, BOOT, NODE, VERDICT

CURE = ("disable_unit", "reboot")
ROW = ProvenRow(
    cause="leaked-memory-cgroups",
    fault="leaked-memory-cgroups",
    cure=CURE,
    status="critical",
    harm='the kernel holds "a lot"\\ of memory',
    suite="bookworm",
    kernel="6.1.0-50-cloud-amd64",
    systemd=252,
    cgroups="v2",
    runs=2,
    healed=2,
    undone=True,
    seconds=94,
    on="2026-11-28",
    version="0.2.0",
)


def has(monkeypatch: pytest.MonkeyPatch, *rows: ProvenRow, not_here: tuple[tuple[str, str], ...] = ()) -> None:
    monkeypatch.setattr(proven_cures, "proven_table", lambda: ProvenTable(rows, not_here))


def test_table_that_ships_names_faults_causes_and_actions_that_there_are() -> None:
    table = read_table(proven_cures.proven_file())
    for row in table.rows:
        assert row.fault in FAULTS
        assert row.cause in CAUSES
        assert set(row.cure) <= set(ACTIONS)
        assert 0 <= row.healed <= row.runs
        assert row.series
    assert len({row.key for row in table.rows}) == len(table.rows)
    assert {cause for cause, _ in table.not_here} <= set(CAUSES)
    assert not {cause for cause, _ in table.not_here} & {row.cause for row in table.rows}
    assert table.text() == proven_cures.proven_file().read_text("utf-8"), "written by hand: zombie lab prove writes it"


def test_table_is_read_as_it_was_written_and_a_row_takes_the_place_of_its_earlier_run(tmp_path: Path) -> None:
    other = replace(ROW, cgroups="v1", kernel="6.12.1", suite="trixie")
    table = ProvenTable((), (("gpu-fault", "no GPU"),)).with_row(other).with_row(ROW)
    file = tmp_path / "proven.toml"
    file.write_text(table.text(), encoding="utf-8")
    assert read_table(file) == table
    assert table.rows == (ROW, other), "6.1 comes before 6.12"
    again = replace(ROW, runs=3, healed=2)
    assert table.with_row(again).rows == (again, other)


def test_sentence_names_the_kernels_and_says_where_it_was_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    has(monkeypatch, ROW, replace(ROW, kernel="6.12.117+deb13", suite="trixie"), replace(ROW, cgroups="v1"))
    assert (
        proven_on(ROW.cause, CURE, "6.1.90-aws").says
        == "This cured test VMs with Linux 6.1 and 6.12; this node runs 6.1."
    )
    assert (
        proven_on(ROW.cause, CURE, "5.4.0-1084-aws").says
        == "This cured test VMs with Linux 6.1 and 6.12; untried on this node's 5.4."
    )
    has(monkeypatch, *(replace(ROW, kernel=kernel, suite=kernel) for kernel in ("5.10.0", "6.1.0", "6.12.0")))
    assert proven_on(ROW.cause, CURE, "").says == (
        "This cured test VMs with Linux 5.10, 6.1, 6.12; this node's kernel is not known."
    )
    assert proven_on(ROW.cause, ("disable_unit",), "6.1").says == (
        "Not proven: no run of it on a real kernel is on record."
    )


def test_sentence_says_where_the_fault_did_not_arise(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = replace(ROW, cure=(), status="gone", kernel="7.2.12+deb14")
    has(monkeypatch, ROW, gone)
    assert proven_on(ROW.cause, CURE, "7.2.1").says == (
        "This cured test VMs with Linux 6.1; this node runs 7.2, where the fault did not arise."
    )
    assert proven_on(ROW.cause, CURE, "7.3.1").says == "This cured test VMs with Linux 6.1; untried on this node's 7.3."
    assert not proven_on(ROW.cause, (), "7.2.1").here


def test_sentence_says_a_cure_that_failed_and_whose_figures_were_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    has(monkeypatch, replace(ROW, runs=3))
    assert proven_on(ROW.cause, CURE, "6.1").says == (
        "This cured test VMs with Linux 6.1 (healed 2 of 3 times); this node runs 6.1."
    )
    has(monkeypatch, ROW)
    assert proven_on(ROW.cause, CURE, "5.4", own_figures=True).says == (
        "This cured test VMs with Linux 6.1 with the shipped figures; untried on this node's 5.4."
    )


def test_sentence_says_why_something_cannot_be_made_here(monkeypatch: pytest.MonkeyPatch) -> None:
    has(monkeypatch, not_here=(("gpu-fault", "it needs a GPU; its words are NVIDIA's"),))
    assert proven_on("gpu-fault", ("reboot",), "6.1").says == "Not proven: it needs a GPU; its words are NVIDIA's."


@pytest.mark.parametrize(
    ("row", "kernel", "is_it"),
    [
        (ROW, "6.1.90", True),
        (ROW, "6.12.1", False),
        (ROW, "", False),
        (replace(ROW, status="gone"), "6.1.90", False),
        (replace(ROW, runs=3), "6.1.90", False),
        (replace(ROW, cure=("disable_unit",)), "6.1.90", False),
    ],
)
def test_only_a_row_that_healed_each_time_proves(
    monkeypatch: pytest.MonkeyPatch, row: ProvenRow, kernel: str, is_it: bool
) -> None:
    has(monkeypatch, row)
    assert proven_on(ROW.cause, CURE, kernel).here is is_it


def offered(proven_only: bool, playbook: Playbook | None = None) -> Verdict:
    host = HostReading("6.1.90-aws", BOOT, timedelta(days=9))
    sick = replace(VERDICT, plan=None, snapshot=Snapshot(NODE, BEGAN_AT, timedelta(seconds=5), {"host": host}))
    only = DrainSettings(proven_only=proven_only)
    return with_plan(sick, playbook or library(()).get("zombie-cgroups"), ACTIONS, draining=only)


def test_plan_says_what_it_is_worth_whether_or_not_it_must_be_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    has(monkeypatch, ROW)
    for proven_only in (False, True):
        plan = known(offered(proven_only).plan)
        assert plan.notes[-1] == "This cured test VMs with Linux 6.1; this node runs 6.1."
        assert plan.proven == ProvenOn(("6.1",), True, "This cured test VMs with Linux 6.1; this node runs 6.1.")


def test_only_what_is_proven_is_offered_where_that_is_set_and_the_verdict_says_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    has(monkeypatch, replace(ROW, kernel="6.12.1"))
    says = "This cured test VMs with Linux 6.12; untried on this node's 6.1."
    plan = known(offered(proven_only=False).plan)
    assert plan.notes[-1] == says
    withheld = offered(proven_only=True)
    assert withheld.plan is None
    assert withheld.summary.endswith(f" Nothing is offered: [act] proven_only keeps to what is proven. {says}")
    assert [draining(Settings(act=ActSettings(proven_only=said))).proven_only for said in (True, False)] == [
        True,
        False,
    ]


def test_figures_of_ones_own_are_not_those_that_were_proven(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    has(monkeypatch, ROW)
    (tmp_path / "mine.yaml").write_text(
        "name: mine\ntitle: Mine\nversion: 1\nextends: zombie-cgroups\ncauses:\n  leaked-memory-cgroups:\n"
        "    thresholds: {dying_many: {value: 900, reason: ours}}\n"
    )
    mine = library((tmp_path,)).get("mine")
    plan = known(offered(proven_only=False, playbook=mine).plan)
    assert plan.proven == ProvenOn(
        ("6.1",), False, "This cured test VMs with Linux 6.1 with the shipped figures; this node runs 6.1."
    )
    withheld = offered(proven_only=True, playbook=mine)
    assert withheld.plan is None
    assert withheld.summary.endswith("This cured test VMs with Linux 6.1 with the shipped figures; this node runs 6.1.")
