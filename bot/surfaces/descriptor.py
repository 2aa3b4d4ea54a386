"""What a surface declares: the people and places it knows, and its own posts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from bot.domain.contracts import Clock
from bot.domain.doctor_finding import DoctorFinding

if TYPE_CHECKING:
    from bot.domain.engine_contracts import Surface
    from bot.domain.policy import Policy

DoctorCheck: TypeAlias = Callable[[], Awaitable[Sequence[DoctorFinding]]]
DoctorChecks: TypeAlias = Sequence[tuple[str, DoctorCheck]]  # each under the name that is shown if it does not answer


def known(finding: DoctorFinding) -> tuple[str, DoctorCheck]:
    """Return the check of something of which it is known already what it finds."""

    async def look() -> Sequence[DoctorFinding]:
        return (finding,)

    return finding.name, look


def no_checks(settings: Any, policy: Policy, now: Clock) -> DoctorChecks:
    """For a surface that needs nothing from outside."""
    return ()


@dataclass(frozen=True, slots=True)
class SurfaceDescriptor:
    """A surface.

    Shape: `name` is the kind of its people (`NAME:WHO`) and of the alerts they open by asking, where people ask
    (`bot.domain.alert.PEOPLE`). `where` names the place in words: “in Slack”. `parts` begins its
    posts' names in the outbox; the surface without `parts` has all other posts. `settings` is the dataclass of its own
    settings, the table `[NAME]` of zombie.toml, which `Settings.of` returns.
    `looks(settings, policy, now)` is what `zombie doctor` checks. `opened(settings)` shows incidents there; a surface
    that needs more than the settings, as Slack does, is put together in `bot/app`.
    """

    name: str
    where: str
    parts: str = ""
    settings: type[Any] | None = None
    looks: Callable[[Any, Policy, Clock], DoctorChecks] = no_checks
    opened: Callable[[Any], Surface | None] = lambda settings: None
