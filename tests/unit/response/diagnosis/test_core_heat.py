"""A core stands out, or there is no heat map."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from bot.domain.probe import Snapshot, Unread
from bot.probes.cpu import CpuReading
from bot.probes.formats.core_second import CoreSecond
from bot.response.diagnosis.core_heat import core_heat
from tests.known import known


def second(core: int, span: float = 1.0, **shares: float) -> CoreSecond:
    usr, sys, irq, soft, steal = (shares.get(kind, 0.0) for kind in ("usr", "sys", "irq", "soft", "steal"))
    idle = 100 - usr - sys - irq - soft - steal
    return CoreSecond(core, usr, sys, 0.0, irq, soft, steal, idle, span_seconds=span)


def snapshot(*seconds: tuple[CoreSecond, ...], window: int = 5) -> Snapshot:
    readings: dict[str, Any] = {"cpu": CpuReading(seconds, "mpstat json")}
    return Snapshot("node-1", datetime(2026, 11, 22, tzinfo=UTC), timedelta(seconds=window), readings)


def sampled(hot: dict[str, float], others: dict[str, float], seconds: int = 5, cores: int = 8) -> Snapshot:
    return snapshot(
        *(tuple(second(core, **(hot if core == 3 else others)) for core in range(cores)) for _ in range(seconds))
    )


def test_core_in_the_kernel_stands_out() -> None:
    heat = known(core_heat(sampled({"sys": 100}, {"usr": 27, "sys": 1})))
    assert heat.words == "core 3: 100 % kernel time in 5 of 5 s; the other 7 below 10 %"


def test_kind_of_time_is_the_one_that_the_core_is_full_of() -> None:
    soft = core_heat(sampled({"soft": 96, "sys": 4}, {"sys": 2}))
    steal = core_heat(sampled({"steal": 92}, {"sys": 2}))
    assert soft is not None
    assert (soft.what, known(steal).what) == ("soft interrupts", "stolen time")


def test_no_core_stands_out_of_what_is_quiet_busy_for_its_owners_or_the_same_everywhere() -> None:
    assert core_heat(sampled({"sys": 60}, {"sys": 1})) is None
    assert core_heat(sampled({"usr": 100}, {"usr": 3})) is None
    assert core_heat(sampled({"sys": 100}, {"sys": 97})) is None
    assert core_heat(snapshot()) is None


def test_one_second_of_five_is_not_enough_and_of_one_it_is() -> None:
    calm = tuple(second(core, sys=1) for core in range(8))
    hot = (*calm[:3], second(3, sys=100), *calm[4:])
    assert core_heat(snapshot(hot, calm, calm, calm, calm)) is None
    assert core_heat(snapshot(hot, window=1)) is not None


def test_samples_that_never_came_are_not_read() -> None:
    heat = known(core_heat(sampled({"sys": 100}, {"sys": 1}, seconds=3)))
    assert heat.percents[0] == (1, 1, 1, None, None)
    assert "16 of 40 samples not read" in heat.words


def test_core_that_was_offline_for_a_second_was_not_read_then() -> None:
    whole = tuple(second(core, sys=100 if core == 3 else 1) for core in range(8))
    heat = known(core_heat(snapshot(whole, whole, (*whole[:6], whole[7]), whole, whole)))
    assert heat.percents[6] == (1, 1, None, 1, 1)


def test_late_samples_keep_their_length_and_are_missed_by_nobody() -> None:
    late = tuple(second(core, span=2.5, sys=100 if core == 3 else 1) for core in range(8))
    heat = known(core_heat(snapshot(late, late)))
    assert (heat.spans, heat.unread_samples) == ((2.5, 2.5), 0)


def test_nothing_is_drawn_of_what_was_not_read() -> None:
    unread = Unread("cpu", "mpstat: not found")
    taken_at = datetime(2026, 11, 22, tzinfo=UTC)
    assert core_heat(Snapshot("node-1", taken_at, timedelta(seconds=5), {"cpu": unread})) is None
    assert core_heat(Snapshot("node-1", taken_at, timedelta(seconds=5), {})) is None
