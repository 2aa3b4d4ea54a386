"""Decisions from the terminal: who makes them, under which name."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.domain.policy import Approval


def approval(environment: Mapping[str, str], claimed: str | None, reason: str) -> Approval:
    """Return the approval under the claimed name, else under the login's. The login is always recorded."""
    from bot.commands.terminal_login import terminal_user
    from bot.domain.policy import Approval

    login = terminal_user(environment)
    by = f"terminal:{claimed}" if claimed else login
    return Approval(by, reason, os_user=login.removeprefix("terminal:"))


def name(text: str) -> str:
    """Parse a person's name.

    Raises: ArgumentTypeError when it is not a name.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a name")
    return text
