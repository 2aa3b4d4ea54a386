"""Text that is fit to show: control and bidirectional characters become visible escapes, and what is long is cut."""

from __future__ import annotations

import re
from collections.abc import Sequence

# C0 except tab and newline, DEL, C1, bidirectional marks, and the line separators that some viewers obey.
_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")

# Most texts hold only these, and this test costs a tenth of the search for unsafe characters.
_HARMLESS = bytes([*range(0x20, 0x7F), *b"\t\n"])


def _escape(found: re.Match[str]) -> str:
    code = ord(found.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def safe(text: str) -> str:
    """Return `text` with every unsafe character as a visible escape; applying it twice changes nothing.

    Example:
    >>> safe("ok\\tfine\\n\\x1b[31mred")
    'ok\\tfine\\n\\\\x1b[31mred'
    """
    if text.isprintable() or (text.isascii() and not text.encode().translate(None, _HARMLESS)):
        return text
    return _UNSAFE.sub(_escape, text)


def decode(raw: bytes) -> str:
    """Decode a node's bytes as UTF-8, with invalid bytes as visible escapes, and make the text safe.

    Example:
    >>> decode(b"caf\\xc3\\xa9 \\xff")
    'café \\\\xff'
    """
    if not raw.translate(None, _HARMLESS):
        return raw.decode("ascii")
    return safe(raw.decode("utf-8", errors="backslashreplace"))


def one_line(text: str, limit: int = 200) -> str:
    """Return the text made safe, on a single line and at most `limit` characters long.

    Example:
    >>> one_line("a\\n  b   c")
    'a b c'
    """
    flat = " ".join(safe(text).split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def listed(words: Sequence[str], most: int, between: str = ", ") -> str:
    """Return the first `most` words as text, and the count of the others.

    Example:
    >>> listed(["a", "b", "c", "d"], 2), listed(["a"], 2)
    ('a, b and 2 more', 'a')
    """
    return between.join(words[:most]) + (f" and {len(words) - most:,} more" if len(words) > most else "")
