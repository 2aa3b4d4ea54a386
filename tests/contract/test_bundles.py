"""An incident's bundle holds anywhere, and whatever is changed in it is named."""

from __future__ import annotations

import asyncio
import json
import os
import re
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import Connection, text

from bot.app.factories import library
from bot.commands.open_record import stored_case
from bot.domain.case import Case, read_case
from bot.domain.command import Completed
from bot.domain.entry import NOTHING_BEFORE, NotedHead, entry_hash
from bot.domain.errors import BundleError, LedgerUnavailable
from bot.domain.events import AlertCleared, Approved, IncidentEvent, StepStarted, Triaged
from bot.domain.fold import fold
from bot.domain.house_events import HOUSE, CauseMuted
from bot.extras.bundles.bundle import FORM, Bundle, BundleHead
from bot.extras.bundles.export import export
from bot.extras.bundles.verification import verified
from bot.extras.cases.explaining import WORDS, Explainer
from bot.extras.mcp.answers import ToolAnswers
from bot.extras.reports.report_maker import report_data
from bot.ledger import CaseStore, Database, Ledger, audit, case_store
from bot.ledger.chain import FIELDS
from bot.ledger.entries import chained_entry, head_of, insert_entry, read_stream
from bot.ledger.excerpt import StoredEntry
from bot.ledger.tables import ENTRIES
from bot.transport.case_file import load
from tests.commandline import CommandLine
from tests.contract.test_why import FOUNDING
from tests.record import exporting
from tests.record.exporting import (
    END,
    NODE,
    SECRET,
    Measured,
    bundle_in,
    bundle_of,
    damage,
    ended,
    judged,
    looked_at,
    raw_of,
)
from tests.record.incidents import BEGAN_AT, BOOT
from tests.record.keeping import keep
from tests.record.ledgers import ledger_in


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    with ledger_in(tmp_path_factory.mktemp("record")) as database:
        return bundle_of(database, ended(database))


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with ledger_in(tmp_path) as database:
        yield database


def look(bundle: Bundle, *heads: str) -> list[str]:
    """What is broken of a bundle, by the program that wrote it."""
    return looked_at(bundle, *heads).broken


def test_bundle_has_everything_and_holds(tmp_path: Path) -> None:
    with ledger_in(tmp_path) as database:
        judged(database, replace(NODE, name="another"))
        incident_id = ended(database)
        bundle = bundle_of(database, incident_id)
        head = Ledger(database).head.now("house")
        assert audit(database).broken == ()
    raw = raw_of(bundle)
    assert raw_of(bundle_in(raw)) == raw
    kinds = "AlertReceived Triaged PlanProposed Approved StepStarted Escalated"
    assert " ".join(entry.kind for entry in bundle.entries) == kinds
    said = bundle.head
    assert (said.incident, said.node, said.cause) == (incident_id, NODE.name, "leaked-memory-cgroups")
    assert (said.status, said.confidence, len(said.approvals)) == ("critical", "confirmed", 1)
    assert "disable ecs.service" in bundle.report
    assert bundle.case is not None
    assert read_case(bundle.case, "here", "n").digest == said.case
    assert SECRET not in raw_of(bundle).decode()
    assert next(iter(bundle.house)).seq == 2, "what was noted before its opening is not in it"
    found = looked_at(raw, head.noted)
    assert (found.broken, found.unproven) == ([], [])
    assert any("derived again" in sentence for sentence in found.holds)
    assert look(bundle, f"{head.seq}:{'ab' * 16}") != []


def test_every_region_that_is_flipped_is_named(bundle: Bundle) -> None:
    raw = raw_of(bundle)
    lines = raw.split(b"\n")[:-1]
    at = 0
    for number, line in enumerate(lines):
        what = "the list of hashes"
        if number < len(lines) - 1:
            (kind, inner), *_ = json.loads(line).items()
            what = {"case": "the case", "report": "the report"}.get(kind, "the head")
            what = f"entry {inner['stream']}/{inner['seq']}" if kind in ("entry", "house") else what
        for place in {*range(0, len(line), max(1, len(line) // 5)), len(line) - 1, len(line)}:
            for bit in (1, 0x80):
                spot = at + place
                flipped = raw[:spot] + bytes([raw[spot] ^ bit]) + raw[spot + 1 :]
                try:
                    named = damage(flipped)
                except BundleError:
                    assert number == 0 or number == len(lines) - 1
                    continue
                joined = number == len(lines) - 2 and place == len(line)  # the newline before the list of hashes
                assert any(what in each or (joined and "list of hashes" in each) for each in named), (what, named)
        at += len(line) + 1


def test_list_of_hashes_that_is_cut_off_is_named(bundle: Bundle) -> None:
    cut = raw_of(bundle).rsplit(b"\n", 2)[0] + b"\n"
    assert damage(cut) == ("the list of hashes, its last line, was changed or is missing",)


def forged(bundle: Bundle, at: int, **fields: Any) -> Bundle:
    """The bundle with an entry rewritten, and every hash from there on made to fit, as a forger would."""
    rows, before = [], "0" * 64
    for number, row in enumerate(bundle.entries):
        changed = row._replace(**fields) if number == at else row
        digest = entry_hash(before, changed.stream, changed.seq, changed.at, changed.by, changed.kind, changed.body)
        before = digest
        rows.append(changed._replace(hash=digest))
    return replace(bundle, entries=tuple(rows))


def test_forgery_whose_hashes_fit_is_named_by_what_it_contradicts(bundle: Bundle) -> None:
    incident = bundle.head.incident
    assert look(bundle) == []
    other = forged(bundle, 3, by="slack:T024BE7LD/U666")
    assert any(f"entry {incident}/4: it is not the entry that house noted" in each for each in look(other))
    unfit = replace(bundle, entries=(*bundle.entries[:3], bundle.entries[3]._replace(by="x"), *bundle.entries[4:]))
    assert any(each.startswith(f"entry {incident}/4: its hash") for each in look(unfit))
    assert any("is missing" in each for each in look(replace(bundle, entries=(bundle.entries[0], *bundle.entries[2:]))))
    assert any("house has no note" in each for each in look(replace(bundle, house=tuple(bundle.house)[:1])))
    assert look(replace(bundle, report=bundle.report + "x")) == ["the report: it is not what its entries say"]
    assert look(replace(bundle, head=replace(bundle.head, approvals=()))) == [
        "the head: field approvals is not what the entries say"
    ]
    case = read_case(bundle.case or "", "here", "n")
    quiet = replace(case, runs=tuple(run for run in case.runs if run.probe != "cgroups"))
    assert any("it is not the case behind the verdict" in each for each in look(replace(bundle, case=quiet.text())))
    whole = replace(bundle, house=tuple(row for row in bundle.house if row.kind != "EntryAnchored"))
    assert look(whole) != []


@pytest.mark.parametrize("secret", ["", f"token={SECRET}"])
def test_verdict_that_the_case_does_not_give_is_broken_or_unproven_where_a_secret_may_have_decided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, secret: str
) -> None:
    def load_with_secret(path: Path) -> Case:
        case = load(path)
        first, *rest = case.runs
        return replace(case, runs=(replace(first, stdout=f"{first.stdout}{secret}"), *rest))

    monkeypatch.setattr(exporting, "load", load_with_secret)
    with ledger_in(tmp_path) as database:
        incident_id = judged(database)
        bundle = bundle_of(database, incident_id)
    triaged = bundle.entries[1]
    body = json.loads(triaged.body)
    body["verdict"]["cause"] = "cpu-steal"
    other = forged(bundle, 1, body=json.dumps(body, sort_keys=True, separators=(",", ":")))
    found, says = looked_at(other), "derived again, it differs: cause: cpu-steal → leaked-memory-cgroups"
    assert any(says in each for each in found.broken) is not bool(secret)
    assert any(says in each for each in found.unproven) is bool(secret)


def test_verdict_under_a_mute_is_derived_with_it_wherever_it_is_derived_again(run: CommandLine, tmp_path: Path) -> None:
    with ledger_in(tmp_path / "state") as database:
        ledger = Ledger(database)
        mute = CauseMuted("leaked-memory-cgroups", NODE.name, BEGAN_AT + timedelta(days=7), "known")
        ledger.append.now(HOUSE, None, mute, "terminal:ann")
        incident_id = judged(database)
        shown = fold(ledger.read.now(incident_id)).verdict
        assert shown is not None
        assert (shown.cause, shown.plan) == (None, None)
        found = looked_at(bundle_of(database, incident_id))
        assert found.broken == []
        assert "the verdict rests on what was muted then, by its own word: leaked-memory-cgroups" in found.notes
        assert report_data(database, incident_id, library(), BEGAN_AT).why
        answers: Any = SimpleNamespace(
            cases=CaseStore(database), explainer=Explainer(library()), words=WORDS, _ledger_or_refuse=lambda _: ledger
        )
        told = asyncio.run(ToolAnswers.explain(answers, incident_id))
    for document in (told.document, run("why", incident_id, "--json").json):
        assert {**document["verdict"], "muted": document["verdict"]["muted"]["cause"]} == {
            "status": "unknown",
            "cause": None,
            "confidence": None,
            "plan": None,
            "muted": mute.cause,
        }
    assert "leaked-memory-cgroups is muted until " in told.text


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        (
            "m.yaml",
            (
                "name: node-health\nextends: node-health\ntitle: Mine\nversion: 2\n"
                "conditions: [{name: c, when: cgroups.dying > 1, says: Some., status: degraded}]\n"
            ),
            "--playbooks DIR",
        ),
        (
            "causes/worn.yaml",
            (
                "cause: worn\ntitle: Worn\nabout: It is worn.\nlasting_fix: Another.\n"
                "evidence: [{name: full, when: cgroups.dying > 5, says: Some.}]\n"
                "otherwise: [{ruled_out: it is not}]\nexamples: [{then: undecided}]\n"
            ),
            "--playbooks DIR",
        ),
        ("m.yaml", "name: node-health\ntitle: Of before\nversion: 2\nprobes: [cgroup]\n", "m.yaml:4: unknown probe"),
    ],
)
def test_other_playbook_or_cause_is_said_and_not_called_broken(
    bundle: Bundle, tmp_path: Path, file: str, text: str, says: str
) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(text)
    found = verified(BytesIO(raw_of(bundle)), library([tmp_path]))
    assert found.broken == []
    assert any(says in sentence for sentence in found.unproven), found.unproven


def test_open_and_old_incidents_are_told_as_they_are(database: Database) -> None:
    incident_id = judged(database)
    still_open = (
        "it was open when it was exported, so nothing says that entry 3 was the last. Export it again when it has "
        "ended, or give a head"
    )
    found = looked_at(bundle_of(database, incident_id))
    assert (found.broken, found.unproven) == ([], [still_open])
    with database.writing() as connection:
        connection.execute(text("DELETE FROM kept_cases"))
    found = looked_at(bundle_of(database, incident_id))
    assert (found.broken, found.unproven) == (
        [],
        [still_open, "no case is kept with it, so the verdict cannot be derived again"],
    )


def test_head_on_a_card_is_reached_where_it_is_asked_for(database: Database) -> None:
    for name in ("first", "earlier"):
        judged(database, replace(NODE, name=name))
    earlier, incident_id = Ledger(database).head.now("house"), judged(database)
    judged(database, replace(NODE, name="later"))
    later = Ledger(database).head.now("house")
    short = bundle_of(database, incident_id)
    for head in (later.noted, later.hash):  # no entry of the bundle contradicts it
        found = looked_at(short, head)
        assert (found.broken, len(found.unproven)) == ([], 1)
        assert f"Export it with --head {NotedHead.of(head)}" in found.unproven[0]
    first, number = earlier.noted.partition(":")[2], earlier.seq
    for head, says in (
        (earlier.noted, "are later than the head that was given"),
        (f"{number - 1}:{first}", "closing"),
    ):
        found = looked_at(short, head)
        assert (found.broken, says in " ".join(found.unproven)) == ([], True), head
    assert looked_at(short, f"{number}:{later.hash}").broken, "its own part begins after another entry"
    long = bundle_of(database, incident_id, NotedHead.of(later.noted))
    found = looked_at(long, later.noted)
    assert (found.broken, found.notes) == ([], ["as of its last entry, 3, it was proposed, not ended"])
    with pytest.raises(BundleError, match="no head"):
        bundle_of(database, incident_id, NotedHead.of(f"1:{'ab' * 16}"))


def test_head_that_was_shown_on_the_way_cuts_nothing_off(database: Database) -> None:
    ledger, incident_id = Ledger(database), judged(database)
    entries = ledger.read.now(incident_id)
    proposal = fold(entries).proposal
    assert proposal is not None
    shown = {1: entries[0].hash}  # by the last entry that each of them proves
    yes, cleared = Approved(proposal.digest, "it is drained"), AlertCleared("pagerduty", "PD9")
    way: tuple[IncidentEvent, ...] = (yes, StepStarted(1, 1, BOOT), END, cleared)
    for end, event in enumerate(way, len(entries) + 1):
        keep(ledger, incident_id, (event,))
        shown[end] = ledger.head.now(HOUSE).noted
        for proven, head in shown.items() if end > len(entries) + 2 else ():
            found = looked_at(bundle_of(database, incident_id, NotedHead.of(head)), head)
            says = f"entries {proven + 1} to {end} are later than the head that was given: give that of the end"
            assert (found.broken, found.unproven) == ([], [says] if proven < end else [])


def test_forged_case_of_any_size_is_left_out_in_little_memory(tmp_path: Path) -> None:
    with ledger_in(tmp_path) as database:
        incident_id = judged(database)
        swell = text("UPDATE kept_cases SET body = :body")
        with database.writing() as connection:
            connection.execute(swell, {"body": zlib.compress(b" " * 200 * 1024 * 1024)})
    path = tmp_path / "b.jsonl"
    with Measured(tmp_path) as program:
        said, status, megabytes = program.run("incidents", "export", incident_id, "-o", str(path))
    assert status == 0, said
    assert megabytes <= 150
    with path.open("rb") as file:
        assert "no case is kept with it" in str(verified(file, library()).unproven)
    with ledger_in(tmp_path) as database:
        with database.writing() as connection:
            connection.execute(swell, {"body": os.urandom(2 * 1024 * 1024)})
        with pytest.raises(LedgerUnavailable, match="larger than any that is kept"):
            bundle_of(database, incident_id)


def test_case_that_was_exchanged_in_the_database_is_nobodys(tmp_path: Path, database: Database) -> None:
    incident_id, other = judged(database), judged(database, replace(NODE, name="another"))
    digest = next(e.event.case for e in Ledger(database).read.now(incident_id) if isinstance(e.event, Triaged))
    with database.writing() as connection:
        exchanged = "UPDATE kept_cases SET body = (SELECT body FROM kept_cases WHERE incident = :other)"
        connection.execute(text(f"{exchanged} WHERE incident = :id"), {"other": other, "id": incident_id})
    for use in (
        lambda: CaseStore(database).text.now(incident_id, digest),
        lambda: bundle_of(database, incident_id),
        lambda: stored_case({"ZOMBIE_STATE_DIR": str(tmp_path)}, incident_id),
    ):
        with pytest.raises(LedgerUnavailable, match="not the one that its entry names"):
            use()
    assert any("is damaged: it is not the one that its entry names" in str(each) for each in audit(database).broken)
    assert "not the one that its entry names" in report_data(database, incident_id, library(), BEGAN_AT).no_why
    with database.writing() as connection:
        connection.execute(text("UPDATE kept_cases SET body = 7 WHERE incident = :id"), {"id": incident_id})
    with pytest.raises(LedgerUnavailable, match="damaged"):
        bundle_of(database, incident_id)


def test_broken_record_is_not_exported(database: Database) -> None:
    incident_id = ended(database)
    with database.writing() as connection:
        connection.execute(text("DROP TRIGGER entries_stay_as_they_are"))
        connection.execute(text("UPDATE entries SET \"by\" = 'slack:T1/U666' WHERE kind = 'Approved'"))
    with pytest.raises(BundleError, match=f"{incident_id}/4"):
        bundle_of(database, incident_id)


def sealed_anew(connection: Connection, stream: str, change: Callable[[dict[str, Any]], None], fewer: int = 0) -> None:
    """Write an incident's chain anew, without its last entries, as whoever changes the database would."""
    asked = text("SELECT * FROM entries WHERE stream = :stream ORDER BY seq")
    rows = [dict(row._mapping) for row in connection.execute(asked, {"stream": stream})]
    connection.execute(text("DROP TRIGGER entries_stay"))
    connection.execute(text("DELETE FROM entries WHERE stream = :stream"), {"stream": stream})
    before = NOTHING_BEFORE
    for row in rows[: len(rows) - fewer]:
        change(row)
        before = row["hash"] = entry_hash(before, *(row[name] for name in FIELDS[:-1]))
        connection.execute(ENTRIES.insert(), row)


def by_another(connection: Connection, stream: str) -> None:
    def change(row: dict[str, Any]) -> None:
        row["by"] = "slack:T1/U666" if row["kind"] == "Approved" else row["by"]

    sealed_anew(connection, stream, change)


def dated_ahead(connection: Connection, stream: str) -> None:
    """Its notes are all older than its first entry, so that whoever looks from there on sees none."""
    sealed_anew(connection, stream, lambda row: row.update(at="2040-01-01T00:00:00.000Z"))


def cut_off(connection: Connection, stream: str) -> None:
    sealed_anew(connection, stream, lambda _: None, fewer=1)


def put_behind(connection: Connection, stream: str, event: IncidentEvent) -> None:
    """Append an entry whose hash fits, and nothing else that the program writes with it."""
    insert_entry(connection, chained_entry(stream, *head_of(connection, stream), event, "slack:T1/U666"))


def approved(connection: Connection, stream: str) -> None:
    proposal = fold(read_stream(connection, stream)).proposal
    assert proposal is not None
    put_behind(connection, stream, Approved(proposal.digest, "it is drained"))


def cleared(connection: Connection, stream: str) -> None:
    put_behind(connection, stream, AlertCleared("pagerduty", "PD9"))


def unnoted(connection: Connection, stream: str) -> None:
    """`house` tells of another incident where it noted the step."""

    def change(row: dict[str, Any]) -> None:
        row["body"] = row["body"].replace(stream, "another") if row["body"].endswith('"seq":5}') else row["body"]

    sealed_anew(connection, HOUSE, change)


@pytest.mark.parametrize(
    ("put_on_record", "forge", "says"),
    [
        (ended, by_another, "/4: it is not the entry that house noted, in house/2"),
        (ended, dated_ahead, "/1: it is not the entry that house noted, in house/1"),
        (ended, cut_off, "/6: it is not the entry that house noted, in house/4"),
        (ended, cleared, "/7: the end that house noted is entry 6"),
        (judged, approved, "/4: house has no note of it"),
        (ended, unnoted, "/5: house has no note of it"),
    ],
)
def test_forged_story_is_neither_exported_nor_shown_with_a_genuine_head(
    put_on_record: Callable[[Database], str], forge: Callable[[Connection, str], None], says: str, database: Database
) -> None:
    incident_id = put_on_record(database)
    with database.writing() as connection:
        forge(connection, incident_id)
        connection.execute(text("DELETE FROM kept_cases"))  # a report without readings explains nothing: quicker
    with pytest.raises(BundleError, match=re.escape(f"The record is broken: {incident_id}{says}.")):
        bundle_of(database, incident_id)
    data = report_data(database, incident_id, library(), BEGAN_AT)
    assert (data.head, f"{incident_id}{says}" in data.broken) == ("", True)


def test_kept_case_goes_with_its_incident_or_when_it_is_old(
    monkeypatch: pytest.MonkeyPatch, database: Database
) -> None:
    incident_id = judged(database)
    digest = next(e.event.case for e in Ledger(database).read.now(incident_id) if isinstance(e.event, Triaged))
    cases = CaseStore(database)
    kept = cases.text.now(incident_id, digest)
    assert kept is not None
    assert cases.keep.now(incident_id, read_case(kept, "here", "n")) == digest, "twice is once"
    assert cases.forget.now(timedelta(days=2)) == 0
    assert (audit(database).broken, audit(database).gone) == ((), 0)
    assert (cases.forget.now(-timedelta(days=1), dry_run=True), cases.forget.now(-timedelta(days=1))) == (1, 1)
    assert cases.text.now(incident_id, digest) is None
    assert (audit(database).broken, audit(database).gone) == ((), 1)
    monkeypatch.setattr(case_store, "MOST_BYTES", 20_000)
    noise = Completed("host", "noise", 0, os.urandom(20_000).hex())
    huge = replace(read_case(kept, "here", "n"), runs=(noise,))
    assert cases.keep.now(incident_id, huge) == "", "larger than is kept"


def test_export_names_its_file_by_itself(run: CommandLine, tmp_path: Path) -> None:
    with ledger_in(tmp_path / "state") as database:
        incident_id = ended(database)
    assert run("incidents", "export", incident_id[:8]).out.startswith(f"incident-{incident_id}.jsonl: ")
    assert run("verify", f"incident-{incident_id}.jsonl").status == 0


def test_no_transaction_waits_for_whoever_reads_the_bundle_from_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / "pipe")
    with ledger_in(tmp_path) as database, ThreadPoolExecutor() as beside:
        incident_id = ended(database)

        def read() -> tuple[int, bytes]:
            with pipe.open("rb") as file:
                return database.engine.pool.checkedout(), file.read()  # type: ignore[attr-defined]

        reading = beside.submit(read)
        export(database, incident_id, BEGAN_AT, pipe)
        busy, raw = reading.result()
    assert (busy, looked_at(raw).broken) == (0, [])


def test_what_is_no_bundle_is_said_to_be_none(run: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "b.jsonl"
    newer = json.dumps({"bundle": FORM + 1, "program": "zombie 9\x1b[2J"})
    for raw in (b"", b"\n", b"{}\n", b"[1]\n[2]\n", FOUNDING.read_bytes(), newer.encode() + b"\n{}\n", b"\xff\n" * 3):
        path.write_bytes(raw)
        status, out, err = run("verify", str(path))
        assert status in (1, 2)
        assert "zombie: " in err or "broken: " in out
        assert "\x1b" not in out + err
    assert run("verify", str(tmp_path / "nowhere")).status == 2
    for raw in (b'{"bundle":1}\n{"parts":[{}],"sha256":"x"}\n', b'{"bundle":1}\n' + b"[" * 100_000 + b"\n"):
        path.write_bytes(raw)
        assert run("verify", str(path)).status == 1


def test_entry_of_a_stranger_draws_nothing_on_the_terminal(run: CommandLine, tmp_path: Path) -> None:
    hostile = "x\x1b[2J\u202e"
    row = StoredEntry(hostile, 1, hostile, hostile, hostile, "{}", hostile)
    head = BundleHead(hostile, hostile, hostile, BEGAN_AT)
    path = tmp_path / "b.jsonl"
    path.write_bytes(raw_of(Bundle(head, (row,), (row,), hostile, hostile)))
    status, out, err = run("verify", str(path))
    assert status in (1, 2)
    assert not {"\x1b", "\u202e"} & {*out, *err}
