"""A simulated Bot connector over a real socket: signing keys, Entra's tokens, conversations, and people who click."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote

import aiohttp
import jwt
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import rsa

from bot.chat.document import Dialog
from bot.chat.service import Timing
from bot.surfaces.teams.connection import PATH, TeamsConnection
from bot.surfaces.teams.settings import TeamsSettings
from bot.surfaces.web import WebEdge
from tests.faults import Faults, Handler, drop_connection
from tests.slack.memory_chat import OpenDialog, Posted, Shown

APP, TENANT, SECRET = (
    "0a0a0a0a-0000-4000-8000-000000000001",
    "0b0b0b0b-0000-4000-8000-000000000002",
    "s3cret-of-the-app",
)
ALICE = "a11ce000-0000-4000-8000-000000000003"
BOB = "b0b00000-0000-4000-8000-000000000004"
GUS = "90500000-0000-4000-8000-000000000005"
EVE = "e4e00000-0000-4000-8000-000000000006"
IDS = {"alice": ALICE, "bob": BOB, "gus": GUS, "eve": EVE}
ONCALL, APPROVERS = "19:oncall0001@thread.tacv2", "19:approvers1@thread.tacv2"
ISSUER = "https://test.issuer"


@cache
def key_of(name: str) -> rsa.RSAPrivateKey:
    """Return a key to sign with."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@dataclass
class SimulatedTeams(Posted):
    """A tenant with a channel, its people, and the bot that they talk to.

    Shape: `calls` is what the bot asked for; they go wrong as `faults` say, by HTTP method.
    """

    url: str
    bot: str = ""
    keys: dict[str, Sequence[str]] = field(default_factory=lambda: {"key-1": ("msteams", "webchat")})
    members: dict[str, set[str]] = field(
        default_factory=lambda: {ONCALL: {ALICE, BOB, GUS, EVE}, APPROVERS: {ALICE, BOB}}
    )
    teams: dict[str, str] = field(default_factory=lambda: {APPROVERS: "SRE on-call"})
    profiles: dict[str, dict[str, Any]] = field(default_factory=dict)
    faults: Faults = field(default_factory=lambda: Faults({"error": {"code": "Limited"}}))
    installed: set[str] = field(default_factory=lambda: {ALICE, BOB, GUS, EVE})
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    posted: list[Shown] = field(default_factory=list)
    raw: dict[str, Any] = field(default_factory=dict)
    calls: list[tuple[str, str]] = field(default_factory=list)
    dialogs: dict[str, OpenDialog] = field(default_factory=dict)
    fetched: int = 0
    edits: int = 0
    numbers: int = 0
    secret: str = SECRET
    sealed: str = ""  # in the last dialog, also in one that cannot be sent
    bot_token = app_token = api_url = ""  # there is no Slack

    def __post_init__(self) -> None:
        self.state = SimpleNamespace(user=lambda name: SimpleNamespace(id=IDS[name]))
        for name, user in IDS.items():
            login = f"{name}@example.com" if name != "gus" else "gus_else.example#EXT#@example.com"
            self.profiles[user] = {
                "id": f"29:{name}",
                "name": name.capitalize(),
                "aadObjectId": user,
                "tenantId": TENANT if name != "eve" else "0c0c0c0c-0000-4000-8000-000000000009",
                "userPrincipalName": login,
                "userRole": "user" if name != "gus" else "guest",
            }

    @property
    def settings(self) -> TeamsSettings:
        return TeamsSettings(
            app_id=APP,
            app_secret=self.secret,
            tenant=TENANT,
            service_url=f"{self.url}/teams/",
            login_url=f"{self.url}/login/",
            metadata_url=f"{self.url}/v1/.well-known/openidconfiguration",
            issuer=ISSUER,
            alerts_channel=ONCALL,
        )

    @property
    def environment(self) -> dict[str, str]:
        ours = self.settings
        named = {"APP_ID": ours.app_id, "APP_SECRET": ours.app_secret, "TENANT": ours.tenant, "ISSUER": ours.issuer}
        named |= {"SERVICE_URL": ours.service_url, "LOGIN_URL": ours.login_url, "METADATA_URL": ours.metadata_url}
        return {f"TEAMS_{name}": value for name, value in named.items()}

    def connection(self, timing: Timing, log: Any) -> TeamsConnection:
        made = TeamsConnection(self.settings, timing, log)
        opens = made.calls.open_dialog

        async def noted(trigger: str, dialog: Dialog, sealed: str) -> None:
            self.sealed = sealed
            await opens(trigger, dialog, sealed)

        made.calls.open_dialog = noted  # type: ignore[method-assign]
        return made

    @asynccontextmanager
    async def hosted(self, connection: TeamsConnection) -> AsyncIterator[None]:
        """Let a connection be reached, without a whole service."""

        async def ready() -> str:
            return ""

        edge = WebEdge("127.0.0.1:0", ready, connection.routes(), log=lambda event, **_: None)
        self.bot = await edge.start()
        try:
            yield
        finally:
            await edge.stop()

    # --- what the bot calls

    def routes(self) -> list[web.RouteDef]:
        conversation = "/teams/v3/conversations/{conversation}"
        return [
            web.get("/v1/.well-known/openidconfiguration", self._metadata),
            web.get("/v1/.well-known/keys", self._keys),
            web.post("/login/{tenant}/oauth2/v2.0/token", self._token),
            web.post("/teams/v3/conversations", self._open),
            web.get(f"{conversation}/members/{{member}}", self._member),
            web.get("/teams/v3/teams/{team}", self._team),
            web.post(f"{conversation}/activities", self._post),
            web.put(f"{conversation}/activities/{{activity}}", self._put),
        ]

    async def _metadata(self, _: web.Request) -> web.Response:
        return web.json_response({"issuer": ISSUER, "jwks_uri": f"{self.url}/v1/.well-known/keys"})

    async def _keys(self, _: web.Request) -> web.Response:
        self.fetched += 1
        public = [
            json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key_of(name).public_key()))
            | {"kid": name, "endorsements": list(endorsed), "use": "sig"}
            for name, endorsed in self.keys.items()
        ]
        return web.json_response({"keys": public})

    async def _token(self, request: web.Request) -> web.Response:
        form = await request.post()
        wanted = {"client_id": APP, "client_secret": SECRET, "grant_type": "client_credentials"}
        if any(form.get(name) != value for name, value in wanted.items()) or request.match_info["tenant"] != TENANT:
            return web.json_response({"error": "invalid_client"}, status=401)
        return web.json_response({"access_token": "bots-own-token", "expires_in": 3599, "token_type": "Bearer"})

    @web.middleware
    async def goes_wrong(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Record a call about a conversation, and let it go wrong."""
        if "/v3/" not in request.path:
            return await handler(request)
        self.calls.append((request.method, unquote(request.path)))
        if request.headers.get("Authorization") != "Bearer bots-own-token":
            return web.json_response({"error": {"code": "Unauthorized"}}, status=401)
        fault = self.faults.take(request.method)
        if fault is not None and (suffered := await fault.answer(request, self.closing)) is not None:
            return suffered
        answer = await handler(request)
        return drop_connection(request) if fault is not None and fault.is_after_effect else answer

    async def _open(self, request: web.Request) -> web.Response:
        body = await request.json()
        (member,) = body["members"]
        if member["id"] not in self.installed or body["tenantId"] != TENANT:
            return web.json_response({"error": {"code": "ForbiddenOperationException"}}, status=403)
        return web.json_response({"id": f"a:1{member['id']}"}, status=201)

    async def _member(self, request: web.Request) -> web.Response:
        conversation, member = (unquote(request.match_info[name]) for name in ("conversation", "member"))
        found = [profile for user, profile in self.profiles.items() if member in (user, profile["id"])]
        users = self.members.get(conversation)
        if conversation.startswith("a:1"):
            users = {conversation.removeprefix("a:1")}
        if not found or users is None or found[0]["aadObjectId"] not in users:
            return web.json_response({"error": {"code": "MemberNotFoundInConversation"}}, status=404)
        return web.json_response(found[0])

    async def _team(self, request: web.Request) -> web.Response:
        if (name := self.teams.get(unquote(request.match_info["team"]))) is None:
            return web.json_response({"error": {"code": "BadArgument"}}, status=404)
        return web.json_response({"id": unquote(request.match_info["team"]), "name": name})

    async def _post(self, request: web.Request) -> web.Response:
        conversation = unquote(request.match_info["conversation"])
        channel, _, thread = conversation.partition(";messageid=")
        if channel not in self.members and not channel.startswith("a:1"):
            return web.json_response({"error": {"code": "ConversationNotFound"}}, status=404)
        ts = f"17000000{len(self.posted) + 1:05}"
        shown = Shown(channel, ts, "", (), thread, channel.removeprefix("a:1") if channel.startswith("a:1") else "")
        self._show(shown, await request.json())
        self.posted.append(shown)
        return web.json_response({"id": ts}, status=201)

    async def _put(self, request: web.Request) -> web.Response:
        channel, ts = (unquote(request.match_info[name]) for name in ("conversation", "activity"))
        stands = [each for each in self.posted if (each.channel, each.ts) == (channel, ts)]
        if not stands:
            return web.json_response({"error": {"code": "ActivityNotFoundInConversation"}}, status=404)
        self._show(stands[0], await request.json())
        self.edits += 1
        return web.json_response({"id": ts})

    def _show(self, shown: Shown, activity: Any) -> None:
        assert activity["type"] == "message"
        assert activity["textFormat"] == "plain"
        self.raw[shown.ts] = activity
        cards = activity.get("attachments", ())
        assert len(json.dumps(activity, ensure_ascii=False).encode("utf-16-le")) < 100 * 1024
        shown.text = str(activity.get("summary") or activity.get("text") or "")
        shown.blocks = cards[0]["content"]["body"] if cards else ()

    # --- what the bot is sent

    def token(self, name: str = "key-1", **changed: Any) -> str:
        """Return a token as Teams signs it, with other claims."""
        now = int(time.time())
        claims = {"iss": ISSUER, "aud": APP, "exp": now + 3600, "nbf": now - 5, "serviceurl": f"{self.url}/teams/"}
        claims = {claim: value for claim, value in {**claims, **changed}.items() if value is not None}
        return jwt.encode(claims, key_of(name), algorithm="RS256", headers={"kid": name})

    def activity(self, user: str, channel: str, thread: str = "", **more: Any) -> dict[str, Any]:
        """Return an activity of a person, whose id is new."""
        self.numbers += 1
        is_direct = not channel.startswith("19:")
        where = f"{channel};messageid={thread}" if thread and not is_direct else channel
        return {
            "id": f"f:{self.numbers}",
            "timestamp": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
            "channelId": "msteams",
            "serviceUrl": f"{self.url}/teams/",
            "from": {"id": f"29:{user}", "name": user.capitalize(), "aadObjectId": IDS[user]},
            "conversation": {
                "id": where,
                "tenantId": TENANT,
                "conversationType": "personal" if is_direct else "channel",
            },
            "recipient": {"id": f"28:{APP}", "name": "zombie"},
            "channelData": {"tenant": {"id": TENANT}},
            **more,
        }

    async def deliver(self, activity: Any, token: str | None = None) -> tuple[int, Any]:
        """Post an activity to the bot, and return its status and answer."""
        headers = {"Authorization": f"Bearer {self.token() if token is None else token}"}
        body = activity if isinstance(activity, bytes) else json.dumps(activity).encode()
        async with (
            aiohttp.ClientSession() as client,
            client.post(f"{self.bot}{PATH}", data=body, headers=headers) as answer,
        ):
            text = await answer.text()
            return answer.status, json.loads(text) if text.startswith("{") else text

    # --- what people do and see

    def direct(self, user: str) -> str:
        """Return a person's chat with the bot."""
        return f"a:1{IDS[user]}"

    def messages(self, channel: str, viewer: str = "") -> list[Any]:
        """Return what stands in a channel; to a viewer also what they alone were told, anywhere."""
        mine = IDS.get(viewer, "-")
        return [
            each for each in self.posted if (each.channel == channel and not each.only_for) or each.only_for == mine
        ]

    async def say(self, user: str, channel: str, text: str, thread: str = "") -> None:
        """Mention the bot with words behind it."""
        at = {"type": "mention", "text": "<at>zombie</at>", "mentioned": {"id": f"28:{APP}", "name": "zombie"}}
        said = {"type": "message", "text": f"<at>zombie</at>\u00a0{text}", "entities": [at]}
        assert await self.deliver(self.activity(user, channel, thread, **said)) == (200, "")

    async def home(self, user: str) -> Sequence[Any]:
        """Ask for a person's home, and return what it shows."""
        seen = len(self.posted)
        await self.say(user, self.direct(user), "home")
        card = await self.until(lambda: next((one for one in self.posted[seen:] if one.only_for == IDS[user]), None))
        return card.blocks

    async def click(self, user: str, message: Any, action: str, *, typed: str = "", **changed: Any) -> Any:
        """Press a button of a message, by its action; return the answer."""
        button = next(buttons(message.blocks, action))
        return await self.press(user, message, button, typed=typed, **changed)

    async def press(self, user: str, message: Any, button: Any, *, typed: str = "", **changed: Any) -> Any:
        """Press this button."""
        data = {**button["data"], **({button["data"]["p"]: typed} if "p" in button["data"] else {})}
        if button["type"] == "Action.Execute":
            value = {"action": {"type": "Action.Execute", "verb": button["verb"], "data": data}, "trigger": "manual"}
            name = "adaptiveCard/action"
        else:
            assert data["msteams"] == {"type": "task/fetch"}
            value, name = {"data": data, "context": {"theme": "default"}}, "task/fetch"
        pressed = {"type": "invoke", "name": name, "value": value, "replyToId": message.ts, **changed}
        status, answer = await self.deliver(
            self.activity(user, message.channel, message.thread_ts or message.ts, **pressed)
        )
        assert status == 200, answer
        if name == "task/fetch" and answer["task"]["type"] == "continue":
            shown = answer["task"]["value"]
            content = shown["card"]["content"]
            sends = [each for each in content.get("actions", ()) if each["type"] == "Action.Submit"]
            asked = next((each for each in content["body"] if each["type"] == "Input.Text"), None)
            whole: Any = SimpleNamespace(blocks=content["body"], asks=asked, card=content, opened="")
            sealed = self.sealed
            if sends:
                whole.opened, sealed = (sends[0]["data"][name] for name in ("opened", "sealed"))
                assert self.sealed in ("", sealed)
            dialog: Any = OpenDialog(
                f"view-{self.numbers}", sealed, whole, {"submit": sends[0]["title"]} if sends else {}
            )
            self.dialogs[user] = dialog
        else:
            words = answer["task"]["value"] if name == "task/fetch" else answer["value"]
            self.posted.append(Shown(message.channel, f"told-{self.numbers}", words, (), only_for=IDS[user]))
        return answer

    def modal(self, user: str) -> OpenDialog | None:
        """Return the dialog in front of a person."""
        return self.dialogs.get(user)

    async def submit(self, user: str, view: OpenDialog, values: Mapping[str, str], channel: str = ONCALL) -> Any:
        """Send a dialog; return its errors."""
        whole: Any = view.dialog
        data = {"sealed": view.private_metadata, "opened": whole.opened, "reason": values["reason"]}
        sent: dict[str, Any] = {"type": "invoke", "name": "task/submit", "value": {"data": data}}
        status, answer = await self.deliver(self.activity(user, channel, **sent))
        assert status == 200, answer
        task = answer["task"]
        if task["type"] == "continue":
            content = task["value"]["card"]["content"]
            whole.opened = content["actions"][0]["data"]["opened"]  # the dialog in front of them is a new one
            body = json.dumps(content["body"])
            return SimpleNamespace(errors={"reason": body}, trouble="")
        if "on record" in task["value"]:
            await self.close(user, view)
            return SimpleNamespace(errors={}, trouble="")
        return SimpleNamespace(errors={"reason": task["value"]}, trouble="")

    async def close(self, user: str, view: OpenDialog) -> None:
        """Close a dialog without sending it."""
        self.dialogs.pop(user, None)


@asynccontextmanager
async def simulated_teams() -> AsyncIterator[SimulatedTeams]:
    """Run it for the length of a block."""
    teams = SimulatedTeams("")
    application = web.Application(middlewares=[teams.goes_wrong])
    application.add_routes(teams.routes())
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    teams.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield teams
    finally:
        teams.closing.set()
        await runner.cleanup()


def buttons(blocks: Sequence[Any], action: str) -> Any:
    """Yield the buttons of a card that do this."""
    for block in blocks:
        for item in block.get("actions", ()):
            data = item.get("data", {})
            if action in (data.get("a"), f"{data.get('a')}-{str(data.get('v')).partition('-')[0]}"):
                yield item
