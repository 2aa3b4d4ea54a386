"""Who may knock: the token that Teams sends with each activity, and the keys that sign such tokens.

https://learn.microsoft.com/azure/bot-service/rest-api/bot-framework-rest-connector-authentication. A token does
not sign the body, so what a body says of channel, service and tenant is held against the token and the settings.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx
import jwt

from bot.chat.clicks import mapping
from bot.domain.contracts import Log, Seconds
from bot.domain.safe_text import one_line
from bot.sources.addresses import is_safe_for_secrets
from bot.surfaces.teams.settings import TeamsSettings

LEEWAY = 300  # seconds between clocks
FRESH = 24 * 3600.0  # seconds after which keys are fetched again
COOL_DOWN = 30.0  # seconds: a token that names an unknown key makes the bot ask no more often
CHANNEL = "msteams"


class NotGenuine(Exception):
    """A request that Teams did not send, or not for this bot; why is one of a few fixed sentences."""


class SigningKeys:
    """The keys in force. The last good ones stay while they cannot be fetched; without any, nothing is let in."""

    def __init__(self, settings: TeamsSettings, http: httpx.AsyncClient, clock: Seconds, log: Log) -> None:
        self._settings = settings
        self._http = http
        self._clock = clock
        self._log = log
        self._keys: Mapping[str, tuple[jwt.PyJWK, frozenset[str]]] = {}  # with the channels that each may sign for
        self._fetched_at = self._tried_at = float("-inf")
        self._lock = asyncio.Lock()

    async def activity(self, header: str, body: bytes) -> Mapping[str, Any]:
        """Return the activity that came with this Authorization header: of Teams, and of our tenant.

        Raises: NotGenuine; ValueError or RecursionError for a body that is no JSON.
        """
        scheme, _, token = header.partition(" ")
        try:
            name = str(jwt.get_unverified_header(token).get("kid", "")) if scheme.lower() == "bearer" else ""
            await self._fetch_if_stale(name)
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
        except (jwt.PyJWTError, KeyError) as error:
            known = "its key is not known" if isinstance(error, KeyError) else type(error).__name__
            raise NotGenuine(f"its token is not good: {known}") from error
        activity = mapping(json.loads(body))
        service, ours = str(activity.get("serviceUrl") or ""), self._settings
        if not service or service.rstrip("/") != str(claims.get("serviceurl") or "").rstrip("/"):
            raise NotGenuine("its service is not the token's")
        if urlsplit(service).hostname != urlsplit(ours.service_url).hostname or not is_safe_for_secrets(service):
            raise NotGenuine("its service is not the bot's")
        if activity.get("channelId") != CHANNEL or CHANNEL not in endorsed:
            raise NotGenuine("it is not of Teams, or its key may not sign for Teams")
        tenants = (
            mapping(activity.get("conversation")).get("tenantId"),
            mapping(mapping(activity.get("channelData")).get("tenant")).get("id"),
        )
        if {str(tenant).lower() for tenant in tenants} != {ours.tenant}:
            raise NotGenuine("it is from another tenant")
        return activity

    async def fetch(self) -> str:
        """Fetch the keys; return why that failed, or an empty string."""
        self._tried_at = self._clock()
        try:
            where = str((await self._json(self._settings.metadata_url))["jwks_uri"])
            if not is_safe_for_secrets(where):
                raise ValueError("they are neither at https nor on loopback")
            keys = {
                str(each["kid"]): (jwt.PyJWK(each), frozenset(map(str, each.get("endorsements") or ())))
                for each in (await self._json(where))["keys"]
                if each.get("kty") == "RSA" and each.get("kid")
            }
            if not keys:
                raise ValueError("there are none")
        except (httpx.HTTPError, jwt.PyJWTError, ValueError, KeyError, TypeError, AttributeError) as error:
            return f"the signing keys: {one_line(str(error) or repr(error), 200)}"
        self._keys, self._fetched_at = keys, self._clock()
        return ""

    async def _fetch_if_stale(self, name: str) -> None:
        """Fetch the keys again where they are old, or do not have this one."""
        now = self._clock()
        if (name in self._keys and now - self._fetched_at < FRESH) or now - self._tried_at < COOL_DOWN:
            return
        async with self._lock:
            if self._tried_at < now and (failure := await self.fetch()):
                self._log("teams_failed", call="keys", error=failure)

    async def _json(self, url: str) -> Any:
        answer = await self._http.get(url)
        answer.raise_for_status()
        return answer.json()
