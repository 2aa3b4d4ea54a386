"""Whether an address is safe for secrets: they go only over https, or to this machine."""

from __future__ import annotations

from urllib.parse import urlsplit

from bot.domain.addresses import is_loopback


def is_safe_for_secrets(url: str) -> bool:
    """True when nobody on the way can read what is sent."""
    parts = urlsplit(url)
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))
