"""The state of an incident in words, and what a person may choose. Pure functions.

It has each state's sentences, its few words for a table, and the rule for which buttons and answers are shown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from bot.domain.action import Plan
from bot.domain.alert import TERMINAL
from bot.domain.duration import span_words
from bot.domain.events import GIVE_UP, GO_ON, Cancelled, Declined, Escalated, Resolved, StepVerified
from bot.domain.incident import Incident, Result
from bot.domain.safe_text import counted, one_line
from bot.domain.transitions import State
from bot.response.diagnosis.proposal import ACTING_IS_OFF
from bot.response.execution.watched_growth import watched_growth
from bot.view.before_after import missing_proof
from bot.view.context import ViewContext
from bot.view.plan_words import BY_NAME, SAID, PlanView, PlanWords, end_words
from bot.view.words import (
    Group,
    Instant,
    Person,
    Piece,
    Sentence,
    in_chat,
    parse_leading_person,
    series,
    with_full_stop,
)

MOST_ASKERS = 3
MOST_NAMED = 5  # approvers by name
MOST_DIFFERENCES = 8
MOST_ENDED = 4
_BACK = {  # what the verbs that bring back a unit do
    "enable": "starts at boot again",
    "enable start": "starts again, now and at boot",
    "unmask": "can be started again",
    "unmask start": "can be started again, and starts now",
    "start": "starts again now",
}
SHORT = 120
PROFILED = "A profile changes the verdict, so the node is read again. What was offered before no longer stands."


def state_sentences(
    incident: Incident, state: State, plan: PlanView | None, context: ViewContext
) -> Iterator[Sentence]:
    """Yield the state of an incident and what it waits for, without its steps and its decision."""
    match state:
        case State.TRIAGED if incident.withheld is not None and incident.withheld.because != ACTING_IS_OFF:
            yield (with_full_stop(f"What would help is not offered: {one_line(incident.withheld.because, SAID)}"),)
        case State.OPENED | State.TRIAGED:
            if state is State.OPENED and incident.profile:
                yield (PROFILED,)
            yield from would_help_sentences(plan)
        case State.PROPOSED:
            if by := context.checking.get(incident.id):
                yield ("checking… ", Person(by), " said yes, and the node is read again.")
            yield (f"Waits for approval: {plan.words if plan is not None else 'a plan'}. Nothing is done before that.",)
            yield from ((sentence,) for sentence in (plan.also if plan is not None else ()))
        case State.APPROVED:
            yield from _waiting_sentences(incident, context)
        case State.ACTING:
            yield ("Acting.",)
            yield from _waiting_sentences(incident, context)
        case State.VERIFYING:
            yield _watching_sentence(incident, context)
            yield from _waiting_sentences(incident, context)
            yield from _sample_sentences(incident)
        case State.UNKNOWN:
            yield from _question_sentences(incident, context)
        case _:
            yield from _ending_sentences(incident, plan)


def would_help_sentences(plan: PlanView | None) -> Iterator[Sentence]:
    """Yield what would help a node for which nothing is offered."""
    if plan is not None:
        yield (f"What would help: {plan.words}.",)


def short_words(incident: Incident, plan: PlanView | None, context: ViewContext) -> str:
    """Return the state of an incident in the few words of a table's row."""
    why = context.waits_for.get(incident.id, "")
    held = f"; waits: {why}" if why else ""
    match incident.state:
        case State.OPENED:
            return "is being read"
        case State.PROPOSED if incident.id in context.checking:
            return "checking…"
        case State.PROPOSED if plan is not None:
            return f"waits for approval: {plan.words}"
        case State.APPROVED:
            return one_line(f"approved{held}", SHORT)
        case State.ACTING if plan is not None:
            number = max(1, min(len(incident.steps), len(plan.steps)))
            return one_line(f"acting, step {number} of {len(plan.steps)}{held}", SHORT)
        case State.VERIFYING:
            return one_line(f"is watched{held}", SHORT)
        case State.UNKNOWN:
            return "a question is open"
        case State.TRIAGED:
            if incident.withheld is not None:
                return one_line(f"not offered: {incident.withheld.because}", SHORT)
            if plan is not None:
                return one_line(f"would help: {plan.words}", SHORT)
            well = incident.verdict is not None and incident.verdict.is_ordinary
            return "nothing to do" if well else "no plan: look by hand"
    return one_line(_ending_reason(incident) or incident.state.value, SHORT)


def decision_sentence(incident: Incident) -> Sentence:
    """Return who decided what, when and why; empty where nobody has decided."""
    decision = incident.decision
    if decision is None:
        return ()
    word = "Declined" if isinstance(decision.event, Declined) else "Approved"
    reason = one_line(decision.event.reason, SAID)
    said = f": “{reason}”." if reason else "."
    return (f"{word} by ", Person(decision.by), " at ", Instant(decision.at, exact=True), said)


def askers_sentence(group: Sequence[Incident]) -> Sentence:
    """Return which people of a chat asked, without a full stop; empty for alerts."""
    asked = dict.fromkeys(by for incident in group for by in incident.askers if in_chat(by))
    return series("Asked by ", map(Person, list(asked)[:MOST_ASKERS]))


def approvals_sentence(group: Sequence[Incident], context: ViewContext) -> Sentence:
    """Return how many people must approve what waits on a card, and until when."""
    if context.policy is None or not group:
        return ()
    needed = _approvals_needed(group)
    asked = askers_sentence(group)
    pieces: list[Piece] = [*asked, ". "] if asked and context.policy.self_approval else []
    words = f"Needs {counted(needed, 'approval')}"
    if not context.policy.self_approval and any(incident.askers for incident in group):
        pieces += [f"{words} (not by ", *(asked[1:] or ("the person",))]
        words = " who asked)" if not asked else ", who asked)"
    until = context.decides_until(*group)
    pieces += [words] if until is None else [f"{words} by ", Instant(until), ", or it lapses"]
    pieces += ["."]
    so_far = list({endorsement.by: None for incident in group for endorsement in incident.endorsements})
    said = series(f" {len(so_far)} said yes so far: ", map(Person, so_far[:MOST_NAMED]))
    return (*pieces, *said, ".") if said else tuple(pieces)


def is_last_yes(group: Sequence[Incident], context: ViewContext) -> bool:
    """True if a yes now is surely the last that every plan needs; of several nodes together one may need more."""
    several = context.policy.approvals_for_several if context.policy is not None else 1
    return all(len(each.endorsements) + 1 >= max(each.approvals_needed, several) for each in group)


def approval_dialog_words(group: Sequence[Incident], context: ViewContext) -> tuple[tuple[str, str] | None, Sentence]:
    """Return the titles of a dialog and its button where a yes waits for others, and what becomes of it, until when."""
    if not group:
        return None, ()
    until = context.decides_until(*group)
    read = "The node is read again first: if it" if len(group) == 1 else "Each node is read again first: if one"
    left = "nothing runs" if len(group) == 1 else "nothing runs there"
    last = (
        "it runs at once, if no limit holds it" if is_last_yes(group, context) else "it runs once all it needs said yes"
    )
    valid = (" Valid until ", Instant(until), ".") if until is not None else ()
    titles = None if is_last_yes(group, context) else (APPROVE.capitalize(), APPROVE.capitalize())
    return titles, (
        f"{read} is another machine, was booted since or is not as shown here, {left}. Else {last}.",
        *valid,
    )


def approvers_sentence(context: ViewContext) -> Sentence:
    """Return who may approve, by name."""
    policy = context.policy
    if policy is None:
        return ()
    named: list[Piece] = [Group(group) for group in sorted(policy.approver_groups)[:MOST_NAMED]]
    by_name = sorted(who for who in policy.approvers if not who.startswith(f"{TERMINAL}:"))
    named += [Person(who) for who in by_name[:MOST_NAMED]]
    if len(by_name) < len(policy.approvers):
        named.append("the terminal approvers")
    return (*series("Who may approve: ", named or ["nobody: [policy] names no approvers"]), ".")


def _approvals_needed(group: Sequence[Incident]) -> int:
    return max((incident.approvals_needed for incident in group if incident.proposal is not None), default=1)


def _waiting_sentences(incident: Incident, context: ViewContext) -> Iterator[Sentence]:
    why = one_line(context.waits_for.get(incident.id, ""), SAID)
    if incident.step_under_way is not None:
        if why:
            yield parse_leading_person(with_full_stop(why), "As of now: ")
    elif why:
        until = context.begins_until(incident) if incident.state is State.APPROVED else None
        limit = (" It may begin until ", Instant(until), ".") if until is not None else ()
        yield (*parse_leading_person(with_full_stop(why), "It waits: "), *limit)
    elif incident.state is State.APPROVED:
        yield ("It has not begun yet.",)


def _watching_sentence(incident: Incident, context: ViewContext) -> Sentence:
    words, then = "All steps are done, and the node is watched", ""
    if incident.proposal is not None and incident.steps_left:
        left = map(context.words.step, incident.proposal.plan.steps[len(incident.steps) :])
        words, then = "The node is watched", f"; if the cure holds: {', then '.join(left)}"
    until = incident.validation_ends_at
    return (f"{words} until ", Instant(until), f"{then}.") if until is not None else (f"{words}{then}.",)


def _sample_sentences(incident: Incident) -> Iterator[Sentence]:
    if number := len(incident.samples):
        held = "the cure holds" if incident.samples[-1].holds else "the cure does not hold"
        yield (f"Read {counted(number, 'time')} so far: {held}.",)


def _question_sentences(incident: Incident, context: ViewContext) -> Iterator[Sentence]:
    asked = incident.question.question if incident.question is not None else ""
    yield (with_full_stop(f"A question: {one_line(asked, SAID)}"),)
    if (until := context.answers_until(incident)) is not None:
        yield ("Nothing more is sent to the node. Without an answer it is escalated at ", Instant(until), ".")


def _ending_reason(incident: Incident) -> str:
    ending = incident.ending
    because: str = getattr(ending, "because", "") or getattr(ending, "summary", "")
    return f"{incident.result}: {because}" if incident.result is Result.NOT_GIVEN_BACK else because


def _ending_sentences(incident: Incident, plan: PlanView | None) -> Iterator[Sentence]:
    because = parse_leading_person(with_full_stop(one_line(_ending_reason(incident), SAID)))
    match incident.ending:
        case Resolved():
            yield _cure_sentence(incident) or because
            if incident.beside:
                found = with_full_stop(one_line(incident.samples[-1].seen[0].says, SAID))
                yield (f"At the end it was {one_line(incident.beside, 80)}: {found}",)
                yield ("Nothing was done for that: check the node again.",)
            if plan is not None and incident.steps:
                yield (f"Done: {', '.join(step.done for step in plan.steps)}.",)
            if ended := _ended_words(incident):
                yield (f"Ended, and not restarted by the bot: {ended}.",)
            if fix := _owed_fix_words(incident):
                of = next(iter(incident.verdict.suspects), "") if incident.verdict is not None else ""
                about = f" ({one_line(of, 80)})" if of and of not in fix else ""
                yield (with_full_stop(f"Still to do, the lasting fix{about}: {fix}"),)
            return
        case Escalated(try_next=try_next):
            yield ("A person has to take over: ", *because)
            if try_next.strip():
                yield (with_full_stop(one_line(try_next, SAID)),)
            return
        case Cancelled(differences=differences):
            yield because
            for difference in differences[:MOST_DIFFERENCES]:
                yield (with_full_stop(one_line(difference, SAID)),)
        case _:
            yield because
    if not incident.has_begun:
        yield (nothing_done_words(incident),)
    if incident.state is State.EXPIRED and incident.node:
        yield ("Check again for a new offer.",)


def _cure_sentence(incident: Incident) -> Sentence:
    """Return what is proven of a cure, and what is not yet; empty for an undo, which cures nothing."""
    ending, watch, cause = incident.ending, incident.validation, incident.verdict and incident.verdict.cause
    if not isinstance(ending, Resolved) or watch is None or not cause or incident.undoes:
        return ()
    found = next((row.after for row in ending.compared if row.name == "verdict"), None)
    if found is None:  # an old record, or a verdict without figures: what was said then stands
        return ()
    gone = f"{one_line(cause, 80)} is gone" if cause not in found else "The cure holds"
    held = sum(sample.holds for sample in incident.samples)
    note = f" ({watch.note.rstrip('.')})" if watch.note else ""
    words = f"{gone}: {held} of {len(incident.samples)} readings in {span_words(watch.window)}{note}"
    owed, needs = missing_proof(ending.compared, watch.window, watched_growth(incident))
    if not owed:
        return (f"{words}.",)
    since = incident.validation_ends_at - watch.window if incident.validation_ends_at is not None else None
    at = (" after ", Instant(since + needs)) if since is not None and needs is not None else ()
    return (f"{words}; not yet proven: {owed}. The bot no longer watches: check again", *at, ".")


def _ended_words(incident: Incident) -> str:
    """What ended with a plan of which every step was done, as the offer said; empty where nothing did."""
    ends = incident.proposal.plan.ends if incident.proposal is not None else None
    if ends is None or not all(isinstance(step.outcome, StepVerified) for step in incident.steps):
        return ""
    rows = [end_words(replace(end, age=None), briefly=True) for end in ends.rows[:MOST_ENDED]]
    more = len(ends.rows) - len(rows) + ends.more
    unread = ["what else ended is not known"] if ends.unread else []
    return ", ".join([*rows, *([f"{more} more"] if more else []), *unread])


def _owed_fix_words(incident: Incident) -> str:
    """What people still owe after a cure, which is not yet the lasting fix; an undo cured nothing."""
    verdict = incident.verdict
    is_cured = verdict is not None and verdict.cause is not None and not incident.undoes
    return one_line(verdict.lasting_fix, SAID) if verdict is not None and is_cured else ""


def harm_sentences(incident: Incident) -> tuple[Sentence, ...]:
    """Return the harm that a cure ended, for those who see no verdict any more."""
    harm = incident.verdict.harm if incident.verdict is not None and not incident.undoes else ""
    is_over = incident.state is State.RESOLVED and harm
    return ((with_full_stop(f"Harm before the cure: {one_line(harm, SAID)}"),),) if is_over else ()


def undo_warning(incident: Incident, undo: Plan | None = None) -> str:
    """Return what an undo of a cure does, and what may come back with it; empty where nothing was cured."""
    cause = incident.verdict.cause if incident.verdict is not None else None
    if incident.state is not State.RESOLVED or incident.undoes or not cause:
        return ""
    steps = undo.steps if undo is not None else ()
    does = [
        f"{step.args['unit']} {_BACK.get(step.args['verbs'], 'is again as it was before')}"
        for step in steps
        if "verbs" in step.args
    ]
    said = f"Undo, after approval: {one_line(', '.join(does), SAID)}" if does else "An undo asks for approval"
    calm = ". No reboot" if steps and all(step.action != "reboot" for step in steps) else ""
    return f"{said}{calm}. {one_line(cause, 80)} may come back."


def nothing_done_words(incident: Incident) -> str:
    """Return that no step ran; the node may have been read, or profiled."""
    return "Nothing was changed on the node." if incident.node else "Nothing was done."


APPROVE, DECLINE, UNDO, PICK, ANSWER = "approve", "decline", "undo", "pick_node", "answer"
MOST_ASKED = 5  # questions on a card; the next follow once these are answered
MOST_UNDO = 10  # on a card; the command undoes the others


@dataclass(frozen=True, slots=True)
class Choice:
    """A button or an answer that a person can choose.

    Shape: `about` is a group's name for approve and decline, an incident's id for the others; `nodes` are those
    concerned, `incidents` theirs in the same order, where each can be chosen by itself. `options` are the answers of
    `answer`, the nodes of `pick_node`; of `undo` what it brings back. `warning` is what may come back with that.
    """

    kind: str
    about: str
    nodes: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    incidents: tuple[str, ...] = ()
    warning: str = ""

    @property
    def button_words(self) -> str:
        """What is chosen, in plain words.

        Example: "approve 2 plans".
        """
        if self.kind in (APPROVE, DECLINE):
            return f"{self.kind} {len(self.nodes)} plans" if len(self.nodes) > 1 else self.kind
        return f"answer {' or '.join(self.options)}" if self.kind == ANSWER else self.kind.replace("_", " ")


def choice_words(choices: Sequence[Choice]) -> str:
    """Return what can be chosen, for a surface without buttons.

    Example: "approve or decline".
    """
    return " or ".join(dict.fromkeys(choice.button_words for choice in choices))


def choices_of(
    group: Sequence[Incident],
    checking: Collection[str] = (),
    undoes: Mapping[str, str] = MappingProxyType({}),
    words: PlanWords = BY_NAME,
) -> Iterator[Choice]:
    """Yield what can be chosen on the card of a group.

    Shape: `checking` are incidents with a yes that is being checked, `undoes` says what an undo
    would bring back; both by incident id. `words` tell what an undo does.
    """
    yield from decisions_on([incident for incident in group if is_undecided(incident, checking)])
    for incident in [incident for incident in group if incident.state is State.UNKNOWN][:MOST_ASKED]:
        if options := options_of(incident):
            yield Choice(ANSWER if incident.node else PICK, incident.id, (incident.node,), options)
    ended = [incident for incident in group if incident.id in undoes]
    yield from (
        Choice(UNDO, each.id, (each.node,), (undoes[each.id],), warning=undo_warning(each, words.undo(each)))
        for each in ended[:MOST_UNDO]
    )


def decisions_on(plans: Sequence[Incident]) -> Iterator[Choice]:
    """Yield approve and decline for a card's plans that wait for a decision."""
    if plans:
        nodes = tuple(incident.node for incident in plans)
        names = tuple(incident.id for incident in plans)
        yield Choice(APPROVE, plans[0].card, nodes, incidents=names)
        yield Choice(DECLINE, plans[0].card, nodes, incidents=names)


def is_undecided(incident: Incident, checking: Collection[str] = ()) -> bool:
    """True while a plan waits for a decision and no yes is being checked."""
    return incident.state is State.PROPOSED and incident.id not in checking


def options_of(incident: Incident) -> tuple[str, ...]:
    """Return the possible answers to an incident's open question."""
    if incident.question is None:
        return ()
    return tuple(dict.fromkeys(incident.question.options)) or ((GO_ON, GIVE_UP) if incident.node else ())
