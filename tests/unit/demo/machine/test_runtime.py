"""Containers of simulated nodes are replaced as their loops say."""

from bot.demo.fleet_leaks import HIDDEN
from bot.demo.machine import runtime
from tests.unit.demo.machine.moments import moment


def agents(after: float) -> list[list[str]]:
    rows = runtime.docker_ps(HIDDEN, moment(HIDDEN, after)).splitlines()
    return [row.split("|") for row in rows if "amazon-ecs-agent" in row]


def test_agents_container_is_another_one_every_13_seconds() -> None:
    ids = [agents(after)[0][0] for after in (0.0, 13.2, 26.4)]
    assert len(set(ids)) == 3
    assert all(len(agents(after)) == 1 for after in range(14))


def test_agents_container_is_seconds_old_on_a_node_that_is_up_for_days() -> None:
    _, image, name, made, status = agents(0.0)[0]
    assert (image, name) == ("amazon/amazon-ecs-agent:latest", "ecs-agent")
    assert made.startswith("2026-11-21 09:59:5")
    assert status in ("Up 2 seconds", "Up 1 second", "Up Less than a second")


def test_exits_of_ten_minutes_are_counted() -> None:
    lines = runtime.docker_exits(HIDDEN, moment(HIDDEN), 600).splitlines()
    assert set(lines) == {"amazon/amazon-ecs-agent:latest|1"}
    assert len(lines) in (45, 46)


def test_pods_stay_the_same() -> None:
    first, later = (runtime.docker_ps(HIDDEN, moment(HIDDEN, after)) for after in (0.0, 60.0))
    pods = [{row.split("|")[0] for row in text.splitlines() if "|k8s_" in row} for text in (first, later)]
    assert pods[0] == pods[1]
    assert len(pods[0]) == 10
