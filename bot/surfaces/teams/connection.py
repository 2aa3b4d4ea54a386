"""The connection to Teams, which posts each activity to the bot's own address: verified, answered, and passed on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, TypeAlias
from urllib.parse import quote

import httpx
from aiohttp import web

from bot.chat.clicks import mapping
from bot.chat.commands import Commands
from bot.chat.connection import ChatConnection
from bot.chat.decisions import Decisions
from bot.chat.dialog import HOME, MetadataSigner
from bot.chat.home import HomePublisher
from bot.chat.remembered import RecentDeliveries
from bot.chat.service import Timing
from bot.domain.contracts import Log
from bot.domain.post import MessageRef
from bot.surfaces.hooks import Counted
from bot.surfaces.teams.activities import EXECUTE, FETCH, SUBMIT, Spoken
from bot.surfaces.teams.calls import TROUBLE, PendingClick, TeamsCalls, failure_reason
from bot.surfaces.teams.drawing import HOME as HOME_SEALED
from bot.surfaces.teams.drawing import OPENED, dialog_task
from bot.surfaces.teams.keys import NotGenuine, SigningKeys
from bot.surfaces.teams.people import TeamsPeople
from bot.surfaces.teams.settings import TeamsSettings
from bot.surfaces.web_limits import UNREAD, read_request_body

PATH = "/teams/messages"
ANSWER_SECONDS = 4.0  # Teams tells the person that the app cannot be reached after five to ten
AGAIN_SECONDS = 5.0  # a click that is delivered again within this gets the same answer
DONE = {"words": "Done."}
BROKEN_OFF = {"words": "The bot broke off, and its log says why. Look at the card before you click again."}
Answer: TypeAlias = Mapping[str, Any]


class TeamsConnection(ChatConnection):
    """An app in a tenant: `calls` shows messages, `signer` signs dialogs."""

    word, by = "Teams", "http"
    is_connected = False  # while it listens: whether Teams can reach it, only Teams knows

    def __init__(
        self,
        settings: TeamsSettings,
        timing: Timing,
        log: Log,
        counted: Counted | None = None,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        self._settings = settings
        self._timing = timing
        self._log = log
        self._counted = counted
        self._http = http or httpx.AsyncClient(timeout=timing.call_limit, follow_redirects=False)
        self._keys = SigningKeys(settings, self._http, timing.clock, log)
        self.calls = TeamsCalls(settings, self._http, timing, log)
        self.signer = MetadataSigner(settings.app_secret)  # the same in every program that has this app's secret
        self._commands: Commands
        self._home: HomePublisher
        self._decisions: Decisions
        self._clicks: dict[tuple[str, ...], PendingClick] = {}
        self._refused = RecentDeliveries(100)

    def listen(self, commands: Commands, home: HomePublisher, decisions: Decisions) -> None:
        """Take what Teams delivers from now on, and hand it to these."""
        self._commands, self._home, self._decisions = commands, home, decisions

    def people(self, groups: Collection[str]) -> TeamsPeople:
        """Return who asks Teams about its people; `groups` are the groups of approvers."""
        return TeamsPeople(self.calls, groups)

    def address(self, place: MessageRef) -> str:
        """Return the address of a message."""
        where = f"{quote(place.channel, safe='')}/{quote(place.ts, safe='')}"
        return f"https://teams.microsoft.com/l/message/{where}?tenantId={self._settings.tenant}"

    def routes(self) -> tuple[tuple[str, Callable[[web.Request], Awaitable[web.Response]]], ...]:
        """Return the HTTP route by which Teams reaches the bot."""
        return ((PATH, self._receive),)

    async def start(self) -> str:
        """Fetch the keys and a token, and begin to listen; return why Teams cannot be reached now, or an empty string.

        Raises: SettingsError where the app's secret is rejected.
        """
        try:
            await self.calls.token()
        except TROUBLE as error:
            return f"Entra: {failure_reason(error)}"
        if failure := await self._keys.fetch():
            return failure
        self.is_connected = True
        return ""

    async def stop_listening(self) -> None:
        """Accept nothing more; messages may still be posted."""
        self.is_connected = False

    async def stop(self) -> None:
        """Hang up."""
        await self._http.aclose()

    # --- what comes

    async def _receive(self, request: web.Request) -> web.Response:
        if not self.is_connected:
            return web.Response(status=503, text="not ready")
        began, outcome = self._timing.clock(), "failed"
        try:
            outcome, answer = await self._answer_activity(request)
            return answer
        except web.HTTPException as no:
            outcome = UNREAD.get(no.status_code, outcome)
            raise
        finally:
            if self._counted is not None:
                self._counted("teams", outcome, self._timing.clock() - began)

    async def _answer_activity(self, request: web.Request) -> tuple[str, web.Response]:
        body = await read_request_body(request)
        try:
            activity = await self._keys.activity(request.headers.get("Authorization", ""), body)
        except NotGenuine as no:
            if self._refused.note_if_new(str(no)):  # once each: anybody can knock
                self._log("teams_refused", because=str(no))
            return "unauthorized", web.Response(status=401, text="bad credentials")
        except (ValueError, RecursionError):
            return "malformed", web.Response(status=400, text="no JSON")
        spoken = Spoken.of(activity)
        if spoken is None:
            return "ignored", web.Response(status=200)
        met = (spoken.person.user, spoken.name, spoken.conversation, spoken.name_here, str(activity["serviceUrl"]))
        self.calls.met(*met, is_direct=spoken.is_direct)
        if activity.get("type") == "invoke":
            answer = await self._answer_invoke(spoken)
            if answer is None:  # an empty answer would make Teams repeat it
                return "ignored", web.json_response({}, status=501)
            return "accepted", web.json_response(answer)
        asked = spoken.command() if activity.get("type") == "message" else None
        if asked is None:
            return "ignored", web.Response(status=200)
        if spoken.is_direct and asked.text.lower() == "home":
            self.calls.homes.pop(asked.person.user, None)  # a new card, where the person looks now
            self._home.open(asked.person.user)
        else:
            self._commands.take(asked)
        return "accepted", web.Response(status=200)

    async def _answer_invoke(self, spoken: Spoken) -> Answer | None:
        kind = spoken.activity.get("name")
        if kind == SUBMIT:
            return await self._answer_submission(spoken)
        # A client that asks by itself to have a card renewed clicks nothing.
        if kind not in (FETCH, EXECUTE) or mapping(spoken.activity.get("value")).get("trigger") == "automatic":
            return None
        told = await self._answer_click(spoken)
        words = str(told.get("words", ""))
        if kind == FETCH:
            return {"task": told.get("task") or {"type": "message", "value": words}}
        return {"statusCode": 200, "type": "application/vnd.microsoft.activity.message", "value": words}

    async def _answer_click(self, spoken: Spoken) -> Answer:
        """Return what a click leads to: a dialog, words for its person alone, or that it is done."""
        home = str(spoken.data.get(HOME_SEALED) or "")
        proved = self.signer.verify(home) if home else None
        is_theirs = proved is not None and (proved.action, proved.user) == (HOME, spoken.person.user)
        click = spoken.click(in_home=is_theirs)
        same = (click.person.user, click.channel, click.ts, click.action, click.block, click.value)
        if (waiting := self._clicks.get(same)) is None:
            waiting = self._clicks[same] = self.calls.waiting[click.trigger] = PendingClick(
                click.person.user, click.channel
            )
            if (handling := self._decisions.handle_click(click)) is not None:
                handling.add_done_callback(lambda done: self._close_click(done, waiting, same, click.trigger))
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await asyncio.shield(waiting.answer)
        except TimeoutError:
            late = {"words": "The bot is at it. What comes of it is on the card, or in your chat with the bot."}
            waiting.give_answer(late)
            return late

    def _close_click(
        self, handling: asyncio.Task[None], waiting: PendingClick, same: tuple[str, ...], trigger: str
    ) -> None:
        """Answer a click that needs no other answer. Words are given again for a moment; a dialog opens anew."""
        is_done = not handling.cancelled() and handling.exception() is None
        waiting.give_answer(DONE if is_done else BROKEN_OFF)
        self.calls.waiting.pop(trigger, None)
        again = AGAIN_SECONDS if "words" in waiting.answer.result() else 0.0
        asyncio.get_running_loop().call_later(again, self._clicks.pop, same, None)

    async def _answer_submission(self, spoken: Spoken) -> Answer:
        sent = spoken.submission()
        refusal = await self._decisions.handle_submission(sent)  # on disk before it is answered
        if not refusal:
            return {"task": {"type": "message", "value": "It is on record, and the card follows."}}
        dialog = self.calls.dialogs.get(str(spoken.data.get(OPENED) or ""))
        if dialog is None:
            return {"task": {"type": "message", "value": refusal}}
        opened = f"{spoken.person.user}-{spoken.id}"  # another one: sent with the same reason it is no repetition
        self.calls.dialogs[opened] = dialog
        return {"task": dialog_task(dialog, sent.metadata, opened, refusal)}
