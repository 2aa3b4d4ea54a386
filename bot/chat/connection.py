"""The way to a chat while the bot serves; its readiness is its own. Without a chat, `NoChat` stands in its place."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from bot.chat.commands import Commands
from bot.chat.decisions import Decisions
from bot.chat.dialog import MetadataSigner
from bot.chat.document import Block, Dialog, Document
from bot.chat.home import HomePublisher
from bot.chat.people import People, Person
from bot.chat.service import ChatService, Message, NoAccess, Outcome
from bot.domain.errors import CannotTell
from bot.domain.post import MessageRef

_NONE = "no chat is set up"


class ChatConnection(Protocol):
    """A chat: `calls` draws and delivers, `signer` signs dialogs, `by` is how it reaches the bot, `word` its name."""

    word: str
    by: str
    calls: ChatService
    signer: MetadataSigner

    @property
    def is_connected(self) -> bool:
        """True while the chat can reach the bot, as far as known."""

    def listen(self, commands: Commands, home: HomePublisher, decisions: Decisions) -> None:
        """Take what the chat delivers from now on, and hand it to these."""

    def people(self, groups: Collection[str]) -> People:
        """Return who asks the chat about its people; `groups` are the groups of approvers."""

    def address(self, place: MessageRef) -> str:
        """Return the address of a message; empty while it is not known."""

    def routes(self) -> Sequence[tuple[str, Any]]:
        """Return the HTTP routes by which the chat reaches the bot, each with what answers it."""

    async def start(self) -> str:
        """Begin to listen; return why the chat cannot be reached now, or an empty string. Raises: SettingsError."""

    async def stop_listening(self) -> None:
        """Accept nothing more; messages may still be posted."""

    async def stop(self) -> None:
        """Hang up."""


class NoChat(ChatConnection, ChatService, People):
    """Nobody asks and nothing is posted: alerts are diagnosed, noted where they came from, and recorded."""

    word, by, chat = "no chat", "none", ""
    is_connected = is_known = True

    def __init__(self) -> None:
        self.calls, self.signer = self, MetadataSigner("")

    def people(self, groups: Collection[str]) -> People:
        """Nobody is here."""
        return self

    def address(self, place: MessageRef) -> str:
        """No message is here."""
        return ""

    def routes(self) -> Sequence[tuple[str, Any]]:
        """Nobody knocks."""
        return ()

    async def start(self) -> str:
        """It is there."""
        return ""

    def listen(self, commands: Commands, home: HomePublisher, decisions: Decisions) -> None:
        """Nothing comes."""

    async def stop(self) -> None:
        """Nothing is open."""

    stop_listening = stop

    # --- people

    def is_ours(self, person: Person) -> bool:
        """Nobody is."""
        return False

    def of(self, user: str) -> Person:
        """Return a person who may do nothing."""
        return Person(user, "", chat="")

    def user(self, by: str) -> str:
        """Nobody has an id here."""
        return ""

    async def admit(self, user: str, do: str = "decide") -> None:
        """Raises: CannotTell."""
        raise CannotTell(f"Nobody can be asked who you are: {_NONE}.")

    async def named(self, words: str) -> str:
        """Return the words as they are."""
        return words

    # --- messages

    def draw(self, document: Document) -> Message:
        """Nothing is drawn."""
        return Message("")

    def fits(self, blocks: Sequence[Block], *, dialog: bool = False) -> bool:
        """Everything fits where nothing is shown."""
        return True

    def added(self, content: Mapping[str, Any], blocks: Sequence[Block]) -> Message | None:
        """Nothing is added."""
        return None

    async def _no_access(self, *_: object, **__: object) -> Outcome:
        return NoAccess(_NONE)

    post = edit = whisper = _no_access

    async def publish_home(self, user: str, blocks: Sequence[Block], sealed: str) -> None:
        """Nobody has a home."""

    async def open_dialog(self, trigger: str, dialog: Dialog, sealed: str) -> None:
        """Raises: CannotTell."""
        raise CannotTell(f"No dialog opens: {_NONE}.")
