"""What is counted with a check is kept, and told together with what was counted before: of this boot alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from bot.causes import CAUSES
from bot.domain.cause import Threshold
from bot.domain.errors import CannotRead
from bot.domain.growth import CountSample, GrowthMeasure, HarmThreshold
from bot.domain.playbook import ConfiguredCause, Playbook
from bot.domain.probe import Snapshot
from bot.probes.host import HostReading
from bot.response.diagnosis.count_growth import growth_without_storing, store_count_and_growth
from tests.known import known

AT = datetime(2026, 11, 22, 3, tzinfo=UTC)
LEAK = "leaked-memory-cgroups"
HOUR = timedelta(hours=1)
SNAPSHOT = Snapshot("gpu-1", AT, timedelta(0), {"host": HostReading("5.4.0", "boot", timedelta(hours=20))})


def playbook(count: float | None = 1_000.0, harm: float = 50_000.0) -> Playbook:
    """A playbook of one cause that counts so many."""
    grows = GrowthMeasure(
        "dying memory cgroups", lambda snapshot: count, lambda snapshot, tuning: HarmThreshold(harm, "it hurts"), 10
    )
    cause = replace(CAUSES[LEAK], grows=grows)
    thresholds = {name: Threshold(1, "any") for name in cause.thresholds}
    return Playbook("node-health", "", 1, (), (), (ConfiguredCause(cause, thresholds),))


class Kept:
    """The looks of one node and cause, in memory."""

    def __init__(self, *looks: CountSample) -> None:
        self.all = list(looks)

    async def keep(self, node: str, cause: str, look: CountSample) -> None:
        self.all.append(look)

    async def looks(self, node: str, cause: str) -> tuple[CountSample, ...]:
        return tuple(self.all)


def looks(*those: CountSample) -> Any:
    """Return these looks as the store that has them."""
    return Kept(*those)


class Before:
    """What was counted before the record began; None: it cannot be told."""

    def __init__(self, looks: tuple[CountSample, ...] | None) -> None:
        self.all = looks

    async def counted(self, node: str, cause: str, until: datetime) -> tuple[CountSample, ...]:
        if self.all is None:
            raise CannotRead("Prometheus does not answer")
        return self.all


async def test_a_count_is_kept_with_its_boot_and_one_alone_says_nothing() -> None:
    kept = looks()
    assert await store_count_and_growth(kept, "gpu-1", SNAPSHOT, playbook(), LEAK) is None
    assert kept.all == [CountSample(AT, 1_000.0, "boot")]


async def test_what_was_not_read_is_not_kept() -> None:
    kept = looks()
    assert await store_count_and_growth(kept, "gpu-1", SNAPSHOT, playbook(None), LEAK) is None
    assert kept.all == []


async def test_what_was_counted_before_joins_in_as_far_as_this_boot_goes_back() -> None:
    history = Before(tuple(CountSample(AT - at * HOUR, 1_000.0 - 10 * at) for at in range(40, 0, -1)))
    told = known(await store_count_and_growth(looks(), "gpu-1", SNAPSHOT, playbook(), LEAK, [history]))
    assert (told.counted, told.per_hour, told.grows) == (20, 10, True)


async def test_our_own_looks_count_before_what_others_counted_meanwhile() -> None:
    ours = [CountSample(AT - at * HOUR, 1_000.0 - 10 * at, "boot") for at in (5, 4, 3, 2, 1)]
    told = await store_count_and_growth(
        looks(*ours), "gpu-1", SNAPSHOT, playbook(), LEAK, [Before((CountSample(AT - 2.5 * HOUR, 9e9),))]
    )
    assert told is not None
    assert (told.counted, told.per_hour) == (6, 10)


async def test_a_past_that_cannot_be_told_changes_nothing() -> None:
    ours = [CountSample(AT - at * HOUR, 1_000.0 - 10 * at, "boot") for at in (5, 4, 3, 2, 1)]
    without = await store_count_and_growth(looks(*ours), "gpu-1", SNAPSHOT, playbook(), LEAK)
    assert await store_count_and_growth(looks(*ours), "gpu-1", SNAPSHOT, playbook(), LEAK, [Before(None)]) == without


async def test_without_keeping_anything_the_same_is_told() -> None:
    ours = [CountSample(AT - at * HOUR, 1_000.0 - 10 * at, "boot") for at in (5, 4, 3, 2, 1)]
    told = known(growth_without_storing({LEAK: ours}, SNAPSHOT, playbook(), LEAK))
    assert told == await store_count_and_growth(looks(*ours), "gpu-1", SNAPSHOT, playbook(), LEAK)
    assert told.counted == len(ours) + 1
    assert growth_without_storing({}, SNAPSHOT, playbook(), LEAK) is None
    assert growth_without_storing({LEAK: ours}, SNAPSHOT, playbook(None), LEAK) is None


async def test_of_a_node_that_is_well_only_harm_that_is_near_is_told() -> None:
    ours = [CountSample(AT - at * HOUR, 1_000.0 - 10 * at, "boot") for at in (5, 4, 3, 2, 1)]
    assert await store_count_and_growth(looks(*ours), "gpu-1", SNAPSHOT, playbook(harm=50_000), None) is None
    near = known(await store_count_and_growth(looks(*ours), "gpu-1", SNAPSHOT, playbook(harm=1_500), None))
    assert near.harm_in is not None
