"""Addresses of other services in settings: a base, to which paths are added."""

from __future__ import annotations

from urllib.parse import urlsplit

from bot.domain.errors import SettingsError


def checked_base(variable: str, url: str) -> str:
    """Return the address.

    Raises: SettingsError, naming the variable, when it is not an address.
    """
    try:
        parts = urlsplit(url)
        is_base = parts.scheme in ("http", "https") and bool(parts.hostname) and not (parts.query or parts.fragment)
    except ValueError:
        is_base = False
    if not is_base:
        service = variable.partition("_")[0].lower()
        raise SettingsError(f"{variable} is not an address.", f"Write its base: {variable}=https://{service}.example")
    return url
