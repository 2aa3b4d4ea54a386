"""What a surface says of itself: whose people and places it knows, and which posts are its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from bot.domain.contracts import Clock
from bot.domain.examined import Examined

if TYPE_CHECKING:
    from bot.domain.engine_contracts import Surface
    from bot.domain.policy import Policy

Look: TypeAlias = Callable[[], Awaitable[Sequence[Examined]]]
Looks: TypeAlias = Sequence[tuple[str, Look]]  # each under the name that it has if it does not answer


def nothing_to_look_at(settings: Any, policy: Policy, now: Clock) -> Looks:
    """A surface that needs nothing from outside."""
    return ()


@dataclass(frozen=True, slots=True)
class SurfaceMember:
    """One surface.

    Shape: `name` is the kind of its people (`NAME:WHO`), and of the alerts of those who ask there; without
    `has_people` nobody asks or approves there. `where` says it in words: “in Slack”. `parts` is how the names of its
    posts begin in the outbox; the surface without one has all posts that are no other's.
    `looks(settings, policy, now)` is what `zombie doctor` looks at. `opened(settings)` is what shows incidents there; a
    surface that takes more than the settings, as Slack does, is put together in `bot/app`.
    """

    name: str
    where: str
    has_people: bool = False
    parts: str = ""
    looks: Callable[[Any, Policy, Clock], Looks] = nothing_to_look_at
    opened: Callable[[Any], Surface | None] = lambda settings: None
