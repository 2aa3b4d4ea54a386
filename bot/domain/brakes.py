"""What keeps alarms from becoming a flood."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class Brakes:
    """How alarms are kept from becoming a flood.

    Shape: within `cooldown` another case of the same nodes and signature joins the first one's card. More than
    `storm_alerts` cases within `storm_window` are a storm. A case that comes back within `reopens_within` of its end
    takes up its card again.
    """

    cooldown: timedelta = timedelta(minutes=30)
    storm_alerts: int = 20
    storm_window: timedelta = timedelta(minutes=5)
    reopens_within: timedelta = timedelta(hours=24)
