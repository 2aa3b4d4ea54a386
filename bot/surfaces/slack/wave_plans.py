"""*Plan* on a fleet's card: the dialog that asks how many nodes to leave alone, and the wave that it proposes.

The dialog decides nothing: another person approves what it proposes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bot.domain.errors import CannotTell, UsageError
from bot.domain.safe_text import one_line
from bot.response.fleet.ask import FleetAsk
from bot.surfaces.slack.blocks import option
from bot.surfaces.slack.context import SlackContext
from bot.surfaces.slack.dialog import CONTROL, LONGEST, PLAN_DIALOG, Intent
from bot.surfaces.slack.fleet_cards import FleetCards
from bot.surfaces.slack.message import clipped, footnote, paragraph, plain_text
from bot.surfaces.slack.parts import MessageTarget
from bot.surfaces.slack.people import Person

if TYPE_CHECKING:
    from bot.surfaces.slack.listeners import Click

NOBODY = "0"
SHARES = {NOBODY: "Nobody", **{f"{share}%": f"{share} %, drawn at random" for share in (5, 10, 25)}}
SAID = 1_500
UNKNOWN = "The bot does not know that button."


class WavePlans:
    """Takes clicks on *Plan*, and their dialogs."""

    def __init__(self, context: SlackContext, fleet: FleetCards) -> None:
        self._context = context
        self._fleet = fleet

    async def ask(self, click: Click) -> None:
        """Open the dialog of a click.

        Raises: NotAllowedToAsk, UsageError; CannotTell where Slack does not open it.
        """
        await self._context.askers.admit(click.person)
        ask = self._checked(FleetAsk.of(click.value))
        thread = click.thread_ts or click.ts
        intent = Intent(PLAN_DIALOG, click.person.user, {}, click.channel, thread, ask.text)
        sealed = self._context.slack.signer.sign(intent)
        if len(sealed) > LONGEST:
            raise CannotTell(
                "Those are too many nodes for a dialog.", f"zombie wave start SELECTOR --cause {ask.causes[0]}"
            )
        await self._context.slack.calls.open_dialog(click.trigger, plan_dialog(sealed, ask))

    async def propose(self, intent: Intent, person: Person, control: str, key: str) -> None:
        """Check the nodes and propose the wave; a second delivery with the same key proposes nothing.

        Raises: NotAllowedToAsk, TooManyRequests, UsageError, LedgerError.
        """
        await self._context.askers.admit(person)
        if control and control not in SHARES:
            raise UsageError(UNKNOWN)
        ask = self._checked(replace(FleetAsk.of(intent.detail), control="" if control == NOBODY else control))
        self._context.askers.count(person)
        await self._fleet.propose(ask, key, MessageTarget(intent.channel, intent.thread_ts), person.by)

    def _checked(self, ask: FleetAsk) -> FleetAsk:
        if ask.kind != "wave" or not ask.causes:
            raise UsageError(UNKNOWN)
        return ask


def plan_dialog(sealed: str, ask: FleetAsk) -> dict[str, Any]:
    """Return the view: what happens next, and how many nodes to leave alone."""
    options = [option(words, share) for share, words in SHARES.items()]
    return {
        "type": "modal",
        "callback_id": PLAN_DIALOG,
        "private_metadata": sealed,
        "title": plain_text("Plan a wave"),
        "submit": plain_text("Propose"),
        "close": plain_text("Cancel"),
        "blocks": [
            paragraph(
                f"The nodes are checked for {one_line(', '.join(ask.causes), 300)}. For those that have it, a wave is "
                "proposed, on a card in the channel. Nothing is done before another person has approved it."
            ),
            footnote(clipped(f"{len(ask.words)} named: {one_line(' '.join(ask.words), SAID)}", SAID)),
            {
                "type": "input",
                "block_id": CONTROL,
                "label": plain_text("Which nodes are left alone, to compare with?"),
                "hint": plain_text(
                    "Nodes also recover by themselves. Only a comparison with nodes left alone can show what "
                    "the cure did beyond chance. The nodes left alone stay as they are."
                ),
                "element": {
                    "type": "static_select",
                    "action_id": CONTROL,
                    "options": options,
                    "initial_option": options[0],
                },
            },
        ],
    }
