"""Waiting until a condition on a simulated service holds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

from bot.demo.slack.changes import Changes

T = TypeVar("T")
POLL_SECONDS = 0.05  # for conditions on things outside the service, whose changes are not announced


async def until_changed(changes: Changes, question: Callable[[], T | None], timeout: timedelta, what: str) -> T:
    """Call the function at every change until it returns something truthy, and return that.

    Raises: TimeoutError, with the last answer.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + timeout.total_seconds()
    while True:
        happened = changes.happened
        if answer := question():
            return answer
        left = end - loop.time()
        if left <= 0:
            raise TimeoutError(f"waited {timeout.total_seconds():g} s for {what}; last answer: {answer!r}")
        try:
            await asyncio.wait_for(happened.wait(), min(left, POLL_SECONDS))
        except TimeoutError:
            continue
