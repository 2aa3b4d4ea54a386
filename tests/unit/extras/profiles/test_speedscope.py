"""How long a sample is drawn for speedscope: no longer than the sampling interval."""

from __future__ import annotations

import json
from typing import Any

from bot.extras.profiles.speedscope import Speedscope
from tests.unit.extras.profiles.making import event, profile

EVERY = 0.02  # 50 samples a second


def drawn(text: str) -> dict[str, list[float]]:
    """The seconds that each thread is drawn as running, without the empty stacks between."""
    scope = Speedscope()
    profile(text, each=scope)
    document: dict[str, Any] = json.loads("".join(scope.pieces("test")))
    return {
        each["name"]: [
            round(weight / 1e9, 4) for sample, weight in zip(each["samples"], each["weights"], strict=True) if sample
        ]
        for each in document["profiles"]
    }


def test_thread_that_runs_now_and_then_is_not_drawn_as_long() -> None:
    busy = [event("spin", at=100 + EVERY * number) for number in range(150)]
    rare = [event("tick", at=at, comm="cron", pid="7/7", core=1) for at in (100.0, 101.0, 102.5)]
    once = [event("tock", at=101.5, comm="sh", pid="9/9", core=2)]
    found = drawn("".join((*busy, *rare, *once)))
    assert found["cron 7/7"] == [EVERY] * 3
    assert found["sh 9/9"] == [EVERY]
    assert found["kubelet 2317/2390"] == [EVERY] * 150


def test_without_cores_the_busiest_thread_says_the_interval_and_idling_on_all_cores_does_not() -> None:
    idle = [event("idle", at=100 + EVERY / 8 * number, comm="swapper", pid="0", core=None) for number in range(1200)]
    busy = [event("spin", at=100 + EVERY * number, core=None) for number in range(150)]
    rare = [event("tick", at=at, comm="cron", pid="7", core=None) for at in (100.0, 101.0)]
    found = drawn("".join((*idle, *busy, *rare)))
    assert found["cron 7"] == [EVERY] * 2
    assert found["kubelet 2317/2390"] == [EVERY] * 150
