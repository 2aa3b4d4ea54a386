"""Slack in a scheduled world: its signed HTTP, Bolt's listeners and its blocks, over messages that stand in memory."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

from slack_bolt.authorization import AuthorizeResult

from bot.chat.document import Block, Dialog, Document
from bot.chat.service import Delivered, Message, MessageGone, Outcome, RetryLater, Timing
from bot.domain.errors import CannotTell
from bot.domain.post import MessageRef
from bot.surfaces.slack.calls import web_client
from bot.surfaces.slack.connection import SignedHttp
from bot.surfaces.slack.drawing import SlackDrawing, dialog_view
from bot.surfaces.slack.listeners import Listeners
from tests.schedules.chat_seats import GIVEN_UP, TWICE, Request, Seat
from tests.schedules.chats import NOBODY, ChatWorld, Program
from tests.slack.memory_chat import TEAM, MemoryChat, OpenDialog, Posted, Shown
from tests.slack.signed_http import sign

SECRET = "s3cret"
IDS = {"alice": "U0ALICE001", "bob": "U0BOB00001", "gus": "U0GUEST001", "eve": "U0EVE00001"}
CHANNEL, GROUP = "C0ONCALL01", "S0SRE00001"
AGAIN = (0.0, 0.3, 3.0, 60.0)  # seconds after which Slack delivers something again, with the same id
ANSWERED = 8.0  # seconds in which a click leads to something


class SlackSide(SlackDrawing, MemoryChat):
    """A program's side of Slack: what comes is proved and read as ever, what goes may be lost on the way."""

    def __init__(self, seat: ScheduledSlack, timing: Timing) -> None:
        ours = frozenset({IDS["alice"], IDS["bob"]})
        super().__init__(IDS, ours, frozenset({IDS["gus"]}), f"slack:{GROUP}")
        self.seat = seat
        client = web_client("xoxb-1", "https://slack.example/api/")
        self.listening = Listeners(client, timing.clock, logging.getLogger("scheduled slack"))
        self.listening.authorized = AuthorizeResult(enterprise_id=None, team_id=TEAM, bot_token="xoxb-1")
        self.inbound = SignedHttp(SECRET, seat.world.clock, self.listening.dispatch)

    def listen(self, *takers: Any) -> None:
        self.listening.bind(*takers)

    def draw(self, document: Document) -> Message:
        return SlackDrawing.draw(self, document)

    async def post(self, channel: str, thread: str, message: Message) -> Outcome:
        return await self._sent(lambda: self.seat.posts(channel, thread, message), is_post=True)

    async def edit(self, place: MessageRef, message: Message) -> Outcome:
        return await self._sent(lambda: self.seat.edits(place, message))

    async def whisper(self, channel: str, user: str, thread: str, message: Message) -> Outcome:
        return await self._sent(lambda: self.seat.posts(channel, thread, message, user))

    async def open_dialog(self, trigger: str, dialog: Dialog, sealed: str) -> None:
        view = dialog_view(dialog, sealed)
        fields = {"submit": "Send"} if "submit" in view else {}
        shown: Any = SimpleNamespace(view=view)
        dialog_of = OpenDialog(trigger, sealed, shown, fields)
        outcome = await self._sent(lambda: self.seat.opens(trigger, dialog_of), trigger=trigger)
        if not isinstance(outcome, Delivered):
            raise CannotTell("Slack did not open the dialog.", "Click again.")

    async def publish_home(self, user: str, blocks: Sequence[Block], sealed: str) -> None:
        """Nobody looks at it."""

    async def _sent(self, arrives: Callable[[], Outcome], *, is_post: bool = False, trigger: str = "") -> Outcome:
        world = self.seat.world
        await world.boundary()
        fate = self.seat.fate(is_post=is_post)
        if fate == "late":
            self.seat.unsure.add(trigger)
        if fate in ("lost", "limited", "down"):
            return RetryLater(fate, 2.0 if fate == "limited" else 0.0)

        async def arriving() -> Outcome:
            await asyncio.sleep(world.random.choice((0.01, 0.05, 0.3, 0.9)))
            return arrives()

        outcome = await asyncio.shield(asyncio.get_running_loop().create_task(arriving(), context=NOBODY))
        if fate == "late":
            await asyncio.sleep(12)
            return RetryLater("no answer in time")
        await world.boundary()
        return outcome


class ScheduledSlack(Seat, Posted):
    """A workspace with a channel, whose clicks and dialogs are delivered once or more, to any of the programs."""

    kind, tenant, channel, group, ids = "slack", TEAM, CHANNEL, f"slack:{GROUP}", IDS
    usual, long = 14, 160
    lies = ("signed by another", "long ago", "of another person", "changed", "of another workspace")

    def __init__(self, world: ChatWorld, programs: Callable[[], list[Program]]) -> None:
        self.take_place(world, programs)
        self.posted: list[Shown] = []
        self.dialogs: dict[str, OpenDialog] = {}
        self.unsure: set[str] = set()  # dialogs that open, though the program will not know
        self.numbers = 0

    def connected(self, timing: Timing, log: Any) -> SlackSide:
        return SlackSide(self, timing)

    # --- what programs show

    def posts(self, channel: str, thread: str, message: Message, only_for: str = "") -> Outcome:
        shown = Shown(channel, f"17000000{len(self.posted) + 1:02}.0", message.text, message.blocks, thread, only_for)
        self.posted.append(shown)
        if not only_for:
            self.seen.append(copy.copy(shown))
        return Delivered(MessageRef(channel, shown.ts))

    def edits(self, place: MessageRef, message: Message) -> Outcome:
        shown = next((each for each in self.posted if (each.channel, each.ts) == (place.channel, place.ts)), None)
        if shown is None:
            return MessageGone("message_not_found")
        shown.text, shown.blocks = message.text, message.blocks
        self.seen.append(copy.copy(shown))
        return Delivered(place)

    def opens(self, trigger: str, dialog: OpenDialog) -> Outcome:
        self.dialogs[trigger] = dialog
        return Delivered()

    # --- what people do

    def can(self, shown: Shown, action: str) -> bool:
        """True for a wording with this button."""
        return any(_buttons(shown.blocks, action))

    async def asks(self, who: str, shown: Shown, action: str) -> Any:
        """Click, and return the dialog in which a reason can be given; None where none opens in time."""
        block, button = next(_buttons(shown.blocks, action))
        trigger = self._number("trigger")
        where = {"type": "message", "message_ts": shown.ts, "channel_id": shown.channel}
        pressed = {"action_id": action, "block_id": block.get("block_id", ""), "type": "button"}
        pressed |= {"value": button["value"], "action_ts": trigger}
        body = self._payload(who, "block_actions", trigger, actions=[pressed], container=where)
        self.told[self.ids[who]] += 1
        loop = asyncio.get_running_loop()
        await self._delivered({**body, "channel": {"id": shown.channel}, "message": {"ts": shown.ts}})
        ends = loop.time() + ANSWERED
        while trigger not in self.dialogs and loop.time() < ends:  # noqa: ASYNC110 - a person looks at the screen
            await asyncio.sleep(0.2)
        view = self.dialogs.pop(trigger, None)
        self.told[self.ids[who]] -= view is not None and trigger not in self.unsure
        return view if view is not None and view.fields else None

    async def sends(self, who: str, view: Any, reason: str, lie: str) -> tuple[str, bool]:
        """Send a dialog, perhaps with a lie; return as whom, and whether it closes, as it does once it is on record."""
        sealed, secret, age = view.private_metadata, SECRET, 0
        if lie == "of another person":
            who = "alice" if who == "bob" else "bob"
        if lie == "changed":
            sealed = sealed.replace('"thread_ts":""', '"thread_ts":"1"')
        values = {"reason": {"reason": {"type": "plain_text_input", "value": reason}}}
        shown = {**view.dialog.view, "id": view.id, "private_metadata": sealed, "state": {"values": values}}
        body = self._payload(who, "view_submission", self._number("trigger"), view=shown)
        if lie == "of another workspace":
            body["team"] = {"id": "T0OTHER001"}
            body["user"]["team_id"] = "T0OTHER001"
        secret, age = "another" if lie == "signed by another" else secret, 600 if lie == "long ago" else age
        status, text = await self._delivered(body, secret, age)
        self.answers.append((reason, text))
        return who, status == 200 and not text

    def _payload(self, who: str, kind: str, trigger: str, **more: Any) -> dict[str, Any]:
        person = {"id": self.ids[who], "team_id": TEAM, "username": who}
        return {"type": kind, "user": person, "team": {"id": TEAM}, "trigger_id": trigger, "api_app_id": "A1", **more}

    async def _delivered(self, body: Mapping[str, Any], secret: str = SECRET, age: int = 0) -> tuple[int, str]:
        """Deliver it until somebody answers, and here and there once more; return the first answer."""
        deliveries = [self._answered(body, secret, age)]
        if self.world.chance(TWICE):
            deliveries.append(self._answered(body, secret, age, self.world.random.choice(AGAIN)))
        first, *_ = await asyncio.gather(*deliveries)
        return first

    async def _answered(self, body: Mapping[str, Any], secret: str, age: int, after: float = 0.0) -> tuple[int, str]:
        await asyncio.sleep(after)
        for _ in range(GIVEN_UP):
            if (program := self.alive()) is not None:
                sent = urlencode({"payload": json.dumps(body)}).encode()
                headers = {"content-type": "application/x-www-form-urlencoded"}
                headers |= sign(secret, int(self.world.now.timestamp()) - age, sent)
                came: Any = Request("POST", "/slack/events", headers, sent)
                answering = program.start(program.connection.inbound.receive(came))
                await asyncio.wait([answering])
                if not (program.is_dead or answering.cancelled()):
                    return answering.result().status, str(answering.result().text or "")
            await asyncio.sleep(self.world.random.choice(AGAIN[1:]))
        raise TimeoutError

    def _number(self, word: str) -> str:
        self.numbers += 1
        return f"{word}-{self.numbers}"


def _buttons(blocks: Sequence[Any], action: str) -> Any:
    for block in blocks:
        for item in block.get("elements", ()) if block["type"] == "actions" else ():
            if item.get("action_id") == action:
                yield block, item
