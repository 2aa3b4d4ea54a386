"""Clicks on cards that decide nothing: check a node, name it, send the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bot.chat.clicks import UNKNOWN_BUTTON, Click
from bot.chat.context import ChatContext
from bot.chat.dialog import HOME
from bot.chat.parts import MessageTarget
from bot.chat.requests import MOST_NODES
from bot.domain.errors import AlreadyDecided, NothingProposed
from bot.view.standing import options_of


@dataclass(frozen=True, slots=True)
class CardRequests:
    """Does them."""

    context: ChatContext

    async def meant(self, click: Click) -> None:
        """Check the node that a person meant but mistyped, as if they had typed it right."""
        await self.begin(click, (click.value,))

    async def found(self, click: Click) -> None:
        """Check the node that was chosen by its name; from the home its card comes as a direct message."""
        home = self.context.signer.verify(click.metadata) if click.in_home else None
        if click.in_home and (home is None or home.action != HOME or home.user != click.person.user):
            raise NothingProposed(UNKNOWN_BUTTON)
        await self.begin(replace(click, channel=home.channel) if home is not None else click, (click.value,))

    async def begin(self, click: Click, nodes: Sequence[str]) -> None:
        """Begin a check of these nodes where the click was.

        Raises: Refused for a person who may not ask, and for what cannot be asked; UnknownNode.
        """
        if self.context.opener is None or not nodes:
            raise NothingProposed(UNKNOWN_BUTTON)
        if len(nodes) > MOST_NODES:
            raise NothingProposed(f"{len(nodes)} nodes at once are too many; the limit is {MOST_NODES}.")
        await self.context.askers.admit(click.person)  # before any look-up: a person who may not ask learns no name
        names = [self.context.responder.nodes.find(name).name for name in nodes]
        self.context.askers.count(click.person)
        spot = MessageTarget(click.channel, click.thread)
        await self.context.opener.begin(click.key, spot, click.person.by, f"check {' '.join(names)}", names)

    async def pick(self, click: Click) -> None:
        """Record which node an alert means, so that it is read; whoever may ask for checks may do this."""
        incident = await self.context.clicked(click, click.block.removeprefix("pick-"))
        if incident.node or self.context.picker is None:
            raise AlreadyDecided(f"It is {incident.node or 'not asked'} already.")
        if click.value not in options_of(incident):
            raise NothingProposed(UNKNOWN_BUTTON)
        await self.context.askers.admit(click.person)
        await self.context.picker.pick(incident.id, click.value, click.person.by)
        self.context.notices.decided(incident.id)

    async def report(self, click: Click) -> None:
        """Send the report into the thread; it decides nothing, and is sent once, however often it is asked for."""
        incident = await self.context.clicked(click, click.value)
        if not incident.ended:
            raise NothingProposed("The report comes once it is over.", f"zombie report {incident.id}")
        outcome = await self.context.surface.report(incident)
        await self.context.ephemeral.tell(click.person.by, click.channel, click.thread, outcome)

    async def check_again(self, click: Click) -> None:
        """Check every node of a card again, on a new card; this card and its plan stay as they are."""
        incident = await self.context.clicked(click, click.value)
        group = await self.context.surface.group(incident.card)
        nodes = dict.fromkeys(member.node for member in group if member.node)
        await self.begin(click, tuple(nodes))
