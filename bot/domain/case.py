"""A case: what a node said in a check, kept so that it can be judged again anywhere.

The text of a case is JSON lines in UTF-8: a head `{"case": 2, …}`, a line `{"asked": …}` for each command, a line
`{"run": …}` for each run, `{"verdict": …}` if it was judged, and last `{"sha256": …}` over all bytes before that line.
The same case is always the same bytes. Form 1 was `{"recording": 1}` and a line for each run, without a hash; it stays
readable.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from bot.domain.batch import Batch
from bot.domain.command import Completed, is_uptime
from bot.domain.errors import CaseError, InventoryError
from bot.domain.json_form import (
    NotOfForm,
    canonical,
    decode_untrusted,
    has_more_values,
    lines_of,
    memory_bytes,
    read,
    to_json_types,
)
from bot.domain.mute import Mute
from bot.domain.node import valid_name
from bot.domain.safe_text import one_line, redacted, redacted_text, safe
from bot.domain.secret_forms import SecretTable, table

FORM = 2
MOST_VALUES = 200_000  # of JSON in a case, about: a large node's has ten thousand, and each takes a hundred bytes
MOST_ROOM = 32 * 1024 * 1024  # bytes of memory of its text, of which reading takes a few copies; a large node's: 0.5 MB
NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)  # form 1 had no time
_HOW_TO_RECORD = "Record a case with: zombie check NODE --record DIR"
_AGAIN = "Copy it again from where it was recorded, or record the node again: zombie check NODE --record DIR"


@dataclass(frozen=True, slots=True)
class RecordedCommand:
    """A command of the batch: the argument lists that were tried in order, and how many times it looked."""

    probe: str
    name: str
    looks: int
    argv: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class NotReached:
    """How the connection failed: the class of `Unreachable`, its sentence, and what to try."""

    kind: str
    sentence: str
    try_next: str = ""


@dataclass(frozen=True, slots=True)
class RecordedVerdict:
    """The part of a verdict that a case keeps; `plan` is its plan's digest, empty if it had no plan."""

    status: str
    cause: str = ""
    confidence: str = ""
    plan: str = ""
    summary: str = ""
    suspects: tuple[str, ...] = ()

    def differs_from(self, now: RecordedVerdict) -> tuple[str, ...]:
        """Return how another verdict differs, a short text for each difference; figures in sentences may differ."""
        pairs = {name: (getattr(self, name), getattr(now, name)) for name in ("status", "cause", "confidence", "plan")}
        return tuple(
            f"{name}: {_short_value(was)} → {_short_value(is_)}" for name, (was, is_) in pairs.items() if was != is_
        )


@dataclass(frozen=True, slots=True)
class CaseHeader:
    """What a case says about itself.

    Shape: `samples` are the window's seconds. `environment` describes the machine and system, as far as read. Plans and
    an incident's cost also depend on `labels` and `draining`. `playbook_digest` is `Playbook.digest`.
    """

    node: str
    taken_at: datetime = NO_TIME
    samples: int = 5
    program: str = ""
    playbook: str = ""
    playbook_version: int = 0
    playbook_digest: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    draining: Mapping[str, Any] = field(default_factory=dict)
    unreachable: NotReached | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """What a node said in a check.

    Shape: `form` is the form of the text it was read from, `read_as` that text's content hash; empty where it was made
    or changed here. `muted` are the causes found muted when an incident's verdict was recorded; the text has none.
    """

    head: CaseHeader
    runs: tuple[Completed, ...] = ()
    asked: tuple[RecordedCommand, ...] = ()
    judged: RecordedVerdict | None = None
    form: int = FORM
    muted: tuple[Mute, ...] = ()
    read_as: str = field(default="", init=False, compare=False, repr=False)

    @property
    def probes(self) -> frozenset[str]:
        """The probes that the node was asked; empty if it could not be reached."""
        return frozenset((*(asked.probe for asked in self.asked), *(run.probe for run in self.runs)))

    def text(self) -> str:
        """Return the case as its file holds it, without secrets; equal cases have equal texts."""
        body = "".join(line + "\n" for line in self._lines())
        return body + canonical({"sha256": _hash(body)}) + "\n"

    @property
    def digest(self) -> str:
        """The content hash: SHA-256, in hex, over the text without its last line.

        Shape: of the text it was read from: to write it again could cut more, by forms of secrets that came since.
        """
        return self.read_as or _hash_of_lines(self._lines())

    def _lines(self) -> Iterator[str]:
        clean: dict[str, Any] = redacted(to_json_types(self.head))
        yield canonical({"case": FORM} | clean | {"node": self.head.node})  # the inventory's name is not secret
        for asked in sorted(self.asked, key=lambda asked: (asked.probe, asked.name)):
            yield _asked_line(asked, table())
        for run in sorted(self.runs, key=lambda run: (run.probe, run.name, run.look)):
            took = None if run.took is None else run.took.total_seconds()
            yield canonical({"run": asdict(without_secrets(run)) | {"took": took}})
        if self.judged is not None:
            yield canonical({"verdict": redacted(to_json_types(self.judged))})


@functools.lru_cache(maxsize=256)  # the same for every node, and searched for secrets as long as what a node says
def _asked_line(asked: RecordedCommand, _: SecretTable) -> str:
    return canonical({"asked": redacted(asdict(asked))})


def without_secrets(run: Completed) -> Completed:
    """Return a run with its secrets removed, as a case keeps it; where whole lines went with them, it is cut."""
    stdout = redacted_text(run.stdout)
    is_cut = run.cut or stdout.count("\n") < run.stdout.count("\n")
    return replace(run, stdout=stdout, stderr=redacted_text(run.stderr), cut=is_cut)


def asked_by(batch: Batch) -> tuple[RecordedCommand, ...]:
    """Return the commands of a batch, as a case keeps them."""
    looks: dict[tuple[str, str], int] = {}
    commands = {(question.probe, question.command.name): question.command for question in batch.questions}
    for question in batch.questions:
        key = (question.probe, question.command.name)
        looks[key] = looks.get(key, 0) + 1
    return tuple(
        RecordedCommand(probe, name, looks[probe, name], tuple(argv for argv, _ in batch.ways(command)))
        for (probe, name), command in commands.items()
    )


def read_case(text: str, where: str, name: str, most_room: int = MOST_ROOM, muted: tuple[Mute, ...] = ()) -> Case:
    """Return the case in a text; `where` names it in errors, `name` is the node's name if the text has none.

    Shape: `most_room` is how many bytes of memory the text may take. `muted` are those of the verdict recorded with it:
    without them another verdict comes out of it.

    Raises: CaseError, which names the case and, if it was changed or cut short, its content hash.
    """
    try:
        case = _decoded_case(text, where, name, most_room)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, InventoryError) as error:
        said = one_line(str(error), 160) or type(error).__name__
        raise CaseError(f"{where} is damaged: {said}.", _AGAIN) from error
    object.__setattr__(case, "muted", muted)  # a copy would no longer know the text that it was read from
    return case


def _decoded_case(text: str, where: str, name: str, most_room: int) -> Case:
    if memory_bytes(text) > most_room:
        raise NotOfForm(f"it takes more than {most_room // 1024 // 1024} MiB of memory")
    if has_more_values(text, MOST_VALUES - text.count("\n")):
        raise NotOfForm(f"it has more than {MOST_VALUES:,} values")
    first, _, _ = text.partition("\n")
    try:
        head = decode_untrusted(first, MOST_VALUES, most_room)
    except json.JSONDecodeError as error:
        raise CaseError(f"{where} is not a case: its first line is not JSON.", _HOW_TO_RECORD) from error
    if not isinstance(head, dict) or not {"case", "recording"} & head.keys():
        raise CaseError(f"{where} is not a case: its first line is not a case's head.", _HOW_TO_RECORD)
    form = head.get("case", head.get("recording"))
    if isinstance(form, int) and form > FORM:
        by = one_line(str(head.get("program") or "a newer zombie"), 40)
        raise CaseError(
            f"{where} is a case of form {form}, by {by}; this program reads forms 1 to {FORM}.",
            "Replay it with the version of zombie that recorded it, or a newer version.",
        )
    if isinstance(form, bool) or form not in (1, FORM) or (form == 1) is not ("recording" in head):
        raise CaseError(f"{where} is a case of an unknown form: {one_line(str(form), 40)}.", _HOW_TO_RECORD)
    if form == 1:
        rows = (decode_untrusted(line, MOST_VALUES, most_room) for line in lines_of(text[len(first) + 1 :]) if line)
        return Case(CaseHeader(valid_name(name)), _safe_runs([read(Completed, row) for row in rows]), form=1)
    return _decoded_second_form(text, where, most_room)


def _decoded_second_form(text: str, where: str, most_room: int) -> Case:
    body, _, last = text.removesuffix("\n").rpartition("\n")
    body += "\n"
    try:
        kept = decode_untrusted(last, MOST_VALUES, most_room)
    except ValueError:
        kept = None
    if not isinstance(kept, dict) or kept.keys() != {"sha256"} or not text.endswith("\n"):
        raise CaseError(f"{where} is cut short: its last line, the content hash, is missing.", _AGAIN)
    if kept["sha256"] != (now := _hash(body)):
        raise CaseError(
            f"{where} was changed: its content hash is {now[:16]}…, and it was recorded as "
            f"{one_line(str(kept['sha256'])[:16], 16)}…",
            _AGAIN,
        )
    rows = (decode_untrusted(line, MOST_VALUES, most_room) for line in lines_of(body) if line)
    said = read(CaseHeader, next(rows))
    asked, runs, verdicts = list[RecordedCommand](), list[Completed](), list[RecordedVerdict]()
    for row in rows:  # made smaller one by one: a line may hold more than is kept of it
        ((kind, value), *more) = row.items()
        if more or kind not in ("asked", "run", "verdict") or verdicts:
            raise NotOfForm("a line is neither asked nor run, or stands after the verdict")
        if kind == "asked":
            asked.append(read(RecordedCommand, value))
        elif kind == "run":
            runs.append(read(Completed, value))
        else:
            verdicts.append(read(RecordedVerdict, value))
    valid_name(said.node)
    if not 1 <= said.samples <= 60:
        raise NotOfForm(f"samples is {said.samples}, not 1 to 60")
    case = Case(said, _safe_runs(runs), tuple(asked), verdicts[0] if verdicts else None)
    object.__setattr__(case, "read_as", now)  # not a field to hand in, so that no changed case keeps it
    return case


def _safe_runs(runs: Sequence[Completed]) -> tuple[Completed, ...]:
    if not all(is_uptime(run.started_at_uptime or 0) for run in runs):
        raise NotOfForm("a run's started_at_uptime is not a time that a machine may be up")
    if len({(run.probe, run.name, run.look) for run in runs}) < len(runs):
        raise NotOfForm("a run appears twice in it")
    # Made safe as a transport does it: a case may come from anywhere.
    return tuple(replace(run, stdout=safe(run.stdout), stderr=safe(run.stderr)) for run in runs)


def _hash(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()


def _hash_of_lines(lines: Iterator[str]) -> str:
    found = hashlib.sha256()
    for line in lines:
        found.update(line.encode() + b"\n")
    return found.hexdigest()


def _short_value(value: str) -> str:
    return (value[:12] + "…" if len(value) == 64 else one_line(value, 60)) or "none"
