"""Calls to Teams: the meaning of each answer, who a member of a conversation is, and what shows messages to people.

The Bot Framework's REST: https://learn.microsoft.com/azure/bot-service/rest-api/bot-framework-rest-connector-api-reference
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

import httpx

from bot.chat.clicks import mapping
from bot.chat.document import Block, Dialog, Document, clipped, plain_document
from bot.chat.remembered import BoundedDict
from bot.chat.service import (
    ChatService,
    Delivered,
    Message,
    MessageGone,
    NoAccess,
    Outcome,
    Rejected,
    RetryLater,
    Timing,
)
from bot.domain.contracts import Log
from bot.domain.errors import CannotTell, SettingsError
from bot.domain.post import MessageRef
from bot.domain.safe_text import one_line
from bot.surfaces.teams import drawing
from bot.surfaces.teams.settings import TeamsSettings

SCOPE = "https://api.botframework.com/.default"
_WHO = re.compile(r"teams:[0-9a-f-]{36}/([0-9a-f-]{36})\b")
EARLY = 300.0  # seconds before its end that a token is replaced
REMEMBERED = 2000
_THREADED = ("@thread.tacv2", "@thread.skype")  # ends the ids of channels; chats have no threads
_PASSING = frozenset((401, 408, 412, 429))  # after 401 the next try has a new token
TROUBLE = (httpx.HTTPError, httpx.InvalidURL, TimeoutError, OSError, ValueError)
FAILURES = (*TROUBLE, SettingsError)


def failure_reason(error: BaseException) -> str:
    """Return in short why a call failed."""
    if isinstance(error, TimeoutError | httpx.TimeoutException):
        return "no answer in time"
    status = f"http_{error.response.status_code}" if isinstance(error, httpx.HTTPStatusError) else repr(error)
    return one_line(status, 120)


@dataclass(slots=True, eq=False)
class PendingClick:
    """A click whose answer is awaited, by whom and where: a dialog, or words for them alone."""

    user: str
    channel: str
    answer: asyncio.Future[Mapping[str, Any]] = field(default_factory=asyncio.Future)

    def is_for(self, user: str, channel: str) -> bool:
        """True while this person waits for an answer there."""
        return (self.user, self.channel) == (user, channel) and not self.answer.done()

    def give_answer(self, answer: Mapping[str, Any]) -> bool:
        """Answer it; False where it was answered."""
        if self.answer.done():
            return False
        self.answer.set_result(answer)
        return True


class TeamsCalls(drawing.TeamsDrawing, ChatService):
    """Asks and tells Teams, with the bot's own token; each call ends within `timing.call_limit` seconds.

    Shape: `known` says where people were met last, and their ids there; `names` are theirs, empty where Teams has none.
    `waiting` are clicks to be answered, `homes` the cards that show people theirs.
    """

    def __init__(self, settings: TeamsSettings, http: httpx.AsyncClient, timing: Timing, log: Log) -> None:
        self.settings = settings
        self._http = http
        self._timing = timing
        self._log = log
        self.waiting: dict[str, PendingClick] = {}
        self.dialogs: BoundedDict[str, Dialog] = BoundedDict(200)
        self.known: BoundedDict[str, tuple[str, str]] = BoundedDict(REMEMBERED)
        self.names: BoundedDict[str, str] = BoundedDict(REMEMBERED)
        self.homes: BoundedDict[str, MessageRef] = BoundedDict(REMEMBERED)
        self._direct: BoundedDict[str, str] = BoundedDict(REMEMBERED)
        self._services: BoundedDict[str, str] = BoundedDict(REMEMBERED)  # by conversation, as it said last
        self._token, self._until = "", float("-inf")
        self._lock = asyncio.Lock()

    logged = "teams"

    async def post(self, channel: str, thread: str, message: Message) -> Outcome:
        """Post a new message in a channel, or in a thread there."""
        conversation = f"{channel};messageid={thread}" if thread and channel.endswith(_THREADED) else channel
        return await self._send_in_some_form("POST", conversation, "/activities", message)

    async def edit(self, place: MessageRef, message: Message) -> Outcome:
        """Replace a posted message."""
        return await self._send_in_some_form("PUT", place.channel, f"/activities/{quote(place.ts, safe='')}", message)

    async def whisper(self, channel: str, user: str, thread: str, message: Message) -> Outcome:
        """Answer the click that waits for it; else, and what has buttons, tell them in their chat with the bot."""
        waiting = next((click for click in self.waiting.values() if click.is_for(user, channel)), None)
        outcome: Outcome = NoAccess("")
        if waiting is None or drawing.has_buttons(message):
            outcome = await self._post_directly(user, message)
        if isinstance(outcome, NoAccess | Rejected):  # they have not added the bot
            if waiting is not None and waiting.give_answer({"words": drawing.message_text(message)}):
                return Delivered()
            if channel:
                words = "I have an answer for one of you, but no chat with them: add me to your apps and ask again."
                outcome = await self.post(channel, thread, self.draw(plain_document(words)))
        return Delivered() if isinstance(outcome, Delivered) else outcome

    def met(self, user: str, name: str, conversation: str, id_there: str, service: str, *, is_direct: bool) -> None:
        """Note who somebody is, where they were met, and where that is served: its host was checked."""
        self.names[user], self.known[user], self._services[conversation] = name, (conversation, id_there), service
        if is_direct:
            self._direct[user] = conversation

    def named(self, words: str) -> str:
        """Return words with people's names in place of their ids, as far as known."""
        return _WHO.sub(lambda match: self.names.get(match[1]) or match[0], words)

    async def open_dialog(self, trigger: str, dialog: Dialog, sealed: str) -> None:
        """Open the dialog in answer to the click. Raises: CannotTell where that was answered already."""
        task = drawing.dialog_task(dialog, sealed, trigger)
        waiting = self.waiting.get(trigger)
        if waiting is None or not waiting.give_answer({"task": task}):
            raise CannotTell("The dialog came too late for Teams.", "Click again.")
        self.dialogs[trigger] = dialog

    async def publish_home(self, user: str, blocks: Sequence[Block], sealed: str) -> None:
        """Show a person their home, a card in their chat with the bot; a failure is only logged."""
        shown = self.draw(Document("zombie", tuple(blocks)))
        message = replace(shown, blocks=drawing.with_home(shown.blocks, sealed))
        stands = self.homes.get(user)
        outcome = await self.edit(stands, message) if stands is not None else MessageGone("")
        if isinstance(outcome, MessageGone):
            outcome = await self._post_directly(user, message)
        if not isinstance(outcome, Delivered):
            self._log("teams_failed", view="home", error=outcome.error)
        elif outcome.place is not None:
            self.homes[user] = outcome.place

    # --- inside

    async def _post_directly(self, user: str, message: Message) -> Outcome:
        """Post in a person's chat with the bot, which is opened where it is not known."""
        if user not in self._direct:
            tenant = self.settings.tenant
            body = {"bot": {"id": f"28:{self.settings.app_id}"}, "members": [{"id": user}], "isGroup": False}
            body |= {"tenantId": tenant, "channelData": {"tenant": {"id": tenant}}}
            opened = await self._call_outcome("POST", "", "", body)
            if not isinstance(opened, Delivered) or opened.place is None:
                return NoAccess("no chat") if isinstance(opened, Delivered) else opened
            self._direct[user] = opened.place.ts
        return await self.post(self._direct[user], "", message)

    async def _send_in_some_form(self, method: str, conversation: str, path: str, message: Message) -> Outcome:
        """Show a message as a card; where Teams refuses that, as text."""
        outcome = await self._call_outcome(method, conversation, path, await self._activity(conversation, message))
        if isinstance(outcome, Rejected) and message.blocks:
            self._log("teams_refused", part="card", error=outcome.error)
            plain = Message(drawing.message_text(message))
            outcome = await self._call_outcome(method, conversation, path, await self._activity(conversation, plain))
        return outcome

    async def _activity(self, conversation: str, message: Message) -> dict[str, Any]:
        """Return the message with the names of people and teams; each is asked for once, people where it is shown."""
        for unnamed in drawing.people_in(message.blocks) - self.names.keys():
            is_team = unnamed.endswith(_THREADED)
            asked = (
                self._found(unnamed, kind="teams") if is_team else self.member(conversation.partition(";")[0], unnamed)
            )
            with contextlib.suppress(CannotTell):
                name = one_line(str((await asked or {}).get("name") or ""), 80)
                self.names[unnamed] = f"everybody in the team {name}" if is_team and name else name
        body: dict[str, Any] = {"type": "message", "textFormat": "plain"}
        text = drawing.break_markup(self.named(message.text))
        if not message.blocks:
            return {**body, "text": text}
        shown = drawing.card(drawing.named(message.blocks, self.names))
        return {**body, "summary": clipped(text, 500), "attachments": [shown]}

    async def _call_outcome(self, method: str, conversation: str, path: str, body: Mapping[str, Any]) -> Outcome:
        try:
            answer = await self.call(method, conversation, path, body)
            name = mapping(answer.json()).get("id") if method == "POST" and answer.is_success else None
        except FAILURES as error:
            return RetryLater(failure_reason(error))
        status, no = answer.status_code, f"http_{answer.status_code}"
        if answer.is_success:
            return Delivered(MessageRef(conversation.partition(";")[0], str(name)) if name else None)
        if status in _PASSING or status >= 500:
            told = answer.headers.get("Retry-After", "")
            return RetryLater(no, min(3600.0, float(told)) if told.isdecimal() else float(status == 429))
        if status == 404 and (method == "PUT" or ";" in conversation):
            return MessageGone(no)
        return NoAccess(no) if status in (403, 404) else Rejected(no)

    async def call(
        self, method: str, conversation: str, path: str = "", body: object = None, kind: str = "conversations"
    ) -> httpx.Response:
        """Call about a conversation, or another `kind` of place. Raises: any of `FAILURES`."""
        base = self._services.get(conversation.partition(";")[0], self.settings.service_url).rstrip("/")
        url = f"{base}/v3/{kind}" + (f"/{quote(conversation, safe='')}" if conversation else "") + path
        async with asyncio.timeout(self._timing.call_limit):
            headers = {"Authorization": f"Bearer {await self.token()}"}
            answer = await self._http.request(method, url, json=body, headers=headers)
        if answer.status_code == 401:
            self._until = float("-inf")
        return answer

    async def token(self) -> str:
        """Return the bot's own token. Raises: SettingsError where the secret is rejected; any of `FAILURES`."""
        async with self._lock:
            if self._timing.clock() >= self._until:
                ours = self.settings
                form = {"grant_type": "client_credentials", "client_id": ours.app_id, "scope": SCOPE}
                url = f"{ours.login_url.rstrip('/')}/{ours.tenant}/oauth2/v2.0/token"
                answer = await self._http.post(url, data=form | {"client_secret": ours.app_secret})
                told = mapping(answer.json())
                if answer.status_code in (400, 401):
                    why = one_line(str(told.get("error") or answer.status_code), 80)
                    raise SettingsError(
                        f"Entra rejects TEAMS_APP_SECRET: {why}.", "Make a new one, of this app and tenant."
                    )
                answer.raise_for_status()
                self._token = str(told["access_token"]) if "access_token" in told else ""
                if not self._token:
                    raise ValueError("Entra gave no token")
                self._until = self._timing.clock() + max(60.0, float(told.get("expires_in") or 0) - EARLY)
        return self._token

    async def member(self, conversation: str, user: str) -> Mapping[str, Any] | None:
        """Return a member of a conversation as Teams has them; None for nobody. Raises: CannotTell."""
        return await self._found(conversation, f"/members/{quote(user, safe='')}")

    async def _found(self, where: str, path: str = "", kind: str = "conversations") -> Mapping[str, Any] | None:
        try:
            answer = await self.call("GET", where, path, kind=kind)
            if answer.status_code == 404:
                return None
            answer.raise_for_status()
            return mapping(answer.json())
        except FAILURES as error:
            raise CannotTell(f"Teams did not say who you are ({failure_reason(error)}).", "Try again.") from error
