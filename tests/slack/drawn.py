"""What a chat shows, as Slack shows it: documents and dialogs in Slack's blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial, wraps
from typing import Any

from bot.chat import card, dialog, storm_board, thread
from bot.chat.document import CoreLoadStrip, Document, Record
from bot.chat.service import Message
from bot.domain.core_heat import CoreHeat
from bot.domain.incident import Incident
from bot.domain.verdict import Verdict
from bot.surfaces.slack.drawing import Block, dialog_view, draw, fits
from bot.view.context import ViewContext
from bot.view.plan_words import BY_NAME, PlanView, PlanWords
from bot.view.view import GroupView, group_view

fits_dialog = partial(fits, dialog=True)


def incident_card(group: GroupView) -> Message:
    return draw(card.incident_card(group))


def acting_card(group: Sequence[Incident], context: ViewContext) -> Message | None:
    """The card of a group that has more than verdicts; none while it has not."""
    view = group_view(group, context) if group else None
    return incident_card(view) if view is not None and not view.shows_verdicts else None


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in a message, however deep it stands."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list | tuple):
        for inner in value:
            yield from objects(inner)


class Reply:
    """A reply in a card's thread: its name in the outbox, and its message."""

    def __init__(self, reply: thread.Reply) -> None:
        self.part, self.message, self.fold = reply.part, draw(reply.message), reply.fold


def details(verdict: Verdict, incident: str = "", **more: Any) -> tuple[Reply, ...]:
    return tuple(map(Reply, thread.details(verdict, incident, fits, **more)))


def replies(incident: Incident, words: PlanWords = BY_NAME, *, of_several: bool = False) -> list[Reply]:
    return [Reply(each) for each in thread.replies(incident, words, of_several=of_several)]


@wraps(storm_board.storm_card)
def storm_card(*given: Any) -> Message:
    return draw(storm_board.storm_card(*given))


def reason_dialog(
    action: str, sealed: str, plans: Sequence[PlanView], words: Sequence[str] = (), objection: str = "", **more: Any
) -> dict[str, Any]:
    return dialog_view(dialog.reason_dialog(action, plans, words, objection, **more), sealed)


def covered(plans: Sequence[PlanView]) -> list[PlanView]:
    return dialog.plans_that_fit(plans, fits_dialog)


def block_of(shown: Any) -> Block:
    """One block of a document, as Slack shows it."""
    (block,) = draw(Document("", (shown,))).blocks
    drawn: Block = block
    return drawn


def heat_block(heat: CoreHeat, incident: str = "") -> Block:
    return block_of(CoreLoadStrip(heat, incident))


def name_of(heat: CoreHeat, incident: str) -> str:
    return CoreLoadStrip(heat, incident).name


def record_line(head: str) -> Block:
    return block_of(Record(head))
