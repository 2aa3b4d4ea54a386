"""What a dialog carries with it, signed, so that no state is kept while it is open and a change is noticed."""

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

    Shape: `action` is what its submission asks for. `plans` holds, by incident, the first digits of the digest of the
    plan that the dialog showed. `detail` is what else the action needs (`on` or `off` for the brake, an answer).
    `channel` is where the person who opened it is answered, empty where they were in the App Home.
    """

    action: str
    user: str
    plans: Mapping[str, str]
    channel: str = ""
    thread_ts: str = ""
    detail: str = ""


class MetadataSigner:
    """Signs and verifies with a key that every program of this app has, before and after a restart."""

    def __init__(self, secret: str) -> None:
        self._key = hashlib.sha256(b"zombie dialogs\n" + secret.encode()).digest()

    def sign(self, intent: Intent) -> str:
        """Return the intent as a dialog carries it."""
        body = json.dumps(asdict(intent), separators=(",", ":"), sort_keys=True)
        return f"{self._mac(body)}{body}"

    def verify(self, text: str) -> Intent | None:
        """Return the intent; None where it was not signed with this key."""
        mac, body = text[:64], text[64:]
        if len(text) > LONGEST or not hmac.compare_digest(_bytes(mac), _bytes(self._mac(body))):
            return None
        fields: dict[str, Any] = json.loads(body)
        try:
            return Intent(**fields)
        except TypeError:  # an older version of the bot opened this dialog, with other fields
            return None

    def _mac(self, body: str) -> str:
        return hmac.new(self._key, _bytes(body), hashlib.sha256).hexdigest()


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogatepass")  # JSON may carry half a surrogate pair, which is no reason to fail
