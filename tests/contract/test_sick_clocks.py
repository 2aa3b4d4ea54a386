"""Whole nodes whose time service has lost its servers and does not say so, and those that are well."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.contract.asked import Asked, check
from tests.independent.facts import DAY, HOUR, MINUTE, NOW
from tests.independent.kinds import metal, rhel7, rocky8, small
from tests.independent.machine import Machine

CLOCK = "clock-unsynced"


def chrony(ago: float, source: str = "A9FEA97B (169.254.169.123)", leap: str = "Normal") -> tuple[str, ...]:
    """Print `chronyc -n tracking` of a service that last took the time so many seconds ago."""
    at = datetime.fromtimestamp(NOW - ago, UTC)
    return (
        f"Reference ID    : {source}",
        "Stratum         : 4",
        f"Ref time (UTC)  : {at:%a %b} {at.day:02} {at:%H:%M:%S %Y}",
        "System time     : 0.000000013 seconds slow of NTP time",
        "Last offset     : -0.000000012 seconds",
        "RMS offset      : 0.000011500 seconds",
        "Frequency       : 4.112 ppm slow",
        "Residual freq   : +0.000 ppm",
        "Skew            : 0.011 ppm",
        "Root delay      : 0.000312000 seconds",
        "Root dispersion : 0.911200000 seconds",
        "Update interval : 1031.2 seconds",
        f"Leap status     : {leap}",
    )


def touched(ago: float) -> tuple[str, str]:
    return "yes", f"touched {int(NOW - ago)}"


NODES = [
    Asked("a day without a server, and Normal", Machine().clock("chronyd", *chrony(26 * HOUR)), "degraded", CLOCK,
          says="last heard a time server 26 hours ago"),
    Asked("four hours, on a machine whose firewall was changed", metal().clock("chronyd", *chrony(4 * HOUR)),
          "degraded", CLOCK),
    Asked("timesyncd reached somebody at boot, and nobody since", small().clock("systemd-timesyn", *touched(3 * DAY)),
          "degraded", CLOCK, says="3 days ago"),
    Asked("nobody is heard, so chrony follows itself",
          rocky8().clock("chronyd", *chrony(12, source="7F7F0101 ()")), "degraded", CLOCK, sure=False),
    Asked("never synchronised since boot",
          rhel7().clock("chronyd", *chrony(NOW, source="00000000 ()", leap="Not synchronised")), "degraded", CLOCK),
    Asked("asked every seventeen minutes", metal().clock("chronyd", *chrony(16 * MINUTE)), "healthy"),
    Asked("two questions were lost", Machine().clock("chronyd", *chrony(50 * MINUTE)), "healthy"),
    Asked("a clock of its own hardware", Machine().clock("chronyd", *chrony(9, "50484330 (PHC0)")), "healthy"),
    Asked("timesyncd half an hour ago", small().clock("systemd-timesyn", *touched(34 * MINUTE)), "healthy"),
    Asked("a timesyncd that does not tell when", small().clock("systemd-timesyn", "yes"), "healthy"),
    Asked("its last time is ahead of the clock, which was set back", Machine().clock("chronyd", *chrony(-2 * HOUR)),
          "healthy"),
]  # fmt: skip


@pytest.mark.parametrize("asked", NODES, ids=lambda asked: asked.title)
def test_clocks(asked: Asked) -> None:
    check(asked)
