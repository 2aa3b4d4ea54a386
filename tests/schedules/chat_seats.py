"""The chats of a scheduled world, and Microsoft Teams: its connector without a socket, and what its people do there."""

from __future__ import annotations

import asyncio
import copy
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote

import httpx
import jwt
from aiohttp import web

from bot.chat.service import Timing
from bot.ledger.chat_requests import ChatRequestStore
from bot.surfaces.teams.connection import AGAIN_SECONDS, TeamsConnection
from bot.surfaces.web_limits import BODIES, Bodies
from tests.schedules.chats import NOBODY, ChatWorld, Program
from tests.slack.memory_chat import Shown
from tests.teams.simulated import APP, APPROVERS, IDS, ISSUER, ONCALL, TENANT, SimulatedTeams, buttons, key_of

FATES = {"lost": 0.02, "late": 0.04, "limited": 0.06, "down": 0.07}  # of the bot's calls, each below its figure
AGAIN = (0.0, 0.3, 3.0, 8.0, 16.0)  # seconds after which Teams delivers something again
GIVEN_UP = 6  # deliveries that nobody answers
TWICE = 0.5  # of the deliveries come again though they are answered
NOTHING = "nothing was decided"  # what a person is told whose dialog was dropped
PATIENCE = 5.0  # seconds in which a person has to have an answer


@dataclass
class Request:
    """A request as its handler reads it, which came over no socket."""

    method: str
    path: str
    headers: Any
    body: bytes
    match_info: dict[str, str] = field(default_factory=dict)
    remote: str = "192.0.2.1"
    query_string: str = ""
    transport: None = None
    app: Any = field(default_factory=lambda: {BODIES: Bodies()})
    content: Any = field(default_factory=lambda: SimpleNamespace(is_eof=lambda: True))

    async def read(self) -> bytes:
        return self.body

    async def json(self) -> Any:
        return json.loads(self.body)

    async def post(self) -> Any:
        return dict(httpx.QueryParams(self.body.decode()))


class Connector(httpx.AsyncBaseTransport):
    """The way from a program to Teams: what was sent arrives, whatever becomes of its sender or of its answer."""

    def __init__(self, world: ChatWorld, teams: ScheduledTeams) -> None:
        self._world, self._teams = world, teams
        self._routes = [(route, re.compile(re.sub(r"\{\w+\}", "([^/]+)", route.path))) for route in teams.routes()]

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        world = self._world
        await world.boundary()
        fate = self._teams.fate(is_post=request.method == "POST") if "/v3/" in request.url.path else ""
        if fate == "lost":
            raise httpx.ConnectError("lost")
        if fate in ("limited", "down"):
            status, headers = (429, {"Retry-After": "2"}) if fate == "limited" else (503, {})
            return httpx.Response(status, headers=headers, json={})
        arriving = asyncio.get_running_loop().create_task(self._arrives(request), context=NOBODY)
        answer = await asyncio.shield(arriving)
        if fate == "late":
            await asyncio.sleep(world.random.choice((1, 20)))
            raise httpx.ReadTimeout("its answer was lost")
        await world.boundary()
        return answer

    async def _arrives(self, request: httpx.Request) -> httpx.Response:
        await asyncio.sleep(self._world.random.choice((0.01, 0.05, 0.3, 0.9)))
        path = request.url.raw_path.decode()
        route, found = next(
            (route, found)
            for route, pattern in self._routes
            if route.method == request.method and (found := pattern.fullmatch(path))
        )
        names = re.findall(r"\{(\w+)\}", route.path)
        asked: Any = Request(request.method, unquote(path), request.headers, await request.aread())
        asked.match_info = dict(zip(names, found.groups(), strict=True))
        handler: Any = route.handler
        answer = await self._teams.goes_wrong(asked, handler)
        assert isinstance(answer, web.Response)
        return httpx.Response(answer.status, headers=answer.headers, content=answer.body)  # type: ignore[arg-type]


class Seat:
    """A chat of a schedule: what its people see, and what they and the programs cannot be sure of."""

    kind = tenant = channel = group = ""
    ids: Mapping[str, str]
    usual = long = 0  # schedules that are drawn at each run of the tests, and in the long one
    lies: Sequence[str]  # what can be wrong with a dialog that is sent

    def take_place(self, world: ChatWorld, programs: Callable[[], list[Program]]) -> None:
        """Be in this world, with these programs."""
        self.world, self.programs = world, programs
        self.seen: list[Shown] = []  # every wording of every message, in order
        self.slow: list[str] = []  # what nobody answered in time, though a program was there
        self.unanswered = 0  # messages that were posted and whose sender does not know
        self.told = Counter[str]()  # clicks that were answered in words, each with its repetitions
        self.answers: list[tuple[str, str]] = []  # to dialogs, each with its reason

    def by(self, who: str) -> str:
        """Return a person as the record names them."""
        return f"{self.kind}:{self.tenant}/{self.ids[who]}"

    def alive(self) -> Program | None:
        """Return one of the programs that listen, if any does."""
        alive = [each for each in self.programs() if each.connection.is_connected]
        return self.world.random.choice(alive) if alive else None

    def fate(self, *, is_post: bool) -> str:
        """Draw what becomes of a call of the bot: nothing, `lost`, `late` as its answer is lost, `limited`, `down`."""
        drawn = 1.0 if self.world.is_over else self.world.random.random()
        fate = next((word for word, below in FATES.items() if drawn < below), "")
        self.unanswered += is_post and fate == "late"
        return fate


class ScheduledTeams(Seat, SimulatedTeams):
    """Teams, which delivers everything until somebody answers, and some of it again, under another id."""

    kind, tenant, channel, group, ids = "teams", TENANT, ONCALL, f"teams:{APPROVERS}", IDS
    usual, long = 20, 360

    def __init__(self, world: ChatWorld, programs: Callable[[], list[Program]]) -> None:
        super().__init__("http://127.0.0.1:1")
        self.take_place(world, programs)
        world.fails[ChatRequestStore] = 0.04  # a yes that cannot be stored is asked for anew
        self.lies = tuple(LIES)
        self._answers: dict[tuple[str, str], float] = {}  # when each program answered each click

    def connected(self, timing: Timing, log: Any) -> TeamsConnection:
        http = httpx.AsyncClient(transport=Connector(self.world, self))
        return TeamsConnection(self.settings, timing, log, http=http)

    def _show(self, shown: Shown, activity: Any) -> None:
        super()._show(shown, activity)
        self.seen.append(copy.copy(shown))

    def can(self, shown: Shown, action: str) -> bool:
        """True for a wording with this button."""
        return any(buttons(shown.blocks, action))

    async def asks(self, who: str, shown: Shown, action: str) -> Any:
        """Click, and return the dialog in which a reason can be given; None where none opens."""
        await self.click(who, shown, action)
        view = self.dialogs.pop(who, None)
        return view if view is not None and view.fields else None

    async def sends(self, who: str, view: Any, reason: str, lie: str) -> tuple[str, bool]:
        """Send a dialog, perhaps with a lie; return as whom, and whether it is said to be on record."""
        data = {"sealed": view.private_metadata, "opened": view.dialog.opened, "reason": reason}
        activity = self.activity(who, ONCALL, type="invoke", name="task/submit", value={"data": data})
        token = LIES[lie](self, activity) if lie else None
        status, answer = await self.deliver(activity, token)
        if not lie and NOTHING in str(answer) and '"opened"' in (anew := json.dumps(answer)):  # the dialog asks anew
            self.answers = [(about, words) for about, words in self.answers if about != reason]
            data["opened"] = json.loads(anew.partition('"opened": ')[2].partition("}")[0].partition(",")[0])
            status, answer = await self.deliver(activity, token)
        return activity["from"]["name"].lower(), status == 200 and "on record" in str(answer)

    async def deliver(self, activity: Any, token: str | None = None) -> tuple[int, Any]:
        """Deliver it until it is answered; here and there twice, of which only one answer reaches the person."""
        answers = [self._answered(activity, token)]
        if self.world.chance(TWICE):
            answers.append(self._answered(activity, token, self.world.random.choice(AGAIN)))
        first, *_ = await asyncio.gather(*answers)
        return first

    async def _answered(self, activity: Any, token: str | None, after: float = 0.0) -> tuple[int, Any]:
        await asyncio.sleep(after)
        for _ in range(GIVEN_UP):
            self.numbers += 1
            status, answer = await self._once({**activity, "id": f"f:{self.numbers}"}, token)
            if status:
                return status, answer
            await asyncio.sleep(self.world.random.choice(AGAIN[2:]))
        raise TimeoutError

    async def _once(self, activity: Any, token: str | None) -> tuple[int, Any]:
        program, loop = self.alive(), asyncio.get_running_loop()
        if program is None:
            return 0, None
        headers = {"Authorization": f"Bearer {self.token() if token is None else token}"}
        came: Any = Request("POST", "/teams/messages", headers, json.dumps(activity).encode())
        began, answering = loop.time(), program.start(program.connection._receive(came))
        await asyncio.wait([answering])
        if program.is_dead or answering.cancelled():
            self.told[activity["from"]["aadObjectId"]] += 1  # it may have done what it was asked for
            return 0, None
        if loop.time() - began > PATIENCE:
            self.slow.append(f"{activity['name']} after {loop.time() - began:.1f} s")
        answer = answering.result()
        self._note(program, activity, str(answer.text))
        text = answer.text or ""
        return answer.status, json.loads(text) if text.startswith("{") else text

    def _note(self, program: Program, activity: Any, text: str) -> None:
        """Note what a dialog was answered, and count clicks answered in words: soon repeated, it is the same answer."""
        if activity["name"] == "task/submit":
            self.answers.append((activity["value"]["data"]["reason"], text))
        if activity["name"] == "task/submit" or '"continue"' in text:
            return
        now, click = asyncio.get_running_loop().time(), (program.name, str(activity["timestamp"]))
        self.told[activity["from"]["aadObjectId"]] += now - self._answers.get(click, -AGAIN_SECONDS) >= AGAIN_SECONDS
        self._answers[click] = now


def _signed_by_another(seat: ScheduledTeams, activity: Any) -> str:
    claims = {"iss": ISSUER, "aud": APP, "exp": time.time() + 3600, "serviceurl": activity["serviceUrl"]}
    return jwt.encode(claims, key_of("key-2"), algorithm="RS256", headers={"kid": "key-1"})


def _of_another_person(seat: ScheduledTeams, activity: Any) -> str:
    other = "alice" if activity["from"]["aadObjectId"] == IDS["bob"] else "bob"
    activity["from"] = {"id": f"29:{other}", "name": other, "aadObjectId": IDS[other]}
    return seat.token()


def _changed(seat: ScheduledTeams, activity: Any) -> str:
    data = activity["value"]["data"]
    data["sealed"] = data["sealed"].replace('"thread_ts":""', '"thread_ts":"1"')
    return seat.token()


def _of_another_tenant(seat: ScheduledTeams, activity: Any) -> str:
    activity["channelData"] = {"tenant": {"id": "0c0c0c0c-0000-4000-8000-000000000009"}}
    return seat.token()


def _by_another_channel(seat: ScheduledTeams, activity: Any) -> str:
    activity["channelId"] = "directline"
    return seat.token()


# What can be wrong with a dialog that is sent: each changes the activity, and returns the token that comes with it.
LIES: dict[str, Callable[[ScheduledTeams, Any], str]] = {
    "signed by another": _signed_by_another,
    "for another bot": lambda seat, _: seat.token(aud="0d0d0d0d-0000-4000-8000-00000000000a"),
    "of another person": _of_another_person,
    "changed": _changed,
    "of another tenant": _of_another_tenant,
    "by another channel": _by_another_channel,
}
