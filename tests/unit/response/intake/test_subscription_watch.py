"""What becomes of a webhook subscription that is off."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import datetime, timedelta

import pytest

from bot.demo.pagerduty.webhooks import Subscription
from bot.response.intake.subscription_watch import SubscriptionWatch
from tests.alerts.pagerduty import PagerDuty, account, client
from tests.slack.workspace import SteppedClock

HOUR = timedelta(hours=1)
NOWHERE = "http://127.0.0.1:9/pagerduty"


class Bench:
    """A watch over a PagerDuty, what it said, and what it asked to be caught up with."""

    def __init__(self, pagerduty: PagerDuty, clock: SteppedClock) -> None:
        self.pagerduty = pagerduty
        self.clock = clock
        self.said: dict[str, str] = {}
        self.caught_up: list[datetime] = []
        self.watch: SubscriptionWatch

    async def tell(self, name: str, says: str) -> None:
        self.said[name] = says

    async def catch_up(self, since: datetime) -> int:
        self.caught_up.append(since)
        return 3

    def subscribe(self) -> Subscription:
        return self.pagerduty.deliver_to(NOWHERE, "secret")


@pytest.fixture
async def bench(request: pytest.FixtureRequest) -> AsyncIterator[Bench]:
    async with AsyncExitStack() as stack:
        clock = SteppedClock()
        one = Bench(await stack.enter_async_context(account(clock=clock)), clock)
        asking = await stack.enter_async_context(client(one.pagerduty))
        wanted = getattr(request, "param", "")
        one.watch = SubscriptionWatch(asking, wanted, clock, lambda *_, **__: None, one.tell, one.catch_up)
        yield one


async def test_subscription_that_is_on_is_no_trouble(bench: Bench) -> None:
    bench.subscribe()
    await bench.watch.check_subscription()
    assert (bench.watch.trouble, bench.said, bench.caught_up) == ("", {}, [])


@pytest.mark.parametrize("how", ["active", "suspended"])
async def test_disabled_subscription_is_told_once_enabled_and_caught_up_with(bench: Bench, how: str) -> None:
    subscription = bench.subscribe()
    await bench.watch.check_subscription()
    heard_at = bench.clock()
    bench.clock.move(HOUR)
    if how == "active":
        subscription.active = False
    else:
        bench.pagerduty.webhooks.disable(subscription)
    for _ in range(3):
        await bench.watch.check_subscription()
        bench.clock.move(timedelta(minutes=1))
    assert subscription.id in bench.watch.trouble
    assert [("Enable it in PagerDuty" in one) for one in bench.said.values()] == [True]
    assert bench.caught_up == []
    subscription.active = True
    bench.pagerduty.webhooks.enable(subscription)
    await bench.watch.check_subscription()
    assert bench.watch.trouble == ""
    assert bench.caught_up == [heard_at], "from when it was last seen to be on"
    assert any("is on again; 3 pages were missed" in one for one in bench.said.values())
    await bench.watch.check_subscription()
    assert len(bench.caught_up) == 1


async def test_subscription_that_was_off_before_the_program_began_is_caught_up_with_by_a_day(bench: Bench) -> None:
    subscription = bench.subscribe()
    bench.pagerduty.webhooks.disable(subscription)
    await bench.watch.check_subscription()
    bench.clock.move(HOUR)
    bench.pagerduty.webhooks.enable(subscription)
    await bench.watch.check_subscription()
    assert bench.caught_up == [bench.clock() - 25 * HOUR]


async def test_no_subscription_and_several_are_told(bench: Bench) -> None:
    await bench.watch.check_subscription()
    assert "no webhook subscription" in bench.watch.trouble
    bench.subscribe(), bench.subscribe()
    await bench.watch.check_subscription()
    assert "[pagerduty] subscription" in bench.watch.trouble
    assert "several" in bench.watch.trouble


@pytest.mark.parametrize("bench", ["PYNONE"], indirect=True)
async def test_subscription_that_is_meant_and_not_there_is_told(bench: Bench) -> None:
    bench.subscribe()
    await bench.watch.check_subscription()
    assert bench.watch.trouble == "PagerDuty has no webhook subscription PYNONE."


async def test_catching_up_that_fails_is_tried_again(bench: Bench) -> None:
    subscription = bench.subscribe()
    bench.pagerduty.webhooks.disable(subscription)
    await bench.watch.check_subscription()
    bench.pagerduty.webhooks.enable(subscription)
    catch_up, failures = bench.watch.catch_up, iter([True])

    async def fails_once(since: datetime) -> int:
        if next(failures, False):
            raise OSError
        return await catch_up(since)

    bench.watch.catch_up = fails_once
    with pytest.raises(OSError):  # noqa: PT011 - the very error
        await bench.watch.check_subscription()
    assert bench.watch.trouble
    await bench.watch.check_subscription()
    assert len(bench.caught_up) == 1
