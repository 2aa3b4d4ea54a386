"""What every text that a pattern matches must hold: the ways through a pattern, with a gap for what may vary."""

from __future__ import annotations

import itertools
import re._constants as op  # type: ignore[import-not-found]  # `sre_parse` of old
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Iterator
from typing import Any

GAP = "\0"
_MOST_SIGNS, _MOST_WAYS = 3, 20_000


def ways(pattern: str) -> list[str]:
    """Return each way through a pattern; a class of up to three signs is spelled out, everything wider is a gap."""
    found = list(itertools.islice(_ways(list(parser.parse(pattern))), _MOST_WAYS + 1))
    assert len(found) <= _MOST_WAYS, f"too many ways through {pattern[:60]}"
    return found


def _ways(nodes: list[Any]) -> Iterator[str]:
    if not nodes:
        yield ""
        return
    for first in _of_node(*nodes[0]):
        for rest in _ways(nodes[1:]):
            yield first + rest


def _of_node(kind: Any, value: Any) -> Iterator[str]:
    if kind is op.LITERAL:
        yield chr(value)
    elif kind is op.IN and all(each is op.LITERAL for each, _ in value) and len(value) <= _MOST_SIGNS:
        yield from (chr(code) for _, code in value)
    elif kind is op.BRANCH:
        for way in value[1]:
            yield from _ways(list(way))
    elif kind is op.SUBPATTERN:
        yield from _ways(list(value[-1]))
    elif kind in (op.MAX_REPEAT, op.MIN_REPEAT):
        least, most, inside = value
        once = set(_ways(list(inside)))
        if not least:
            yield ""
        if most == 1 or not once - {GAP}:
            yield from once
        else:  # the first time and the last one, however often between
            yield from (*once, *(first + GAP + last for first in once for last in once))
    elif kind in (op.AT, op.ASSERT, op.ASSERT_NOT):
        yield ""
    else:
        yield GAP
