"""Profiles that are asked for in Slack: a message at once, and in its place what the node's cores ran."""

from __future__ import annotations

import hashlib

from bot.domain.capture import CaptureRequest
from bot.domain.errors import CannotRead, LedgerError, Refused, Unreachable, ZombieError
from bot.domain.node import Node
from bot.domain.rolling import RollingRequest
from bot.domain.rolling_record import Rolling
from bot.response.capture.desk import ProfileAnswer, ProfileDesk, why_not
from bot.response.capture.roller import Roller
from bot.surfaces.slack.blocks import PROFILE
from bot.surfaces.slack.message import TEXT, Message, clipped, escaped, footnote, header, paragraph, preformatted
from bot.surfaces.slack.part import MessageTarget
from bot.surfaces.slack.parts import CARD
from bot.surfaces.slack.poster import Poster

LINES = 14
LINE = 110


class SlackProfiles:
    """Shows profiles in channels and in the threads of cards."""

    def __init__(self, desk: ProfileDesk, poster: Poster, roller: Roller | None = None) -> None:
        """`roller` starts captures that run for hours; without one there are none."""
        self._roller = roller
        self._desk = desk
        self._poster = poster

    async def ask(
        self,
        node: Node,
        request: CaptureRequest | RollingRequest,
        target: MessageTarget,
        key: str,
        by: str,
        incident: str = "",
    ) -> None:
        """Profile a node and show what came of it at that place; `key` is the wish's own, so that each is shown once.

        Raises: LedgerError when the message cannot be kept.
        """
        name = PROFILE + hashlib.sha256(key.encode(errors="replace")).hexdigest()[:20]
        await self._poster.enqueue(name, CARD, target, _begun(node, request))
        try:
            if isinstance(request, RollingRequest):
                message = await self._rolling(node, request, by)
            else:
                message = _message(node, await self._desk.profile(node, request, incident, by))
        except (CannotRead, Unreachable, Refused) as no:
            message = _not_profiled(node, no, isinstance(request, RollingRequest))
        await self._poster.enqueue(name, CARD, target, message)
        self._poster.finished(name)

    async def _rolling(self, node: Node, request: RollingRequest, by: str) -> Message:
        if self._roller is None:
            raise CannotRead("this program starts no captures", "zombie capture start does.")
        try:
            return _recording(await self._roller.ask(node, request, by))
        except LedgerError as no:
            raise CannotRead(f"the record cannot be written ({no.sentence})", "Try again.") from no


def _recording(rolling: Rolling) -> Message:
    if rolling.until is None:
        words = f"Capture {rolling.id} of {rolling.node} waits for somebody else's yes."
        how = f"zombie capture approve {rolling.id} --approve-as NAME"
    else:
        words = f"Capture {rolling.id} records on {rolling.node} until {rolling.until:%Y-%m-%d %H:%M} UTC."
        how = f"zombie capture show {rolling.id} says what it caught; zombie capture stop {rolling.id} ends it."
    return Message(escaped(words), (paragraph(words), footnote(how)))


def _begun(node: Node, request: CaptureRequest | RollingRequest) -> Message:
    if isinstance(request, RollingRequest):
        words = f"Looking whether {node.name} can be recorded for {request.hours} h."
        return Message(escaped(words), (paragraph(words), footnote("The answer takes the place of this message.")))
    words = f"Profiling {node.name}: every core is sampled for {request.seconds} s."
    return Message(escaped(words), (paragraph(words), footnote("The answer takes the place of this message.")))


def _message(node: Node, answer: ProfileAnswer) -> Message:
    lines = [clipped(line, LINE) for line in answer.table.splitlines()[2:] if line.strip()]
    blocks = [header(f"Profile of {node.name}"), paragraph(answer.headline), preformatted(lines[:LINES])]
    blocks += [footnote(line) for line in answer.lines]
    return Message(escaped(clipped(f"Profile of {node.name}: {answer.headline}", TEXT)), tuple(blocks))


def _not_profiled(node: Node, no: ZombieError, rolling: bool) -> Message:
    words = why_not(node.name, no)
    if rolling:
        words = f"{node.name} is not recorded: {no.sentence.rstrip('.')}. {no.try_next}".strip()
    return Message(escaped(clipped(words, TEXT)), (paragraph(words),))
