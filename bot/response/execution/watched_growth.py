"""Whether what a cause counts goes on growing at its old pace, while the node is watched after its plan."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from bot.causes import CAUSES
from bot.domain.duration import span_words
from bot.domain.growth import GrowthMeasure
from bot.domain.incident import Incident
from bot.response.diagnosis.figures import UPTIME, read_then

_LIKE_BEFORE = 0.5  # ours: from that share of the old pace on it goes on
_HALF_HOUR = timedelta(minutes=30)
_FIGURE = re.compile(r"([0-9][0-9,]{0,12})(?: s)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class WatchedGrowth:
    """How many more came within the boot that is watched; `later`: in the later half of that.

    Units: `pace` is that from before, per second, if known; `uptime` the boot's age at the last look.
    """

    grows: GrowthMeasure
    more: float
    later: float
    watched: timedelta
    pace: float | None
    uptime: timedelta

    @property
    def expected(self) -> float | None:
        """How many would have come at the old pace."""
        return None if self.pace is None else self.pace * self.watched.total_seconds()

    @property
    def grows_as_before(self) -> bool:
        """True if about as many came as at the old pace, lately too, and more than come without a fault."""
        by_chance, like_before = self.grows.few * max(1, self.watched / _HALF_HOUR), _LIKE_BEFORE * (self.expected or 0)
        return self.more >= max(by_chance, like_before) and self.later >= max(1, like_before / 2)

    @property
    def goes_on(self) -> bool:
        """True if it grows as before, and not as a node does that starts: what begins there leaves some."""
        return self.grows_as_before and self.uptime > _HALF_HOUR

    @property
    def is_unclear(self) -> bool:
        """True if it grows as before while the node may still be starting."""
        return self.grows_as_before and not self.goes_on

    @property
    def proof_needs(self) -> timedelta | None:
        """How long it has to be watched until its old pace would show; None if it is too slow, or not known."""
        needs = self.grows.few / _LIKE_BEFORE / self.pace if self.pace else math.inf
        return timedelta(seconds=round(needs)) if needs <= _HALF_HOUR.total_seconds() else None

    @property
    def lacks_proof(self) -> bool:
        """True if it was not watched long enough to tell that it ended; False, too, where the old pace is not known."""
        return bool(self.pace) and (self.proof_needs is None or self.watched < self.proof_needs)

    @property
    def says(self) -> str:
        """How many more came, in words."""
        more = f"{abs(self.more):,.0f} {'fewer' if self.more < 0 else 'more'} {self.grows.what}"
        before = "" if self.expected is None else f", {self.expected:,.0f} at the old pace"
        return f"{more} in {span_words(self.watched)}{before}"


def watched_growth(incident: Incident, now: Mapping[str, str] | None = None) -> WatchedGrowth | None:
    """Return the growth over the looks so far, with a look's figures of now; None where its cause counts nothing.

    Shape: None, too, if the last look's count was not read. The pace is that of the checks before if it was beyond
    chance, else the mean since the boot of then.
    """
    cause = CAUSES.get(incident.verdict.cause or "") if incident.verdict is not None else None
    if cause is None or (grows := cause.grows) is None:
        return None
    looks = [*map(read_then, incident.samples), *([now] if now is not None else [])]
    latest = _counted(grows, looks[-1]) if looks else None
    if latest is None:
        return None
    same_boot = [look for look in looks if look.get("boot") == looks[-1].get("boot")]
    counted = [*filter(None, (_counted(grows, look) for look in same_boot))]
    (began, first), (until, last) = counted[0], latest
    half = max(count for at, count in counted if at <= (began + until) / 2)
    watched, uptime = timedelta(seconds=until - began), timedelta(seconds=until)
    return WatchedGrowth(grows, last - first, last - half, watched, _pace_before(incident, grows), uptime)


def _pace_before(incident: Incident, grows: GrowthMeasure) -> float | None:
    known = incident.triage.growth if incident.triage is not None else None
    if known is not None and known.what == grows.what and known.grows:
        return known.per_hour / 3600
    before = _counted(grows, incident.proposal.figures) if incident.proposal is not None else None
    return before[1] / before[0] if before is not None and before[0] else None


def _counted(grows: GrowthMeasure, look: Mapping[str, str]) -> tuple[float, float] | None:
    """The uptime in seconds and the count of a look; None where one of them was not read."""
    uptime, count = (_FIGURE.fullmatch(look.get(name, "")) for name in (UPTIME, grows.what))
    return (_number(uptime), _number(count)) if uptime and count else None


def _number(found: re.Match[str]) -> float:
    return float(found[1].replace(",", ""))
