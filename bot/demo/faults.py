"""Faults of a simulated node: of its connection, and of its reboot."""

from __future__ import annotations

import enum


class Fault(enum.Enum):
    """A way in which a node misbehaves."""

    REFUSES = "refuses"  # nothing listens
    SILENT = "silent"  # accepts TCP, then sends nothing
    OTHER_HOST_KEY = "other-host-key"
    SWALLOWS_REBOOT = "swallows-reboot"  # `systemctl reboot` succeeds, and nothing happens
    ENABLED_AT_BOOT = "enabled-at-boot"  # the disabled unit is enabled again while it boots
    STAYS_DOWN = "stays-down"  # reboots and does not come back
    OTHER_KEY_AFTER_BOOT = "other-key-after-boot"  # comes back with another host key
    BOOTED_BY_SOMEBODY = "booted-by-somebody"  # somebody else reboots it soon after a plan was made for it
