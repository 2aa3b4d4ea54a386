"""The platform agents of this node: which the next boot starts, and which nothing here needs.

Defined in: systemctl(1); aws/amazon-ecs-agent (ecs-init/engine/engine.go, agent/app/agent.go: the log's words).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from bot.domain.command import Command, Outputs
from bot.domain.errors import CannotRead
from bot.domain.known_agents import KNOWN_AGENTS, KnownAgent
from bot.domain.probe import Probe
from bot.domain.protected import KUBELET_UNITS
from bot.domain.safe_text import one_line
from bot.probes.formats.fragment import END, fragment, is_whole
from bot.probes.formats.sections import sections


@dataclass(frozen=True, slots=True)
class Agent:
    """A known agent on this node.

    Shape: `used` None: not known. `log_exits` counts lines of its own log about failed runs.
    """

    name: str  # "ecs"
    unit: str  # "ecs.service"
    enabled: str = ""  # UnitFileState
    active: str = ""
    image: str = ""  # the image of its container, if it runs in a container
    used: bool | None = None
    because: str = ""  # why used or unused
    log_exits: int = 0
    log_last_at: str = ""  # the time of the last failed run, as the log writes it
    log_worked_at: str = ""  # the same of its last success: until then it did not loop
    claimed: bool = False  # its configuration names a cluster: somebody gave it work, whoever else works here
    source: tuple[str, ...] = ()

    @property
    def is_enabled(self) -> bool:
        """True when the next boot starts it."""
        return self.enabled.startswith("enabled")


@dataclass(frozen=True, slots=True)
class AgentsReading:
    """The known agents on this node; an empty list is an answer."""

    probe: ClassVar[str] = "agents"

    agents: tuple[Agent, ...]
    orchestrator: str = ""  # "kubernetes", "ecs" or ""

    @property
    def unused(self) -> tuple[Agent, ...]:
        """Enabled agents that nothing on this node needs."""
        return tuple(agent for agent in self.agents if agent.is_enabled and agent.used is False)

    @property
    def unused_count(self) -> int:
        """How many enabled agents nothing on this node needs."""
        return len(self.unused)


ECS = "ecs"
CONFIGS = ("/etc/ecs/ecs.config", "/var/lib/ecs/ecs.config")
INIT_LOG, AGENT_LOG = "/var/log/ecs/ecs-init.log", "/var/log/ecs/ecs-agent.log"
COUNTED = "/failed-runs"  # counted over the whole log; only its newest lines are sent

_NO_SYSTEMD, _ACTIVE = "no /run/systemd/system", "-- active --"
_NAMES = " ".join([*(unit for agent in KNOWN_AGENTS for unit in agent.units), *KUBELET_UNITS])
# Each list is a single call to PID 1; asking for each unit's properties costs PID 1 ten times as much.
_UNITS = fragment(f"""
    [ -d /run/systemd/system ] || {{ echo '{_NO_SYSTEMD}'; exit; }};
    systemctl list-unit-files --no-pager --no-legend {_NAMES};
    echo '{_ACTIVE}';
    systemctl list-units --all --plain --no-legend --no-pager --full {_NAMES} && echo '{END}'
""")
# The configuration may hold registry passwords: only the cluster's name is sent.
_FILES = fragment(f"""
    for f in {" ".join(CONFIGS)}; do
        [ -e $f ] || {{ d=${{f%/*}}; [ -d $d ] && [ ! -x $d ]; }} || continue;
        [ -r $f ] || {{ echo "unreadable $f"; continue; }};
        echo "==> $f <=="; grep -a '^[[:space:]]*ECS_CLUSTER=' $f; done;
    for f in {INIT_LOG} {AGENT_LOG}; do
        [ -r $f ] || continue;
        echo "==> $f <==";
        tail -c 65536 $f | grep -a -e 'Agent exited with code' -e 'Agent failed to start' -e 'egistered container'
        -e 'Registration completed' | tail -n 300; done;
    [ -r {INIT_LOG} ] && echo '==> {COUNTED} <==' &&
        tail -c 16777216 {INIT_LOG} | grep -acE 'Agent exited with code -?[1-9]';
    echo '{END}'
""")

_UNIT_FILE = re.compile(r"(\S+\.service)\s+([a-z-]+)(?:\s.*)?")
_UNIT = re.compile(r"(?:[●○↻×x*]\s+)?(\S+\.service)\s+\S+\s+(\S+)\s+(\S+)(?:\s.*)?")
_CLUSTER = re.compile(r"\s*ECS_CLUSTER=\s*[\"']?([^\"'\s#]{1,255})")
_FAILED_RUN = re.compile(r"Agent exited with code (?!0\b)-?[0-9]+")
_RETRIED = re.compile(r"Agent failed to start, retrying")
_REGISTERED = re.compile(r"[Rr]egistered container instance|Registration completed")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:]{8}(?:[.,][0-9]{1,9})?(?:Z|[+-][0-9:]{4,6})?")


@dataclass(frozen=True, slots=True)
class _Ecs:
    """What the ECS agent's own files say."""

    cluster: str
    cluster_line: str
    readable: bool  # False: a configuration exists but could not be read
    registered: bool  # and no failed run since
    worked_at: str  # the time of its last registration, empty if the log has none
    failures: tuple[str, ...]
    counted: int


def parse(outputs: Outputs) -> AgentsReading:
    """Read the known agents' units, and for ECS whether anybody uses it.

    Unread when: systemd runs but does not answer. A node without systemd has no enabled agents: that is an answer.
    """
    text = outputs.text("units")
    if text.strip() == _NO_SYSTEMD:
        return AgentsReading(())
    lines = text.rstrip("\n").split("\n")
    if lines[-1] != END or _ACTIVE not in lines:
        raise CannotRead("agents: the list of units is cut short")
    at = lines.index(_ACTIVE)
    enabled = {row[0]: row[1] for row in _matched_rows(_UNIT_FILE, lines[:at])}
    active = {name: (state, sub) for name, state, sub in _matched_rows(_UNIT, lines[at + 1 : -1])}
    kubelet = next((name for name in KUBELET_UNITS if active.get(name, ("",))[0] in ("active", "activating")), "")
    ecs = _ecs(outputs.text_or_none("files"))
    agents = tuple(
        _agent(known, unit, enabled.get(unit, ""), active.get(unit, ("inactive", "dead")), kubelet, ecs)
        for known in KNOWN_AGENTS
        for unit in known.units
        if _is_installed(enabled.get(unit), active.get(unit))
    )
    on_ecs = any(agent.name == ECS and agent.used for agent in agents)
    return AgentsReading(agents, "kubernetes" if kubelet else "ecs" if on_ecs else "")


def _matched_rows(form: re.Pattern[str], lines: list[str]) -> list[tuple[str, ...]]:
    found = [(line, form.fullmatch(line.strip())) for line in lines if line.strip()]
    for line, row in found:
        if row is None:
            raise CannotRead(f"agents: a row of the list of units is malformed ({one_line(line, 60)})")
    return [row.groups() for _, row in found if row is not None]


def _is_installed(enabled: str | None, active: tuple[str, str] | None) -> bool:
    return enabled not in (None, "alias") or (active is not None and active[0] != "inactive")


def _agent(known: KnownAgent, unit: str, enabled: str, state: tuple[str, str], kubelet: str, ecs: _Ecs | None) -> Agent:
    active, sub = state
    used, because = _ecs_used(kubelet, ecs) if known.name == ECS else (None, "")
    source = [f"{unit} {enabled or 'no unit file'}", f"{unit} {active} {sub}"]
    failures: tuple[str, ...] = ()
    counted, worked_at = 0, ""
    if known.name == ECS and ecs is not None:
        failures, counted, worked_at = ecs.failures, ecs.counted, ecs.worked_at
        source += [ecs.cluster_line] if ecs.cluster_line else []
        source += failures[-2:]
    last = _TIME.search(failures[-1]) if failures else None
    return Agent(
        name=known.name,
        unit=unit,
        enabled=enabled,
        active=active,
        image=known.images[0] if known.images else "",
        used=used,
        because=because or (f"it is used if there is {known.shows_used}" if known.shows_used else ""),
        log_exits=max(len(failures), counted),
        log_last_at=last.group() if last else "",
        log_worked_at=worked_at,
        claimed=known.name == ECS and ecs is not None and bool(ecs.cluster),
        source=tuple(source),
    )


def _ecs(text: str | None) -> _Ecs | None:
    if text is None or not is_whole(text):
        return None
    files = sections(text)
    clusters = [
        (found.group(1), line) for path in CONFIGS for line in files.get(path, ()) if (found := _CLUSTER.match(line))
    ]
    started = [line for line in files.get(INIT_LOG, ()) if _FAILED_RUN.search(line)]
    failures = started or [line for line in files.get(INIT_LOG, ()) if _RETRIED.search(line)]
    registrations = [line for line in files.get(AGENT_LOG, ()) if _REGISTERED.search(line)]
    return _Ecs(
        cluster=one_line(clusters[-1][0]) if clusters else "",
        cluster_line=one_line(clusters[-1][1]) if clusters else "",
        readable=not any(line.startswith("unreadable ") for line in text.split("\n")),
        worked_at=_line_time(registrations[-1]) if registrations else "",
        registered=bool(registrations) and not (failures and _line_time(failures[-1]) >= _line_time(registrations[-1])),
        failures=tuple(failures),
        counted=next((int(line) for line in files.get(COUNTED, ()) if re.fullmatch(r"[0-9]{1,9}", line)), 0),
    )


def _line_time(line: str) -> str:
    """Return the line's time as sortable text, empty if it has none."""
    found = _TIME.search(line)
    return found.group().replace(" ", "T") if found else ""


def _ecs_used(kubelet: str, ecs: _Ecs | None) -> tuple[bool | None, str]:
    if ecs is None:
        return None, "its configuration and log could not be read"
    if ecs.registered:
        return True, "its log shows a registration with a cluster and no failed run since"
    if ecs.cluster:
        if kubelet:
            return None, f"ECS_CLUSTER is {ecs.cluster}, and {kubelet} runs here too"
        return True, f"ECS_CLUSTER is {ecs.cluster}"
    if not ecs.readable:
        return None, "its configuration exists but could not be read"
    if kubelet:
        return False, f"{kubelet} runs this node's work, and the agent has no ECS cluster, by name or by registration"
    return None, "no ECS cluster is configured; then the agent asks for the cluster called default"


PROBE = Probe(
    name="agents",
    title="platform agents and their use",
    commands=(
        Command("units", ("sh", "-c", _UNITS), lane="systemd", output_limit_bytes=64 * 1024),
        Command("files", ("sh", "-c", _FILES), lane="services", output_limit_bytes=128 * 1024),
    ),
    parse=parse,
    reading=AgentsReading,
)
