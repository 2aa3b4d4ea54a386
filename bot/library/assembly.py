"""Assembles a playbook from its file, the playbook that it extends, and the tables of probes, causes and actions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from bot.domain.action import Action
from bot.domain.cause import Cause, Threshold
from bot.domain.playbook import Condition, ConfiguredCause, Playbook
from bot.domain.probe import Probe
from bot.domain.problems import Problems
from bot.domain.safe_text import one_line
from bot.domain.verdict import Confidence, Status
from bot.library.document import Document
from bot.library.kinds import ValueKind, kinds_of
from bot.library.remedies import remedy_fault
from bot.library.shapes import CauseShape, ConditionShape, PlaybookShape

T = TypeVar("T")

# A name without its type would match no unit; for the types see systemd.unit(5).
_UNIT_PATTERN = re.compile(
    r"[A-Za-z0-9:_.@\\*-]+(?:\*|\.(?:service|socket|timer|path|target|mount|automount|swap|slice|device))"
)


@dataclass(frozen=True, slots=True)
class Tables:
    """The probes, causes and actions that playbooks may name."""

    probes: Mapping[str, Probe]
    causes: Mapping[str, Cause]
    actions: Mapping[str, Action]


@dataclass(frozen=True, slots=True)
class Assembled:
    """A playbook, and the kinds of the fields of its own probes."""

    playbook: Playbook
    own_kinds: Mapping[str, Mapping[str, ValueKind]] = field(default_factory=dict)


def assemble(
    shape: PlaybookShape,
    document: Document,
    origin: str,
    parent: Assembled | None,
    tables: Tables,
    problems: Problems,
) -> Assembled:
    """Return the playbook.

    Shape: with `all_but` every probe and cause of the tables that it does not list comes after those that are
    named, and what a cause that can be critical needs from them has to be read. Otherwise, what is not given comes
    from the parent: probes, must_read, causes; and for a cause that both have, each threshold, the remedy, the
    lasting fix and what it allows. A playbook without probes and causes also has the parent's conditions, before
    its own.

    Raises: the problems' error, with a line for each problem.
    """
    work = _Assembly(shape, document, parent, tables, problems)
    work.left_out()
    probes = work.probes()
    causes = work.causes(probes)
    must_read = work.must_read(probes, causes)
    conditions = work.conditions(probes)
    problems.raise_if_any()
    playbook = Playbook(
        name=shape.name,
        title=one_line(shape.title),
        version=shape.version,
        probes=tuple(probes.values()),
        must_read=must_read,
        causes=causes,
        conditions=conditions,
        description=shape.description or "",
        origin=origin,
    )
    return Assembled(playbook, {name: kinds for name, kinds in work.own_kinds.items() if name in probes})


class _Assembly:
    """The assembly of a playbook. Every problem is noted with its line."""

    def __init__(
        self,
        shape: PlaybookShape,
        document: Document,
        parent: Assembled | None,
        tables: Tables,
        problems: Problems,
    ) -> None:
        self._shape = shape
        self._document = document
        self._parent = parent.playbook if parent is not None else None
        self._known_probes, self._known_causes, self._actions = tables.probes, tables.causes, tables.actions
        self._problems = problems
        self._named = {*(shape.probes or ()), *(shape.causes or ())}  # here, or in the playbook that it extends
        if self._parent is not None and shape.probes is None:
            self._named |= {probe.name for probe in self._parent.probes}
        if self._parent is not None and shape.causes is None:
            self._named |= {used.cause.name for used in self._parent.causes}
        self.own_kinds: dict[str, Mapping[str, ValueKind]] = dict(parent.own_kinds) if parent is not None else {}

    def _add_problem(self, says: str, *path: str | int) -> None:
        self._problems.add(self._document.line_of(*path), says)

    def _add_unknown(self, what: str, name: str, known: Iterable[str], where: str, *path: str | int) -> None:
        self._problems.unknown(self._document.line_of(*path), what, name, sorted(known), where)

    def left_out(self) -> None:
        known = {**self._known_probes, **self._known_causes}
        for index, name in enumerate(self._shape.all_but or ()):
            if name not in known:
                self._add_unknown("probe or cause", name, known, "all_but", "all_but", index)
            elif name in {*(self._shape.probes or ()), *(self._shape.causes or ())}:
                self._add_problem(f"{name} is named in all_but and elsewhere", "all_but", index)

    def _others(self, known: Mapping[str, T]) -> dict[str, T]:
        """What the playbook takes without naming it: with `all_but`, every other of the program's list."""
        if self._shape.all_but is None:
            return {}
        return {name: each for name, each in known.items() if name not in self._named.union(self._shape.all_but)}

    # --- probes

    def probes(self) -> dict[str, Probe]:
        inherited = {probe.name: probe for probe in self._parent.probes} if self._parent is not None else {}
        own = self._own_probes(inherited)
        available = {**self._known_probes, **{n: p for n, p in inherited.items() if n in self.own_kinds}, **own}
        probes = inherited if self._shape.probes is None else {}
        for index, name in enumerate(self._shape.probes or ()):
            if name not in available:
                self._add_unknown("probe", name, available, "probes", "probes", index)
            elif name in probes:
                self._add_problem(f"{name} is named twice", "probes", index)
            else:
                probes[name] = available[name]
        probes = {**probes, **self._others(self._known_probes), **own}
        if not probes and not self._shape.probes:
            self._add_problem(
                "there are no probes; name some under probes, or extend a playbook that has them", "probes"
            )
        return probes

    def _own_probes(self, inherited: Mapping[str, Probe]) -> dict[str, Probe]:
        own: dict[str, Probe] = {}
        if not self._shape.define_probes:
            return own
        from bot.library.custom_probes import make_probe

        for index, shape in enumerate(self._shape.define_probes):

            def complain(key: str, says: str, index: int = index, name: str = shape.name) -> None:
                self._add_problem(f"{key} of {name} {says}", "define_probes", index, *key.split("."))

            if shape.name in self._known_probes:
                complain("name", "is a built-in probe; choose another name")
            elif shape.name in own or shape.name in inherited:
                complain("name", "is defined already; choose another name")
            made = make_probe(shape, complain)
            own[shape.name] = made.probe
            self.own_kinds[shape.name] = made.kinds
        return own

    def must_read(self, probes: Mapping[str, Probe], causes: Sequence[ConfiguredCause]) -> tuple[str, ...]:
        taken = causes if self._shape.all_but is not None else ()
        # What causes that can be critical need, where probe or cause was not named: its author did not know them.
        needed = (
            name
            for used in taken
            if used.cause.worst is Status.CRITICAL
            for name in used.cause.probes
            if not {name, used.cause.name} <= self._named
        )
        return tuple(dict.fromkeys((*self._named_must_read(probes), *needed)))

    def _named_must_read(self, probes: Mapping[str, Probe]) -> tuple[str, ...]:
        given = self._shape.must_read
        inherited = self._parent.must_read if self._parent is not None else ()
        for index, name in enumerate(inherited if given is None else given):
            if name not in probes:
                if given is None:
                    parent = self._shape.extends
                    self._add_problem(
                        f"must_read of {parent} names {name}, which is not among the probes: set must_read here",
                        "probes",
                    )
                else:
                    self._add_unknown(
                        "probe", name, probes, "must_read (it has to be among probes)", "must_read", index
                    )
        return inherited if given is None else tuple(dict.fromkeys(given))

    # --- causes

    def causes(self, probes: Mapping[str, Probe]) -> tuple[ConfiguredCause, ...]:
        inherited = {used.cause.name: used for used in self._parent.causes} if self._parent is not None else {}
        given = self._shape.causes
        used_causes: dict[str, ConfiguredCause] = {}
        if given is None:
            for used in inherited.values():
                self._check_probes_of(used.cause, probes, "probes")
            used_causes |= inherited
            given = []
        named = list(enumerate(given)) if isinstance(given, list) else [(name, name) for name in given]
        for key, name in named:
            path = ("causes", key)
            if name not in self._known_causes:
                self._add_unknown("cause", name, self._known_causes, "causes", *path)
            elif name in used_causes:
                self._add_problem(f"{name} is named twice", *path)
            else:
                shape = None if isinstance(given, list) else given[name]
                cause = self._known_causes[name]
                self._check_probes_of(cause, probes, *path)
                used_causes[name] = self._configured_cause(cause, shape or CauseShape(), inherited.get(name), path)
        taken = {**self._others(self._known_causes), **_rows_left_out(self._known_causes)}
        for name, cause in taken.items():
            if probes.keys() >= set(cause.probes):
                used_causes[name] = self._configured_cause(cause, CauseShape(), inherited.get(name), ("all_but",))
        return tuple(used_causes.values())

    def _check_probes_of(self, cause: Cause, probes: Mapping[str, Probe], *path: str | int) -> None:
        missing = [name for name in cause.probes if name not in probes]
        if missing:
            self._add_problem(
                f"{cause.name} needs {', '.join(missing)}: add it to probes, or leave the cause out", *path
            )

    def _configured_cause(
        self, cause: Cause, shape: CauseShape, inherited: ConfiguredCause | None, path: tuple[str | int, ...]
    ) -> ConfiguredCause:
        if cause.left_out:
            return ConfiguredCause(cause, {})
        thresholds = dict(cause.thresholds if inherited is None else inherited.thresholds)
        for name, threshold in (shape.thresholds or {}).items():
            if name not in cause.thresholds:
                self._add_unknown("threshold", name, cause.thresholds, cause.name, *path, "thresholds", name)
            elif unlike := threshold_fault(name, threshold.value):
                self._add_problem(f"{name} of {cause.name} {unlike}", *path, "thresholds", name, "value")
            thresholds[name] = Threshold(without_decimal_point(threshold.value), threshold.reason)
        remedy = cause.remedy if inherited is None else inherited.remedy
        if shape.remedy is not None or inherited is None:
            remedy = tuple(remedy if shape.remedy is None else shape.remedy)
            if fault := remedy_fault(cause, remedy, self._actions, self._known_causes):
                self._add_problem(f"remedy of {cause.name}: {fault}", *path, "remedy")
        allow = self._allow_list(cause, shape, inherited, path)
        lasting_fix = shape.lasting_fix or (cause.lasting_fix if inherited is None else inherited.lasting_fix)
        if "\n" in lasting_fix:
            self._add_problem(f"lasting_fix of {cause.name} should be one line", *path, "lasting_fix")
        return ConfiguredCause(cause, thresholds, remedy, lasting_fix, allow)

    def _allow_list(
        self, cause: Cause, shape: CauseShape, inherited: ConfiguredCause | None, path: tuple[str | int, ...]
    ) -> tuple[str, ...]:
        if shape.allow is None:
            return inherited.allow if inherited is not None else ()
        if not cause.takes_allow:
            self._add_problem(f"{cause.name} takes no list of what is allowed: leave allow out", *path, "allow")
        for index, name in enumerate(shape.allow):
            if not _UNIT_PATTERN.fullmatch(name):
                says = (
                    f'"{one_line(name, 60)}" in allow of {cause.name} is not a unit: write for example getty@*.service'
                )
                self._add_problem(says, *path, "allow", index)
        return tuple(shape.allow)

    # --- conditions

    def conditions(self, probes: Mapping[str, Probe]) -> tuple[Condition, ...]:
        whole = self._parent is not None and self._shape.probes is None and self._shape.causes is None
        found = (
            {condition.name: condition for condition in self._parent.conditions}
            if whole and self._parent is not None
            else {}
        )
        own: set[str] = set()
        for index, shape in enumerate(self._shape.conditions or ()):
            if shape.name in own:
                self._add_problem(f"a condition {shape.name} exists already; choose another name", "conditions", index)
            own.add(shape.name)
            condition = self._condition(shape, probes, index)
            if condition is not None:
                found[shape.name] = condition  # replaces the parent's condition of the same name
        return tuple(found.values())

    def _condition(self, shape: ConditionShape, probes: Mapping[str, Probe], index: int) -> Condition | None:
        from bot.library.conditions import read_condition
        from bot.library.language import ExpressionError

        if shape.status is None:
            for key in ("cause", "confidence"):
                if getattr(shape, key) is not None:
                    self._add_problem(
                        f"{shape.name} has a {key} and no status; add status: degraded", "conditions", index, key
                    )
        known_fields = {name: self.own_kinds.get(name) or kinds_of(probe.reading) for name, probe in probes.items()}  # type: ignore[arg-type]  # a class is hashable
        try:
            expression = read_condition(
                shape.when, known_fields, {*self._known_probes, *self.own_kinds} - known_fields.keys()
            )
        except ExpressionError as error:
            self._add_problem(f"when of {shape.name}: {error}", "conditions", index, "when")
            return None
        return Condition(
            name=shape.name,
            when=expression.text,
            says=one_line(shape.says, 2000),
            holds=expression.holds,
            probes=expression.probes,
            status=Status(shape.status) if shape.status is not None else None,
            cause=shape.cause,
            confidence=Confidence(shape.confidence or Confidence.LIKELY),
            shows=expression.shows,
        )


def _rows_left_out(causes: Mapping[str, Cause]) -> dict[str, Cause]:
    """Return what stands for rows of a site's tables that are left out."""
    return {name: cause for name, cause in causes.items() if cause.left_out and cause.probes}


# --- The value of a threshold as somebody wrote it: in the unit that its name says, and readable


def threshold_fault(name: str, value: float) -> str:
    """Return what is wrong with a threshold in another unit than its name says; empty if nothing is."""
    if value < 0:
        return f"is {value:g}; no threshold is below 0"
    if name.endswith("_percent") and value > 100:
        return f"is {value:g}; a percentage is at most 100"
    if name.endswith("_percent") and 0 < value < 1:
        return f"is {value:g}, less than one percent; in percent it would be {100 * value:g}"
    if name.endswith(("_share", "_ratio")) and value > 1:
        return f"is {value:g}; a share is from 0 to 1: {value / 100:g} for {value:g} percent"
    return ""


def without_decimal_point(value: float) -> float:
    """Return a whole number without a decimal point, because people will read it."""
    return int(value) if value.is_integer() and abs(value) < 1 << 53 else value
