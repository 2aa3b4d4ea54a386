"""Checks that a click asks for: each begins as if its nodes had been typed, and only for people who may ask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bot.domain.errors import NothingProposed
from bot.surfaces.slack.context import SlackContext
from bot.surfaces.slack.dialog import HOME
from bot.surfaces.slack.listeners import UNKNOWN_BUTTON, Click
from bot.surfaces.slack.parts import MessageTarget
from bot.surfaces.slack.requests import MOST_NODES


@dataclass(frozen=True, slots=True)
class CheckClicks:
    """Begins them."""

    context: SlackContext

    async def meant(self, click: Click) -> None:
        """Check the node that a person meant but mistyped, as if they had typed it right."""
        await self.begin(click, (click.value,))

    async def found(self, click: Click) -> None:
        """Check the node that was chosen by its name; from the App Home its card comes as a direct message."""
        home = self.context.slack.signer.verify(click.metadata) if click.in_home else None
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
