"""What was looked at: the facts that a verdict depends on, and the fields that each cause looked at."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Protocol

from bot.domain.cause import Cause, CauseResult
from bot.domain.change import Change
from bot.domain.evaluation import evaluate_cause, evaluate_condition
from bot.domain.playbook import Playbook
from bot.domain.probe import Snapshot
from bot.domain.verdict import Verdict
from bot.extras.cases.fact_watch import Figure, Watch, words_of
from bot.extras.cases.facts import Fact


class Judges(Protocol):
    """Judges a snapshot by a playbook."""

    @property
    def playbook(self) -> Playbook:
        """The playbook."""

    def verdict_of(self, snapshot: Snapshot, found: Sequence[CauseResult | None], /) -> Verdict:
        """Return the verdict that results of a snapshot come to, with its plan."""


@dataclass(frozen=True, slots=True)
class UsedFacts:
    """What was looked at in a snapshot: the facts, in order of name, and the fields that each cause looked at.

    Shape: `by_cause`, `by_condition` (in the playbook's order), `by_figure` (of `Snapshot.once`) and `by_plan` hold
    fields, written `probe.field`, and probes. `unwatched` are probes whose readings cannot be watched; `parted` are
    fields whose entries are noted part by part, as `probe.field.part`.
    """

    facts: tuple[Fact, ...]
    by_cause: Mapping[str, Set[str]]
    by_condition: Sequence[Set[str]]
    by_figure: Mapping[Figure, Set[str]]
    by_plan: Set[str]
    unwatched: Set[str]
    parted: Set[str]
    _named: dict[tuple[str, str, str], frozenset[str]] = field(default_factory=dict, init=False, repr=False)

    def cause_hangs_on(self, cause: Cause, change: Change) -> bool:
        """False if a cause evaluates the same again, because it did not look at what is changed."""
        return self._touches(change, self.by_cause[cause.name])

    def condition_hangs_on(self, at: int, change: Change) -> bool:
        """False if the playbook's condition at that place holds as before."""
        return self._touches(change, self.by_condition[at])

    def figures_kept(self, figures: Mapping[Figure, Any], change: Change) -> dict[Figure, Any]:
        """Return the figures that stay the same, with all entries that they may hold."""
        whole, by_figure = Change(change.probe, change.field, change.entry), self.by_figure
        kept = (name for name in figures if name in by_figure and not self._touches(whole, by_figure[name]))
        return {name: figures[name] for name in kept}

    def plan_hangs_on(self, change: Change) -> bool:
        """False if the plan's commands stay the same."""
        return self._touches(change, self.by_plan)

    def _touches(self, change: Change, seen: Set[str]) -> bool:
        key = change.probe, change.field, change.part
        if key not in self._named:
            self._named[key] = self._names(change)
        return not self._named[key].isdisjoint(seen)

    def _names(self, change: Change) -> frozenset[str]:
        """Return what a result has to have looked at for the change to touch it."""
        if not change.field or change.probe in self.unwatched:
            return frozenset((change.probe,))
        name = f"{change.probe}.{change.field}"
        if change.part and name in self.parted:
            return frozenset((f"{name}_later", f"{name}.{change.part}", f"{name}.{change.part}_later"))
        return frozenset((name, f"{name}_later"))  # both looks move


def looked_at(snapshot: Snapshot, judge: Judges, verdict: Verdict) -> UsedFacts:
    """Return what the judge looks at in a snapshot; in lists, the entries named in the verdict are facts."""
    watch, playbook = Watch(words_of(verdict)), judge.playbook
    watched = watch.snapshot(snapshot)
    by_cause, by_condition = dict[str, set[str]](), list[set[str]]()
    found: list[CauseResult | None] = []
    for used in playbook.causes:
        with watch.noting() as by_cause[used.cause.name]:
            found.append(evaluate_cause(used, watched))
    for condition in playbook.conditions:
        with watch.noting() as seen:
            found.append(evaluate_condition(condition, watched))
        by_condition.append(seen.union(condition.probes))
    with watch.noting() as by_plan:
        judge.verdict_of(watched, found)
    named = [when for condition in playbook.conditions for when in re.findall(r"(\w+)\.(\w+)", condition.when)]
    for probe, name in dict.fromkeys(named):
        reading = snapshot.readings.get(probe)
        if not (name.endswith("_seconds") and hasattr(reading, name.removesuffix("_seconds"))):  # once is enough
            watch.named(reading, Change(probe, name))
    seen = watch.all_seen | watch.seen
    facts = tuple(fact for what, fact in sorted(watch.facts.items()) if what in seen)
    return UsedFacts(
        facts,
        by_cause,
        tuple(by_condition),
        watch.by_figure,
        by_plan,
        frozenset(watch.unwatched),
        frozenset(watch.parted),
    )
