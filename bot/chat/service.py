"""The seat of a chat: what Slack does for the cards, and a second chat would do beside it."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from bot.chat.document import Block, Dialog, Document
from bot.domain.contracts import Seconds
from bot.domain.post import CardPosts, MessageRef


@dataclass(frozen=True, slots=True)
class Message:
    """A document as a chat draws it: `blocks` are JSON that the chat alone reads."""

    text: str
    blocks: tuple[Any, ...] = ()
    broadcast: bool = False

    @property
    def wording(self) -> str:
        """The SHA-256 of the content: equal for equal messages."""
        body = json.dumps([self.text, list(self.blocks)], sort_keys=True)
        return hashlib.sha256(body.encode()).hexdigest()


def message_of(content: Mapping[str, Any]) -> Message:
    """Return a message that the outbox has."""
    return Message(str(content.get("text", "")), tuple(content.get("blocks", ())), bool(content.get("broadcast")))


def is_delivered(posts: CardPosts, wording: str) -> bool:
    """True if the wording was delivered, and no later wording waits or was given up."""
    return posts.standing is not None and message_of(posts.standing).wording == wording


@dataclass(frozen=True, slots=True)
class Timing:
    """All waits, in seconds; tests hand in shorter values.

    Shape: a failed call is tried again after `first_pause`, then after twice as long each time, up to `longest_pause`;
    what the chat asks for goes before both. Progress is edited every `edit_every` at most. The spans are those over
    which a chat counts edits, and posts in a channel.
    `sweep_every` is how often the outbox is searched for posts that no worker sends. `drain` is for readings that run
    when the bot stops, `post_drain` for posting their verdicts; together they stay within the 30 s that Kubernetes
    gives.
    """

    clock: Seconds = time.monotonic
    call_limit: float = 12.0
    first_pause: float = 0.5
    longest_pause: float = 30.0
    edit_every: float = 2.0
    edits_span: float = 60.0
    posts_span: float = 3.5
    ping_every: float = 10.0
    sweep_every: float = 5.0
    drain: float = 17.0
    post_drain: float = 5.0
    hang_up: float = 2.0


@dataclass(frozen=True, slots=True)
class Delivered:
    """The chat has the message; `place` is where, None if only one person sees it."""

    place: MessageRef | None = None


@dataclass(frozen=True, slots=True)
class RetryLater:
    """The chat could not be reached or cannot do it now: try again, after `seconds` where it named them."""

    error: str
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Rejected:
    """The chat never accepts this, in no wording."""

    error: str


@dataclass(frozen=True, slots=True)
class PicturesRefused:
    """The chat does not show the message's pictures now; without them it may take it."""

    error: str


@dataclass(frozen=True, slots=True)
class MessageGone:
    """The message to edit or the thread to answer in is gone."""

    error: str


@dataclass(frozen=True, slots=True)
class NoAccess:
    """The bot may not write there."""

    error: str


@dataclass(frozen=True, slots=True)
class Uploaded:
    """The chat has the file, under this id."""

    file: str


Outcome: TypeAlias = Delivered | RetryLater | Rejected | PicturesRefused | MessageGone | NoAccess
UploadOutcome: TypeAlias = Uploaded | RetryLater | Rejected


class ChatService(Protocol):
    """Draws documents and shows them to people. A message that a chat refuses in one form it tries in a simpler one.

    A chat to which a bot uploads nothing, or without addresses that answer a command, takes those methods as they are.
    """

    logged: str = "slack"  # begins the names of what is logged about it

    def draw(self, document: Document) -> Message:
        """Return the document in the chat's own form, within its limits."""

    def fits(self, blocks: Sequence[Block], *, dialog: bool = False) -> bool:
        """True where a message, or a dialog, shows all of it and cuts nothing."""

    def added(self, content: Mapping[str, Any], blocks: Sequence[Block]) -> Message | None:
        """Return a message of the outbox with these blocks at its end, once; None where there is no room."""

    def strips(self, message: Message) -> Sequence[str]:
        """Return the names of the drawings that a message shows, as strips or as pictures."""
        return ()

    def illustrated(self, message: Message, pictures: Mapping[str, tuple[str, str]]) -> Message:
        """Return the message with uploaded pictures in place of strips: by the strip's name, file and alt text."""
        return message

    async def post(self, channel: str, thread: str, message: Message) -> Outcome:
        """Post a new message in a channel, or in a thread there."""

    async def edit(self, place: MessageRef, message: Message) -> Outcome:
        """Replace a posted message."""

    async def whisper(self, channel: str, user: str, thread: str, message: Message) -> Outcome:
        """Show a message to one person alone, in the channel; without a channel, in their direct messages."""

    async def respond(self, address: str, message: Message, *, for_card: bool = False) -> Outcome:
        """Answer a command in private at its address; `for_card`: in place of a card that may not be posted."""
        return MessageGone("no such address")

    async def open_dialog(self, trigger: str, dialog: Dialog, sealed: str) -> None:
        """Open the dialog for a reason for whoever clicked; it brings `sealed` back. Raises: CannotTell."""

    async def publish_home(self, user: str, blocks: Sequence[Block], sealed: str) -> None:
        """Show a person their home; a failure is only logged."""

    async def upload(
        self, name: str, content: bytes, alt_text: str, *, channel: str = "", thread: str = ""
    ) -> UploadOutcome:
        """Upload a file; it is shared in that thread, or nowhere."""
        return Rejected("a bot uploads nothing here")


def texts_in(part: object) -> Iterator[str]:
    """Yield every text in a part of a message, in order."""
    if isinstance(part, Mapping):
        if isinstance(text := part.get("text"), str):
            yield text
        for inner in part.values():
            yield from texts_in(inner)
    elif isinstance(part, list | tuple):
        for inner in part:
            yield from texts_in(inner)
