"""Defaults of settings that several rooms use; every other default stands with its setting."""

from __future__ import annotations

from datetime import timedelta

APPROVAL_EXPIRES = timedelta(minutes=15)
VALIDATION = timedelta(minutes=10)
WAVE_EXPIRES = timedelta(hours=8)
REBOOT_DEADLINE = timedelta(minutes=15)
AT_ONCE = 1  # how many nodes may be acted on at once
APPROVALS = 1
COOLDOWN = timedelta(minutes=30)
STORM_ALERTS = 20
STORM_WINDOW = timedelta(minutes=5)
