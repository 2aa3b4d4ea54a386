"""The shipped playbooks, for tests that change nothing in them."""

from __future__ import annotations

from functools import cache

from bot.app.factories import library
from bot.library.library import Library


@cache
def shipped() -> Library:
    """Return the shipped library, which each process loads once."""
    return library()
