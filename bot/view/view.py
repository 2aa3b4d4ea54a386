"""What people see of an incident and of a group: made once, and drawn by every surface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

from bot.domain.alert import PEOPLE, Alert
from bot.domain.events import Escalated, PlanWithheld, Resolved
from bot.domain.incident import Incident
from bot.domain.link_template import blanks_of
from bot.domain.pagerduty import address_of, page_id_of
from bot.domain.safe_text import counted, listed, one_line
from bot.domain.transitions import State
from bot.domain.verdict import Evidence, Status, Verdict
from bot.response.diagnosis.figures import before_and_after_table, read_then
from bot.response.diagnosis.progress import ReadingProgress
from bot.response.diagnosis.proposal import ACTING_IS_OFF
from bot.view.before_after import FigureRow, before_and_after
from bot.view.context import ClosingQuestion, ViewContext
from bot.view.growth_words import growth_words
from bot.view.plan_words import SAID, PlanView, PlanWords
from bot.view.standing import (
    Choice,
    approvals_sentence,
    approvers_sentence,
    askers_sentence,
    choices_of,
    decision_sentence,
    harm_sentences,
    is_undecided,
    short_words,
    state_sentences,
)
from bot.view.words import (
    NEEDS_PERSON_FIRST,
    REOPENED,
    RESOLVED,
    Person,
    Sentence,
    attention_key,
    count_by_kind,
    diagnosis,
    first_word,
    headline,
    is_over_at_source,
    joined,
    relapse_words,
    settled_words,
    severity_key,
    status_counts,
    with_first_word,
)

MOST_ALERTS = 5
ABOUT = 600
MOST_LINKS = 5
PAGE = "PagerDuty"
LONG_AGO = datetime.min.replace(tzinfo=UTC)
AROUND = timedelta(minutes=15)  # a link to a time window covers this long before and after the incident's start
_COUNTED = {
    State.OPENED: "still reading",
    State.PROPOSED: "wait for approval",
    State.TRIAGED: "without a plan",
    State.UNKNOWN: "ask a question",
}
_DECISION_FIRST = (State.APPROVED, State.DECLINED)
_RECURRENCE_TOLD = (State.TRIAGED, State.PROPOSED, State.ESCALATED)  # states in which a person weighs what to do
_STEPS_TOLD = (State.ACTING, State.VERIFYING)


def is_alarm(alert: Alert) -> bool:
    """True when a source reported it; false when a person asked."""
    return alert.kind not in PEOPLE


@dataclass(frozen=True, slots=True)
class IncidentView:
    """An incident as people see it.

    Shape: `headline` begins with how it ended, or that it was reopened; `diagnosis` is the same without that word.
    `sentences` tell its state, `decided` who said yes or no; `short` is both in the few words of a row. `plan` is
    what is proposed, or what would help. `seen` is what was read last while the node is watched. `recurs` says that
    the node had the same cause before; `growth` is how fast the cause's count grew there. `links` are names and
    addresses. `compared` are the figures of a cure, before and after, `harm` what was suffered until then, `beside`
    what else a cured node has. `as_of` is when it changed last, `working` what a pressed button does.
    """

    id: str
    node: str
    state: State
    headline: str
    diagnosis: str
    verdict: Verdict | None = None
    plan: PlanView | None = None
    sentences: tuple[Sentence, ...] = ()
    decided: Sentence = ()
    short: str = ""
    withheld: PlanWithheld | None = None
    seen: tuple[Evidence, ...] = ()
    compared: tuple[FigureRow, ...] = ()
    escalated: Escalated | None = None
    ended: bool = False
    reopens: str = ""
    recurs: str = ""
    links: tuple[tuple[str, str], ...] = ()
    growth: str = ""
    as_of: datetime = LONG_AGO
    working: str = ""
    harm: tuple[Sentence, ...] = ()
    beside: str = ""

    @property
    def severity(self) -> Status | None:
        """The status of the node, once known."""
        return self.verdict.status if self.verdict is not None else None

    @property
    def is_ordinary(self) -> bool:
        """True for a healthy node about which nothing is unusual."""
        return self.verdict is not None and self.verdict.is_ordinary

    @property
    def is_sick(self) -> bool:
        """True for a node to see to: as it was found, or as its cure has left it."""
        return bool(self.beside) if self.state is State.RESOLVED else self.verdict is not None and not self.is_ordinary

    @property
    def is_checked(self) -> bool:
        """True while a yes is checked; the first sentence says whose."""
        return len(self.sentences) > 0 and any(isinstance(piece, Person) for piece in self.sentences[0])

    @property
    def is_beyond_verdict(self) -> bool:
        """True once there is more than a verdict to show: a plan offered or withheld, a question, an end."""
        withheld = self.withheld is not None and self.withheld.because != ACTING_IS_OFF
        return withheld or self.state not in (State.OPENED, State.TRIAGED)

    @property
    def is_beyond_offer(self) -> bool:
        """True once somebody said yes or no, or a yes is checked; with a question, and with an end."""
        return self.state not in (State.OPENED, State.TRIAGED, State.PROPOSED) or bool(self.decided) or self.is_checked

    @property
    def story(self) -> Sentence:
        """Its state as a text: the sentences, the steps while they run, the decision."""
        first, last = (self.decided, ()) if self.state in _DECISION_FIRST else ((), self.decided)
        recurs = tuple((words,) for words in (self.recurs, self.growth) if words and self.state in _RECURRENCE_TOLD)
        steps = self.plan.steps if self.plan is not None and self.state in _STEPS_TOLD else ()
        rows = [(step.sentence,) for step in steps]
        if self.withheld is not None and self.withheld.lacking:
            rows.append((f"Lacking: {'; '.join(one_line(right, SAID) for right in self.withheld.lacking)}.",))
        return joined((first, *recurs, *self.sentences, *rows, last))


@dataclass(frozen=True, slots=True)
class GroupView:
    """Incidents shown together, on a card or in a note; the worst come first.

    Shape: `shows_verdicts`: it shows the findings, because nothing is decided or done yet on any node. `choices` are
    what a person can choose now, `needs` and `approvers` what a decision needs. `about` is what the alerts said,
    `asked` says which people of a chat asked; `head` is set once all ended. `absent` are buttons of extras that are
    left out, `asks` their questions about verdicts, once all have ended. `chat` is where people decide; `rest` says
    where the reasons are that have no room here.
    """

    incidents: tuple[IncidentView, ...]
    headline: str
    shows_verdicts: bool
    choices: tuple[Choice, ...] = ()
    needs: Sentence = ()
    approvers: Sentence = ()
    about: str = ""
    asked: Sentence = ()
    head: str = ""
    absent: frozenset[str] = frozenset()
    asks: tuple[ClosingQuestion, ...] = ()
    chat: str = "Slack"
    rest: str = "See thread."

    @property
    def ended(self) -> bool:
        """True once every incident has ended."""
        return all(view.ended for view in self.incidents)

    @property
    def only_likely(self) -> Mapping[str, Sequence[str]]:
        """The nodes whose verdicts are only likely, by the sentence that says what would settle them."""
        found: dict[str, list[str]] = {}
        for view in self.incidents:
            verdict = view.verdict if view.state in (State.TRIAGED, State.PROPOSED) else None
            if verdict is not None and (words := settled_words(verdict)):
                found.setdefault(words, []).append(view.node)
        return found

    def row(self, view: IncidentView) -> str:
        """The row of an incident in a table."""
        return view.headline if self.words_verdict(view) or not view.short else f"{view.headline} — {view.short}"

    def words_verdict(self, view: IncidentView) -> bool:
        """True where an incident's row is about its verdict alone, and not about how it stands."""
        return self.shows_verdicts and not view.is_beyond_verdict


def incident_view(incident: Incident, context: ViewContext) -> IncidentView:
    """Return the view of an incident."""
    # What acts keeps its verdict, also where the node is read again for another alert.
    verdict = incident.verdict if incident.has_begun else context.fresh.get(incident.node, incident.verdict)
    plan = context.words.of_incident(incident, verdict)
    state, triage = incident.state, incident.triage
    if state is State.OPENED and verdict is not None:
        state = State.TRIAGED  # it will be on record in a moment
    words = diagnosis(incident, verdict)
    if state is State.OPENED and incident.node:
        words = f"{incident.node}: {_progress_words(context.progress.get(incident.node))}"
    return IncidentView(
        id=incident.id,
        node=incident.node,
        state=state,
        headline=with_first_word(first_word(incident), words),
        diagnosis=words,
        verdict=verdict,
        plan=plan,
        sentences=tuple(state_sentences(incident, state, plan, context)),
        decided=decision_sentence(incident),
        short=short_words(incident, plan, context),
        withheld=incident.withheld,
        seen=incident.samples[-1].seen if incident.samples and incident.state is State.VERIFYING else (),
        compared=figures_before_and_after(incident),
        escalated=incident.ending if isinstance(incident.ending, Escalated) else None,
        ended=incident.ended,
        reopens=incident.reopens,
        recurs=relapse_words(triage.relapse) if triage is not None else "",
        links=links_of(incident, context.links) if context.links or any(alert.url for alert in incident.alerts) else (),
        growth=growth_words(triage.growth) if triage is not None and triage.growth is not None else "",
        as_of=incident.updated_at,
        working=context.working.get(incident.id, ""),
        harm=harm_sentences(incident),
        beside=incident.beside,
    )


def verdicts_view(verdicts: Sequence[Verdict], words: PlanWords) -> GroupView:
    """Return the view of verdicts that are no incident's, the worst first: of a check in a terminal."""
    views = []
    for verdict in verdicts:
        says, plan = headline(verdict.node, verdict), words.view(verdict.plan) if verdict.plan is not None else None
        views.append(IncidentView("", verdict.node, State.TRIAGED, says, says, verdict, plan))
    return replace(_checks_view(views), rest="")


def figures_before_and_after(incident: Incident) -> tuple[FigureRow, ...]:
    """Return the figures of a cure, each with its value before and after, also while it is watched; else none."""
    watched = incident.validation.window if incident.validation is not None else timedelta(0)
    if isinstance(incident.ending, Resolved):
        return before_and_after(incident.ending.compared, watched)
    if incident.state is not State.VERIFYING or incident.proposal is None or not incident.samples:
        return ()
    if incident.sampled_at is not None and incident.validation_ends_at is not None:
        watched -= incident.validation_ends_at - incident.sampled_at
    return before_and_after(before_and_after_table(incident.proposal.figures, read_then(incident.samples[-1])), watched)


def group_view(group: Sequence[Incident], context: ViewContext) -> GroupView:
    """Return the view of incidents that are shown together."""
    views = [incident_view(incident, context) for incident in group]
    shows_verdicts = not any(view.is_beyond_offer for view in views) and (
        not any(view.is_beyond_verdict for view in views)
        # While one is read, or it is known in a moment whether its plan is offered, the offers of others can wait.
        or any(incident.state in (State.OPENED, State.TRIAGED) and not incident.ended for incident in group)
    )
    undecided = [incident for incident in group if is_undecided(incident, context.checking)]
    view = _checks_view(views) if shows_verdicts else _acting_view(views)
    word = _group_first_word(group)
    return replace(
        view,
        headline=view.headline if len(views) == 1 else with_first_word(word, view.headline),
        shows_verdicts=shows_verdicts,
        choices=tuple(choices_of(group, context.checking, context.undoes, context.words)),
        needs=approvals_sentence(undecided, context),
        approvers=approvers_sentence(context) if undecided else (),
        about=_alerts_and_reasons(group),
        asked=askers_sentence(group),
        head=context.head if view.ended else "",
        absent=context.absent,
        asks=context.asks if view.ended else (),
        chat=context.chat,
    )


def _checks_view(views: Sequence[IncidentView]) -> GroupView:
    """Nodes being read or already read, the worst first."""
    ordered = sorted(views, key=lambda view: (view_severity_key(view), view.is_ordinary))
    read = [view.verdict.status for view in views if view.verdict is not None]
    counts = [status_counts(read)] if read else []
    if odd := sum(view.severity is Status.HEALTHY and not view.is_ordinary for view in views):
        counts.append(f"{odd} of the healthy unusual")
    if unread := len(views) - len(read):
        counts.append(f"{unread} still reading")
    words = views[0].headline if len(views) == 1 else f"{_count_nodes(views)}: {', '.join(counts)}"
    return GroupView(tuple(ordered), words, shows_verdicts=True)


def _acting_view(views: Sequence[IncidentView]) -> GroupView:
    ordered = sorted(views, key=lambda view: (_current_severity_key(view), attention_key(view.state), view.node))
    counts = count_by_kind((view.state for view in views), NEEDS_PERSON_FIRST)
    sick = status_counts(view.verdict.status for view in views if view.verdict and view.state is not State.RESOLVED)
    stand = ", ".join(f"{count} {_COUNTED.get(state, state.value)}" for count, state in counts)
    said = "; ".join(part for part in (sick, stand) if part)
    words = views[0].headline if len(views) == 1 else f"{_count_nodes(views)}: {said}"
    return GroupView(tuple(ordered), words, shows_verdicts=False)


def _count_nodes(views: Sequence[IncidentView]) -> str:
    return counted(len({view.node or view.id for view in views}), "node")


def view_severity_key(view: IncidentView) -> tuple[int, int]:
    """Return a sort key: the gravest verdict first."""
    return severity_key(view.severity, view.verdict.confidence if view.verdict is not None else None)


def _current_severity_key(view: IncidentView) -> tuple[int, int]:
    """How bad the node is; a cured node is not bad, where it has nothing else."""
    is_well = view.state is State.RESOLVED and not view.beside
    return severity_key(Status.HEALTHY) if is_well else view_severity_key(view)


def links_of(incident: Incident, templates: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return each link's name and address; a link is left out while any of its values is unknown.

    Shape: values are percent-encoded whole, also slashes, so that none of them adds a path or a parameter. The last is
    its page, where PagerDuty told the address; a template with `{page}` or of this name takes its place.
    """
    verdict = incident.verdict
    values = {
        "node": incident.node,
        "cause": (verdict.cause or "") if verdict is not None else "",
        "incident": incident.id,
        "from": f"{(incident.opened_at - AROUND).timestamp() * 1000:.0f}",
        "until": f"{(incident.opened_at + AROUND).timestamp() * 1000:.0f}",
        "page": next((page for alert in incident.alerts if (page := page_id_of(alert))), ""),
    }
    found = []
    for name, template in templates.items():
        wanted = blanks_of(template)
        if all(values[blank] for blank in wanted):
            address = template
            for blank in wanted:
                address = address.replace(f"{{{blank}}}", quote(values[blank], safe="", errors="replace"))
            found.append((name, address))
    page = next((address for alert in incident.alerts if (address := address_of(alert))), "")
    if any("page" in blanks_of(text) or name.casefold() == PAGE.casefold() for name, text in templates.items()):
        page = ""
    return (*found[:MOST_LINKS], *(((PAGE, page),) if page else ()))


def _progress_words(underway: ReadingProgress | None) -> str:
    if underway is None:
        return "reading…"
    if underway.waiting:
        return f"waiting: {underway.waiting}"
    slow = f", {underway.slow}" if underway.slow else ""
    return f"reading… {underway.answered} of {underway.asked} probes{slow}" if underway.asked else "reading…"


def _group_first_word(group: Sequence[Incident]) -> str:
    """The first word of a group's headline: resolved once each incident is, or needs no cure."""
    cured = any(incident.state is State.RESOLVED for incident in group)
    closed = all(
        is_over_at_source(incident)
        or incident.state is State.RESOLVED
        or (cured and incident.ended and incident.state is State.TRIAGED)
        for incident in group
    )
    if closed:
        return RESOLVED
    return REOPENED if any(incident.reopens and not incident.is_over for incident in group) else ""


def _alerts_and_reasons(group: Sequence[Incident]) -> str:
    """What the alerts said, and why no verdict leads to an offered plan, for which nodes if not for all."""
    alerts = {(alert.kind, alert.id): alert for incident in group for alert in incident.alerts if is_alarm(alert)}
    said = [f"{alert.kind} {one_line(alert.id, 60)}: {one_line(alert.text, 400)}" for alert in alerts.values()]
    more = [f"and {len(said) - MOST_ALERTS} more alerts"] if len(said) > MOST_ALERTS else []
    reasons: dict[str, list[str]] = {}
    for incident in group:
        reasons.setdefault(incident.withholds, []).append(incident.node)
    why = [f"{listed(of, MOST_ALERTS)}: {why}" if len(reasons) > 1 else why for why, of in reasons.items() if why]
    return one_line(" · ".join([*said[:MOST_ALERTS], *more, *why]), ABOUT)
