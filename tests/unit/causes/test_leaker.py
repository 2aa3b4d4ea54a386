"""Who is named among several, on what argument, and what is said of it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.domain.verdict import Confidence, Finding
from bot.probes.cgroups import CgroupsReading
from bot.probes.containers import ContainersReading
from bot.probes.formats.container_lists import Container
from tests.unit.causes import builders as b
from tests.unit.causes.builders import found, steps, undecided

LEAK = "leaked-memory-cgroups"
DYING = 68_440


def leaker(finding: Finding) -> str:
    """What is said of the leaker."""
    return next(one.says for one in finding.evidence if one.finding == "leaker")


def test_argument_of_a_count_is_told() -> None:
    finding = found(LEAK, b.cgroups(DYING), b.units(b.between_tries(restarts=68_000)))
    assert leaker(finding) == (
        "ecs.service waits for its next restart (auto-restart); it was restarted 68,000 times (NRestarts): "
        "68,000 starts against 68,440 dying"
    )


def test_argument_of_a_pace_is_told_with_the_unit_that_hides_the_loop() -> None:
    said = leaker(found(LEAK, b.cgroups(DYING), b.units(b.unit()), b.churning(), b.agents(b.agent())))
    assert "amazon/amazon-ecs-agent:latest (run by ecs.service): its container was replaced between the looks" in said
    assert "ecs.service itself is active, NRestarts=0" in said
    assert "68,440 dying over the node's uptime are one every 14.2 s, the rate of such a loop" in said
    assert "It is not needed here: no cluster is configured" in said


def test_argument_of_the_journal_is_what_it_counted() -> None:
    more: dict[str, Any] = {"restarts": None, "restarts_logged_over": timedelta(hours=1), "sub": "auto-restart"}
    logged = found(LEAK, b.cgroups(1_500), b.units(b.unit(restarts_logged=1_400, **more)))
    assert "1,400 starts against 1,500 dying" in leaker(logged)


def test_argument_of_exits_is_what_was_counted_and_no_pace() -> None:
    def ended(exits: int) -> Finding:
        return found(LEAK, b.cgroups(1_500), b.containers(exits_by_image={"jobs/x:1": exits}, exits_over=timedelta(1)))

    assert "1,400 ended runs against 1,500 dying" in leaker(ended(1_400))
    assert ended(499).confidence is Confidence.POSSIBLE


def test_argument_of_an_agents_own_log_is_what_it_counted() -> None:
    def failing(runs: int) -> Finding:
        agent = b.agents(b.agent(log_exits=runs, active="active"))
        return found(LEAK, b.cgroups(8_000), b.host(days=0.05), b.units(b.unit()), agent)

    assert "7,900 ended runs against 8,000 dying" in leaker(failing(7_900))
    assert failing(2_600).confidence is Confidence.POSSIBLE


def test_suspect_whose_starts_are_too_few_is_none_whichever_stands_first() -> None:
    close, few = b.between_tries("close.service", 68_000), b.between_tries("few.service", 20_000)
    for services in ((close, few), (few, close)):
        finding = found(LEAK, b.cgroups(DYING), b.units(*services))
        assert finding.suspects == ("close.service",)
        assert "few.service restarted too" in leaker(finding)


def test_agent_that_nothing_needs_is_blamed_for_growth_no_more_than_another() -> None:
    units = b.units(b.between_tries("ecs.service", 900), b.between_tries("backup.service", 700))
    finding = found(LEAK, b.cgroups(DYING, later=DYING + 9), units, b.agents(b.agent()))
    assert (set(finding.suspects), finding.confidence) == ({"ecs.service", "backup.service"}, Confidence.LIKELY)
    assert finding.remedy == ()


def test_one_that_stopped_and_could_have_made_them_comes_before_one_that_goes_on_and_could_not() -> None:
    units = b.units(b.stopped("old.service", 68_000), b.unit("new.service", 30, 40))
    assert found(LEAK, b.cgroups(DYING, later=DYING + 9), units).suspects == ("old.service",)
    assert found(LEAK, b.cgroups(DYING), units).suspects == ("old.service",)


def test_agent_of_a_unit_that_runs_since_an_hour_had_no_time_for_it() -> None:
    since = round((b.DAYS * 86_400 - 3_600) * 1e6)
    young = b.units(b.unit(started_usec=since))
    assert found(LEAK, b.cgroups(DYING), young, b.churning(), b.agents(b.agent())).confidence is Confidence.POSSIBLE
    few = found(LEAK, b.cgroups(1_000, later=1_001), young, b.churning(), b.agents(b.agent()))
    assert few.confidence is Confidence.POSSIBLE


def test_journal_of_twenty_minutes_blames_nobody_for_eleven_days() -> None:
    more: dict[str, Any] = {"restarts": None, "sub": "auto-restart", "active": "activating"}
    nginx = b.unit("nginx.service", restarts_logged=100, restarts_logged_over=timedelta(seconds=1_188), **more)
    finding = found(LEAK, b.cgroups(DYING), b.units(nginx, b.unit()), b.churning(), b.agents(b.agent()))
    assert (finding.suspects, steps(finding)) == (("ecs.service",), [("disable_unit", "ecs.service")])


@pytest.mark.parametrize(("used", "planned"), [(True, False), (None, True), (False, True)])
def test_unit_that_loops_and_is_an_agent_in_use_is_not_disabled(used: bool | None, planned: bool) -> None:
    finding = found(LEAK, b.cgroups(DYING), b.units(b.between_tries()), b.agents(b.agent(used=used)))
    assert finding.suspects == ("ecs.service",)
    assert bool(steps(finding)) == planned


def test_known_image_is_an_agents_even_where_the_agents_were_not_read() -> None:
    readings = (b.units(b.unit()), b.churning(), b.unread("agents"))
    finding = found(LEAK, b.cgroups(DYING), *readings)
    assert (finding.suspects, finding.remedy) == (("ecs.service",), ()), "whether anybody needs it is not known"
    assert "Whether anybody here needs ecs.service was not read" in finding.summary
    nameless = found(LEAK, b.cgroups(DYING), b.units(), b.churning())
    assert (nameless.suspects, nameless.remedy) == ((b.AGENT_IMAGE,), ())


def test_pod_of_an_agents_image_is_the_kubelets_and_no_units() -> None:
    def churning(name: str, runtime: str) -> Finding:
        first, later = b.container("bbbb", 11), b.container("cccc", 1)
        looks = ContainersReading(
            (runtime,),
            (Container(first.id, first.image, name, age=first.age),),
            (Container(later.id, later.image, name, age=later.age),),
        )
        return found(LEAK, b.cgroups(DYING), b.units(b.unit()), looks, b.agents(b.agent()))

    assert churning("ecs-agent", "docker").suspects == ("ecs.service",)
    assert churning("k8s_agent_ds-1", "docker").confidence is Confidence.POSSIBLE
    assert churning("agent", "cri").confidence is Confidence.POSSIBLE


def test_stopped_agent_is_stopped_whatever_its_last_container_looks_like() -> None:
    finding = found(LEAK, b.cgroups(DYING), b.units(b.stopped()), b.churning(), b.agents(b.agent(active="failed")))
    assert "leaked memory cgroups and stopped at 10.8 days after boot, 12 hours ago" in finding.summary


def test_stopped_agent_without_a_unit_reading_stopped_by_its_log() -> None:
    agent = b.agents(b.agent(active="failed", log_exits=40, log_last_at="2026-11-20T22:10:07Z"))
    finding = found(LEAK, b.cgroups(DYING), b.unread("units"), agent)
    assert "leaked memory cgroups and stopped at 2026-11-20T22:10:07Z" in finding.summary
    assert "(run by ecs.service): its own log shows 40 failed runs, the last at 2026-11-20T22:10:07Z" in leaker(finding)
    assert finding.evidence[1].probe == "agents"


def test_runtime_that_refused_may_have_hidden_the_leaker() -> None:
    refused = b.containers(refused={"docker": "permission denied on docker.sock"})
    assert "permission denied on docker.sock" in found(LEAK, b.cgroups(DYING), refused).summary
    assert "permission" not in found(LEAK, b.cgroups(DYING)).summary


def test_second_looks_of_living_and_dying_are_told_together() -> None:
    moved = CgroupsReading("v1", 70_000, 240, "c", 70_001, 251, 5.0, source=("first",), source_later=("later",))
    finding = found(LEAK, moved)
    assert "70,001 dying memory cgroups beside 251 alive" in finding.summary
    assert finding.evidence[0].source == ("first", "later")
    one_look = found(LEAK, CgroupsReading("v1", 70_000, 240, "c", source=("first",)))
    assert "70,000 dying memory cgroups beside 240 alive" in one_look.summary
    assert one_look.evidence[0].source == ("first",)


@pytest.mark.parametrize(
    ("exits", "suspected"), [({"jobs/x:1": 1}, True), ({"jobs/x:1": 0}, False)]
)  # one in ten minutes: 1,620 in 11.25 days
def test_unread_cgroups_are_suspected_by_thousands_of_ended_containers(exits: dict[str, int], suspected: bool) -> None:
    reading = b.containers(exits_by_image=exits, exits_over=timedelta(minutes=10))
    assert undecided(LEAK, b.unread("cgroups"), reading).suspected == suspected


def test_unread_cgroups_are_not_suspected_by_an_agent_that_runs_or_a_pod_that_was_replaced() -> None:
    steady = b.containers(b.container("bbbb", 90_000))
    assert not undecided(LEAK, b.unread("cgroups"), steady, b.agents(b.agent())).suspected
    pod = b.containers(b.container("p1", 90_000, "shop:1"), later=[b.container("p2", 2, "shop:1")])
    assert not undecided(LEAK, b.unread("cgroups"), pod).suspected


def test_unit_seen_both_as_a_service_and_by_its_container_is_judged_by_the_better_argument() -> None:
    both = (b.units(b.between_tries(restarts=900)), b.churning(), b.agents(b.agent()))  # its counter was reset
    finding = found(LEAK, b.cgroups(DYING), *both)
    assert (finding.confidence, finding.suspects) == (Confidence.CONFIRMED, ("ecs.service",))
    assert "the rate of such a loop" in leaker(finding)
    assert "started over too" not in leaker(finding)
    assert finding.evidence[1].probe == "containers"


def test_what_is_out_of_proportion_is_told_most_turns_first() -> None:
    units = b.units(*(b.between_tries(f"{name}.service", turns) for name, turns in (("a", 30), ("b", 90), ("c", 60))))
    said = found(LEAK, b.cgroups(DYING), units).summary
    assert said.index("b.service") < said.index("c.service")
    assert "a.service" not in said


def test_long_run_that_ends_before_our_eyes_is_no_steady_one() -> None:
    looks = b.containers(b.container("bbbb", 4_000), later=[b.container("cccc", 1)])
    assert steps(found(LEAK, b.cgroups(DYING), b.units(b.unit()), looks, b.agents(b.agent(used=None))))


def test_container_that_only_the_second_look_saw_is_seen() -> None:
    looks = b.containers(later=[b.container("cccc", 1)])
    assert found(LEAK, b.cgroups(DYING), b.units(b.unit()), looks, b.agents(b.agent())).suspects == ("ecs.service",)


def test_rise_between_the_looks_is_a_units_own_only_where_nothing_else_starts_or_ends() -> None:
    """Each start of it leaves sixty; nine hundred such starts are most of the dying."""
    loop = b.unit("push.service", 900, 901, active="activating", sub="auto-restart")
    grew = b.cgroups(DYING, later=DYING + 60)
    assert found(LEAK, grew, b.units(loop)).suspects == ("push.service",)
    assert "each of which left about 60 between the looks" in leaker(found(LEAK, grew, b.units(loop)))
    replaced = b.containers(b.container("dddd", 400, "ci/build:7"), later=[b.container("eeee", 1, "ci/build:7")])
    beside = b.between_tries("other.service", 30)
    for units, containers in ((b.units(loop), replaced), (b.units(loop, beside), b.containers())):
        finding = found(LEAK, grew, units, containers)
        assert (finding.remedy, finding.confidence) == ((), Confidence.LIKELY)
        assert "leaker was not found" in finding.summary


@pytest.mark.parametrize(("worked", "blamed"), [("2026-11-20T23:40:00Z", False), ("2026-11-10T02:00:00Z", True)])
def test_pace_of_an_agent_is_counted_from_when_it_last_worked(worked: str, blamed: bool) -> None:
    host = b.host(node_time_at=datetime(2026, 11, 21, tzinfo=UTC))
    agent = b.agents(b.agent(log_worked_at=worked))
    finding = found(LEAK, b.cgroups(DYING), b.units(b.unit()), b.churning(), host, agent)
    assert (finding.suspects == ("ecs.service",)) == blamed
    if blamed:
        assert "the time since its log told that it works" in leaker(finding)
