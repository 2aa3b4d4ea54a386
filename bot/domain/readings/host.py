"""What machine and system this is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class HostReading:
    """Kernel, boot, distribution, virtualisation: what thresholds hang on. Empty text: not told by the node."""

    probe: ClassVar[str] = "host"

    kernel: str
    boot_id: str
    uptime: timedelta
    machine_id: str = ""
    distribution: str = ""
    virtualisation: str = ""
    cgroup_filesystem: str = ""
    clocksource: str = ""
    cores_online: int = 0
    hostname: str = ""
    node_time_at: datetime | None = None

    @property
    def kernel_version(self) -> tuple[int, int]:
        """Major and minor of `uname -r`; (0, 0) when it does not say.

        Example:
        >>> from datetime import timedelta
        >>> HostReading("5.4.0-1084-aws", "b", timedelta(1)).kernel_version
        (5, 4)
        """
        found = re.match(r"(\d+)\.(\d+)", self.kernel)
        return (int(found.group(1)), int(found.group(2))) if found else (0, 0)

    @property
    def uptime_seconds(self) -> float:
        """Seconds since boot."""
        return self.uptime.total_seconds()
