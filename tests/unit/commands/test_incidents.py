"""`zombie incidents` and `zombie audit`, run as the terminal runs them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from bot.domain.events import Escalated
from bot.domain.fold import fold
from bot.domain.transitions import State
from bot.ledger import Database, Ledger
from bot.surfaces.incidents import incident_text
from tests.commandline import CommandLine
from tests.record.exporting import damage
from tests.record.incidents import GROWTH, OPENING, TRIAGED, VERDICT, WAYS, entries
from tests.record.keeping import keep

ID = "7k3m9x2qpv"
STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def tell(record: Database, state: State, stream: str = ID) -> None:
    keep(Ledger(record), stream, WAYS[state])


def test_no_ledger_yet_is_an_empty_list(run: CommandLine, tmp_path: Path) -> None:
    assert run("incidents") == (0, "No incidents.\n", "")
    assert run("incidents", "--json") == (0, "[]\n", "")
    assert not (tmp_path / "state").exists(), "looking makes nothing"


def test_list_in_json_has_the_promised_shape(run: CommandLine, record: Database) -> None:
    tell(record, State.PROPOSED)
    status, out, _ = run("incidents", "--json")
    (one,) = json.loads(out)
    assert status == 0
    assert STAMP.fullmatch(one.pop("opened_at"))
    assert STAMP.fullmatch(one.pop("updated_at"))
    assert one == {
        "id": ID,
        "node": "node-gpu-01",
        "group": "g7k3m9x2qp",
        "state": "proposed",
        "cause": "leaked-memory-cgroups",
        "source": {"kind": "slack", "id": "1700000000.000100"},
    }


@pytest.mark.parametrize(("column", "as_what"), [("id", ()), ("cause", ("--json",)), ("opened_at", ())])
def test_list_names_a_row_that_holds_bytes(
    run: CommandLine, record: Database, column: str, as_what: tuple[str, ...]
) -> None:
    tell(record, State.RESOLVED)
    with record.writing() as connection:
        connection.execute(text(f'UPDATE incidents SET "{column}" = CAST("{column}" AS BLOB)'))
    status, out, err = run("incidents", *as_what)
    assert (status, out) == (2, "")
    assert re.search(rf"The line of incident .*{ID}.* is malformed: it holds bytes where a text belongs", err)


@pytest.mark.parametrize(("column", "as_what"), [("by", ()), ("body", ("--json",))])
def test_story_names_an_entry_that_holds_bytes(
    run: CommandLine, record: Database, column: str, as_what: tuple[str, ...]
) -> None:
    tell(record, State.RESOLVED)
    with record.writing() as connection:
        for trigger in (
            connection.execute(text("SELECT name FROM sqlite_master WHERE type = 'trigger'")).scalars().all()
        ):
            connection.execute(text(f"DROP TRIGGER {trigger}"))
        changed = f"UPDATE entries SET {column} = CAST({column} AS BLOB) WHERE stream = :stream AND seq = 1"
        connection.execute(text(changed), {"stream": ID})
    status, out, err = run("incidents", "show", ID, *as_what)
    assert (status, out) == (2, "")
    assert f"Entry {ID}/1 is malformed: it holds bytes where a text belongs" in err


def test_list_shows_the_newest_first_and_only_the_open_where_asked(run: CommandLine, record: Database) -> None:
    tell(record, State.RESOLVED, "older00000")
    tell(record, State.ACTING, "newer00000")
    status, out, _ = run("incidents")
    rows = [line.split() for line in out.splitlines()]
    assert (status, [row[0] for row in rows]) == (0, ["INCIDENT", "newer00000", "older00000"])
    assert rows[1][:4] == ["newer00000", "node-gpu-01", "acting", "leaked-memory-cgroups"]
    assert [line.split()[0] for line in run("incidents", "--open")[1].splitlines()] == ["INCIDENT", "newer00000"]


def test_story_in_json_is_the_summary_with_every_entry(run: CommandLine, record: Database) -> None:
    tell(record, State.RESOLVED)
    (summary,) = json.loads(run("incidents", "--json")[1])
    status, out, _ = run("incidents", "show", ID, "--json")
    shown = json.loads(out)
    entries = shown.pop("entries")
    assert (status, shown) == (0, summary)
    assert [set(entry) for entry in entries] == [{"seq", "at", "by", "kind", "body"}] * len(WAYS[State.RESOLVED])
    kept = Ledger(record).read.now(ID)
    assert [(one["seq"], one["by"], one["kind"], one["body"]) for one in entries] == [
        (entry.seq, entry.by, entry.kind, entry.body) for entry in kept
    ]
    assert json.loads(run("incidents", "--json", "show", ID)[1])["entries"] == entries


def test_story_for_people_tells_every_entry_and_the_verdict(run: CommandLine, record: Database) -> None:
    tell(record, State.RESOLVED)
    status, out, _ = run("incidents", "show", ID)
    assert status == 0
    assert out.splitlines()[0] == f"{ID}  node-gpu-01  resolved  leaked-memory-cgroups"
    for words in (
        "AlertReceived      slack 1700000000.000100, asked by slack:T024BE7LD/U012ASKER: check node-gpu-01",
        "PlanProposed       disable ecs.service, then reboot [",
        "StepVerified       step 1, disable ecs.service, proved after 2 s",
        "StepSkipped        step 2, reboot: somebody else rebooted the node",
        "ValidationStarted  watched for 10 min; two of two steps are through",
        "Resolved           The leak is gone.",
        VERDICT.evidence[0].says,
    ):
        assert words in out, words
    table = out[out.index("                before") :].splitlines()
    assert [line.split() for line in table[:2]] == [["before", "after"], ["memory", "cgroups", "68,700", "260"]]
    assert "nothing is done" not in out, "its plan was carried out"


def test_verdict_whose_plan_nobody_was_shown_says_so(run: CommandLine, record: Database) -> None:
    tell(record, State.TRIAGED)
    assert "What would help (shown only, nothing is done)" in run("incidents", "show", ID)[1]


@pytest.mark.parametrize("wrong", ["house", "../x", "", "x" * 999])
def test_unknown_incident_is_a_usage_error(run: CommandLine, record: Database, wrong: str) -> None:
    tell(record, State.OPENED)
    status, out, err = run("incidents", "show", wrong)
    assert (status, out) == (2, "")
    assert err.startswith("zombie: There is no incident '")
    assert len(err) < 120


def test_record_that_is_whole_is_said_to_be(run: CommandLine, record: Database) -> None:
    tell(record, State.RESOLVED)
    status, out, err = run("audit", "verify")
    assert err == "not kept: what nodes said, which 1 entry names\n"
    head = Ledger(record).head.now("house")
    assert (status, out) == (0, f"whole: 14 entries, 1 incident; the house ends with {head.noted}\n")
    assert run("audit", "verify", "--head", head.noted)[0] == 0
    assert run("audit", "verify", "--head", f"{head.seq}:{head.hash}")[0] == 0
    assert run("audit", "verify", "--head", head.hash)[0] == 0, "as older cards have it"
    assert run("audit", "verify", "--head", head.hash[:16])[0] == 2


@pytest.mark.parametrize("wrong", ["", "ab" * 33, "0:" + "ab" * 32, "x:" + "ab" * 32, "1:" + "zz" * 32])
def test_head_that_is_none_is_a_usage_error(run: CommandLine, record: Database, wrong: str) -> None:
    tell(record, State.RESOLVED)
    status, out, err = run("audit", "verify", "--head", wrong)
    assert (status, out) == (2, "")
    assert "SEQ:HASH" in err


def test_broken_line_is_named(run: CommandLine, record: Database) -> None:
    tell(record, State.RESOLVED)
    with record.writing() as connection:
        connection.execute(text("DROP TRIGGER entries_stay_as_they_are"))
        connection.execute(text("UPDATE entries SET \"by\" = 'slack:T1/U666' WHERE kind = 'Approved'"))
    status, out, _ = run("audit", "verify")
    assert status == 1
    trigger, entry = out.splitlines()[:2]
    assert trigger.startswith("broken: database: the trigger entries_stay_as_they_are")
    assert entry.startswith(f"broken: {ID}/4: ")
    status, out, _ = run("audit", "verify", "--head", "ab" * 32)
    assert (status, f"broken: house: no entry has the hash {'ab' * 32}" in out) == (1, True)


def at_a_shell(tmp_path: Path, line: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "ZOMBIE_STATE_DIR": str(tmp_path / "state")}
    environment |= {"PYTHONPATH": str(Path(__file__).parents[3]), "ZOMBIE": f"{sys.executable} -m bot", **more}
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", line],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_bundle_goes_into_a_file_of_the_shell_and_comes_through_a_pipe(record: Database, tmp_path: Path) -> None:
    tell(record, State.RESOLVED)
    path = tmp_path / "b.jsonl"
    export = f"$ZOMBIE incidents export {ID} -o /dev/stdout"
    piped = at_a_shell(tmp_path, f"{export} > {path}; cat {path} | $ZOMBIE verify /dev/stdin")
    assert (piped.returncode, "broken" in piped.stdout) == (2, False), piped.stdout
    assert piped.stdout.splitlines()[-1] == f"not all proven: incident {ID}", "no case is kept with it"
    assert piped.stderr.startswith("/dev/stdout: 10 entries")
    assert damage(path.read_bytes()) == ()


def test_incident_is_shown_in_an_ascii_locale(record: Database, tmp_path: Path) -> None:
    keep(Ledger(record), ID, (*WAYS[State.ACTING], Escalated("naïve 😀", "Look at its console…")))
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    shown = at_a_shell(tmp_path, f"$ZOMBIE incidents show {ID}", **ascii_only)
    assert (shown.returncode, shown.stderr) == (0, "")


def test_ledger_that_is_gone_is_never_called_whole(run: CommandLine, tmp_path: Path) -> None:
    for verb in ("verify", "export"):
        status, out, err = run("audit", verb)
        assert (status, out) == (2, "")
        assert err.startswith(f"zombie: There is no ledger at {tmp_path / 'state' / 'zombie.db'}.")
    assert not (tmp_path / "state").exists()


def test_empty_record_is_not_called_whole(run: CommandLine, record: Database) -> None:
    status, out, err = run("audit", "verify")
    assert (status, out) == (2, "")
    assert err.startswith("empty: no entry could be checked.")


def test_what_people_and_sources_wrote_is_made_safe_to_look_at(run: CommandLine, record: Database) -> None:
    tell(record, State.ACTING)
    Ledger(record).append.now(ID, 5, Escalated("\x1b[31mred \u202egnp.exe"), "bot")
    assert fold(Ledger(record).read.now(ID)).ended
    for arguments in (("show", ID), ("show", ID, "--json")):
        out = run("incidents", *arguments)[1]
        assert "\x1b" not in out
        assert "\u202e" not in out
        assert "x1b[31mred" in out


def test_what_grows_is_made_safe_to_look_at() -> None:
    grown = replace(TRIAGED, growth=replace(GROWTH, what="\x1b[31mred \u202egnp.exe"))
    told = entries((OPENING, grown))
    out = incident_text(fold(told), told)
    assert not {"\x1b", "\u202e"} & set(out)
    assert "x1b[31mred" in out
