"""A plan as whoever approves it sees it: its steps, what they do to the node, what it is bound to, who may say yes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bot.domain.duration import span
from bot.domain.events import PlanProposed, StepFailed, StepSkipped, StepVerified
from bot.domain.incident import Incident, StepRecord
from bot.domain.plan import Plan, Step
from bot.domain.safe_text import one_line
from bot.domain.verdict import Evidence
from bot.surfaces.slack.member import ids_of
from bot.surfaces.slack.message import Block, clipped, preformatted, titled
from bot.surfaces.slack.rich import bold, code, date, line, listing, person, slack_user, text, usergroup, utc
from bot.surfaces.slack.telling import Telling

MOST_COMMANDS = 6
COMMAND = 600  # characters of one command on the card; the dialog and the thread have it whole
SAID = 300
MOST_NAMED = 5  # approvers by name
MOST_MOVED = 12  # pods on the card; the record has them all
_UNSAID = {"verbs", "within", "with_bare_pods"}  # arguments that the commands tell better
_VERBS = {"disable_unit": "disable", "mask_unit": "mask", "restore_unit": "bring back"}
_BLAST = {
    "disable_unit": "{unit} stops now and does not start at the next boot",
    "mask_unit": "{unit} stops now, and nothing can start it until it is unmasked",
    "restore_unit": "{unit} is brought back ({verbs})",
    "reboot": "everything that runs on the node ends, and it is away for minutes",
    "drop_caches": "the page cache is emptied: reads are slow until it is warm again",
    "drain": "no new pods come to {node}, and those that are there are evicted, within {within}",
    "uncordon": "pods may come again",
}


def step_words(step: Step) -> str:
    """Return what a step does, in a few words.

    Example:
    >>> step_words(Step("disable_unit", {"unit": "ecs.service"})), step_words(Step("reboot"))
    ('disable ecs.service', 'reboot')
    """
    names = [value for name, value in step.args.items() if name not in _UNSAID]
    return one_line(" ".join([_VERBS.get(step.action, step.action), *names]), 200)


def plan_words(plan: Plan) -> str:
    """Return what a plan does, in a few words.

    Example: "disable ecs.service, then reboot".
    """
    return ", then ".join(step_words(step) for step in plan.steps)


def blast_radius(plan: Plan) -> str:
    """Return what carrying out a plan does to the node and what runs there."""
    told = []
    for step in plan.steps:
        known = _BLAST.get(step.action)
        told.append(one_line(known.format_map(_Args(step.args)) if known else step_words(step), 200))
    return f"1 node, {one_line(plan.node, 80)}: " + "; then ".join(told) + "."


class _Args(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return "?"


def commands_of(plan: Plan) -> list[str]:
    """Return every command of a plan, in order."""
    return [command for step in plan.steps for command in step.commands]


def plan_blocks(proposal: PlanProposed) -> Iterator[Block]:
    """Yield the plan with its exact commands, what it is bound to, what it does, and what would last."""
    plan = proposal.plan
    yield titled(f"The plan: {clipped(plan_words(plan), SAID)}")
    commands = commands_of(plan)
    shown = [clipped(one_line(command, 10_000), COMMAND) for command in commands[:MOST_COMMANDS]]
    if len(commands) > len(shown):
        shown.append(f"… and {len(commands) - len(shown)} more")
    yield preformatted(shown or ["(no command)"])
    yield from moved_blocks(proposal)
    about = [("What it does", blast_radius(plan)), ("Bound to", bound_words(proposal.binds))]
    about += [("Note", note) for note in plan.notes]
    if plan.lasting_fix:
        about.append(("Lasting fix", plan.lasting_fix))
    yield listing([(bold(f"{word}: "), text(sentence, SAID * 2)) for word, sentence in about if sentence])


def moved_blocks(proposal: PlanProposed) -> Iterator[Block]:
    """Yield what a drain would move as things stand, with the jobs that it is part of."""
    if rows := [clipped(one_line(row, 1000), SAID) for row in proposal.affects[:MOST_MOVED]]:
        yield titled(f"What the drain moves, as of now ({len(proposal.affects)})")
        more = len(proposal.affects) - len(rows)
        yield preformatted([*rows, f"… and {more} more"] if more else rows)


def bound_words(binds: Mapping[str, str]) -> str:
    """Return which machine, and which boot of it, a plan is for."""
    told = [
        f"{title} {one_line(binds[name], 60)}"
        for name, title in (("address", "address"), ("boot_id", "boot"), ("host_key", "host key"))
        if binds.get(name)
    ]
    return ", ".join(told) + (": anything else there cancels it" if told else "")


def approver_pieces(telling: Telling, group: Sequence[Incident]) -> list[Block]:
    """Return who may say yes, and until when."""
    policy = telling.policy
    needed = max((one.proposal.approvals_needed for one in group if one.proposal is not None), default=1)
    pieces: list[Block] = [bold(f"Needs {needed} of ")]
    whom: list[Block] = [usergroup(group) for group in sorted(ids_of(policy.approver_groups))[:MOST_NAMED]]
    of_slack = sorted(who for who in policy.approvers if slack_user(who))
    whom += [person(who) for who in of_slack[:MOST_NAMED]]
    if len(of_slack) < len(policy.approvers):
        whom.append(text("those who may in a terminal"))
    for number, piece in enumerate(whom or [text("nobody: [policy] names no approvers")]):
        pieces += [text(", ")] * bool(number) + [piece]
    askers = {} if policy.self_approval else {one.alert.asked_by: None for one in group if one.alert.asked_by}
    for asker in list(askers)[:MOST_NAMED]:
        pieces += [text(", not "), person(asker)]
    until = min((at for one in group if (at := telling.decides_until(one)) is not None), default=None)
    if until is not None:
        pieces += [text(", until "), date(until)]
    said = {yes.by: None for one in group for yes in one.endorsements}
    for number, by in enumerate(list(said)[:MOST_NAMED]):
        pieces += [text(", " if number else ". Yes so far by "), person(by)]
    return [*pieces, text(". It begins only if the node, looked at again then, is as it is here.")]


def approver_words(telling: Telling, group: Sequence[Incident]) -> str:
    """Return the same in plain words, for those who hear the text."""
    needed = max((one.proposal.approvals_needed for one in group if one.proposal is not None), default=1)
    asked = any(one.alert.asked_by for one in group) and not telling.policy.self_approval
    until = min((at for one in group if (at := telling.decides_until(one)) is not None), default=None)
    words = f"Needs {needed} approval{'s' if needed > 1 else ''}" + (", not by whoever asked" if asked else "")
    words += f", until {utc(until)}." if until is not None else "."
    so_far = max((len(one.endorsements) for one in group), default=0)
    return words + (f" {so_far} said yes so far." if so_far else "")


def step_list(incident: Incident) -> Block | None:
    """Return the steps of an approved plan with what became of each; None before there is one."""
    if incident.proposal is None:
        return None
    items = []
    for number, step in enumerate(incident.proposal.plan.steps, 1):
        record = incident.steps[number - 1] if len(incident.steps) >= number else None
        items.append([bold(step_words(step), 200), *_outcome(record)])
    return listing(items, "ordered") if items else None


def step_sentence(incident: Incident) -> str:
    """Return the same as one sentence a step."""
    told = []
    for number, step in enumerate(incident.proposal.plan.steps if incident.proposal is not None else (), 1):
        record = incident.steps[number - 1] if len(incident.steps) >= number else None
        told.append(f"Step {number}, {step_words(step)}: {_outcome_word(record)}.")
    return " ".join(told)


def _outcome_word(record: StepRecord | None) -> str:
    if record is None:
        return "to come"
    match record.outcome:
        case StepVerified(took=took):
            return f"done, and proved after {span(took)}"
        case StepSkipped(because=because):
            return f"not needed: {one_line(because, SAID)}"
        case StepFailed(because=because):
            return f"failed: {one_line(because, SAID)}"
    return "under way" + (f", attempt {record.attempt}" if record.attempt > 1 else "")


def _outcome(record: StepRecord | None) -> list[Block]:
    pieces: list[Block] = [text(f" — {_outcome_word(record)}", SAID * 2)]
    if record is None:
        return pieces
    if record.outcome is None:
        return [*pieces, text(", since "), date(record.started_at, "{time_secs}")]
    seen: Sequence[Evidence] = getattr(record.outcome, "proof", ()) or getattr(record.outcome, "seen", ())
    return [*pieces, *(piece for one in seen[:2] for piece in (text(". "), code(one_line(_seen(one), SAID))))]


def _seen(evidence: Evidence) -> str:
    """What a look saw, without the name of the step it stands beside: of a unit, its states."""
    states = [line for line in evidence.source if line.partition("=")[0].endswith("State")]
    return ", ".join(states) or evidence.says.rpartition(": ")[2]


def decided_line(incident: Incident, words: str) -> Block | None:
    """Return who decided what, when, and why."""
    decision = incident.decision
    if decision is None:
        return None
    reason = one_line(decision.event.reason, SAID)
    pieces = [text(f"{words} by "), person(decision.by), text(" at "), date(decision.at, "{time_secs}")]
    return line(*pieces, text(f": “{reason}”" if reason else ""))
