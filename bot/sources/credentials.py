"""What proves where a request comes from, over the bytes that came and in constant time."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

MOST_SIGNATURES = 10  # while a secret is changed there are two


def signed(secret: str, body: bytes) -> str:
    """Return HMAC-SHA256 of a body, in hex."""
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def any_alike(given: Sequence[str], expected: Sequence[str]) -> bool:
    """True when one of the given texts is one of those expected; each pair is compared, however early one fits."""
    found = False
    for signature in given[:MOST_SIGNATURES]:
        for other in expected:
            found |= hmac.compare_digest(signature.encode(errors="replace"), other.encode())
    return found
