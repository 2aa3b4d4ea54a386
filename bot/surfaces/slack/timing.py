"""How long the Slack surface waits for what."""

from __future__ import annotations

import time
from dataclasses import dataclass

from bot.domain.contracts import Seconds


@dataclass(frozen=True, slots=True)
class Timing:
    """Every wait, in seconds; a test hands in shorter ones.

    Shape: `clock` is monotonic seconds. A call that failed is tried again after `first_pause`, then after twice as
    long each time, up to `longest_pause`; Retry-After is honoured above both. Progress is edited every `edit_every` at
    most; the spans are those over which Slack counts edits, and posts to one channel; `posts_apart` is how far
    alerts' posts to one are apart. `sweep_every` is how often the outbox is looked through for posts that nobody
    sends. `drain` is for readings under way when the bot is told to stop, `post_drain` for what they come to; together
    they stay within the 30 s that Kubernetes gives.
    """

    clock: Seconds = time.monotonic
    call_limit: float = 12.0
    first_pause: float = 0.5
    longest_pause: float = 30.0
    edit_every: float = 2.0
    edits_span: float = 60.0
    posts_span: float = 3.5
    posts_apart: float = 1.2
    ping_every: float = 10.0
    sweep_every: float = 5.0
    drain: float = 17.0
    post_drain: float = 5.0
    hang_up: float = 2.0
