"""Platform agents that base images bring along: which are enabled, and which of them nothing here needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Agent:
    """One known agent on this node.

    Shape: `used` None: it cannot be told. `log_exits` counts lines of its own log that tell of a failed run.
    """

    name: str  # "ecs"
    unit: str  # "ecs.service"
    enabled: str = ""  # UnitFileState
    active: str = ""
    image: str = ""  # the image its container runs, where it is a container
    used: bool | None = None
    because: str = ""  # why used or unused
    log_exits: int = 0
    log_last_at: str = ""  # the log's own time text of the last failed run
    source: tuple[str, ...] = ()

    @property
    def is_enabled(self) -> bool:
        """True when the next boot starts it."""
        return self.enabled.startswith("enabled")


@dataclass(frozen=True, slots=True)
class AgentsReading:
    """The known agents that this node has; none at all is an answer."""

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
