"""Signed HTTP: commands, interactions and events are POSTed to the app's address.

The signature: https://docs.slack.dev/authentication/verifying-requests-from-slack
"""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any
from urllib.parse import urlencode

from aiohttp import ClientError, ClientSession, ClientTimeout

from bot.demo.slack.delivery import NOBODY, TOO_LATE, Delivered, DeliveryKind, DeliveryTimeouts
from bot.demo.slack.ids import IdGenerator
from bot.domain.contracts import Clock
from tests.faults import Faults

FORM, JSON = "application/x-www-form-urlencoded", "application/json"


def sign(secret: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Return the signature headers of a request."""
    digest = hmac.new(secret.encode(), f"v0:{timestamp}:".encode() + body, hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": str(timestamp), "X-Slack-Signature": f"v0={digest}"}


class SignedHttp:
    """Delivers to an address, such as `https://bot.example/slack/events`."""

    def __init__(
        self,
        url: str,
        secret: str,
        clock: Clock,
        names: IdGenerator,
        faults: Faults,
        patience: DeliveryTimeouts,
    ) -> None:
        self.url = url
        self._secret = secret
        self._clock = clock
        self._names = names
        self._faults = faults
        self._patience = patience

    async def verify(self) -> bool:
        """Send a URL verification, as Slack does when an address is configured."""
        challenge = self._names.secret()
        body = json.dumps({"type": "url_verification", "token": "", "challenge": challenge}).encode()
        status, answer = await self._post(body, JSON, {})
        return status == 200 and (answer or {}).get("challenge", (answer or {}).get("text")) == challenge

    async def deliver(
        self, kind: DeliveryKind, payload: dict[str, Any], *, answerable: bool, attempt: int = 0, reason: str = ""
    ) -> Delivered:
        """POST a payload. Any 2xx in time is an acknowledgement."""
        if kind == "slash_commands":
            body, content_type = urlencode(payload).encode(), FORM
        elif kind == "interactive":
            body, content_type = urlencode({"payload": json.dumps(payload)}).encode(), FORM
        else:
            body, content_type = json.dumps(payload).encode(), JSON
        headers = {"X-Slack-Retry-Num": str(attempt), "X-Slack-Retry-Reason": f"http_{reason}"} if attempt else {}
        try:
            if self._faults.take_duplicate():
                await self._post(body, content_type, headers)
            status, answer = await self._post(body, content_type, headers)
        except TimeoutError:
            return Delivered(kind, payload, TOO_LATE)
        except ClientError:
            return Delivered(kind, payload, NOBODY)
        if not 200 <= status < 300:
            return Delivered(kind, payload, f"http_service_error_{status}")
        return Delivered(kind, payload, answer=answer if answerable else None)

    async def _post(self, body: bytes, content_type: str, headers: dict[str, str]) -> tuple[int, dict[str, Any] | None]:
        signed = sign(self._secret, int(self._clock().timestamp()), body)
        timeout = ClientTimeout(total=self._patience.acknowledgement.total_seconds())
        given = {"Content-Type": content_type, "User-Agent": "Slackbot 1.0 (+https://api.slack.com/robots)"}
        async with (
            ClientSession() as session,
            session.post(
                self.url, data=body, headers={**given, **signed, **headers}, timeout=timeout, allow_redirects=False
            ) as response,
        ):
            text = await response.text()
            return response.status, _read(text)


def _read(text: str) -> dict[str, Any] | None:
    if not text.strip():
        return None
    try:
        answer = json.loads(text)
    except ValueError:
        return {"text": text}
    return answer if isinstance(answer, dict) else {"text": text}
