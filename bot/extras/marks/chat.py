"""Was the verdict right? What closed cards in a chat ask, what an answer does, and who looked at a cause in doubt."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from bot.chat.clicks import UNKNOWN_BUTTON, Click
from bot.chat.context import ChatContext
from bot.chat.dialog import Intent
from bot.chat.document import TEXT, Button, ButtonRow, Dialog, Paragraph, clipped
from bot.chat.people import Person
from bot.chat.requests import ExtraQuestion, HelpRequest, Request
from bot.domain.errors import NothingProposed
from bot.extras.marks.marker import BACK, RIGHT, WRONG, VerdictMarker, can_be_marked, reply_words
from bot.extras.marks.marker import verdict_to_mark as verdict_of
from bot.extras.marks.store import MarkStore
from bot.seats import Chat
from bot.view.context import ClosingQuestion
from bot.view.words import diagnosis

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bot.app.bot import Bot

FEEDBACK = "feedback"
SAID = RIGHT, WRONG, BACK
_ACTIONS = frozenset((FEEDBACK, *(f"{FEEDBACK}-{word}" for word in SAID)))  # alone on cards of an earlier version
_ASKS, _HINT = "What was it?", "A cause, “none”, or in your own words"
LOOKED_AT = "looked-at"
_HELP = "/zombie looked-at CAUSE REASON — lift the doubt about a cause; its plans are offered again"
_UNFINISHED = "Which cause, and what was found? It goes on record. Say `/zombie looked-at CAUSE REASON`."
QUESTION = ClosingQuestion(FEEDBACK, (RIGHT, "Verdict right"), (WRONG, "Verdict wrong"), can_be_marked)


def asks(_: Bot) -> ClosingQuestion:
    """Return what a closed card asks."""
    return QUESTION


def chat(bot: Bot, context: ChatContext) -> MarkClicks:
    """Return what takes the answers."""
    return MarkClicks(context, VerdictMarker(context.policy, MarkStore(bot.stores.database), context.responder.clock))


class MarkClicks(Chat):
    """Takes clicks on the answers; *wrong* opens a dialog that asks what it was instead. Takes `looked-at`, too."""

    family = FEEDBACK
    verbs: ClassVar[Mapping[str, str]] = {LOOKED_AT: _HELP}

    def __init__(self, context: ChatContext, marker: VerdictMarker) -> None:
        self._context = context
        self._marker = marker

    def typed(self, verb: str, words: list[str]) -> Request | None:
        """Return what is asked for after its verb; None for anything else."""
        if verb not in self.verbs:
            return None
        if len(words) < 2:
            return HelpRequest(_UNFINISHED)
        cause, reason = words[0].lower(), " ".join(words[1:])
        return ExtraQuestion(verb, partial(self._record_review, cause, reason), cause)

    async def _record_review(self, cause: str, reason: str, person: Person) -> str:
        """Record that one who may approve looked at a cause in doubt. Raises: Refused, LedgerError."""
        approval = await self._context.people.approval(person, self._context.policy, reason)
        return await self._marker.record_cause_review(cause, approval)

    def is_about(self, action: str, value: str) -> bool:
        """True for an answer, also one of the buttons' older form."""
        return action in _ACTIONS

    async def ask(self, click: Click) -> None:
        """Record what a person says of a verdict, or take it back; whoever may ask for checks may say so.

        Raises: NothingProposed, NothingToMark, TooManyRequests, NotAllowedToAsk, CannotTell, LedgerError.
        """
        if (said := mark_of_button(click.value)) is None:
            raise NothingProposed(UNKNOWN_BUTTON)
        name, word = said
        # What takes it back stands in an answer that nobody else sees, and concerns that person's own word alone.
        find = self._context.find(name) if word == BACK else self._context.incident_of_click(click, name)
        incident = await find
        await self._context.askers.admit(click.person)
        intent = Intent(
            f"{FEEDBACK}-{word}", click.person.user, {incident.id: ""}, click.channel, click.thread, click.key
        )
        if word == WRONG:
            shown = Paragraph(clipped(diagnosis(incident, verdict_of(incident)), TEXT))
            dialog = Dialog("Verdict wrong", "Say so", (shown,), _HINT, focus=True, label=_ASKS)
            await self._context.open(click, intent, dialog)
        else:
            await self._record_mark(intent, click.person)

    async def decide(self, intent: Intent, person: Person, reason: str, *, again: bool = False) -> str:
        """Record that a verdict was wrong, and what it was; a dialog that comes again adds nothing."""
        await self._record_mark(intent, person, reason)
        return ""

    async def _record_mark(self, intent: Intent, person: Person, was: str = "") -> None:
        incident = await self._context.find(next(iter(intent.plans)))
        people, policy = self._context.people, self._context.policy
        word = intent.action.rpartition("-")[2]
        groups: frozenset[str] = frozenset()
        if word != BACK:  # an outage makes no stranger of one who may approve
            groups = (await people.approval(person, policy, "")).groups
        marked = await self._marker.mark(
            incident,
            word == RIGHT,
            person.by,
            request=intent.detail,
            groups=groups,
            approvers=policy.most_approvers(people.group_members) or 0,
            was=was,
            taken_back=word == BACK,
        )
        back = Button("Take it back", f"{FEEDBACK}-{BACK}", f"{BACK}-{incident.id}")
        below = () if word == BACK else (ButtonRow((back,)),)
        words = reply_words(incident, marked)
        await self._context.ephemeral.tell(person.by, intent.channel, intent.thread_ts, words, below=below)


def mark_of_button(value: str) -> tuple[str, str] | None:
    """Return the incident of a button's value, and what it says; None for a value that no button has.

    Example:
    >>> mark_of_button("wrong-7k3m9x2qpv"), mark_of_button("7k3m9x2qpv"), mark_of_button("right-")
    (('7k3m9x2qpv', 'wrong'), None, None)
    """
    word, _, incident = value.partition("-")
    return (incident, word) if word in SAID and incident else None
