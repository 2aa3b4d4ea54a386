"""Causes that are written as files: `playbooks/causes/NAME.yaml`, and `causes/` of a site's own folders.

Shape: probes that it needs, what leaves it open, and how grave it can be follow from the file's expressions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeAlias

from bot.causes import _recent
from bot.causes._figures import memory, percent, sentence, span
from bot.domain.cause import Cause, CauseResult, Threshold, Tuning, left_out
from bot.domain.errors import PlaybookError
from bot.domain.json_form import to_json_types
from bot.domain.probe import Snapshot, Unread
from bot.domain.problems import Problems
from bot.domain.protected import services
from bot.domain.safe_text import counted, one_line
from bot.domain.three_valued_logic import Unknown
from bot.domain.verdict import Confidence, Evidence, Finding, HalfRead, RuledOut, Status, Undecided
from bot.library.assembly import threshold_fault, without_decimal_point
from bot.library.checker import check
from bot.library.document import Document, read_document_file
from bot.library.functions import NODE, OF_SEVERAL, Function
from bot.library.kinds import Many, Record, ValueKind, shapes_of
from bot.library.language import CheckedExpression, ExpressionError, Form, Language, Scope, Words
from bot.library.shapes import CauseFile
from bot.probes import PROBES
from bot.probes.cpu import CpuReading, HeldCore
from bot.probes.formats.core_second import CoreSecond
from bot.probes.formats.kernel_line import KernelEvent
from bot.probes.formats.kernel_table import table
from bot.probes.kernel_log import KernelLogReading

_EVER_MINUTES = 1e9
_TOLD = 3  # sentences of a summary; people find the others among the evidence
_LINES = 3  # of the kernel's log, behind one sentence
_EVENTS = Many(Record(KernelEvent))


# --- What the language has for nodes


@dataclass(frozen=True, slots=True)
class HottestCore:
    """The core with the highest mean of a share, and that mean."""

    core: int
    percent: float


def _log_lines(
    snapshot: Snapshot,
    kind: str,
    hours: float | None = None,
    minutes: float | None = None,
    has: str = "",
    until: str = "",
    timed: bool = False,
) -> Any:
    """Lines of the last hours or minutes, or all; one without a time counts, for it may be recent, unless `timed`."""
    log = snapshot.get(KernelLogReading)
    if isinstance(log, Unread):
        return Unknown(f"kernel_log was not read ({log.reason})")
    found = tuple([event for event in log.events if event.kind == kind and has in event.text])
    if until and found:
        # Of each core or device only the last line counts, and only where no line tells that it is over.
        last = {(event.core, event.device): event for event in log.events if event.kind in (kind, until)}
        still = [event for event in last.values() if event.kind == kind and has in event.text]
        found = tuple(sorted(still, key=lambda event: event.since_boot or timedelta(0)))
    if found and (within := _within(snapshot, found, hours, minutes, timed)):
        return within
    asked = _recent.DAY_HOURS if hours is None and minutes is None else (hours or 0) + (minutes or 0) / 60
    short = _recent.short_log(snapshot, "", (kind,), asked)
    return Unknown(short.because, half_read=True) if short else ()


def _within(
    snapshot: Snapshot,
    found: tuple[KernelEvent, ...],
    hours: float | None = None,
    minutes: float | None = None,
    timed: bool = False,
) -> tuple[KernelEvent, ...]:
    if hours is None and minutes is None and not timed:
        return found
    most = _EVER_MINUTES if hours is None and minutes is None else (hours or 0) * 60 + (minutes or 0)
    within = _recent.events_surely_within if timed else _recent.events_perhaps_within
    return within(snapshot, found, most)


def _kind_fault(kind: str | None) -> str:
    return f'no row of the kernel log tells "{one_line(str(kind), 60)}"' if kind not in table().kinds else ""


def _newest_age(snapshot: Snapshot, events: tuple[KernelEvent, ...]) -> Any:
    return _recent.ago(snapshot, events[-1]) if events else Unknown("there is no such line")


def _hottest(cpu: CpuReading, field: str) -> HottestCore:
    return HottestCore(*cpu.hottest(field))


def _share_fault(field: str | None, *_: object) -> str:
    shares = [name for name in CoreSecond.__dataclass_fields__ if name.endswith("_percent")]
    return "" if field in shares else f"a core has {', '.join(shares)}"


def _number_after(text: str, word: str) -> Any:
    found = re.search(rf"{re.escape(word)}([0-9]{{1,15}})", text)
    return int(found[1]) if found else Unknown(f"no number stands after {word}")


_COUNTS = {"hours": ValueKind.NUMBER, "minutes": ValueKind.NUMBER, "timed": ValueKind.TRUTH}
FUNCTIONS: Mapping[str, Function] = {
    **OF_SEVERAL,
    "log": Function(
        (ValueKind.TEXT,),
        _EVENTS,
        _log_lines,
        {**_COUNTS, "has": ValueKind.TEXT, "until": ValueKind.TEXT},
        of=NODE,
        probes=("kernel_log", "host"),
        refuses=_kind_fault,
    ),
    "within": Function((_EVENTS,), _EVENTS, _within, _COUNTS, of=NODE),
    "ago": Function((_EVENTS,), ValueKind.TEXT, _newest_age, of=NODE),
    "held": Function(
        (ValueKind.TEXT, ValueKind.NUMBER, ValueKind.NUMBER),
        Many(Record(HeldCore)),
        CpuReading.held,
        of="cpu",
        refuses=_share_fault,
    ),
    "hottest": Function((ValueKind.TEXT,), Record(HottestCore), _hottest, of="cpu", refuses=_share_fault),
    "rows": Function((ValueKind.TEXT,), ValueKind.TEXTS, CpuReading.rows, of="cpu", refuses=_share_fault),
    "number_after": Function((ValueKind.TEXT, ValueKind.TEXT), ValueKind.NUMBER, _number_after),
    "services": Function((ValueKind.TEXT,), ValueKind.TEXTS, services),
}


def _count_and_noun(number: float, nouns: str) -> str:
    """Example: `{3:count reset}` is `3 resets`, `{1:count reply|replies}` is `1 reply`."""
    noun, _, plural = nouns.partition("|")
    return counted(int(number), noun, plural)


FORMATS: Mapping[str, Form] = {
    "": str,
    ",": lambda number: f"{number:,}",
    "%": percent,
    "span": lambda seconds: span(timedelta(seconds=seconds)),
    "memory": lambda kib: memory(int(kib)),
    "count": _count_and_noun,
    ".1f": lambda number: f"{number:.1f}",
    ".2f": lambda number: f"{number:.2f}",
}


# --- A file, read


@dataclass(frozen=True, slots=True)
class _Seen:
    """One entry of `evidence`."""

    name: CheckedExpression | None  # none: a sentence of the summary alone
    says: CheckedExpression
    when: CheckedExpression | None
    item: str
    each: CheckedExpression | None
    lines: CheckedExpression | None
    confidence: Confidence

    def looks(self, scope: Scope) -> Iterable[Unknown | None]:
        """Yield once for each that is seen, with the item set; what is unknown as itself."""
        items = (None,) if self.each is None else self.each.evaluate(scope)
        if isinstance(items, Unknown):
            yield items
            return
        for scope.items[self.item] in items:
            held = True if self.when is None else self.when.evaluate(scope)
            if isinstance(held, Unknown):
                yield held
            elif held:
                yield None

    @property
    def probe(self) -> str:
        """Whose reading shows it."""
        if self.lines is not None and self.lines.shape == _EVENTS:
            return KernelLogReading.probe
        return next(part.probes[0] for part in (self.lines, self.when, self.each, self.says) if part and part.probes)

    def source(self, scope: Scope) -> tuple[str, ...]:
        """Return the node's own lines."""
        found = () if self.lines is None else self.lines.evaluate(scope)
        if isinstance(found, Unknown):
            return ()
        if isinstance(found, str):
            return (found,) if found else ()
        if self.lines is not None and self.lines.shape == _EVENTS:
            return _recent.lines(found, _LINES)
        return tuple(found)


@dataclass(frozen=True, slots=True)
class _Otherwise:
    """One entry of `otherwise`."""

    says: CheckedExpression
    when: CheckedExpression | None
    unread: type[Any] | None
    answer: str  # its key: ruled_out, does_not_apply or undecided
    decided_by: str
    worst: Status

    def applies(self, scope: Scope) -> str | None:
        """Return the sentence, None where it does not apply."""
        why = ""
        if self.unread is not None:
            reading = scope.snapshot.get(self.unread)
            if not isinstance(reading, Unread):
                return None
            why = f" ({reading.reason})"
        if self.when is not None and self.when.evaluate(scope) is not True:
            return None
        says: str = self.says.evaluate(scope)
        return says + why


@dataclass(frozen=True, slots=True)
class Declared:
    """A cause's file, checked and compiled."""

    name: str
    seen: tuple[_Seen, ...]
    otherwise: tuple[_Otherwise, ...]
    critical: CheckedExpression | None
    summary: CheckedExpression | None

    def evaluate(self, snapshot: Snapshot, tuning: Tuning) -> CauseResult:
        """Judge the readings."""
        scope = Scope(snapshot, tuning)
        evidence, says, sure, open_ = list[Evidence](), list[str](), [Confidence.POSSIBLE], None
        for seen in self.seen:
            for unknown in seen.looks(scope):
                if unknown is not None:
                    open_ = open_ or (unknown,)
                    continue
                says.append(seen.says.evaluate(scope))
                if seen.name is not None:
                    evidence.append(Evidence(seen.name.evaluate(scope), seen.probe, says[-1], seen.source(scope)))
                    sure.append(seen.confidence)
        if not evidence:
            return self._evaluate_otherwise(scope, open_)
        grave = False if self.critical is None else self.critical.evaluate(scope)
        if isinstance(grave, Unknown) and self.critical is not None:
            told = f"whether it is critical is not known: {grave.because}"
            evidence.append(Evidence("gravity-open", self.critical.probes[0], told))
        return Finding(
            self.name,
            Status.CRITICAL if grave is True else Status.DEGRADED,
            max(sure, key=lambda confidence: confidence.rank),
            sentence(*says[:_TOLD]) if self.summary is None else self.summary.evaluate(scope),
            tuple(evidence),
        )

    def _evaluate_otherwise(self, scope: Scope, open_: tuple[Unknown] | None) -> CauseResult:
        for each in self.otherwise:
            if (says := each.applies(scope)) is None:
                continue
            if each.answer == "undecided":
                return Undecided(self.name, says, would_decide=each.decided_by, worst=each.worst)
            if open_ is None:
                return RuledOut(self.name, says, applies=each.answer == "ruled_out")
        if open_ is None:
            return Undecided(self.name, "no line of otherwise applies")
        return (HalfRead if open_[0].half_read else Undecided)(self.name, open_[0].because)


WORDS = Words(
    {name: shapes_of(probe.reading) for name, probe in PROBES.items()},  # type: ignore[arg-type]  # a class is hashable
    FUNCTIONS,
    FORMATS,
    "see docs/causes.md for what a cause's file may use",
)


def read_cause(path: Path) -> Cause:
    """Read a cause's file.

    Raises: PlaybookError, with file and line, when it cannot be used as written.
    """
    problems = Problems(str(path), PlaybookError)
    document = read_document_file(path, "the cause", problems)
    return _CauseReader(check(document, problems, CauseFile), document, problems).cause()


ANSWERS = ("ruled_out", "does_not_apply", "undecided")
Read: TypeAlias = Callable[[str], CheckedExpression]
_NO_DECISION: Mapping[str, Any] = {"title": "", "about": "", "examples": (), "thresholds": None}  # or the playbook's


class _CauseReader:
    """Reads one file. Every problem is noted with its line."""

    def __init__(self, shape: CauseFile, document: Document, problems: Problems) -> None:
        self._shape = shape
        self._document = document
        self._problems = problems
        self._language = Language(WORDS, shape.thresholds or {})
        self._used = dict.fromkeys(each.unread for each in shape.otherwise if each.unread)

    def cause(self) -> Cause:
        shape = self._shape
        for index, probe in enumerate(shape.beside or ()):
            if probe not in PROBES:
                self._problems.unknown(self._document.line_of("beside", index), "probe", probe, PROBES, "beside")
        figures = {name: self._threshold(name) for name in shape.thresholds or {}}
        for name, text in (shape.let or {}).items():
            self._read_named_value(name, text)
        seen = tuple(self._read_evidence(index) for index in range(len(shape.evidence)))
        otherwise = tuple(self._read_otherwise(index) for index in range(len(shape.otherwise)))
        critical = (
            None
            if shape.critical is None
            else self._read_expression(self._language.condition, shape.critical, "critical")
        )
        summary = (
            None if shape.summary is None else self._read_expression(self._language.sentence, shape.summary, "summary")
        )
        self._problems.raise_if_any()
        beside = tuple(shape.beside or ())
        probes = tuple(probe for probe in self._used if probe not in beside)
        declared = Declared(shape.cause, seen, otherwise, critical, summary)
        return Cause(
            name=shape.cause,
            title=one_line(shape.title),
            probes=probes,
            thresholds=figures,
            evaluate=declared.evaluate,
            worst=Status.DEGRADED if critical is None else Status.CRITICAL,
            signature=probes if shape.single_look else (),
            beside=beside,
            of_one=shape.of_one,
            lasting_fix=one_line(shape.lasting_fix, 2000),
            settled_by=one_line(shape.settled_by or "", 300),
            about=" ".join(shape.about.split()),
            definition=json.dumps(to_json_types(replace(shape, **_NO_DECISION)), sort_keys=True),
        )

    def _threshold(self, name: str) -> Threshold:
        assert self._shape.thresholds is not None
        given = self._shape.thresholds[name]
        if unlike := threshold_fault(name, given.value):
            self._problems.add(self._document.line_of("thresholds", name, "value"), f"{name} {unlike}")
        return Threshold(without_decimal_point(given.value), given.reason)

    def _read_expression(self, read: Read, text: str, *path: str | int) -> CheckedExpression:
        try:
            part = read(" ".join(text.split()))
        except ExpressionError as error:
            self._problems.add(self._document.line_of(*path), f"{path[-1]}: {error}")
            return CheckedExpression(ValueKind.TEXT, lambda scope: "")
        self._used |= dict.fromkeys(part.probes)
        return part

    def _read_if_given(self, read: Read, text: str | None, *path: str | int) -> CheckedExpression | None:
        return None if text is None else self._read_expression(read, text, *path)

    def _read_named_value(self, name: str, text: str) -> None:
        try:
            self._language.name(name, self._language.read(" ".join(text.split())))
        except ExpressionError as error:
            self._problems.add(self._document.line_of("let", name), f"{name}: {error}")

    def _read_evidence(self, index: int) -> _Seen:
        given, path, item, each = self._shape.evidence[index], ("evidence", index), "", None
        if given.each is not None:
            try:
                item, each = self._language.each(" ".join(given.each.split()))
            except ExpressionError as error:
                self._problems.add(self._document.line_of(*path, "each"), f"each: {error}")
        when = self._read_if_given(self._language.condition, given.when, *path, "when")
        lines = self._read_if_given(self._language.read, given.lines, *path, "lines")
        says = self._read_expression(self._language.sentence, given.says, *path, "says")
        name = self._read_if_given(self._language.sentence, given.name, *path, "name")
        if each is not None:
            self._language.without(item)
        if lines is not None and lines.shape not in (_EVENTS, ValueKind.TEXT, ValueKind.TEXTS):
            self._problems.add(self._document.line_of(*path, "lines"), f"lines: it is {lines.shape.value}, no lines")
        if not any(part and part.probes for part in (when, each, lines, says)):
            self._problems.add(self._document.line_of(*path), "it uses no reading, so it is seen always or never")
        return _Seen(name, says, when, item, each, lines, Confidence(given.confidence or "confirmed"))

    def _read_otherwise(self, index: int) -> _Otherwise:
        given, path = self._shape.otherwise[index], ("otherwise", index)
        said = {key: says for key in ANSWERS if (says := getattr(given, key)) is not None}
        if len(said) != 1:
            self._problems.add(self._document.line_of(*path), f"write one of {', '.join(ANSWERS)}")
        key, text = next(iter(said.items()), (ANSWERS[0], ""))
        when = self._read_if_given(self._language.condition, given.when, *path, "when")
        says = self._read_expression(self._language.sentence, text, *path, key)
        worst = Status.DEGRADED if given.worst else Status.CRITICAL
        if given.unread is not None and given.unread not in PROBES:
            self._problems.unknown(self._document.line_of(*path, "unread"), "probe", given.unread, PROBES, "unread")
        unread = PROBES[given.unread].reading if given.unread in PROBES else None
        return _Otherwise(says, when, unread, key, given.decided_by or "", worst)


def causes_in(folder: Path) -> Iterator[Cause]:
    """Yield the causes whose files are in a folder, in order of name; none where there is no folder.

    Raises: PlaybookError, with file and line, when a file cannot be used as written.
    """
    yield from map(_read_cause_named_as_file, _cause_files(folder))


def causes_of_site(folder: Path, known: Collection[str]) -> Iterator[Cause]:
    """Yield as `causes_in`; what stands for it where a file cannot be used, or its cause is `known` already."""
    for path in _cause_files(folder):
        try:
            if path.stem in known:
                says = f"there is a cause {path.stem}, and none is replaced; choose another name"
                raise PlaybookError(f"{path}:1: {says}")
            yield _read_cause_named_as_file(path)
        except PlaybookError as no:
            yield left_out(path.name if path.stem in known else one_line(path.stem, 64), str(no))


def _cause_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.y*ml"))


def _read_cause_named_as_file(path: Path) -> Cause:
    cause = read_cause(path)
    if path.stem != cause.name:
        raise PlaybookError(f"{path}:1: the cause is called {cause.name}; call the file {cause.name}.yaml")
    return cause
