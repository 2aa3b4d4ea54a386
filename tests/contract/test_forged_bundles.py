"""Whoever has everything but the head that was noted elsewhere forges a bundle, and none of them is called whole."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest

from bot.actions import ACTIONS
from bot.domain.case import read_case
from bot.domain.entry import Head, canonical_body, entry_hash
from bot.domain.errors import BundleError
from bot.domain.fold import fold
from bot.domain.safe_text import safe
from bot.extras.bundles.bundle import MOST_ENTRIES, MOST_LINE, MOST_LINES, MOST_LIST, Bundle
from bot.extras.bundles.verification import BundleFindings
from bot.ledger import Ledger
from bot.ledger.entries import entry_of
from bot.ledger.excerpt import StoredEntry
from bot.surfaces.incidents import incident_text
from bot.view.context import ViewContext
from bot.view.plan_words import PlanWords
from tests.commandline import CommandLine
from tests.record.exporting import NODE, Measured, bundle_of, damage, ended, judged, looked_at, raw_of
from tests.record.ledgers import ledger_in


class Scene(NamedTuple):
    """What a forger has, of two incidents of one record, and the head that the first one's card shows."""

    bundle: Bundle
    other: Bundle
    head: str


Forgery: TypeAlias = Callable[[Scene], Bundle]


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    with ledger_in(tmp_path_factory.mktemp("forged")) as database:
        first = ended(database)
        head = Ledger(database).head.now("house").noted
        second = judged(database, replace(NODE, name="another"))
        return Scene(bundle_of(database, first), bundle_of(database, second), head)


def resealed(rows: Iterable[StoredEntry], after: Head = Head()) -> tuple[StoredEntry, ...]:  # noqa: B008
    """The entries with numbers and hashes that follow each other, as a careful forger makes them."""
    found = list[StoredEntry]()
    for seq, row in enumerate(rows, after.seq + 1):
        before = found[-1].hash if found else after.hash
        digest = entry_hash(before, row.stream, seq, row.at, row.by, row.kind, row.body)
        found.append(row._replace(seq=seq, hash=digest))
    return tuple(found)


def house_of(entries: Iterable[StoredEntry], house: Iterable[StoredEntry], **fields: Any) -> tuple[StoredEntry, ...]:
    """A `house` that notes these entries in place of the genuine ones."""
    by_seq, rows = {entry.seq: entry for entry in entries}, list[StoredEntry]()
    for row in house:
        body = json.loads(row.body)
        if body.get("seq") in by_seq and "head" in body:
            body["head"] = by_seq[body["seq"]].hash
        rows.append(row._replace(body=json.dumps(body, sort_keys=True, separators=(",", ":")), **fields))
    return resealed(rows)


def with_house(bundle: Bundle, house: tuple[StoredEntry, ...], before: str = "") -> Bundle:
    last = f"{house[-1].seq}:{house[-1].hash}" if house else ""
    return replace(bundle, house=house, head=replace(bundle.head, house_before=before, house_head=last))


def all_anew(scene: Scene, **fields: Any) -> Bundle:
    """Every entry and every note written anew, so that nothing in the bundle contradicts anything else."""
    rows = [row._replace(**fields) if row.kind == "Approved" or "at" in fields else row for row in scene.bundle.entries]
    entries = resealed(rows)
    dated = {"at": fields["at"]} if "at" in fields else {}
    forged = with_house(replace(scene.bundle, entries=entries), house_of(entries, scene.bundle.house, **dated))
    by = tuple(row.by for row in entries if row.kind == "Approved")
    return replace(forged, head=replace(forged.head, approvals=by), report=report_of(entries))


def report_of(rows: Iterable[StoredEntry]) -> str:
    """What `incidents show` prints of these entries."""
    entries = tuple(map(entry_of, rows))
    return safe(incident_text(fold(entries), entries, context=ViewContext(words=PlanWords(ACTIONS))))


def noted_after_the_head(scene: Scene) -> Bundle:
    """The genuine house up to the head, and after it the notes of entries that were made up."""
    forged = all_anew(scene, by="slack:T024BE7LD/U666")
    genuine = tuple(scene.bundle.house)
    last = Head(genuine[-1].seq, genuine[-1].hash)
    return with_house(forged, (*genuine, *resealed(forged.house, last)))


def under_a_genuine_house(scene: Scene) -> Bundle:
    """An incident that nobody noted, over notes that are all genuine and tell of others."""
    theirs, mine = scene.other, tuple(scene.bundle.house)
    return with_house(theirs, mine)


def without_beginning(scene: Scene) -> Bundle:
    """The opening is forged, and the slice of house begins after its note."""
    house = tuple(scene.bundle.house)
    entries = resealed(row._replace(by="slack:T024BE7LD/U666") if row.seq == 1 else row for row in scene.bundle.entries)
    forged = replace(scene.bundle, entries=entries, report=report_of(entries))
    return with_house(forged, house[-1:], f"{house[-2].seq}:{house[-2].hash}")


def dated_back(scene: Scene) -> Bundle:
    """Only the yes is of another day."""
    at = "2020-01-01T00:00:00.000Z"
    rows = resealed(row._replace(at=at) if row.kind == "Approved" else row for row in scene.bundle.entries)
    return with_house(replace(scene.bundle, entries=rows), house_of(rows, scene.bundle.house))


def noted_late(scene: Scene) -> Bundle:
    """An incident of another year, which the house of today notes."""
    rows = resealed(row._replace(at="2019-01-01T00:00:00.000Z") for row in scene.bundle.entries)
    forged = replace(scene.bundle, entries=rows, report=report_of(rows))
    return with_house(forged, house_of(rows, scene.bundle.house))


def cut_off(scene: Scene) -> Bundle:
    """Its end is missing, and so is the note of it."""
    rows = scene.bundle.entries[:-1]
    forged = replace(scene.bundle, entries=rows, report=report_of(rows))
    return with_house(forged, tuple(scene.bundle.house)[:-1])


def with_value(scene: Scene, kind: str, path: Sequence[str | int], value: Any) -> Bundle:
    """A value of an entry is changed, and everything else made to fit as far as that can be."""

    def changed(row: StoredEntry) -> StoredEntry:
        body = held = json.loads(row.body)
        for key in path[:-1]:
            held = held[key]
        held[path[-1]] = value
        return row._replace(body=canonical_body(body))

    rows = resealed(changed(row) if row.kind == kind else row for row in scene.bundle.entries)
    return with_house(replace(scene.bundle, entries=rows), house_of(rows, scene.bundle.house))


def with_case(scene: Scene, body: str) -> Bundle:
    """A case of that body, with a content hash that fits, which the verdict's entry names."""
    digest = hashlib.sha256(body.encode()).hexdigest()
    rows = resealed(row._replace(body=row.body.replace(scene.bundle.head.case, digest)) for row in scene.bundle.entries)
    text = f'{body}{{"sha256":"{digest}"}}\n'
    forged = with_house(replace(scene.bundle, entries=rows, case=text), house_of(rows, scene.bundle.house))
    return replace(forged, head=replace(forged.head, case=digest), report=report_of(rows))


def body_of_case(scene: Scene) -> str:
    return (scene.bundle.case or "").removesuffix("\n").rpartition("\n")[0] + "\n"


def after_the_end(scene: Scene) -> Bundle:
    """An entry that may stand after an end, which `house` would note as an end again."""
    cleared = scene.bundle.entries[-1]._replace(kind="AlertCleared", body='{"form":1,"id":"x","source":"y"}')
    rows = resealed((*scene.bundle.entries, cleared))
    return replace(scene.bundle, entries=rows, report=report_of(rows))


def noted_by_tomorrow(scene: Scene, body: str = "{}") -> Bundle:
    house = tuple(scene.bundle.house)
    return with_house(scene.bundle, resealed((*house, house[-1]._replace(kind="OfTomorrow", body=body))))


def cut_and_resealed(scene: Scene, at: int) -> Bundle:
    kept = tuple(row for row in scene.bundle.entries if row.seq != at)
    return replace(scene.bundle, entries=resealed(kept))


def readings_of_another(scene: Scene) -> Bundle:
    return replace(scene.bundle, case=scene.other.case)


def readings_changed(scene: Scene) -> Bundle:
    case = read_case(scene.bundle.case or "", "here", "n")
    return replace(scene.bundle, case=replace(case, runs=case.runs[1:]).text())


def reordered(scene: Scene) -> Bundle:
    first, second, third, *rest = scene.bundle.entries
    return replace(scene.bundle, entries=(first, third, second, *rest))


def of_another_program(scene: Scene) -> Bundle:
    head = replace(scene.bundle.head, program="zombie 0.0.1")
    return replace(scene.bundle, head=head, report="Nothing was wrong.")


FORGERIES: dict[str, Forgery] = {
    "an entry dropped, its chain made anew": partial(cut_and_resealed, at=2),
    "the last entry dropped": lambda scene: replace(scene.bundle, entries=scene.bundle.entries[:-1]),
    "two entries in another order": reordered,
    "readings of another incident": readings_of_another,
    "readings of which one is left out": readings_changed,
    "readings left out": lambda scene: replace(scene.bundle, case=None),
    "house left out": lambda scene: with_house(scene.bundle, ()),
    "house cut in front": without_beginning,
    "house cut behind": lambda scene: with_house(scene.bundle, tuple(scene.bundle.house)[:-1]),
    "a note taken out of house": lambda scene: with_house(
        scene.bundle, resealed(row for row in scene.bundle.house if '"Approved"' not in row.body)
    ),
    "another incident's house": lambda scene: with_house(scene.bundle, tuple(scene.other.house)),
    "an incident that house does not know": under_a_genuine_house,
    "two bundles' entries": lambda scene: replace(scene.bundle, entries=(*scene.bundle.entries, *scene.other.entries)),
    "a time changed": lambda scene: replace(
        scene.bundle, entries=resealed(row._replace(at="2020-01-01T00:00:00.000Z") for row in scene.bundle.entries)
    ),
    "all written anew": partial(all_anew, by="slack:T024BE7LD/U666"),
    "all dated back": partial(all_anew, at="2020-01-01T00:00:00.000Z"),
    "a yes dated back": dated_back,
    "an incident noted years after it is dated": noted_late,
    "its end cut off, and the note of it": cut_off,
    "an entry after the end": after_the_end,
    "a note that nobody here can read": noted_by_tomorrow,
    "a note that is not JSON": partial(noted_by_tomorrow, body='{"x":NaN}'),
    "a note with a number that is none": partial(noted_by_tomorrow, body='{"x":1e999}'),
    "noted after the head": noted_after_the_head,
    "a yes by nobody": lambda scene: all_anew(scene, by=""),
    "another program's": of_another_program,
    "another head": lambda scene: replace(scene.bundle, head=replace(scene.bundle.head, cause="cpu-steal")),
}


def is_whole(found: BundleFindings) -> bool:
    return not found.broken and not found.unproven


def test_genuine_bundle_is_whole_with_the_head_and_without(scene: Scene) -> None:
    assert is_whole(looked_at(scene.bundle, scene.head))
    found = looked_at(scene.bundle)
    assert is_whole(found)
    assert "compared with no head" in " ".join(found.notes)


@pytest.mark.parametrize("forgery", FORGERIES)
def test_forged_bundle_is_not_whole(scene: Scene, forgery: str) -> None:
    assert not is_whole(looked_at(FORGERIES[forgery](scene), scene.head))


@pytest.mark.parametrize(
    ("forgery", "says"),
    [
        ("a yes dated back", "is dated back: 2020-01-01T00:00:00.000Z, and the entry before it"),
        ("an incident noted years after it is dated", "it is dated 2019-01-01T00:00:00.000Z, and house noted it 2"),
        ("its end cut off, and the note of it", "nothing says that entry 5 was the last"),
        ("an entry after the end", "the end that house notes is entry 6, and it has 7"),
        ("a yes by nobody", "its author is not written as the ledger writes authors"),
        ("a note that nobody here can read", "entry house/5: An entry of kind 'OfTomorrow'"),
        ("a note that is not JSON", "entry house/5: its body is not written as the ledger writes bodies"),
        ("a note with a number that is none", "entry house/5: its body is not written as the ledger writes bodies"),
    ],
)
def test_forgery_is_found_without_a_head(scene: Scene, forgery: str, says: str) -> None:
    found = looked_at(FORGERIES[forgery](scene))
    assert any(says in each for each in (*found.broken, *found.unproven)), found


def test_bundle_of_another_program_is_not_called_broken(scene: Scene) -> None:
    found = looked_at(of_another_program(scene), scene.head)
    assert (found.broken, len(found.unproven)) == ([], 1)
    assert "zombie 0.0.1 wrote it, and its report has other words" in found.unproven[0]


def test_genuine_bundle_of_when_the_clock_was_set_back_is_not_called_broken(scene: Scene) -> None:
    earlier = resealed(row._replace(at="2019-01-01T00:00:00.000Z") for row in scene.bundle.entries)
    forged = replace(scene.bundle, entries=earlier, report=report_of(earlier))
    first, *rest = house_of(earlier, scene.bundle.house, at="2026-11-21T00:00:00.000Z")
    rows = resealed((first, *rest), Head(4, "ab" * 32))
    found = looked_at(with_house(forged, rows, f"4:{'ab' * 32}"))
    assert found.broken == []
    assert all("the clock was set back, or it is forged" in each for each in found.unproven), found.unproven
    assert found.unproven


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("Triaged", ("verdict", "slowness"), 10**400),
        ("Triaged", ("verdict", "took_seconds"), 1e300),
        ("Triaged", ("taken_at",), "9999-12-31T23:59:59+00:00"),
        ("PlanProposed", ("plan", "steps", 0, "limit_seconds"), 1e300),
        ("PlanProposed", ("approvals_needed",), 2**70),
        ("AlertReceived", ("alert", "fired_at"), "9999-12-31T23:59:59+00:00"),
        ("Approved", ("reason",), "x" * 200_000),
        ("Escalated", ("sentence",), [[]]),
    ],
)
def test_value_that_nobody_can_reckon_with_is_a_finding(
    scene: Scene, kind: str, path: tuple[str | int, ...], value: Any
) -> None:
    assert not is_whole(looked_at(with_value(scene, kind, path, value), scene.head))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("heat", "percents"), [[]]),
        (("heat", "spans"), []),
        (("heat", "hot"), 2**60),
        (("plan", "ends", "rows", 0, "age"), 2**62),
    ],
)
def test_what_cannot_be_shown_is_broken(scene: Scene, path: tuple[str | int, ...], value: Any) -> None:
    found = looked_at(with_value(scene, "Triaged", ("verdict", *path), value))
    assert [each for each in found.broken if each.startswith("its entries cannot be shown: ")], found


def test_case_that_other_forms_of_secrets_cut_is_the_case_behind_the_verdict(scene: Scene) -> None:
    body = body_of_case(scene)
    assert '"stderr":"' in body
    found = looked_at(with_case(scene, body.replace('"stderr":"', '"stderr":"password=hunter2 ', 1)))
    assert (found.broken, found.unproven) == ([], [])
    assert any("the verdict, derived again" in each for each in found.holds)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ('{"x":"\\ud800"}', "half a letter"),
        ('{"x":' + "[" * 900 + "]" * 900 + "}", "nested too deeply"),
        ('{"within_seconds":' + "9" * 400 + "}", "a larger number than any"),
        ('{"within_seconds":1e300}', "damaged"),
    ],
)
def test_case_that_no_recorder_writes_is_broken(scene: Scene, value: str, says: str) -> None:
    first, _, rest = body_of_case(scene).partition("\n")
    draining = json.dumps(json.loads(first)["draining"], sort_keys=True, separators=(",", ":"))
    assert draining in first
    (broken,) = looked_at(with_case(scene, f"{first.replace(draining, value)}\n{rest}")).broken
    assert (broken.startswith("the case: "), says in broken) == (True, True), broken


def test_more_texts_than_the_entries_name_are_one_finding(scene: Scene) -> None:
    mine = lines_of(scene.bundle)
    mine[0] = mine[0].replace('"bundle":1', '"bundle":2')
    found = looked_at(sealed([*mine[:-1], *['{"kept":"x"}'] * 20_000, mine[-1]]))
    assert found.broken == ["what was kept: there is more than its entries name"]


@pytest.mark.parametrize("forgery", ["all written anew", "all dated back"])
def test_only_the_head_finds_a_forgery_that_agrees_with_itself(scene: Scene, forgery: str) -> None:
    found = looked_at(FORGERIES[forgery](scene), scene.head)
    assert [each.partition(" is not in it")[0] for each in found.broken] == [f"house: the head {scene.head}"]


def test_notes_after_the_head_prove_nothing(scene: Scene) -> None:
    found = looked_at(noted_after_the_head(scene), scene.head)
    assert not is_whole(found)
    assert not any("is not in it" in each for each in found.broken), "the head itself is genuine"


def test_forgery_that_agrees_with_itself_is_told_as_compared_with_nothing(scene: Scene) -> None:
    found = looked_at(all_anew(scene, by="slack:T024BE7LD/U666"))
    assert (found.broken, found.unproven) == ([], [])
    assert any("without which a whole forgery agrees" in note for note in found.notes)


def test_head_of_before_the_end_does_not_prove_the_end(scene: Scene) -> None:
    opening = next(iter(scene.bundle.house))
    found = looked_at(scene.bundle, Head(opening.seq, opening.hash).noted)
    assert (found.broken, len(found.unproven)) == ([], 1)
    assert "entries 2 to 6 are later than the head" in found.unproven[0]


def test_slice_that_begins_after_the_opening_says_so(scene: Scene) -> None:
    house = tuple(scene.bundle.house)
    before = f"{house[0].seq}:{house[0].hash}"
    found = looked_at(with_house(scene.bundle, house[1:], before))
    assert (found.broken, len(found.unproven)) == ([], 1)
    assert "begin after its opening" in found.unproven[0]


def lines_of(bundle: Bundle) -> list[str]:
    return raw_of(bundle).decode().split("\n")[:-2]


def sealed(lines: Iterable[str]) -> bytes:
    """The lines with a list of hashes that fits, whatever they hold."""
    every = [line.encode() for line in lines]
    parts = [{"part": "x", "pieces": {}, "sha256": hashlib.sha256(line).hexdigest()} for line in every]
    inner = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    closing = f'{{"parts":{inner},"sha256":"{hashlib.sha256(inner.encode()).hexdigest()}"}}'
    return b"".join(line + b"\n" for line in (*every, closing.encode()))


def doubled(line: str) -> str:
    return line.replace('"by":', '"by":"terminal:mallory","by":', 1)


MALFORMED: dict[str, tuple[Callable[[list[str], list[str]], list[str]], str]] = {
    "a key twice": (lambda mine, _: [mine[0], doubled(mine[1]), *mine[2:]], "line 2: a key stands twice"),
    "two bundles in one": (lambda mine, other: [*mine, *other], "there is a second bundle"),
    "entries after the report": (lambda mine, other: [*mine, other[1]], "entry stands too late"),
    "a second report": (lambda mine, _: [*mine, mine[-1]], "there is a second report"),
    "two kinds in a line": (lambda mine, _: [*mine[:-1], mine[-1][:-1] + ',"case":""}'], "of an unknown kind"),
    "an unknown line": (lambda mine, _: [*mine, '{"x":1}'], "of an unknown kind"),
    "no entries": (lambda mine, _: [mine[0], mine[-1]], "no entries"),
    "no entries before house": (
        lambda mine, _: [mine[0], *(line for line in mine if line.startswith('{"house"')), mine[-1]],
        "line 2: there are no entries before it",
    ),
    "no report": (lambda mine, _: mine[:-1], "no report"),
    "deeply nested": (lambda mine, _: [*mine[:-1], '{"report":' + "[" * 90_000 + "]" * 90_000 + "}"], "too deeply"),
    "many values": (lambda mine, _: [*mine[:-1], '{"report":[' + "[]," * 100_000 + "0]}"], "more than 100,000 values"),
    "no number": (lambda mine, _: [*mine[:-1], '{"report":NaN}'], "NaN is not a number"),
    "a huge number": (lambda mine, _: [*mine[:-1], '{"report":' + "9" * 400 + "}"], "a larger number than any"),
    "half a letter": (lambda mine, _: [*mine[:-1], '{"report":"\\ud83d"}'], "half a letter"),
}


@pytest.mark.parametrize("what", MALFORMED)
def test_malformed_bundle_is_refused_and_its_line_named(scene: Scene, what: str) -> None:
    change, says = MALFORMED[what]
    raw = sealed(change(lines_of(scene.bundle), lines_of(scene.other)))
    assert damage(raw) == ()
    with pytest.raises(BundleError, match=says):
        looked_at(raw)


def test_body_that_swells_is_refused(scene: Scene) -> None:
    first, *rest = scene.bundle.entries
    with pytest.raises(BundleError, match="the body of an entry has more than 100,000 values"):
        looked_at(replace(scene.bundle, entries=(first._replace(body='{"x":[0' + ",0" * 100_000 + "]}"), *rest)))


def ever_more(scene: Scene, body: str, entries: int) -> tuple[StoredEntry, ...]:
    """The incident, with as many more entries of that body."""
    more = scene.bundle.entries[-1]._replace(kind="AlertCleared", body=body)
    return resealed((*scene.bundle.entries, *[more] * entries))


@pytest.mark.parametrize(
    ("body", "entries", "says"),
    [
        ("{}", MOST_ENTRIES, "the incident has more than 10,000 entries"),
        ('{"x":[' + "[]," * 49_000 + "0]}", 10, "its entries have more than 400,000 values"),
        ('{"x":"' + "x" * 1_000_000 + '"}', 9, "its entries have more than 8 MiB"),
    ],
)
def test_incident_too_large_for_a_reader_is_neither_written_nor_read(
    scene: Scene, body: str, entries: int, says: str
) -> None:
    mine, rows = lines_of(scene.bundle), ever_more(scene, body, entries)
    with pytest.raises(BundleError, match=says):
        raw_of(replace(scene.bundle, entries=rows))
    written = [json.dumps({"entry": row._asdict()}, sort_keys=True, separators=(",", ":")) for row in rows]
    with pytest.raises(BundleError, match=says):
        looked_at(sealed([mine[0], *written, mine[-1]]))


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"\x1f\x8b\x08" + b"\0" * 50, "compressed (gzip)"),
        (b"PK\x03\x04" + b"\0" * 50, "compressed (zip)"),
        (b'{"bundle":1,"x":"' + b"x" * MOST_LIST + b'"}\n', "line 1 has more than 32 MiB"),
        (b'{"bundle":1}\n"' + b"x" * MOST_LINE + b'"\n{}\n', "line 2 has more than 8 MiB"),
        (b'{"bundle":1}' + b"\n" * (MOST_LINES + 1), f"more than {MOST_LINES:,} lines"),
        (b'{"bundle":3,"program":"zombie 9"}\n{}\n', "form 3, by zombie 9; this program reads forms up to 2"),
        (b'{"bundle":0}\n{}\n', "It is not a bundle"),
    ],
)
def test_bomb_and_other_forms_are_refused_by_name(run: CommandLine, tmp_path: Path, raw: bytes, says: str) -> None:
    path = tmp_path / "b.jsonl"
    path.write_bytes(raw)
    for words in (("verify",), ("audit", "verify")):
        status, _, err = run(*words, str(path))
        assert (status, says in err) == (2, True)


def swollen(scene: Scene) -> Bundle:
    """Megabytes of notes about other incidents, as a long open incident of a large fleet has."""
    house = list(scene.bundle.house)
    body = json.dumps({"digest": "ab" * 32, "form": 1, "policy": "x" * 500}, sort_keys=True, separators=(",", ":"))
    other = house[-1]._replace(kind="PolicyChanged", body=body)
    return with_house(scene.bundle, resealed([*house, *[other] * 4_000]))


def one_large_reading(scene: Scene) -> bytes:
    """One command said as much as a line of a bundle holds, and the verdict's entry names that case."""
    case = read_case(scene.bundle.case or "", "here", "n")
    first, *rest = case.runs
    said = "x y=1 z:2 [3]\n" * ((MOST_LINE - 1_000_000) // 16)
    large = replace(case, runs=(replace(first, stdout=said), *rest)).text()
    digest = read_case(large, "here", "n").digest
    rows = resealed(row._replace(body=row.body.replace(scene.bundle.head.case, digest)) for row in scene.bundle.entries)
    forged = with_house(replace(scene.bundle, entries=rows, case=large), house_of(rows, scene.bundle.house))
    return raw_of(replace(forged, head=replace(forged.head, case=digest), report=report_of(rows)))


def long_reason(scene: Scene, reason: str) -> bytes:
    """Somebody gave a reason of eight megabytes."""
    rows = with_value(scene, "Approved", ("reason",), reason).entries
    lines = [json.dumps({"entry": row._asdict()}, sort_keys=True, separators=(",", ":")) for row in rows]
    mine = lines_of(scene.bundle)
    return sealed([mine[0], *lines, *mine[1 + len(lines) :]])


def with_report(scene: Scene, report: str) -> bytes:
    return sealed([*lines_of(scene.bundle)[:-1], json.dumps({"report": report})])


def with_large_case(scene: Scene, case: str) -> bytes:
    mine = lines_of(scene.bundle)
    return sealed([*mine[:-2], json.dumps({"case": case}, ensure_ascii=False), mine[-1]])


def many_values(scene: Scene) -> bytes:
    """Eight megabytes of entries that are little but brackets, each with fewer values than an entry may have."""
    mine, rows = lines_of(scene.bundle), ever_more(scene, '{"x":[' + "[]," * 49_000 + "0]}", 52)
    written = [json.dumps({"entry": row._asdict()}, sort_keys=True, separators=(",", ":")) for row in rows]
    return sealed([mine[0], *written, mine[-1]])


EMOJI = "\U0001f600"
BIG: dict[str, Callable[[Scene], tuple[bytes, int]]] = {
    "house": lambda scene: (raw_of(swollen(scene)), 0),
    "a reading": lambda scene: (one_large_reading(scene), 0),
    # A letter of four bytes makes each letter of its text take as many.
    "a case with an emoji": lambda scene: (with_large_case(scene, EMOJI + "a b\n" * (MOST_LINE // 5 - 50)), 2),
    "a report with an escaped emoji": lambda scene: (
        with_report(scene, EMOJI + "a b " * (MOST_LINE // 4 - 50)),
        2,
    ),
    "a reason": lambda scene: (long_reason(scene, "aa " * 2_600_000), 1),
    "a reason with an emoji": lambda scene: (long_reason(scene, EMOJI + "aa " * 600_000), 1),
    "values of entries": lambda scene: (many_values(scene), 2),
    "parts": lambda _: (b'{"bundle":1}\n{"parts":[' + b"{}," * 2_700_000 + b'{}],"sha256":"' + b"0" * 64 + b'"}\n', 1),
}


def of_a_part(name: bytes, pieces: bytes = b"", line: bytes = b'{"report":""}') -> bytes:
    """A bundle whose list of hashes says of its second line what is nobody's."""
    head = b'{"bundle":1}'
    parts = (
        (b"the head", b"", hashlib.sha256(head).hexdigest().encode()),
        (name, pieces, b"0" * 64),
    )
    inner = b"[" + b",".join(b'{"part":"%b","pieces":{%b},"sha256":"%b"}' % part for part in parts) + b"]"
    closing = b'{"parts":%b,"sha256":"%b"}' % (inner, hashlib.sha256(inner).hexdigest().encode())
    return b"\n".join((head, line, closing, b""))


BIG["a part's name with an emoji"] = lambda _: (
    of_a_part(EMOJI.encode() + b"x" * (30 * 2**20)),
    1,
)
BIG["pieces and keys"] = lambda _: (
    of_a_part(
        b"the report",
        b",".join(b'"%d":"0000000000000000"' % number for number in range(900_000)),
        b'{"report":{' + b",".join(b'"%d":0' % number for number in range(700_000)) + b"}}",
    ),
    1,
)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Measured]:
    with Measured(tmp_path_factory.mktemp("state"), "bot.extras.bundles.verification") as program:
        yield program


@pytest.mark.parametrize("what", BIG)
def test_large_bundle_takes_little_memory_also_without_unicode(
    scene: Scene, program: Measured, what: str, tmp_path: Path
) -> None:
    raw, status = BIG[what](scene)
    path = tmp_path / "b.jsonl"
    path.write_bytes(raw)
    said, ended_with, megabytes = program.run("verify", str(path))
    assert (ended_with, "Traceback" in said) == (status, False), said[-600:]
    assert megabytes <= 150


def test_field_that_nobody_here_knows_is_told(scene: Scene) -> None:
    first, *rest = lines_of(scene.bundle)
    raw = sealed([first[:-1] + ',"signed_off_by":"the auditor"}', *rest])
    found = looked_at(raw, scene.head)
    assert (damage(raw), found.broken) == ((), [])
    assert found.unproven == ["the head: its field signed_off_by is not known here, and nothing says that it is right"]
