"""Defaults of settings that several rooms use; every other default stands with its setting."""

from __future__ import annotations

from datetime import timedelta

SAMPLES = 5  # seconds that a check watches a node
APPROVAL_EXPIRES = timedelta(minutes=15)
VALIDATION = timedelta(minutes=10)
WAVE_EXPIRES = timedelta(hours=8)
REBOOT_DEADLINE = timedelta(minutes=15)
AT_ONCE = 1  # how many nodes may be acted on at once
APPROVALS = 1
COOLDOWN = timedelta(minutes=30)
STORM_ALERTS = 20
STORM_WINDOW = timedelta(minutes=5)
CHECKS_EACH_AT_ONCE = 10  # nodes that are read at once for each person
DRAIN_DEADLINE = timedelta(minutes=10)
DELIVERIES_KNOWN_FOR = timedelta(days=30)  # PagerDuty retries for two days; a later repetition counts as new

# The longest time within which a reboot for a cause is not offered again; the record has to reach back so far.
NOT_REBOOTED_AGAIN_WITHIN = timedelta(days=30)
