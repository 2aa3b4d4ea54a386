"""Profiles that people ask for in Slack: a message at once, replaced by what the cores ran, then the pictures."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from dataclasses import dataclass

from bot.domain.capture import CaptureRequest
from bot.domain.chat_request import ChatRequest, ChatRequests
from bot.domain.contracts import Log
from bot.domain.errors import LedgerError, ZombieError
from bot.domain.node import Node
from bot.domain.safe_text import one_line
from bot.profile.words import HEADING
from bot.response.capture.profile_runner import ProfileAnswer, ProfileRunner, why_not
from bot.surfaces.slack.background import Background
from bot.surfaces.slack.blocks import PROFILE
from bot.surfaces.slack.message import TEXT, Message, clipped, escaped, footnote, header, paragraph
from bot.surfaces.slack.newer_blocks import table_block
from bot.surfaces.slack.parts import CARD, MessageTarget
from bot.surfaces.slack.poster import Poster
from bot.surfaces.slack.sketch_file import attach_pictures

ROOM = 4000  # characters of the table
_NAME = re.compile(rf"{PROFILE}[0-9a-f]{{20}}\Z")


@dataclass(slots=True, eq=False)
class SlackProfiles:
    """Shows profiles in channels and in the threads of cards; `chat_requests` know which have no answer yet."""

    desk: ProfileRunner
    poster: Poster
    chat_requests: ChatRequests
    background: Background
    log: Log

    async def ask(
        self, node: Node, request: CaptureRequest, target: MessageTarget, key: str, by: str, incident: str = ""
    ) -> None:
        """Profile a node and show the result at that place; `key` is the request's, so that each is shown once.

        Raises: LedgerError when the request cannot be stored.
        """
        name = PROFILE + hashlib.sha256(key.encode(errors="replace")).hexdigest()[:20]
        body = {"channel": target.channel, "thread_ts": target.thread_ts, "node": node.name}
        if not await self.chat_requests.keep(name, json.dumps(body)):
            return  # another delivery of the same request
        await self.poster.enqueue(name, CARD, target, _begun(node, request))
        drawn = None
        try:
            answer = await self.desk.profile(node, request, incident, by)
            message, drawn = _message(node, answer), answer.sketch
        except ZombieError as no:
            message = _said(why_not(node.name, no))
        await self._end(name, target, message)
        with contextlib.suppress(LedgerError):  # the words are there already, so nothing is lost without pictures
            await attach_pictures(self.poster, name, target, drawn)

    def takes(self, kept: ChatRequest) -> bool:
        """End the message of a profile that a crash broke off; False for any other wish."""
        if _NAME.match(kept.key) is None:
            return False
        self.background.begin(self._broken_off(kept), f"{kept.key} broken off")
        return True

    async def _broken_off(self, kept: ChatRequest) -> None:
        self.log("profile_broken_off", key=one_line(kept.key, 80))
        body = json.loads(kept.body)
        target, node = MessageTarget(str(body["channel"]), str(body["thread_ts"])), one_line(str(body["node"]), 80)
        await self.poster.adopt(kept.key, target)
        await self._end(kept.key, target, _said(f"The bot was restarted while {node} was profiled. Ask again."))

    async def _end(self, name: str, target: MessageTarget, message: Message) -> None:
        await self.poster.enqueue(name, CARD, target, message)
        self.poster.finished(name)
        with contextlib.suppress(LedgerError):
            await self.chat_requests.done(name)


def _said(words: str) -> Message:
    return Message(escaped(clipped(words, TEXT)), (paragraph(words),))


def _begun(node: Node, request: CaptureRequest) -> Message:
    words = f"Profiling {node.name}: every core is sampled for {request.seconds} s."
    return Message(escaped(words), (paragraph(words), footnote("The answer replaces this message.")))


def _message(node: Node, answer: ProfileAnswer) -> Message:
    title = f"Profile of {node.name}"
    blocks = [header(title), *(paragraph(said) for said in (answer.headline, answer.meant, answer.follows) if said)]
    blocks += [table_block(title, HEADING, answer.rows, ROOM)[0]] if answer.rows else []
    blocks += [footnote(line) for line in answer.lines]
    return Message(escaped(clipped(f"{title}: {answer.headline}", TEXT)), tuple(blocks))
