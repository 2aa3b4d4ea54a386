"""Was the verdict right? What closed cards in a chat ask, and what a click on an answer does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.clicks import UNKNOWN_BUTTON, Click
from bot.chat.context import ChatContext
from bot.chat.dialog import Intent
from bot.chat.people import Person
from bot.domain.chat_request import ChatRequest
from bot.domain.errors import NothingProposed
from bot.domain.incident import Incident
from bot.extras.marks.marker import MarkResult, VerdictMarker, has_said
from bot.extras.marks.store import MarkStore
from bot.ledger import on_threads
from bot.view.context import ClosingQuestion

if TYPE_CHECKING:
    from bot.app.bot import Bot

FEEDBACK = "feedback"
RIGHT, WRONG = "right", "wrong"
_ACTIONS = frozenset((FEEDBACK, f"{FEEDBACK}-{RIGHT}", f"{FEEDBACK}-{WRONG}"))  # and those of the older form
QUESTION = ClosingQuestion(FEEDBACK, (RIGHT, "Verdict right"), (WRONG, "Verdict wrong"), has_said)


def asks(_: Bot) -> ClosingQuestion:
    """Return what a closed card asks."""
    return QUESTION


def chat(bot: Bot, context: ChatContext) -> MarkClicks:
    """Return what takes the answers."""
    marks = on_threads(MarkStore(bot.stores.database), bot.stores.threads)
    return MarkClicks(context, VerdictMarker(context.policy, marks, context.responder.clock))


class MarkClicks:
    """Takes clicks on the answers; they open no dialog."""

    family = FEEDBACK

    def __init__(self, context: ChatContext, marker: VerdictMarker) -> None:
        self._context = context
        self._marker = marker

    def is_about(self, action: str, value: str) -> bool:
        """True for an answer, also one of the buttons' older form."""
        return action in _ACTIONS

    async def ask(self, click: Click) -> None:
        """Record whether a person says that a verdict was right; whoever may ask for checks may say so.

        Raises: NothingProposed, NothingToMark, TooManyRequests, NotAllowedToAsk, LedgerError.
        """
        if (said := said_of(click.value)) is None:
            raise NothingProposed(UNKNOWN_BUTTON)
        incident = await self._context.clicked(click, said[0])
        await self._context.askers.admit(click.person)
        groups = (await self._context.people.membership(click.person.user)).groups
        marked = await self._marker.mark(incident, said[1], click.person.by, request=click.key, groups=groups)
        await self._context.ephemeral.tell(click.person.by, click.channel, click.thread, thanks(incident, marked))

    async def decide(self, intent: Intent, person: Person, reason: str, *, again: bool = False) -> str:
        """Raises: NothingProposed, for it has no dialogs."""
        raise NothingProposed(UNKNOWN_BUTTON)

    def takes(self, kept: ChatRequest, /) -> bool:
        """False: a click is handled once, and nobody goes on with it."""
        return False


def said_of(value: str) -> tuple[str, bool] | None:
    """Return the incident of a button's value, and whether it says right; None for a value that no button has.

    Example:
    >>> said_of("wrong-7k3m9x2qpv"), said_of("7k3m9x2qpv"), said_of("right-")
    (('7k3m9x2qpv', False), None, None)
    """
    word, _, incident = value.partition("-")
    return (incident, word == RIGHT) if word in (RIGHT, WRONG) and incident else None


def thanks(incident: Incident, marked: MarkResult) -> str:
    """Return the answer to a mark: what is on record, the cause's score, and what the person may do next."""
    mark, score = marked.mark, marked.score
    said = "On record" if marked.is_new else "You said so already"
    sentence = f"{said}: the verdict {mark.cause} on {incident.node} was {RIGHT if mark.right else WRONG}."
    sentence += f" {mark.cause}: {score.right} of {score.right + score.wrong} right."
    if score.in_doubt:
        sentence += f" {score.doubt}"
    if mark.right:
        return sentence
    expected = "CAUSE|none"
    return f"{sentence} To keep it as a test: zombie playbooks keep {incident.id} --dir DIR --expect {expected}"
