"""The engine: which runner continues which incident, and when. It decides nothing else; the ledger is the queue."""

from __future__ import annotations

from bot.engine.engine import ADVANCED_AT_ONCE, BEAT_EVERY, CLAIM_EVERY, OFFER_EVERY, OFFERED_FOR, TICK, Engine
from bot.engine.job_queue import NoticeBoard

__all__ = [
    "ADVANCED_AT_ONCE",
    "BEAT_EVERY",
    "CLAIM_EVERY",
    "OFFERED_FOR",
    "OFFER_EVERY",
    "TICK",
    "Engine",
    "NoticeBoard",
]
