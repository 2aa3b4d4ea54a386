"""The answer of a monitoring tool, read as far as it may be long."""

from __future__ import annotations

from collections.abc import AsyncIterator

from bot.domain.errors import CannotRead
from bot.domain.safe_text import one_line

MIB = 1024 * 1024


async def body_of(pieces: AsyncIterator[bytes], who: str, most: int, asked: str = "") -> bytes:
    """Return the body; `asked` says of what it is the answer. Raises: CannotRead when it is longer."""
    body = b""
    async for piece in pieces:
        body += piece
        if len(body) > most:
            raise CannotRead(f"{who} answers{asked} with more than {most // MIB} MiB")
    return body


def unreachable(who: str, error: Exception) -> str:
    """Say that it could not be asked."""
    return f"{who} cannot be reached: {one_line(str(error) or type(error).__name__, 120)}"
