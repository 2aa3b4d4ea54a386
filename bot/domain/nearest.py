"""The known names nearest to a wrong name: suggestions are offered, never used instead."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_LONGEST = 80  # of a wrong name: comparing takes quadratic time, and the name may come from a stranger
_MOST_NAMED = 40  # so that every cause of a playbook is: there is no other list to look at in Slack
_SHORTEST_PART = 3  # a shorter piece is in too many names to mean any of them


def nearest(wrong: str, known: Iterable[str], most: int = 3) -> tuple[str, ...]:
    """Return the known names that somebody who wrote `wrong` may have meant, nearest first.

    Example:
    >>> nearest("nod-123", ["node-123", "gpu-1"])
    ('node-123',)
    >>> nearest("123", ["node-123", "gpu-1"])
    ('node-123',)
    """
    by_folded: dict[str, list[str]] = {}
    for name in known:
        by_folded.setdefault(name.casefold(), []).append(name)
    word = wrong[:_LONGEST].casefold()
    found = [word] if word in by_folded else []
    found += difflib.get_close_matches(word, by_folded, n=most, cutoff=0.6)
    if len(word) >= _SHORTEST_PART:
        found += sorted((folded for folded in by_folded if word in folded), key=lambda folded: (len(folded), folded))
    names = [name for folded in dict.fromkeys(found) for name in by_folded[folded]]
    return tuple(names[:most])


def did_you_mean(wrong: str, known: Iterable[str]) -> str:
    """Return the nearest known names as a question, or all known names if none is near and they are not too many.

    Example:
    >>> did_you_mean("prot", ["port", "user"]), did_you_mean("zzz", ["port", "user"])
    ('Did you mean port?', 'Known are: port, user.')
    """
    names = tuple(known)
    near = nearest(wrong, names)
    if near:
        return f"Did you mean {' or '.join(near)}?"
    if not names:
        return "None are known."
    return f"Known are: {', '.join(names)}." if len(names) <= _MOST_NAMED else f"There are {len(names)} to choose from."
