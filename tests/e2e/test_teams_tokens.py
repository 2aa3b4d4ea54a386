"""Who may knock at the bot in Teams: every wrong token is refused, and what a body claims is held against its token."""

from __future__ import annotations

import base64
import hmac
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization

from bot.surfaces.teams.connection import TeamsConnection
from tests.slack.service import QUICK
from tests.teams.simulated import APP, ISSUER, ONCALL, SECRET, SimulatedTeams, key_of, simulated_teams

SAID: dict[str, Any] = {"type": "message", "text": "<at>zombie</at> check node-1"}
MENTION = {"type": "mention", "text": "<at>zombie</at>", "mentioned": {"id": f"28:{APP}"}}


class Heard:
    """What the bot took, in place of everything behind the connection."""

    def __init__(self) -> None:
        self.took: list[Any] = []
        self.lines: list[tuple[str, dict[str, Any]]] = []
        self.counted: list[str] = []

    def take(self, request: Any) -> None:
        self.took.append(request)

    def log(self, event: str, **fields: Any) -> None:
        self.lines.append((event, fields))

    def count(self, source: str, outcome: str, seconds: float) -> None:
        assert source == "teams"
        assert seconds >= 0
        self.counted.append(outcome)


@asynccontextmanager
async def listening(teams: SimulatedTeams) -> AsyncIterator[Heard]:
    heard: Any = Heard()
    connection = TeamsConnection(teams.settings, QUICK, heard.log, heard.count)
    nobody: Any = SimpleNamespace()
    connection.listen(heard, nobody, nobody)
    async with teams.hosted(connection):
        assert await connection.start() == ""
        try:
            yield heard
        finally:
            await connection.stop()


def unsigned(teams: SimulatedTeams) -> str:
    """Return a token with the algorithm "none"."""
    parts = ({"alg": "none", "typ": "JWT", "kid": "key-1"}, {"iss": ISSUER, "aud": APP, "exp": time.time() + 600})
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts) + "."


def by_public_key(teams: SimulatedTeams) -> str:
    """Return a token that is signed with the public key as if it were a shared secret."""
    public = key_of("key-1").public_key()
    pem = public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    head = {"alg": "HS256", "typ": "JWT", "kid": "key-1"}
    claims = {"iss": ISSUER, "aud": APP, "exp": int(time.time()) + 600, "serviceurl": f"{teams.url}/teams/"}
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in (head, claims)]
    mac = hmac.new(pem, b".".join(parts), "sha256").digest()
    return b".".join([*parts, base64.urlsafe_b64encode(mac).rstrip(b"=")]).decode()


def cut(teams: SimulatedTeams) -> str:
    """Return a token whose claims were changed after it was signed."""
    head, claims, signature = teams.token().split(".")
    changed = json.loads(base64.urlsafe_b64decode(claims + "=="))
    changed["exp"] += 1
    return ".".join([head, base64.urlsafe_b64encode(json.dumps(changed).encode()).decode().rstrip("="), signature])


WRONG: dict[str, Callable[[SimulatedTeams], str]] = {
    "none at all": lambda teams: "",
    "no token": lambda teams: "x",
    "expired": lambda teams: teams.token(exp=int(time.time()) - 400),
    "without an end": lambda teams: teams.token(exp=None),
    "not yet valid": lambda teams: teams.token(nbf=int(time.time()) + 400),
    "for another bot": lambda teams: teams.token(aud="0d0d0d0d-0000-4000-8000-000000000001"),
    "for nobody": lambda teams: teams.token(aud=None),
    "by another issuer": lambda teams: teams.token(iss="https://sts.windows.net/tenant/"),
    "by no issuer": lambda teams: teams.token(iss=None),
    "by a key that is not published": lambda teams: teams.token("key-of-a-stranger"),
    "for another service": lambda teams: teams.token(serviceurl="https://smba.trafficmanager.net/teams/"),
    "for no service": lambda teams: teams.token(serviceurl=None),
    "by a key that may not sign for Teams": lambda teams: teams.token("key-2"),
    "unsigned": unsigned,
    "signed with the public key": by_public_key,
    "changed after it was signed": cut,
}


async def test_wrong_token_is_refused_and_nothing_is_taken() -> None:
    async with simulated_teams() as teams:
        teams.keys["key-2"] = ("webchat",)
        async with listening(teams) as heard:
            activity = teams.activity("alice", ONCALL, **SAID, entities=[MENTION])
            for what, wrong in WRONG.items():
                assert (await teams.deliver(activity, wrong(teams)))[0] == 401, what
            assert await teams.deliver(activity) == (200, ""), "the same with a right token"
            assert len(heard.took) == 1
            assert heard.counted == [*["unauthorized"] * len(WRONG), "accepted"]


CLAIMED: dict[str, dict[str, Any]] = {
    "another service": {"serviceUrl": "http://127.0.0.2:1/teams/"},
    "no service": {"serviceUrl": None},
    "another channel": {"channelId": "directline"},
    "another tenant": {"channelData": {"tenant": {"id": "0c0c0c0c-0000-4000-8000-000000000009"}}},
    "no tenant": {"channelData": {}},
    "a conversation of another tenant": {
        "conversation": {"id": ONCALL, "tenantId": "0c0c0c0c-0000-4000-8000-000000000009"}
    },
    "nonsense": {"conversation": "x", "channelData": [1], "from": 7},
}


async def test_body_that_claims_another_place_than_its_token_or_is_no_activity_is_refused() -> None:
    async with simulated_teams() as teams, listening(teams) as heard:
        genuine = teams.activity("alice", ONCALL, **SAID, entities=[MENTION])
        for what, claimed in CLAIMED.items():
            assert (await teams.deliver(genuine | claimed))[0] == 401, what
        assert heard.counted == ["unauthorized"] * len(CLAIMED)
        assert not any(SECRET in str(line) or "Bearer" in str(line) for line in heard.lines)
        for service in ("https://evil.trafficmanager.net/teams/", "https://smba.trafficmanager.net.evil/"):
            elsewhere = genuine | {"serviceUrl": service}  # the bot's own token goes to no other host
            assert (await teams.deliver(elsewhere, teams.token(serviceurl=service)))[0] == 401
        for body in (b"", b"{", b"[]", b"7", b"\xff\xfe", b'{"type": ' + b"[" * 50_000):
            assert (await teams.deliver(body))[0] in (400, 401), body[:20]
        assert heard.took == []


UNHEARD: dict[str, dict[str, Any]] = {
    "a shared channel": {"channelData": {"channel": {"id": ONCALL, "type": "shared"}}},
    "a person without an object id": {"from": {"id": "29:alice", "name": "Alice"}},
    "a message that mentions somebody else": {"entities": [{**MENTION, "mentioned": {"id": "29:bob"}}]},
    "a message without a mention": {"entities": []},
    "a name of a conversation that is none": {"conversation": {"id": "19:x/../y@thread.tacv2"}},
    "an event": {"type": "conversationUpdate"},
    "an invoke that nobody knows": {"type": "invoke", "name": "composeExtension/query"},
}


async def test_what_is_not_for_the_bot_is_not_taken() -> None:
    async with simulated_teams() as teams, listening(teams) as heard:
        for what, changed in UNHEARD.items():
            activity = teams.activity("alice", ONCALL, **SAID, entities=[MENTION])
            for key, value in changed.items():
                activity[key] = {**activity[key], **value} if key in ("channelData", "conversation") else value
            assert (await teams.deliver(activity))[0] == (501 if "invoke" in what else 200), what
        assert (heard.took, heard.counted) == ([], ["ignored"] * len(UNHEARD))


async def test_new_key_is_fetched_once_it_is_needed_and_unknown_keys_fetch_no_storm() -> None:
    async with simulated_teams() as teams:
        now = [1000.0]
        heard: Any = Heard()
        connection = TeamsConnection(teams.settings, replace(QUICK, clock=lambda: now[0]), heard.log)
        nobody: Any = SimpleNamespace()
        connection.listen(heard, nobody, nobody)
        async with teams.hosted(connection):
            assert await connection.start() == ""
            teams.keys = {"key-3": ("msteams",)}
            activity = teams.activity("alice", ONCALL, **SAID, entities=[MENTION])
            for _ in range(5):
                assert (await teams.deliver(activity, teams.token("key-3")))[0] == 401
            assert teams.fetched == 1, "so soon after the last time the keys are not asked for again"
            now[0] += 31
            assert (await teams.deliver(activity, teams.token("key-3")))[0] == 200
            assert (await teams.deliver(activity, teams.token("key-1")))[0] == 401, "a key that was withdrawn"
            assert teams.fetched == 2

            teams.keys = {}
            now[0] += 24 * 3600 + 1
            assert (await teams.deliver(activity, teams.token("key-3")))[0] == 200, "the last good keys stay"
            assert [event for event, _ in heard.lines if event == "teams_failed"]
            await connection.stop()


async def test_wrong_secret_is_told_at_the_start_and_shown_nowhere() -> None:
    async with simulated_teams() as teams:
        teams.secret = "not-the-secret"
        connection = TeamsConnection(teams.settings, QUICK, lambda event, **_: None)
        with pytest.raises(Exception, match="Entra rejects TEAMS_APP_SECRET: invalid_client") as no:
            await connection.start()
        assert "not-the-secret" not in f"{no.value!r} {connection._settings!r}"
        await connection.stop()
