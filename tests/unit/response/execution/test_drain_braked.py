"""A drain while the brake is on: what was evicted stays so, and nothing further is moved before it is released."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from bot.chat.thread import replies
from bot.demo.cluster.pod import Budget, DemoPod
from bot.domain.entry import Entry
from bot.domain.events import Escalated, Resolved, StepFailed
from bot.domain.house_events import HOUSE, BrakePulled, BrakeReleased
from bot.domain.incident import Incident
from bot.response.execution.step_executor import SILENT
from bot.surfaces.pagerduty_note import unfixed_alert
from bot.view.context import ViewContext
from bot.view.view import incident_view
from tests.nodes.draining import NAME, DrainStage, worker

PULL = BrakePulled("stop everything")
SAID = "Braked: terminal:bob pulled the brake at 09:0"


async def pull(here: DrainStage) -> None:
    await here.ledger.append(HOUSE, None, PULL, "terminal:bob")


async def release(here: DrainStage) -> None:
    await here.ledger.append(HOUSE, None, BrakeReleased("over"), "terminal:ann")


def pulled_at(here: DrainStage, verb: str) -> Callable[[str], None]:
    """What pulls the brake as the first such call arrives."""
    pulled: list[Entry] = []

    def pulls(line: str) -> None:
        if line.startswith(verb) and not pulled:
            pulled.append(here.ledger.append.now(HOUSE, None, PULL, "terminal:bob"))

    return pulls


async def began(here: DrainStage, posts: int, *pods: DemoPod) -> None:
    """Let a drain go on, with so many evictions sent."""
    await here.approved(*pods)
    await here.run(until=lambda _: len(here.calls("POST")) >= posts)


async def waits(here: DrainStage, rounds: int) -> list[str]:
    """What so many further rounds say that they wait for."""
    told = []
    for _ in range(rounds):
        again = await here.program.advance("one")
        assert again is not None
        assert again.after <= SILENT, "or another runner takes it for dead"
        told.append(again.because)
        here.since["began"] += again.after
    return told


async def test_no_further_pod_is_evicted_before_the_brake_is_released(here: DrainStage) -> None:
    await began(here, 2, worker(budgets=(Budget("ray", refuses=2),)), worker("worker-1", grace=5.0))
    await pull(here)
    changes = here.calls("P")
    told = await waits(here, 6)
    assert here.calls("P") == changes
    assert all(words.startswith(SAID) for words in told), told
    await release(here)
    done = await here.run()
    assert isinstance(done.ending, Resolved), done.ending
    assert sorted(here.cluster.evicted) == ["ray/worker-0", "ray/worker-1"]
    assert done.steps[0].attempt == 1, "the same step went on"


async def test_drain_that_is_held_past_its_deadline_leaves_the_node_cordoned_and_says_why(here: DrainStage) -> None:
    await began(here, 1, worker(budgets=(Budget("ray", refuses=2),)))
    await pull(here)
    changes = here.calls("P")
    done = await here.run()
    assert isinstance(done.ending, Escalated)
    failed = done.steps[0].outcome
    assert isinstance(failed, StepFailed)
    assert SAID in failed.because
    assert failed.because.endswith(f"{NAME} stays cordoned: kubectl uncordon {NAME}")
    assert "Not done: reboot, uncordon." in done.ending.try_next
    assert here.calls("P") == changes, "to let pods come again would be an effect, too"
    assert (here.machine.rebooted, here.cluster.evicted) == ([], [])


async def test_drain_lasts_no_longer_where_other_programs_go_on_with_it(here: DrainStage) -> None:
    await began(here, 1, worker(budgets=(Budget("never", None),)))
    started = (await here.told()).steps[0].started_at

    def since(minutes: int) -> Callable[[Incident], bool]:
        return lambda _: here.now >= started + timedelta(minutes=minutes)

    await here.run(until=since(2))
    await here.run(here.runner(), until=since(3))
    done = await here.run(here.runner())
    step = done.steps[0]
    assert isinstance(step.outcome, StepFailed)
    assert step.attempt > 1
    assert step.ended_at is not None
    assert step.ended_at - started < timedelta(minutes=5), "it was approved for four"


async def test_what_holds_up_a_plan_is_said_in_every_state_and_what_takes_its_time_holds_nothing_up(
    here: DrainStage,
) -> None:
    await here.approved()
    told = set[str]()
    while not (incident := await here.told()).cure_has_held:
        again = await here.program.advance("one")
        assert again is not None
        told |= {again.because} if incident.step_under_way or incident.validation else set()
        here.since["began"] += again.after
    assert told == {""}, "it reboots, and is watched"
    await pull(here)
    assert SAID in (await waits(here, 1))[0]


async def test_brake_pulled_within_a_round_holds_back_the_rest_of_it(here: DrainStage) -> None:
    await here.approved(*(worker(f"worker-{number}") for number in range(60)))
    here.server.on_call = pulled_at(here, "POST")
    told = [words for words in await waits(here, 4) if SAID in words]
    assert told
    assert 0 < len(here.calls("POST")) <= 8, "those under way arrive, and no others"


async def test_brake_pulled_while_the_node_is_cordoned_evicts_nobody(here: DrainStage) -> None:
    await here.approved(worker())
    here.server.on_call = pulled_at(here, "PATCH")
    assert SAID in (await waits(here, 1))[0]
    assert (here.cluster.evicted, here.calls("POST")) == ([], [])


async def test_uncordon_whose_answer_was_lost_waits_for_the_brake_too(here: DrainStage) -> None:
    await here.approved(worker())

    def breaks(line: str) -> None:
        here.server.broken = line.startswith("PATCH") and "null" in line

    here.server.on_call = breaks
    await here.run(until=lambda one: len(one.steps) == 3)
    await pull(here)
    here.server.on_call, here.server.broken = lambda line: None, False
    here.cluster.nodes[NAME].unschedulable = True  # the call had no effect
    before = here.calls("P")
    told = await waits(here, 3)
    assert here.calls("P") == before
    assert any(SAID in words for words in told)
    await release(here)
    assert isinstance((await here.run()).ending, Resolved)
    assert here.now - (await here.told()).opened_at < timedelta(minutes=15)


async def test_brake_at_the_end_of_the_watch_keeps_the_node_cordoned_and_looked_at(here: DrainStage) -> None:
    await here.approved(worker())
    await here.run(until=lambda incident: incident.cure_has_held)
    await pull(here)
    before, looks = here.calls("P"), len((await here.told()).samples)
    told = await waits(here, 60)
    assert any(words.startswith(SAID) for words in told), told
    assert here.calls("P") == before
    assert len((await here.told()).samples) >= looks + 2, "what is opened later was looked at lately"
    await release(here)
    done = await here.run()
    assert isinstance(done.ending, Resolved), done.ending
    assert here.cluster.patched == [f"{NAME} unschedulable=True", f"{NAME} unschedulable=None"]


async def test_brake_that_is_never_released_leaves_the_node_cordoned_and_says_so(here: DrainStage) -> None:
    await here.approved(worker())
    await here.run(until=lambda incident: incident.cure_has_held)
    await pull(here)
    await waits(here, 3)
    here.since["began"] += timedelta(minutes=14)  # the bot stands still, and none of its looks goes on
    done = await here.run()
    assert isinstance(done.ending, Escalated)
    assert f"could begin is over. {SAID}" in done.ending.because
    assert done.ending.try_next == f"Not done: uncordon. {NAME} stays cordoned: kubectl uncordon {NAME}"
    assert here.now - (await here.told()).opened_at < timedelta(minutes=30)
    raised, (reply,) = unfixed_alert(done), replies(done)
    assert raised is not None
    told = raised.summary, str(reply.message.text), incident_view(done, ViewContext()).short
    assert all("cured, but not given back" in words for words in told), told
