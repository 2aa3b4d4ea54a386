"""A person's wish from the terminal: under which name, and how a no is said."""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.domain.approval import Approval
    from bot.domain.errors import Refused


def approval(claimed: str | None, reason: str) -> Approval:
    """Return the wish under the claimed name, or that of the login where none is claimed; the login goes on record."""
    from bot.commands import record
    from bot.domain.approval import Approval

    login = record.terminal_user()
    by = f"terminal:{claimed}" if claimed else login
    return Approval(by, reason, os_user=login.removeprefix("terminal:"))


def say_refused(no: Refused) -> int:
    """Say why not, by the refusal's name, and return the exit status."""
    from bot.domain.redaction import redacted_text

    print(f"zombie: {no.name}: {redacted_text(no.sentence)}", file=sys.stderr)
    if no.try_next:
        print(f"        {no.try_next}", file=sys.stderr)
    return 1


def described(text: str) -> str:
    """Return a description in lines, for a parser whose epilog keeps its own."""
    return textwrap.fill(text, 100)


def name(text: str) -> str:
    """Parse a person's name.

    Raises: ArgumentTypeError when it is none.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a name")
    return text
