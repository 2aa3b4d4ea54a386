"""`zombie report`, run as the terminal runs it, over a record of its own."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn, cast

import pytest
from sqlalchemy import delete

from bot.domain.entry import is_author
from bot.domain.errors import LedgerUnavailable
from bot.extras.cases.explaining import Why
from bot.ledger import Ledger
from bot.ledger.tables import KEPT_CASES
from tests.commandline import CommandLine
from tests.record.exporting import NODE, SECRET, ended, judged
from tests.record.keeping import keep
from tests.record.ledgers import ledger_in
from tests.unit.extras.reports.report_data import everything
from tests.unit.extras.reports.test_page import HOSTILE, Skeleton


@pytest.fixture
def unexplained(monkeypatch: pytest.MonkeyPatch) -> None:
    """What would change the verdict is left out of reports, for those that are about something else."""
    monkeypatch.setattr("bot.extras.reports.report_maker.why_as_shown", lambda *_: Why((), "left out"))


def test_page_is_written_where_it_says_with_what_the_record_and_the_node_said(run: CommandLine, tmp_path: Path) -> None:
    with ledger_in(tmp_path / "state") as database:
        incident = ended(database)
    assert run("report", incident[:6]) == (0, f"report-{incident}.html\n", "")
    page = (tmp_path / f"report-{incident}.html").read_text()
    for words in ("leaked-memory-cgroups", "68,440", "If cgroups had not been read", "zombie audit verify --head"):
        assert words in page, words
    assert SECRET not in page


@pytest.mark.usefixtures("unexplained")
def test_head_of_the_report_is_one_that_the_audit_finds(run: CommandLine, tmp_path: Path) -> None:
    with ledger_in(tmp_path / "state") as database:
        incident = ended(database)
    out = run("report", incident, "--markdown")[1]
    (head,) = re.findall(r"zombie audit verify --head (\S+)", out)
    assert run("audit", "verify", "--head", head)[0] == 0
    assert run("audit", "verify", "--head", head[:-32] + "0" * 32)[0] == 1


@pytest.mark.usefixtures("unexplained")
def test_gpu_hours_are_counted_by_the_label_that_was_kept_and_else_by_the_inventory(
    run: CommandLine, tmp_path: Path
) -> None:
    with ledger_in(tmp_path / "state") as database:
        labelled = judged(database, replace(NODE, labels={**NODE.labels, "gpus": "8"}))
        bare = judged(database, replace(NODE, name="bare"))
    assert "GPU-hours (8 GPUs by the label gpus)" in run("report", labelled, "--markdown")[1]
    assert "GPU-hours are not known: the node has no label gpus" in run("report", bare, "--markdown")[1]
    (tmp_path / "known_hosts").touch()
    nodes = '[ssh]\nknown_hosts = "known_hosts"\n[nodes.bare]\naddress = "10.0.0.1"\nlabels = { gpus = "4" }\n'
    (tmp_path / "inventory.toml").write_text(nodes)
    assert "(4 GPUs" in run("report", bare, "--markdown", "--inventory", "inventory.toml")[1]


def test_report_is_made_also_of_what_is_kept_no_more(run: CommandLine, tmp_path: Path) -> None:
    with ledger_in(tmp_path / "state") as database:
        incident = ended(database)
        with database.writing() as connection:
            connection.execute(delete(KEPT_CASES))
    out = run("report", incident, "--markdown")[1]
    assert "What the node said is not stored, so it cannot be evaluated again." in out
    assert "68,440" in out


@pytest.mark.usefixtures("unexplained")
def test_report_is_made_also_where_house_is_not_read(
    run: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut(*_: object) -> NoReturn:
        raise LedgerUnavailable("The connection was lost.")

    with ledger_in(tmp_path / "state") as database:
        incident = ended(database)
    monkeypatch.setattr("bot.extras.reports.report_maker.excerpt", cut)
    status, out, _ = run("report", incident, "--markdown")
    assert (status, "The record does not prove this report: The connection was lost." in out) == (0, True)


def test_playbook_that_changed_since_is_not_evaluated_by(run: CommandLine, tmp_path: Path) -> None:
    with ledger_in(tmp_path / "state") as database:
        incident = ended(database)
    (tmp_path / "mine").mkdir()
    shipped = (Path(__file__).parents[4] / "playbooks" / "node-health.yaml").read_text()
    changed = re.sub(r"^version: \d+", "version: 99", shipped, count=1, flags=re.MULTILINE)
    (tmp_path / "mine" / "node-health.yaml").write_text(changed)
    out = run("report", incident, "--markdown", "--playbooks", "mine")[1]
    assert "node-health has changed since" in out


@pytest.mark.usefixtures("unexplained")
def test_file_is_written_where_one_says_and_a_sentence_says_that_it_cannot_be(run: CommandLine, tmp_path: Path) -> None:
    with ledger_in(tmp_path / "state") as database:
        incident = ended(database)
    assert run("report", incident, "--out", "other.html")[1] == "other.html\n"
    assert (tmp_path / "other.html").is_file()
    status, _, err = run("report", incident, "--out", "nowhere/x.html")
    assert status == 2
    assert "nowhere/x.html cannot be written" in err
    assert "--out" in err


@pytest.mark.parametrize("words", [HOSTILE[1], ":", ";:"])
def test_hostile_words_stay_words_from_the_record_to_the_file(run: CommandLine, tmp_path: Path, words: str) -> None:
    def skeleton(name: str, said: str) -> list[tuple[str, tuple[str, ...]]]:
        with ledger_in(tmp_path / "state") as database:
            first, *rest = everything(said)
            alone: Any = replace(cast(Any, first), group=name)  # those on the same card would be named
            keep(Ledger(database), name, (alone, *rest))
        assert run("report", name, "--out", "it.html")[0] == 0
        return Skeleton((tmp_path / "it.html").read_text()).elements

    said = f"a{words}z"
    assert skeleton("hostile000", said) == skeleton("plain00000", "a:z" if is_author(said) else "az")
