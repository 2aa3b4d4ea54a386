"""Containers that keep restarting: an image with a new container at every look, and the unit that hides the loop."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from bot.causes._figures import span
from bot.causes._recent import age_by_clock
from bot.causes._recent import uptime as uptime_of
from bot.domain.known_agents import KNOWN_AGENTS, KnownAgent
from bot.domain.probe import Snapshot, Unread
from bot.domain.safe_text import counted
from bot.probes.agents import ECS, Agent, AgentsReading
from bot.probes.containers import ContainersReading
from bot.probes.formats.container_lists import Container
from bot.probes.units import UnitsReading

_FAILING = re.compile(r"Restarting \((?!0\))[0-9]{1,3}\)")  # docker's status of a container between two runs


@dataclass(frozen=True, slots=True)
class Churn:
    """An image, or an agent without a visible container, that starts again and again.

    Shape: `unit` owns it, "" if no unit is known; `turns_scaled` are its exits, scaled by their rate to the whole
    uptime; `newest_age` is set if every container of the image was seconds old at every look; `log_exits` are failed
    runs in the agent's own log, `log_last_age` is the age of the last by the node's clock, and `worked_ago` how long
    ago the same log says that it worked.
    """

    image: str
    unit: str = ""
    agent: Agent | None = None
    replaced: bool = False
    newest_age: timedelta | None = None
    runs_steadily: bool = False
    exits: int = 0
    exits_over: timedelta | None = None
    turns_scaled: int = 0
    log_exits: int = 0
    log_last_at: str = ""
    log_last_age: timedelta | None = None
    worked_ago: timedelta | None = None
    is_failing: bool = False  # docker says that it restarts it after a failed run
    source: tuple[str, ...] = ()

    @property
    def suspect(self) -> str:
        """The unit that runs it, or else the image."""
        return self.unit or self.image

    @property
    def exits_per_minute(self) -> float:
        """How often it ends, 0 if the runtime does not say."""
        return self.exits * 60 / self.exits_over.total_seconds() if self.exits and self.exits_over else 0.0

    @property
    def goes_on(self) -> bool:
        """True when a container of it was replaced, or was seconds old, within the window."""
        return self.replaced or self.newest_age is not None

    def fails_now(self, turn_seconds: float) -> bool:
        """True when its log has a failed run that is no older than a restart takes.

        A time slightly ahead of the clock counts, because the log is read after the clock; time zones differ by more.
        """
        return self.log_last_age is not None and abs(self.log_last_age.total_seconds()) <= turn_seconds


def repository(image: str) -> str:
    """Return an image's name without tag and digest.

    Example:
    >>> repository("amazon/amazon-ecs-agent:latest"), repository("localhost:5000/a/b@sha256:00")
    ('amazon/amazon-ecs-agent', 'localhost:5000/a/b')
    """
    name = image.partition("@")[0]
    head, slash, last = name.rpartition("/")
    return head + slash + last.partition(":")[0]


def churns(snapshot: Snapshot, young_seconds: float) -> tuple[Churn, ...]:
    """Return the images and agents that keep restarting, as far as containers and agents were read."""
    containers, agents = snapshot.get(ContainersReading), snapshot.get(AgentsReading)
    known = () if isinstance(agents, Unread) else agents.agents
    units = snapshot.get(UnitsReading)
    uptime = uptime_of(snapshot)
    found: list[Churn] = []
    if not isinstance(containers, Unread):
        for image, mine in containers.by_image.items():
            names = [container.name for look in mine for container in look]
            owned_by_none = _is_run_by_kubelet(names, containers.runtimes) or _is_run_by_ecs(names)
            owner = None if owned_by_none else _agent_of_image(image, known, units)
            if owner is not None and _unit_runs_on(owner, units, uptime, young_seconds):
                owner = replace(owner, unit="")
            churn = _churn_of_image(image, mine, containers, owner, uptime, young_seconds)
            if owner is not None and churn.goes_on and _unit_does_not_run(owner, units):
                owner, churn = None, _churn_of_image(image, mine, containers, None, uptime, young_seconds)
            found.append(_with_log_ages(snapshot, churn, owner) if owner else churn)
    owned = {churn.unit for churn in found}
    found += [
        _with_log_ages(snapshot, _churn_by_log(agent), agent)
        for agent in known
        if agent.log_exits and agent.unit not in owned
    ]
    return tuple(churn for churn in found if churn.goes_on or churn.exits or churn.log_exits or churn.is_failing)


def _churn_of_image(
    image: str,
    mine: Sequence[Sequence[Container]],
    reading: ContainersReading,
    agent: Agent | None,
    uptime: timedelta | None,
    young_seconds: float,
) -> Churn:
    exits = reading.exits_by_image.get(image, 0)
    turns = 0
    if exits and reading.exits_over and uptime is not None:
        turns = round(exits * (uptime / reading.exits_over))
    present = [container for look in mine for container in look]
    # The newest of each look: containers that ended long ago may still be listed.
    aged = [[container.age for container in look if container.age is not None] for look in mine]
    ages = [min(look) for look in aged if look]
    all_young = bool(ages) and max(ages).total_seconds() <= young_seconds
    # One end in all that time is a deployment, or an upgrade.
    is_once = reading.exits_over is not None and exits == 1 and not (agent and agent.log_exits)
    replaced = len(mine) == 2 and not is_once and _was_replaced(*mine)
    is_young, is_failing = all_young and agent is not None and not is_once, any(map(_is_failing, present))
    is_told = bool(replaced or is_young or exits or is_failing or (agent and agent.log_exits))
    return Churn(
        image=image,
        unit=agent.unit if agent else "",
        agent=agent,
        replaced=replaced,
        newest_age=min(ages) if is_young else None,
        runs_steadily=bool(ages) and not all_young and not replaced and any(c.running for c in mine[-1]),
        exits=exits,
        exits_over=reading.exits_over,
        turns_scaled=turns,
        log_exits=agent.log_exits if agent else 0,
        log_last_at=agent.log_last_at if agent else "",
        is_failing=is_failing,
        source=_source(present, agent) if is_told else (),
    )


def _is_failing(container: Container) -> bool:
    return _FAILING.match(container.status) is not None


def _with_log_ages(snapshot: Snapshot, churn: Churn, agent: Agent) -> Churn:
    failed, worked = (age_by_clock(snapshot, stamp) for stamp in (agent.log_last_at, agent.log_worked_at))
    return replace(churn, log_last_age=failed, worked_ago=worked)


def _churn_by_log(agent: Agent) -> Churn:
    return Churn(
        image=repository(agent.image),
        unit=agent.unit,
        agent=agent,
        log_exits=agent.log_exits,
        log_last_at=agent.log_last_at,
        source=agent.source[-4:],
    )


def _was_replaced(before: Sequence[Container], later: Sequence[Container]) -> bool:
    """True when a container went and another of its image came; a new container alone is a new pod, not a loop."""
    still = {container.id for container in later if container.running}
    went = any(container.id not in still for container in before)
    return went and bool({container.id for container in later} - {container.id for container in before})


def _is_run_by_kubelet(names: Sequence[str], runtimes: tuple[str, ...]) -> bool:
    """True if the kubelet runs containers of these names: then no unit runs them, whatever the image is called."""
    return "docker" not in runtimes or (bool(names) and all(name.startswith("k8s_") for name in names))


def _is_run_by_ecs(names: Sequence[str]) -> bool:
    """True if ECS runs them in a task, which ends by itself: `ecs-FAMILY-REVISION-NAME-ID`, not `ecs-agent`."""
    return bool(names) and all(name.startswith("ecs-") and not name.startswith("ecs-agent") for name in names)


def _agent_of_image(image: str, agents: tuple[Agent, ...], units: UnitsReading | Unread) -> Agent | None:
    """Return the agent whose image it is: by this node's readings, or else by the table of known agents."""
    name = repository(image)
    for agent in agents:
        if _image_matches(name, repository(agent.image)):
            return agent
    known = _known_agent(name)
    if known is None:
        return None
    found = () if isinstance(units, Unread) else filter(None, map(units.get, known.units))
    unit = next(iter(found), None)
    return Agent(known.name, unit.name if unit else "", image=name)


@functools.lru_cache(1024)  # `why` asks it of each image of a case hundreds of times
def _known_agent(name: str) -> KnownAgent | None:
    return next((agent for agent in KNOWN_AGENTS if any(_image_matches(name, own) for own in agent.images)), None)


def _unit_runs_on(agent: Agent, units: UnitsReading | Unread, uptime: timedelta | None, young_seconds: float) -> bool:
    """True if the agent's unit runs on while such containers come and go: then it does not run them, others do.

    ECS's unit starts its container again without ending itself (ecs-init/engine/engine.go).
    """
    unit = None if isinstance(units, Unread) or agent.name == ECS else units.get(agent.unit)
    if unit is None or unit.active != "active" or unit.restarted_in_window or not unit.started_usec or uptime is None:
        return False
    return uptime - timedelta(microseconds=unit.started_usec) > timedelta(seconds=young_seconds)


def _unit_does_not_run(agent: Agent, units: UnitsReading | Unread) -> bool:
    """True if its unit did not run: containers of its image that come and go now are others' doing, such as cron's."""
    unknown = isinstance(units, Unread) or units.get(agent.unit) is not None
    return bool(agent.unit) and not unknown and agent.active in ("inactive", "failed")


def _image_matches(name: str, own: str) -> bool:
    return bool(own) and (name == own or name.endswith("/" + own))


def _source(containers: list[Container], agent: Agent | None) -> tuple[str, ...]:
    rows = tuple(dict.fromkeys(container.source for container in containers if container.source))
    return (*rows[:4], *(agent.source[-3:] if agent else ()))


def churn_words(churn: Churn) -> str:
    """Describe what the container does."""
    parts = []
    if churn.replaced:
        parts.append("its container was replaced between the looks")
    if churn.newest_age is not None:
        parts.append(f"its container is only {span(churn.newest_age)} old")
    if churn.exits and churn.exits_over:
        parts.append(f"{counted(churn.exits, 'container')} of it ended within {span(churn.exits_over)}")
    if churn.is_failing:
        parts.append("docker waits to start it again after a failed run")
    if churn.log_exits:
        last = f", the last at {churn.log_last_at}" if churn.log_last_at else ""
        if churn.log_last_age is not None and churn.log_last_age >= timedelta(0):
            last += f", {span(churn.log_last_age)} before the look"
        parts.append(f"its own log shows {counted(churn.log_exits, 'failed run')}{last}")
    name = churn.image or churn.unit
    by = f" (run by {churn.unit})" if churn.unit and churn.image else ""
    return f"{name}{by}: " + ("; ".join(parts) or "runs")
