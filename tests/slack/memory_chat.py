"""A chat in memory, beside Slack: it stands on the seat alone, and draws a document as plain JSON."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, TypeVar

from bot.chat.clicks import Click, Submission
from bot.chat.commands import Commands
from bot.chat.connection import ChatConnection
from bot.chat.decisions import Decisions
from bot.chat.dialog import MetadataSigner
from bot.chat.document import Block, Dialog, Document
from bot.chat.home import HomePublisher
from bot.chat.people import Membership, People, Person
from bot.chat.requests import CommandRequest
from bot.chat.service import ChatService, Delivered, Message, Outcome, Uploaded, UploadOutcome, message_of
from bot.demo.slack.people import BOT_USER
from bot.domain.errors import CannotTell, NotAnApprover
from bot.domain.post import MessageRef
from bot.view.words import plain

T = TypeVar("T")
TEAM = "T0DEMO0001"


@dataclass(slots=True)
class Shown:
    """A message as people see it; `only_for` is the one person who does, where it is private."""

    channel: str
    ts: str
    text: str
    blocks: Sequence[Any]
    thread_ts: str = ""
    only_for: str = ""
    user: str = BOT_USER


@dataclass(slots=True)
class OpenDialog:
    """A dialog in front of a person."""

    id: str
    private_metadata: str
    dialog: Dialog
    fields: dict[str, Any] = field(default_factory=dict)


class Posted:
    """What stands in a chat, which one can wait for."""

    posted: list[Shown]

    async def until(
        self, found: Callable[[], T | None], within: timedelta = timedelta(seconds=20), what: str = ""
    ) -> T:
        """Wait until something is there."""
        loop = asyncio.get_running_loop()
        ends = loop.time() + within.total_seconds()
        while not (there := found()):
            assert loop.time() < ends, f"{what}: {[each.text for each in self.posted]}"
            await asyncio.sleep(0.01)
        return there


@dataclass
class MemoryChat(Posted, ChatConnection, ChatService, People):
    """Everything of a chat, in memory. `ids` are its people by name, `members` who is in the group of approvers.

    Shape: `silent` holds what the chat does not say or do now: "person", "group" or "dialog". `said`, `clicked` and
    `sent` are what was delivered, which can be delivered again.
    """

    ids: Mapping[str, str]
    members: frozenset[str] = frozenset()
    guests: frozenset[str] = frozenset()
    group: str = "slack:S0SRE00001"
    chat: str = "slack"
    word: str = "Memory"
    by: str = "memory"
    bot_token: str = "memory"
    app_token: str = "memory"
    api_url: str = "https://memory.example/"
    is_open: bool = False
    posted: list[Shown] = field(default_factory=list)
    edited: list[str] = field(default_factory=list)
    silent: set[str] = field(default_factory=set)
    said: list[CommandRequest] = field(default_factory=list)
    clicked: list[Click] = field(default_factory=list)
    sent: list[Submission] = field(default_factory=list)
    dialogs: dict[str, OpenDialog] = field(default_factory=dict)
    homes: dict[str, tuple[Sequence[Block], str]] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    calls: Any = None
    signer: Any = None
    heard: Any = None
    numbers: int = 0

    def __post_init__(self) -> None:
        self.calls, self.signer, self.listeners = self, MetadataSigner(self.bot_token), self
        self.state = SimpleNamespace(user=lambda name: SimpleNamespace(id=self._id(name)))

    # --- the connection

    @property
    def is_connected(self) -> bool:
        return self.is_open

    def listen(self, commands: Commands, home: HomePublisher, decisions: Decisions) -> None:
        self.heard = SimpleNamespace(commands=commands, home=home, decisions=decisions)

    bind = listen

    def people(self, groups: Collection[str]) -> People:
        return self

    def address(self, place: MessageRef) -> str:
        return f"memory://{place.channel}/{place.ts}"

    def routes(self) -> Sequence[tuple[str, Any]]:
        return ()

    async def start(self) -> str:
        self.is_open = True
        return ""

    async def stop_listening(self) -> None:
        self.is_open = False

    async def stop(self) -> None:
        self.is_open = False

    # --- its people

    is_known = True

    def is_ours(self, person: Person) -> bool:
        return person.team == TEAM

    def of(self, user: str) -> Person:
        return Person(user, TEAM, chat=self.chat)

    def user(self, by: str) -> str:
        kind, _, name = by.partition(":")
        return name.rpartition("/")[2] if kind == self.chat else ""

    async def admit(self, user: str, do: str = "decide") -> None:
        if "person" in self.silent:
            raise CannotTell("Memory did not say who you are.", "Try again.")
        if user in self.guests:
            raise NotAnApprover(f"{user} is a guest: only full members of this workspace {do}.")

    async def membership(self, user: str) -> Membership:
        if "group" in self.silent:
            return Membership(frozenset(), (f"Memory does not say who is in the group {self.group}.",))
        return Membership(frozenset({self.group} if user in self.members else ()))

    @property
    def group_members(self) -> Mapping[str, Collection[str]]:
        return {self.group: [f"{self.chat}:{user}" for user in self.members]}

    async def named(self, words: str) -> str:
        for name, user in self.ids.items():
            words = words.replace(f"{self.chat}:{TEAM}/{user}", name).replace(f"{TEAM}/{user}", name)
        return words

    # --- what it shows

    def draw(self, document: Document) -> Message:
        text = document.text
        said = text if isinstance(text, str) else plain(text)
        return Message(said, _drawn(document.blocks), document.broadcast)

    def fits(self, blocks: Sequence[Block], *, dialog: bool = False) -> bool:
        return len(json.dumps(_drawn(blocks))) < (150_000 if dialog else 20_000)

    def added(self, content: Mapping[str, Any], blocks: Sequence[Block]) -> Message | None:
        stands = message_of(content)
        more = [block for block in _drawn(blocks) if block not in stands.blocks]
        return replace(stands, blocks=(*stands.blocks, *more))

    def strips(self, message: Message) -> Sequence[str]:
        return ()

    def illustrated(self, message: Message, pictures: Mapping[str, tuple[str, str]]) -> Message:
        return message

    async def post(self, channel: str, thread: str, message: Message) -> Outcome:
        return Delivered(self._shown(channel, thread, message))

    async def edit(self, place: MessageRef, message: Message) -> Outcome:
        (stands,) = [each for each in self.posted if (each.channel, each.ts) == (place.channel, place.ts)]
        stands.text, stands.blocks = message.text, message.blocks
        self.edited.append(message.text)
        return Delivered(place)

    async def whisper(self, channel: str, user: str, thread: str, message: Message) -> Outcome:
        self._shown(channel or self.direct(user), thread, message, user)
        return Delivered()

    async def respond(self, address: str, message: Message, *, for_card: bool = False) -> Outcome:
        self._shown(address, "", message)
        return Delivered()

    async def open_dialog(self, trigger: str, dialog: Dialog, sealed: str) -> None:
        if "dialog" in self.silent:
            raise CannotTell("Memory did not open the dialog.", "Click again.")
        fields = {"submit": dialog.submit} if dialog.asks else {}
        self.dialogs[trigger.partition("/")[0]] = OpenDialog(self._number("view"), sealed, dialog, fields)

    async def publish_home(self, user: str, blocks: Sequence[Block], sealed: str) -> None:
        self.homes[user] = blocks, sealed

    async def upload(
        self, name: str, content: bytes, alt_text: str, *, channel: str = "", thread: str = ""
    ) -> UploadOutcome:
        self.files.append(name)
        return Uploaded(name)

    def _shown(self, channel: str, thread: str, message: Message, only_for: str = "") -> MessageRef:
        ts = f"{len(self.posted) + 1}.0"
        self.posted.append(Shown(channel, ts, message.text, message.blocks, thread, only_for))
        return MessageRef(channel, ts)

    def _id(self, user: str) -> str:
        """Return a person's id, by their name or their id."""
        return self.ids.get(user, user)

    def _number(self, word: str) -> str:
        self.numbers += 1
        return f"{word}-{self.numbers}"

    # --- what people do there

    def messages(self, channel: str, viewer: str = "") -> list[Any]:
        """Return what stands in a channel; to a viewer also what only they see."""
        mine = ("", self._id(viewer)) if viewer else ("",)
        return [each for each in self.posted if each.channel == channel and each.only_for in mine]

    def thread(self, message: Shown) -> list[Shown]:
        """Return the replies to a message."""
        return [each for each in self.posted if each.thread_ts == message.ts]

    def direct(self, user: str) -> str:
        """Return the channel of a person's direct messages."""
        return f"D-{self._id(user)}"

    async def say(self, user: str, channel: str, text: str, thread: str = "") -> None:
        """Type a command."""
        who = self.of(self._id(user))
        self.said.append(CommandRequest(self._number("cmd"), who, channel, text, thread))
        self.heard.commands.take(self.said[-1])

    async def home(self, user: str) -> Sequence[Any]:
        """Open a person's home, and return what it shows."""
        self.homes.pop(self._id(user), None)
        self.heard.home.open(self._id(user))
        blocks, _ = await self.until(lambda: self.homes.get(self._id(user)), what="the home")
        return blocks

    async def click(self, user: str, message: Any, action: str, choice: str = "") -> None:
        """Press a button of a message, by its action or its name, or choose from a menu by what it says."""
        row, button = button_of(message.blocks, action)
        value = dict(button["options"])[choice] if choice else button["value"]
        self._press(user, row, button, value, (message.channel, message.ts, message.thread_ts))

    async def click_in_home(self, user: str, home: Sequence[Block], action: str) -> None:
        """Press a button of a home."""
        row, button = button_of(_drawn(home), action)
        self._press(user, row, button, button["value"], in_home=True)

    def _press(
        self,
        user: str,
        row: str,
        button: Mapping[str, Any],
        value: str,
        where: tuple[str, str, str] = ("", "", ""),
        *,
        in_home: bool = False,
    ) -> None:
        key, who, name = self._number("click"), self.of(self._id(user)), button.get("name") or button["action"]
        click = Click(key, who, name, value, row, f"{user}/{key}", *where, in_home=in_home)
        self.clicked.append(click)
        self.heard.decisions.handle_click(click)

    def modal(self, user: str) -> OpenDialog | None:
        """Return the dialog in front of a person."""
        return self.dialogs.get(user)

    async def submit(self, user: str, view: OpenDialog, values: Mapping[str, str]) -> Any:
        """Send a dialog; return its errors."""
        key, who = self._number(view.id), self.of(self._id(user))
        self.sent.append(Submission(key, who, view.private_metadata, values["reason"]))
        refusal = await self.heard.decisions.handle_submission(self.sent[-1])
        if not refusal:
            await self.close(user, view)
        return SimpleNamespace(errors={"reason": refusal} if refusal else {}, trouble="")

    async def close(self, user: str, view: OpenDialog) -> None:
        """Close a dialog without sending it."""
        self.dialogs.pop(user, None)


def _drawn(blocks: Sequence[Block]) -> tuple[Any, ...]:
    return tuple(json.loads(json.dumps({"is": type(each).__name__} | asdict(each), default=str)) for each in blocks)


def button_of(blocks: Sequence[Any], action: str) -> tuple[str, dict[str, Any]]:
    """Return the name of the row of a button or menu, and the button, by its action or its name."""
    rows = ((block["name"], item) for block in blocks if block["is"] == "ButtonRow" for item in block["items"])
    return next((row, item) for row, item in rows if action in (item.get("name"), item["action"]))
