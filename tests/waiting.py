"""Waiting for something to become true, in place of sleeping and hoping."""

import time
from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

T = TypeVar("T")


def until(question: Callable[[], T], *, within: timedelta = timedelta(seconds=60), what: str = "") -> T:
    """Ask again and again until the answer is truthy, and return it.

    Raises: TimeoutError, saying what was waited for and the last answer.
    """
    deadline = (began := time.monotonic()) + within.total_seconds()
    while not (answer := question()):
        if (asked := time.monotonic()) > deadline:
            seconds = within.total_seconds()
            raise TimeoutError(f"waited {seconds:g} s for {what or repr(question)}; last answer: {answer!r}")
        # A look that costs much is taken less often, but still before what it looks for is over.
        time.sleep(min(max(0.01, 4 * (asked - began)), 0.3))  # noqa: TID251 - the one place: between two looks at a condition
        began = time.monotonic()
    return answer
