"""Profiles that people ask for in a chat: a message at once, replaced by what the cores ran, then the pictures."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from bot.chat.background import Background
from bot.chat.blocks import PROFILE
from bot.chat.clicks import UNKNOWN_BUTTON, Click
from bot.chat.context import ChatContext
from bot.chat.document import TEXT, Block, Document, Paragraph, SmallPrint, Table, Title, clipped, plain_document
from bot.chat.post_state import CARD, MessageTarget
from bot.chat.poster import Poster
from bot.chat.requests import CommandRequest, HelpRequest, KnownNodes, Request, WorkRequest, unknown_node
from bot.domain.chat_request import ChatRequest
from bot.domain.errors import LedgerError, NothingProposed, UnknownIncident, ZombieError
from bot.domain.node import Node
from bot.domain.safe_text import one_line
from bot.extras.profiles.chat_file import attach_pictures
from bot.extras.profiles.perf_command import SECONDS, CaptureRequest
from bot.extras.profiles.runner import ProfileAnswer, ProfileRunner, failure_words
from bot.extras.profiles.words import HEADING
from bot.seats import Chat

_HELP = "/zombie profile NODE [SECONDS] — which function burns which core, sampled there by perf for 10 s, or 5, 30, 60"
_NAME = re.compile(rf"{PROFILE}[0-9a-f]{{20}}\Z")


@dataclass(slots=True, eq=False)
class ProfileChat(Chat):
    """Takes the button *Profile* of incidents' cards, and what people type about profiles."""

    context: ChatContext
    known: KnownNodes
    runner: ProfileRunner
    poster: Poster
    background: Background

    @property
    def verbs(self) -> Mapping[str, str]:
        """Return its verb, with its line of the help."""
        return {"profile": _HELP}

    def typed(self, verb: str, words: list[str]) -> Request | None:
        """Return what is asked for after its verb; an unknown node is answered as in a check."""
        if verb not in self.verbs:
            return None
        if not 1 <= len(words) <= 2:
            return HelpRequest("Say which node, and if you like for how long: `/zombie profile NODE 10`.")
        if not self.known.knows(words[0]):
            return unknown_node(words[0], self.known)
        seconds = words[1].removesuffix("s") if len(words) > 1 else "10"
        try:
            asked = CaptureRequest(seconds=int(seconds) if seconds.isdecimal() and len(seconds) < 6 else 0)
        except ValueError:
            return HelpRequest(f"A profile lasts {', '.join(map(str, SECONDS))} seconds, and nothing else.")
        node = self.known.find(words[0])

        async def begin(request: CommandRequest) -> None:
            await self.show(node, asked, request.target, request.key, request.by)

        return WorkRequest(begin)

    def is_about(self, action: str, value: str) -> bool:
        """True for the button."""
        return action == PROFILE

    async def ask(self, click: Click) -> None:
        """Profile the node of a card and show the result in its thread; it decides nothing."""
        incident = await self.context.incident_of_click(click, click.value)
        if not incident.node:
            raise NothingProposed(UNKNOWN_BUTTON)
        await self.context.askers.admit(click.person)
        self.context.askers.count(click.person)
        node = self.context.responder.nodes.find(incident.node)
        target, asked = MessageTarget(click.channel, click.thread_ts or click.ts), CaptureRequest()
        heat = incident.verdict.heat if incident.verdict is not None else None
        core = f"core {heat.hot}" if heat is not None else "every core"
        async with self.context.surface.working(incident, f"Profiling {core} for {asked.seconds} s…"):
            await self.show(node, asked, target, click.key, click.person.by, incident.id)

    async def show(
        self, node: Node, request: CaptureRequest, target: MessageTarget, key: str, by: str, incident: str = ""
    ) -> None:
        """Profile a node and show the result at that place; `key` is the request's, so that each is shown once.

        Raises: LedgerError when the request cannot be stored.
        """
        name = PROFILE + hashlib.sha256(key.encode(errors="replace")).hexdigest()[:20]
        body = {"channel": target.channel, "thread_ts": target.thread_ts, "node": node.name, "incident": incident}
        if not await self.context.chat_requests.keep(name, json.dumps(body)):
            return  # another delivery of the same request
        await self.poster.enqueue(name, CARD, target, _profiling_message(node, request))
        drawn = None
        try:
            answer = await self.runner.profile(node, request, incident, by)
            message, drawn = _message(node, answer), answer.sketch
        except ZombieError as no:
            message = _document(failure_words(node.name, no))
        await self._finish_message(name, target, message)
        with contextlib.suppress(LedgerError):  # the words are there already, so nothing is lost without pictures
            await attach_pictures(self.poster, name, target, drawn)

    def takes(self, kept: ChatRequest) -> bool:
        """End the message of a profile that a crash broke off; False for any other wish."""
        if _NAME.match(kept.key) is None:
            return False
        self.background.begin(self._end_broken_off(kept), f"{kept.key} broken off")
        return True

    async def _end_broken_off(self, kept: ChatRequest) -> None:
        self.context.log("profile_broken_off", key=one_line(kept.key, 80))
        body = json.loads(kept.body)
        target, node = MessageTarget(str(body["channel"]), str(body["thread_ts"])), one_line(str(body["node"]), 80)
        await self.poster.adopt(kept.key, target)
        await self._finish_message(
            kept.key, target, _document(f"The bot was restarted while {node} was profiled. Ask again.")
        )
        if name := str(body.get("incident", "")):  # its card says that it is profiled
            with contextlib.suppress(UnknownIncident, LedgerError):
                await self.context.surface.show_again(await self.context.find(name))

    async def _finish_message(self, name: str, target: MessageTarget, message: Document) -> None:
        await self.poster.finish(name, target, message)
        with contextlib.suppress(LedgerError):
            await self.context.chat_requests.mark_done(name)


def _document(words: str) -> Document:
    return plain_document(clipped(words, TEXT))


def _profiling_message(node: Node, request: CaptureRequest) -> Document:
    words = f"Profiling {node.name}: every core is sampled for {request.seconds} s."
    return plain_document(words, SmallPrint(("The answer replaces this message.",)))


def _message(node: Node, answer: ProfileAnswer) -> Document:
    title = f"Profile of {node.name}"
    blocks: list[Block] = [
        Title(title),
        *(Paragraph(words) for words in (answer.headline, answer.meant, answer.follows) if words),
    ]
    blocks += [Table(HEADING, answer.rows, title)] if answer.rows else []
    blocks += [SmallPrint((line,)) for line in answer.lines]
    return Document(f"{title}: {answer.headline}", tuple(blocks))
