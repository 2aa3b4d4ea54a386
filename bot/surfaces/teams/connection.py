"""The connection to Teams, which posts each activity to the bot's own address: verified, answered, and passed on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, TypeAlias
from urllib.parse import quote

import httpx
from aiohttp import web

from bot.chat.commands import Commands
from bot.chat.connection import ChatConnection
from bot.chat.decisions import Decisions
from bot.chat.dialog import HOME, MetadataSigner
from bot.chat.home import HomePublisher
from bot.chat.service import Timing
from bot.chat.suggestions import NodeSuggestions
from bot.domain.contracts import Log
from bot.domain.post import MessageRef
from bot.surfaces.hooks import Counted
from bot.surfaces.teams.activities import EXECUTE, FETCH, SUBMIT, Spoken
from bot.surfaces.teams.calls import FAILURES, Connector, TeamsCalls, Waiting, why
from bot.surfaces.teams.drawing import dialog_task
from bot.surfaces.teams.keys import NotGenuine, SigningKeys, belongs, mapping
from bot.surfaces.teams.people import TeamsPeople, Whereabouts
from bot.surfaces.teams.settings import TeamsSettings
from bot.surfaces.web_limits import UNREAD, body_of

PATH = "/teams/messages"
ANSWER_SECONDS = 4.0  # Teams tells the person that the app cannot be reached after five to ten
AGAIN_SECONDS = 5.0  # a click that is delivered again within this gets the same answer
DONE = {"words": "Done."}
Answer: TypeAlias = Mapping[str, Any]


class TeamsConnection(ChatConnection):
    """An app in a tenant: `calls` shows messages, `signer` signs dialogs."""

    word, by = "Teams", "http"

    def __init__(self, settings: TeamsSettings, timing: Timing, log: Log, counted: Counted | None = None) -> None:
        self._settings = settings
        self._timing = timing
        self._log = log
        self._counted = counted
        self._http = httpx.AsyncClient(timeout=timing.call_limit, follow_redirects=False)
        self._keys = SigningKeys(settings, self._http, timing.clock, log)
        self._connector = Connector(settings, self._http, timing)
        self._met = Whereabouts(settings.alerts_channel)
        self.calls = TeamsCalls(self._connector, log)
        self.signer = MetadataSigner(settings.app_secret)  # the same in every program that has this app's secret
        self._commands: Commands
        self._home: HomePublisher
        self._decisions: Decisions
        self._clicks: dict[tuple[str, ...], Waiting] = {}
        self.is_open = False

    @property
    def is_connected(self) -> bool:
        """True while the bot listens: whether Teams can reach it, only Teams knows."""
        return self.is_open

    def listen(self, commands: Commands, home: HomePublisher, decisions: Decisions, nodes: NodeSuggestions) -> None:
        """Take what Teams delivers from now on, and hand it to these; names are typed, so no `nodes` are suggested."""
        self._commands, self._home, self._decisions = commands, home, decisions

    def people(self, groups: Collection[str]) -> TeamsPeople:
        """Return who asks Teams about its people; `groups` are the groups of approvers."""
        return TeamsPeople(self._connector, self.calls, self._met, groups)

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
            await self._connector.token()
        except FAILURES as error:
            return f"Entra: {why(error)}"
        if why_not := await self._keys.fetch():
            return why_not
        self.is_open = True
        return ""

    async def stop_listening(self) -> None:
        """Accept nothing more; messages may still be posted."""
        self.is_open = False

    async def stop(self) -> None:
        """Hang up."""
        await self._http.aclose()

    # --- what comes

    async def _receive(self, request: web.Request) -> web.Response:
        if not self.is_open:
            return web.Response(status=503, text="not ready")
        began, outcome = self._timing.clock(), "failed"
        try:
            outcome, answer = await self._taken(request)
            return answer
        except web.HTTPException as no:
            outcome = UNREAD.get(no.status_code, outcome)
            raise
        finally:
            if self._counted is not None:
                self._counted("teams", outcome, self._timing.clock() - began)

    async def _taken(self, request: web.Request) -> tuple[str, web.Response]:
        body = await body_of(request)
        try:
            token = await self._keys.verified(request.headers.get("Authorization", ""))
            activity = mapping(json.loads(body))
            belongs(activity, token, self._settings)
        except NotGenuine as no:
            self._log("teams_refused", because=str(no))
            return "unauthorized", web.Response(status=401, text="bad credentials")
        except (ValueError, RecursionError):
            return "malformed", web.Response(status=400, text="no JSON")
        spoken = Spoken.of(activity)
        if spoken is None:
            return "ignored", web.Response(status=200)
        self._note(spoken)
        if activity.get("type") == "invoke":
            answer = await self._invoked(spoken)
            if answer is None:  # an empty answer would make Teams repeat it
                return "ignored", web.json_response({}, status=501)
            return "accepted", web.json_response(answer)
        asked = spoken.command() if activity.get("type") == "message" else None
        if asked is None:
            return "ignored", web.Response(status=200)
        if spoken.is_direct and asked.text.lower() == "home":
            self.calls.met(asked.user, "", wants_home=True)
            self._home.open(asked.user, asked.channel)
        else:
            self._commands.take(asked)
        return "accepted", web.Response(status=200)

    def _note(self, spoken: Spoken) -> None:
        """Note where this person is, and where the conversation is served."""
        user, direct = spoken.person.user, spoken.conversation if spoken.is_direct else ""
        self._met.met(user, spoken.conversation, spoken.name_here)
        self._connector.note(spoken.conversation, str(spoken.activity["serviceUrl"]))
        self.calls.met(user, spoken.name, direct)

    async def _invoked(self, spoken: Spoken) -> Answer | None:
        kind = spoken.activity.get("name")
        if kind == SUBMIT:
            return await self._submitted(spoken)
        if kind not in (FETCH, EXECUTE):
            return None
        told = {"words": ""} if spoken.is_automatic else await self._clicked(spoken)
        words = str(told.get("words", ""))
        if kind == FETCH:
            return {"task": told.get("task") or {"type": "message", "value": words}}
        return {"statusCode": 200, "type": "application/vnd.microsoft.activity.message", "value": words}

    async def _clicked(self, spoken: Spoken) -> Answer:
        """Return what a click leads to: a dialog, words for its person alone, or that it is done."""
        home = spoken.sealed_home
        proved = self.signer.verify(home) if home else None
        is_theirs = proved is not None and (proved.action, proved.user) == (HOME, spoken.person.user)
        click = spoken.click(home if is_theirs else "")
        same = (click.person.user, click.channel, click.ts, click.action, click.value, click.metadata)
        if (waiting := self._clicks.get(same)) is None:
            waiting = self._clicks[same] = self.calls.waiting[click.trigger] = Waiting(click.person.user, click.channel)
            ended = self._decisions.clicked(click)
            ended.add_done_callback(lambda _: self._ended(waiting, same, click.trigger))
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await asyncio.shield(waiting.answer)
        except TimeoutError:
            late = {"words": "The bot is at it. What comes of it is on the card, or in your chat with the bot."}
            waiting.told(late)
            return late

    def _ended(self, waiting: Waiting, same: tuple[str, ...], trigger: str) -> None:
        """Answer a click that needs no other answer. Words are given again for a moment; a dialog opens anew."""
        waiting.told(DONE)
        self.calls.waiting.pop(trigger, None)
        again = AGAIN_SECONDS if "words" in waiting.answer.result() else 0.0
        asyncio.get_running_loop().call_later(again, self._clicks.pop, same, None)

    async def _submitted(self, spoken: Spoken) -> Answer:
        sent = spoken.submission()
        why_not = await self._decisions.submitted(sent)  # on disk before it is answered
        if not why_not:
            return {"task": {"type": "message", "value": "It is on record, and the card follows."}}
        dialog = self.calls.dialogs.get(spoken.opened)
        if dialog is None:
            return {"task": {"type": "message", "value": why_not}}
        return {"task": dialog_task(dialog, sent.metadata, spoken.opened, why_not)}
