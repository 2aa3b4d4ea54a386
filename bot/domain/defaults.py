"""The defaults of settings that more than one room knows; all others stand with their setting."""

from __future__ import annotations

from datetime import timedelta

APPROVAL_EXPIRES = timedelta(minutes=15)
VALIDATION = timedelta(minutes=10)
WAVE_EXPIRES = timedelta(hours=8)
REBOOT_DEADLINE = timedelta(minutes=15)
AT_ONCE = 1  # nodes that are acted on
APPROVALS = 1
COOLDOWN = timedelta(minutes=30)
STORM_ALERTS = 20
STORM_WINDOW = timedelta(minutes=5)
