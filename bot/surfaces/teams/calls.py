"""Calls to Teams: the meaning of each answer, who a member of a conversation is, and what shows messages to people.

The Bot Framework's REST: https://learn.microsoft.com/azure/bot-service/rest-api/bot-framework-rest-connector-api-reference
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx

from bot.chat.document import Block, Dialog, clipped, said
from bot.chat.remembered import Remembered
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
    UploadOutcome,
)
from bot.domain.contracts import Log
from bot.domain.errors import CannotTell, SettingsError
from bot.domain.post import MessageRef
from bot.domain.safe_text import one_line
from bot.surfaces.teams import drawing
from bot.surfaces.teams.keys import mapping
from bot.surfaces.teams.settings import TeamsSettings

SCOPE = "https://api.botframework.com/.default"
_WHO = re.compile(r"teams:[0-9a-f-]{36}/([0-9a-f-]{36})\b")
EARLY = 300.0  # seconds before its end that a token is replaced
REMEMBERED = 2000
_THREADED = ("@thread.tacv2", "@thread.skype")  # ends the ids of channels; chats have no threads
_PASSING = frozenset((401, 408, 412, 429))  # after 401 the next try has a new token
FAILURES = (httpx.HTTPError, httpx.InvalidURL, TimeoutError, OSError, ValueError)


class Connector:
    """Asks and tells Teams, with the bot's own token; each call ends within `timing.call_limit` seconds."""

    def __init__(self, settings: TeamsSettings, http: httpx.AsyncClient, timing: Timing) -> None:
        self.settings = settings
        self._http = http
        self._timing = timing
        self._token, self._until = "", float("-inf")
        self._lock = asyncio.Lock()
        self._services: Remembered[str, str] = Remembered(REMEMBERED)  # by conversation, as it said last

    def note(self, conversation: str, service: str) -> None:
        """Remember where a conversation is served; its host was checked."""
        self._services[conversation] = service

    async def call(self, method: str, conversation: str, path: str = "", body: object = None) -> httpx.Response:
        """Call about a conversation. Raises: any of `FAILURES`."""
        base = self._services.get(conversation.partition(";")[0], self.settings.service_url).rstrip("/")
        url = f"{base}/v3/conversations" + (f"/{quote(conversation, safe='')}" if conversation else "") + path
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
        try:
            answer = await self.call("GET", conversation, f"/members/{quote(user, safe='')}")
            if answer.status_code == 404:
                return None
            answer.raise_for_status()
            return mapping(answer.json())
        except (*FAILURES, SettingsError) as error:
            raise CannotTell(f"Teams did not say who you are ({why(error)}).", "Try again.") from error


def why(error: BaseException) -> str:
    """Return in short why a call failed."""
    if isinstance(error, httpx.HTTPStatusError):
        return f"http_{error.response.status_code}"
    return (
        "no answer in time" if isinstance(error, TimeoutError | httpx.TimeoutException) else one_line(repr(error), 120)
    )


@dataclass(slots=True, eq=False)
class Waiting:
    """A click whose answer is awaited, by whom and where: a dialog, or words for them alone."""

    user: str
    channel: str
    answer: asyncio.Future[Mapping[str, Any]] = field(default_factory=asyncio.Future)

    def is_for(self, user: str, channel: str) -> bool:
        """True while this person waits for an answer there."""
        return (self.user, self.channel) == (user, channel) and not self.answer.done()

    def told(self, answer: Mapping[str, Any]) -> bool:
        """Answer it; False where it was answered."""
        if self.answer.done():
            return False
        self.answer.set_result(answer)
        return True


class TeamsCalls(ChatService):
    """Draws, posts, edits, and answers clicks; `names` returns people's names, `waiting` are clicks to be answered."""

    def __init__(self, connector: Connector, log: Log) -> None:
        self._connector = connector
        self._log = log
        self.waiting: dict[str, Waiting] = {}
        self.dialogs: Remembered[str, Dialog] = Remembered(200)
        self.names: Remembered[str, str] = Remembered(REMEMBERED)
        self._direct: Remembered[str, str] = Remembered(REMEMBERED)
        self._homes: Remembered[str, MessageRef] = Remembered(REMEMBERED)

    draw = staticmethod(drawing.draw)
    fits = staticmethod(drawing.fits)
    added = staticmethod(drawing.added)

    def strips(self, message: Message) -> Sequence[str]:
        """There are none: a bot cannot upload a picture to a channel, so the strip of text stays."""
        return ()

    def illustrated(self, message: Message, pictures: Mapping[str, tuple[str, str]]) -> Message:
        """Return it as it is."""
        return message

    async def post(self, channel: str, thread: str, message: Message) -> Outcome:
        """Post a new message in a channel, or in a thread there."""
        conversation = f"{channel};messageid={thread}" if thread and channel.endswith(_THREADED) else channel
        return await self._shown("POST", conversation, "/activities", message)

    async def edit(self, place: MessageRef, message: Message) -> Outcome:
        """Replace a posted message."""
        return await self._shown("PUT", place.channel, f"/activities/{quote(place.ts, safe='')}", message)

    async def whisper(self, channel: str, user: str, thread: str, message: Message) -> Outcome:
        """Answer the click that waits for it; else, and what has buttons, tell them in their chat with the bot."""
        waiting = next((click for click in self.waiting.values() if click.is_for(user, channel)), None)
        outcome: Outcome = NoAccess("")
        if waiting is None or drawing.has_buttons(message):
            try:
                outcome = await self.post(await self.direct(user), "", message)
            except LookupError as error:
                outcome = NoAccess(str(error))
            except (*FAILURES, SettingsError) as error:
                outcome = RetryLater(why(error))
        if isinstance(outcome, NoAccess) and waiting is not None and waiting.told({"words": drawing.words_of(message)}):
            return Delivered()
        if isinstance(outcome, NoAccess) and channel:
            words = "I have an answer for one of you, but no chat with them: add me to your apps and ask again."
            outcome = await self.post(channel, thread, self.draw(said(words)))
        return Delivered() if isinstance(outcome, Delivered) else outcome

    async def direct(self, user: str) -> str:
        """Return a person's chat with the bot. Raises: LookupError where there is none; any of `FAILURES`."""
        if user not in self._direct:
            ours = self._connector.settings
            bot, members = {"id": f"28:{ours.app_id}"}, [{"id": user}]
            body = {
                "bot": bot,
                "members": members,
                "tenantId": ours.tenant,
                "channelData": {"tenant": {"id": ours.tenant}},
            }
            answer = await self._connector.call("POST", "", "", body | {"isGroup": False})
            if answer.status_code in (400, 403, 404):
                raise LookupError(f"http_{answer.status_code}")
            answer.raise_for_status()
            self._direct[user] = str(mapping(answer.json())["id"])
        return self._direct[user]

    def met(self, user: str, name: str, direct: str = "", *, wants_home: bool = False) -> None:
        """Note a person's name, and their chat with the bot, as Teams says; `wants_home`: their home is posted anew."""
        if wants_home:
            self._homes.pop(user, None)
        if name:
            self.names[user] = name
        if direct:
            self._direct[user] = direct

    def named(self, words: str) -> str:
        """Return words with people's names in place of their ids, as far as known."""
        return _WHO.sub(lambda match: self.names.get(match[1], match[0]), words)

    async def answer(self, address: str, message: Message, *, for_card: bool = False) -> Outcome:
        """Teams has no addresses that answer a command."""
        return MessageGone("no such address")

    async def open_dialog(self, trigger: str, dialog: Dialog, sealed: str) -> None:
        """Open the dialog in answer to the click. Raises: CannotTell where that was answered already."""
        task = drawing.dialog_task(dialog, sealed, trigger)
        waiting = self.waiting.get(trigger)
        if waiting is None or not waiting.told({"task": task}):
            raise CannotTell("The dialog came too late for Teams.", "Click again.")
        self.dialogs[trigger] = dialog

    async def publish_home(self, user: str, blocks: Sequence[Block], sealed: str) -> None:
        """Show a person their home, a card in their chat with the bot; a failure is only logged."""
        if not sealed:
            return
        message = Message("zombie", tuple(drawing.with_home(drawing.elements_of(blocks), sealed)))
        try:
            channel, stands = await self.direct(user), self._homes.get(user)
        except (*FAILURES, SettingsError, LookupError) as error:
            self._log("teams_failed", view="home", error=why(error))
            return
        outcome = await self.edit(stands, message) if stands is not None else MessageGone("")
        if isinstance(outcome, MessageGone):
            outcome = await self.post(channel, "", message)
        if isinstance(outcome, Delivered):
            self._homes[user] = outcome.place or stands or MessageRef(channel, "")
        else:
            self._log("teams_failed", view="home", error=outcome.error)

    async def upload(
        self, name: str, content: bytes, alt_text: str, *, channel: str = "", thread: str = ""
    ) -> UploadOutcome:
        """A bot cannot upload to a channel without access to its SharePoint, which this bot does not ask for."""
        return Rejected("a bot uploads nothing in Teams")

    # --- inside

    async def _shown(self, method: str, conversation: str, path: str, message: Message) -> Outcome:
        """Show a message as a card; where Teams refuses that, as text."""
        outcome = await self._made(method, conversation, path, await self._activity(message))
        if isinstance(outcome, Rejected) and message.blocks:
            self._log("teams_refused", part="card", error=outcome.error)
            plain = Message(drawing.words_of(message))
            outcome = await self._made(method, conversation, path, await self._activity(plain))
        return outcome

    async def _activity(self, message: Message) -> dict[str, Any]:
        body: dict[str, Any] = {"type": "message", "textFormat": "plain"}
        text = drawing.defused(self.named(message.text))
        if not message.blocks:
            return {**body, "text": text}
        names = {user: self.names[user] for user in drawing.people_in(message.blocks) if user in self.names}
        shown = drawing.card(drawing.named(message.blocks, names))
        return {**body, "summary": clipped(text, 500), "attachments": [shown]}

    async def _made(self, method: str, conversation: str, path: str, body: Mapping[str, Any]) -> Outcome:
        try:
            answer = await self._connector.call(method, conversation, path, body)
            told = mapping(answer.json()) if answer.content else {}
        except (*FAILURES, SettingsError) as error:
            return RetryLater(why(error))
        status, no = answer.status_code, f"http_{answer.status_code}"
        if status < 300:
            channel = conversation.partition(";")[0]
            return Delivered(MessageRef(channel, str(told["id"])) if method == "POST" and told.get("id") else None)
        if status in _PASSING or status >= 500:
            return RetryLater(no, _seconds(answer))
        if status == 404 and (method == "PUT" or ";" in conversation):
            return MessageGone(no)
        return NoAccess(no) if status in (403, 404) else Rejected(no)


def _seconds(answer: httpx.Response) -> float:
    try:
        return min(3600.0, float(answer.headers.get("Retry-After") or (1 if answer.status_code == 429 else 0)))
    except ValueError:
        return 1.0
