"""A plan in words: its steps, what they mean for the node, and their outcomes. Plans are worded nowhere else."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from bot.domain.action import ALSO, KEEPS, Action, EndedItem, Plan, PlanImpact, Step
from bot.domain.duration import span_words
from bot.domain.events import StepFailed, StepSkipped, StepVerified
from bot.domain.fence import journal_command
from bot.domain.incident import Incident, StepRecord
from bot.domain.safe_text import listed, one_line, safe
from bot.domain.verdict import Evidence, Verdict
from bot.response.incident_record import undoable
from bot.view.before_after import unit_words
from bot.view.words import tried_words

SAID = 300
_NOT_NEEDED = "not needed"
_PAST = {
    "disable": "disabled",
    "mask": "masked",
    "start": "started",
    "bring back": "brought back",
    "cordon": "cordoned",
    "uncordon": "uncordoned",
    "drain": "drained",
    "drop caches": "caches dropped",
    "reboot": "node rebooted",
}
NOTHING_SEEN = "no database, job, container or busy process that was seen; only the system's own"
_BINDS = (("address", "address"), ("boot_id", "boot"), ("host_key", "host key"))


@dataclass(frozen=True, slots=True)
class StepView:
    """A step: what it does, what that means for the node, and its outcome.

    Shape: `since` is set while it runs; `seen` is its proof, or what was seen instead. `also` is what else it does
    on the node: part of what is approved, so never shortened. `verb` is what it does, in a word. `journal`
    is what is run on the node before each command; empty where an API does it, or nobody is asked.
    """

    number: int
    words: str
    impact: str
    commands: tuple[str, ...]
    outcome: str = "to come"
    since: datetime | None = None
    seen: tuple[str, ...] = ()
    also: str = ""
    verb: str = ""
    journal: str = ""

    @property
    def lines(self) -> tuple[str, ...]:
        """Every line that is run, in order: each command, and before it what tells the node's journal."""
        return tuple(line for command in self.commands for line in (self.journal, command) if line)

    @property
    def done(self) -> str:
        """What was done, once it is: "ecs.service disabled"; where it was so already, that."""
        past = _PAST.get(self.verb, "")
        words = f"{self.words[len(self.verb) :]} {past}".strip() if past else self.words
        return f"{words} (it was so already)" if self.outcome.startswith(_NOT_NEEDED) else words

    @property
    def sentence(self) -> str:
        """The outcome as a sentence."""
        return f"Step {self.number}, {self.words}: {self.outcome}."


@dataclass(frozen=True, slots=True)
class PlanView:
    """A plan as shown: in short, its effect on the node, and its steps with their exact commands.

    Shape: `bound_to` names the machine and boot that the plan is for; `moves` is what a drain would move, as of
    `offered_at`. `effect` is `impact` for a card that has its node in the title. `ends` is what ends with it, gravest
    first, a row each, and `ends_briefly` the same for a card; `ends_unread` is what could not be looked at. All are
    empty for a plan that ends nothing. The first `kept` rows are databases and members of a quorum: nobody says yes
    without having seen them. `why` is the cause and its harm, in a sentence; `proof` is the note that says where the
    cure was proven.
    """

    node: str
    words: str
    impact: str
    digest: str
    steps: tuple[StepView, ...]
    notes: tuple[str, ...] = ()
    lasting_fix: str = ""
    bound_to: str = ""
    moves: tuple[str, ...] = ()
    effect: str = ""
    ends: tuple[str, ...] = ()
    ends_briefly: tuple[str, ...] = ()
    ends_unread: str = ""
    kept: int = 0
    why: str = ""
    proof: str = ""
    offered_at: datetime | None = None

    def ends_words(self, rows: int = sys.maxsize) -> str:
        """What ends, as sentences, all of it or its first rows; empty for a plan that ends nothing."""
        shown = f"Ends: {listed(self.ends, rows, '; ')}." if self.ends else ""
        return f"{shown} {self.ends_unread}".strip()

    @property
    def also(self) -> tuple[str, ...]:
        """What else the steps do on the node, a sentence each."""
        return tuple(f"Step {step.number}: {step.also}." for step in self.steps if step.also)

    @property
    def commands(self) -> tuple[str, ...]:
        """Every line that is run, in order."""
        return tuple(line for step in self.steps for line in step.lines)


@dataclass(frozen=True, slots=True)
class PlanWords:
    """Words plans with the words of their actions; an action missing from `actions` is shown by its name."""

    actions: Mapping[str, Action] = field(default_factory=dict)

    def step(self, step: Step) -> str:
        """Return what a step does, in a few words.

        Example: "disable ecs.service".
        """
        action = self.actions.get(step.action)
        if action is None:
            return one_line(" ".join([step.action.replace("_", " "), *step.args.values()]), 200)
        return one_line(action.words(step.args), 200)

    def plan(self, plan: Plan) -> str:
        """Return what a plan does, in a few words.

        Example: "disable ecs.service, then reboot".
        """
        return ", then ".join(self.step(step) for step in plan.steps)

    def ran(self, incident: Incident) -> str:
        """Return what the steps do that ran, or may have run, in a few words; empty where nothing did."""
        steps = zip(incident.proposal.plan.steps if incident.proposal else (), incident.steps, strict=False)
        return ", then ".join(self.step(step) for step, record in steps if record.may_have_run)

    def impact(self, step: Step) -> str:
        """Return what a step does to the node and to what runs there."""
        action = self.actions.get(step.action)
        return one_line(action.impact_of(step.args), 200) if action is not None else self.step(step)

    def undo(self, incident: Incident) -> Plan:
        """Return what an undo of an ended incident would do; a plan without steps where nothing can be undone."""
        done = undoable(incident, self.actions) if incident.ended else ()
        return Plan(incident.node, tuple(step for act in reversed(done) for step in act.inverse))

    def view(
        self,
        plan: Plan,
        records: Sequence[StepRecord] = (),
        binds: Mapping[str, str] | None = None,
        moves: tuple[str, ...] = (),
        incident: str = "",
    ) -> PlanView:
        """Return a plan as shown; `records` are its steps' outcomes so far, `incident` is whose proposal it is."""
        steps, binds, journal = [], binds or {}, journal_command(incident) if incident else ""
        for number, step in enumerate(plan.steps, 1):
            action, also = self.actions.get(step.action), safe(binds.get(f"{ALSO}{number}", ""))
            waits = number > 1 and action is not None and action.once_cured
            impact = self.impact(step) + (", once the cure has held" if waits else "")
            verb = action.verb if action is not None else step.action.replace("_", " ")
            told = journal if action is None or action.by_calls is None else ""  # what an API does tells no journal
            view = StepView(number, self.step(step), impact, step.commands, also=also, verb=verb, journal=told)
            steps.append(_step_view(view, records[number - 1]) if number <= len(records) else view)
        impact = "; then ".join(step.impact for step in steps)
        return PlanView(
            plan.node,
            self.plan(plan),
            f"1 node, {one_line(plan.node, 80)}: {impact}.",
            plan.digest,
            tuple(steps),
            plan.notes,
            plan.lasting_fix,
            _bound_to(binds),
            moves,
            f"{impact}.",
            *self._ends_rows(plan),
            proof=plan.proven.says if plan.proven is not None else "",
        )

    def _ends_rows(self, plan: Plan) -> tuple[tuple[str, ...], tuple[str, ...], str, int]:
        """What ends with a plan, a row each, the same briefly, a sentence about what was not read, and `kept`."""
        actions = [self.actions[step.action] for step in plan.steps if step.action in self.actions]
        if plan.ends is None:
            ending = any(action.reboots or action.stops_a_unit for action in actions)
            return (), (), "What ends with it was not read." if ending else "", 0
        rows, brief = ([end_words(end, briefly) for end in plan.ends.rows] for briefly in (False, True))
        more = [f"{plan.ends.more} more"] if plan.ends.more else []
        if not rows and not more and not plan.ends.unread:
            more = [NOTHING_SEEN]
        kept = sum(end.kind == KEEPS for end in plan.ends.rows)
        return (*rows, *more), (*brief, *more), unread_words(plan.ends), kept

    def of_incident(self, incident: Incident, verdict: Verdict | None = None) -> PlanView | None:
        """Return the proposed plan with the outcome of its steps; else what would help by a verdict, or None.

        A remedy that did not last is marked.
        """
        if (proposal := incident.proposal) is not None:
            plan = self.view(proposal.plan, incident.steps, proposal.binds, proposal.affects, incident.id)
        elif verdict is not None and verdict.plan is not None:
            plan = self.view(verdict.plan)
        else:
            return None
        plan = replace(plan, why=why_words(verdict or incident.verdict), offered_at=incident.proposed_at)
        tried = tried_words(incident.triage.relapse if incident.triage is not None else None)
        return replace(plan, notes=(tried, *plan.notes)) if tried else plan


BY_NAME = PlanWords()
_ROLES = {KEEPS: " (others need its data or its vote)", "guest": " (virtual machine)", "jobs": " and the jobs it runs"}


def end_words(end: EndedItem, briefly: bool = False) -> str:
    """Return a row of what ends; `briefly`, containers are only counted, and it fits a phone.

    Example:
    >>> end_words(EndedItem("ray::train_step", "gpu", 24, 8, 11 * 3600))
    '24 × ray::train_step on 8 GPUs, running for 11 h'
    """
    what = one_line(end.what, 300)
    if end.kind == "containers":
        words = f"{end.count} container{'s' if end.count > 1 else ''}" + ("" if briefly else f" ({what})")
    else:
        words = f"{end.count} × {what}" if end.count > 1 else what
    words += _ROLES.get(end.kind, "")
    if end.gpus:
        words += f" on {end.gpus} GPU{'s' if end.gpus > 1 else ''}"
    if end.age is None:
        return words
    return f"{words}, running{'' if briefly else ' for'} {' '.join(span_words(timedelta(seconds=end.age)).split()[:2])}"


def why_words(verdict: Verdict | None) -> str:
    """Return a verdict's cause and harm in one sentence; empty without a cause."""
    if verdict is None or verdict.cause is None:
        return ""
    sure = f", {verdict.confidence}" if verdict.confidence is not None else ""
    return one_line(f"{verdict.cause} ({verdict.status}{sure}): {verdict.summary}", 2 * SAID)


def sum_words(plans: Sequence[PlanView]) -> str:
    """Return what several plans do together.

    Example: "3 reboots, 2 disables".
    """
    counted = Counter(step.verb for plan in plans for step in plan.steps)
    return ", ".join(f"{count} {verb}{'s' if count > 1 else ''}" for verb, count in counted.items())


def unread_words(ends: PlanImpact) -> str:
    """Return the sentence about what could not be looked at; empty where all was.

    Example:
    >>> from bot.domain.probe import Unread
    >>> unread_words(PlanImpact(unread=(Unread("gpu", "not asked"),)))
    'What else ends is not known: gpu (not asked) could not be read.'
    """
    if not ends.unread:
        return ""
    named = ", ".join(f"{one_line(each.probe, 40)} ({one_line(each.reason, 160)})" for each in ends.unread)
    return f"What else ends is not known: {named} could not be read."


def _bound_to(binds: Mapping[str, str]) -> str:
    return ", ".join(f"{title} {one_line(binds[name], 60)}" for name, title in _BINDS if binds.get(name))


def _step_view(step: StepView, record: StepRecord) -> StepView:
    since, seen = None, _seen_lines(record)
    outcome = "under way" + (f", attempt {record.attempt}" if record.attempt > 1 else "")
    match record.outcome:
        case StepVerified(otherwise=otherwise) if otherwise:
            outcome = f"{_NOT_NEEDED}: {one_line(otherwise, SAID)}"
        case StepVerified(took=took):
            outcome = f"done, and proved after {span_words(took)}"
        case StepSkipped(because=because):
            outcome = f"{_NOT_NEEDED}: {one_line(because, SAID)}"
        case StepFailed(because=because):
            outcome = f"failed: {one_line(because, SAID)}"
        case None:
            since = record.started_at
    return replace(step, outcome=outcome, since=since, seen=seen)


def _seen_lines(record: StepRecord) -> tuple[str, ...]:
    """What was seen on the node, without the step's name; for a unit, its states."""
    evidence: Sequence[Evidence] = getattr(record.outcome, "proof", ()) or getattr(record.outcome, "seen", ())
    return tuple(one_line(_unit_states(item) or item.says.rpartition(": ")[2], SAID) for item in evidence[:2])


def _unit_states(evidence: Evidence) -> str:
    said = dict(line.split("=", 1) for line in evidence.source if line.partition("=")[0].endswith("State"))
    return unit_words(said.get("ActiveState", ""), said.get("UnitFileState", ""), said.get("LoadState", ""))
