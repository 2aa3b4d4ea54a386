"""What a dialog carries with it, sealed: whoever changes it is found out. No state is kept while a dialog is open."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

LONGEST = 3000  # Slack's own limit on a view's private_metadata


@dataclass(frozen=True, slots=True)
class Intent:
    """What a dialog is about.

    Shape: `wish` is what the submission will ask for; `plans` are the digests' beginnings of the plans it showed, by
    incident; `detail` what else the wish needs (`on` or `off` of the brake, an answer). `channel` is where whoever
    opened it is answered, empty where they were in the App Home.
    """

    wish: str
    user: str
    plans: Mapping[str, str]
    channel: str = ""
    thread_ts: str = ""
    detail: str = ""


class Seal:
    """Seals and opens with a key that every program of this app has, before and after a restart."""

    def __init__(self, secret: str) -> None:
        self._key = hashlib.sha256(b"zombie dialogs\n" + secret.encode()).digest()

    def close(self, intent: Intent) -> str:
        """Return the intent as a dialog carries it."""
        body = json.dumps(asdict(intent), separators=(",", ":"), sort_keys=True)
        return f"{self._mac(body)}{body}"

    def open(self, text: str) -> Intent | None:
        """Return the intent; None where it is not one that was sealed here."""
        mac, body = text[:64], text[64:]
        if len(text) > LONGEST or not hmac.compare_digest(mac.encode(), self._mac(body).encode()):
            return None
        told: dict[str, Any] = json.loads(body)
        return Intent(**told)

    def _mac(self, body: str) -> str:
        return hmac.new(self._key, body.encode(), hashlib.sha256).hexdigest()
