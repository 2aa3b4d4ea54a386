"""Who may knock: the token that Teams sends with each activity, and the keys that sign such tokens.

https://learn.microsoft.com/azure/bot-service/rest-api/bot-framework-rest-connector-authentication. A token does
not sign the body, so what a body says of channel, service and tenant is held against the token and the settings.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx
import jwt

from bot.domain.contracts import Log, Seconds
from bot.domain.safe_text import one_line
from bot.sources.addresses import is_guarded
from bot.surfaces.teams.settings import TeamsSettings

LEEWAY = 300  # seconds between clocks
FRESH = 24 * 3600.0  # seconds after which keys are fetched again
COOL_DOWN = 30.0  # seconds: a token that names an unknown key makes the bot ask no more often
CHANNEL = "msteams"


class NotGenuine(Exception):
    """A request that Teams did not send, or not for this bot; why is for the log."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token that was verified: the service that it speaks for, and the channels that its key may sign for."""

    service: str
    endorsed: frozenset[str]


class SigningKeys:
    """The keys in force. The last good ones stay while they cannot be fetched; without any, nothing is let in."""

    def __init__(self, settings: TeamsSettings, http: httpx.AsyncClient, clock: Seconds, log: Log) -> None:
        self._settings = settings
        self._http = http
        self._clock = clock
        self._log = log
        self._keys: Mapping[str, tuple[jwt.PyJWK, frozenset[str]]] = {}
        self._fetched_at = self._tried_at = float("-inf")
        self._lock = asyncio.Lock()

    async def verified(self, header: str) -> Token:
        """Return the token of an Authorization header. Raises: NotGenuine."""
        scheme, _, token = header.partition(" ")
        if scheme.lower() != "bearer":
            raise NotGenuine("no token")
        try:
            name = str(jwt.get_unverified_header(token).get("kid", ""))
            await self._renew(name)
            if name not in self._keys:
                raise NotGenuine("signed with an unknown key")
            key, endorsed = self._keys[name]
            claims = jwt.decode(
                token,
                key,
                algorithms=["RS256"],
                audience=self._settings.app_id,
                issuer=self._settings.issuer,
                leeway=LEEWAY,
                options={"require": ["exp", "iss", "aud"]},
            )
        except jwt.PyJWTError as error:
            raise NotGenuine(one_line(str(error), 120)) from error
        return Token(str(claims.get("serviceurl") or ""), endorsed)

    async def fetch(self) -> str:
        """Fetch the keys; return why that failed, or an empty string."""
        self._tried_at = self._clock()
        try:
            where = (await self._json(self._settings.metadata_url))["jwks_uri"]
            if not is_guarded(str(where)):
                raise ValueError("the keys are neither at https nor on loopback")
            listed = (await self._json(str(where)))["keys"]
            keys = {
                str(each["kid"]): (jwt.PyJWK(each), frozenset(map(str, each.get("endorsements") or ())))
                for each in listed
                if each.get("kty") == "RSA" and each.get("kid")
            }
            if not keys:
                raise ValueError("no key is there")
        except (httpx.HTTPError, jwt.PyJWTError, ValueError, KeyError, TypeError, AttributeError) as error:
            return f"the signing keys: {one_line(str(error) or repr(error), 200)}"
        self._keys, self._fetched_at = keys, self._clock()
        return ""

    async def _renew(self, name: str) -> None:
        """Fetch the keys again where they are old, or do not have this one."""
        now = self._clock()
        if (name in self._keys and now - self._fetched_at < FRESH) or now - self._tried_at < COOL_DOWN:
            return
        async with self._lock:
            if self._tried_at < now and (why_not := await self.fetch()):
                self._log("teams_failed", call="keys", error=why_not)

    async def _json(self, url: str) -> Any:
        answer = await self._http.get(url)
        answer.raise_for_status()
        return answer.json()


def belongs(activity: Mapping[str, Any], token: Token, settings: TeamsSettings) -> None:
    """Return for an activity of Teams, in our tenant, that the token vouches for. Raises: NotGenuine."""
    service = str(activity.get("serviceUrl") or "")
    tenants = {
        str(mapping(activity.get("conversation")).get("tenantId") or "").lower(),
        str(mapping(mapping(activity.get("channelData")).get("tenant")).get("id") or "").lower(),
    }
    if not service or service.rstrip("/") != token.service.rstrip("/"):
        raise NotGenuine("its service is not the token's")
    if urlsplit(service).hostname != urlsplit(settings.service_url).hostname or not is_guarded(service):
        raise NotGenuine("its service is not the bot's")
    if activity.get("channelId") != CHANNEL or CHANNEL not in token.endorsed:
        raise NotGenuine("not a message of Teams, or its key may not sign for Teams")
    if tenants != {settings.tenant}:
        raise NotGenuine("from another tenant")


def mapping(value: Any) -> Mapping[str, Any]:
    """Return a payload's value if it is a mapping, else an empty mapping."""
    return value if isinstance(value, Mapping) else {}
