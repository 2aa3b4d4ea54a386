"""Profiles that people ask for in Slack: a message at once, replaced by what the cores ran, then the pictures."""

from __future__ import annotations

import contextlib
import hashlib

from bot.domain.capture import CaptureRequest
from bot.domain.contracts import Leases
from bot.domain.errors import CannotRead, LedgerError, Refused, Unreachable
from bot.domain.node import Node
from bot.profile.sketch import Sketch
from bot.response.capture.desk import ProfileAnswer, ProfileDesk, why_not
from bot.surfaces.slack.blocks import PROFILE
from bot.surfaces.slack.enclosed_sketch import pictures_of
from bot.surfaces.slack.message import TEXT, Message, clipped, escaped, footnote, header, paragraph, preformatted
from bot.surfaces.slack.part import MessageTarget
from bot.surfaces.slack.parts import CARD
from bot.surfaces.slack.poster import Poster

LINES = 14
LINE = 110


class SlackProfiles:
    """Shows profiles in channels and in the threads of cards."""

    def __init__(self, desk: ProfileDesk, poster: Poster, leases: Leases) -> None:
        self._desk = desk
        self._poster = poster
        self._leases = leases

    async def ask(
        self, node: Node, request: CaptureRequest, target: MessageTarget, key: str, by: str, incident: str = ""
    ) -> None:
        """Profile a node and show the result at that place; `key` is the request's, so that each is shown once.

        Raises: LedgerError when the message cannot be stored.
        """
        name = PROFILE + hashlib.sha256(key.encode(errors="replace")).hexdigest()[:20]
        await self._leases.take(name)  # of what nobody has a lease of, any program's sweep sends what is not sent yet
        await self._poster.enqueue(name, CARD, target, _begun(node, request))
        drawn = None
        try:
            answer = await self._desk.profile(node, request, incident, by)
            message, drawn = _message(node, answer), answer.sketch
        except (CannotRead, Unreachable, Refused) as no:
            words = why_not(node.name, no)
            message = Message(escaped(clipped(words, TEXT)), (paragraph(words),))
        await self._leases.take(name)
        await self._poster.enqueue(name, CARD, target, message)
        self._poster.finished(name)
        await self._draw(name, target, drawn)

    async def _draw(self, name: str, target: MessageTarget, drawn: Sketch | None) -> None:
        """Send the pictures into the thread; the words are there already, so nothing is lost without pictures."""
        with contextlib.suppress(LedgerError):
            if drawn is not None and await self._poster.place(name) is not None:  # a private answer gets no pictures
                for asked in pictures_of(drawn):
                    await self._poster.enclose(name, target, asked)


def _begun(node: Node, request: CaptureRequest) -> Message:
    words = f"Profiling {node.name}: every core is sampled for {request.seconds} s."
    return Message(escaped(words), (paragraph(words), footnote("The answer replaces this message.")))


def _message(node: Node, answer: ProfileAnswer) -> Message:
    lines = [clipped(line, LINE) for line in answer.table.splitlines()[2:] if line.strip()]
    blocks = [header(f"Profile of {node.name}"), paragraph(answer.headline), preformatted(lines[:LINES])]
    blocks += [footnote(line) for line in answer.lines]
    return Message(escaped(clipped(f"Profile of {node.name}: {answer.headline}", TEXT)), tuple(blocks))
