"""Cases of units that failed and stay so, and of what only looks like it or has a graver reason."""

from __future__ import annotations

from typing import Any

from tests.independent.cgroups import ecs_loops, kubelet_holds, starves
from tests.independent.facts import DAY, HOUR, MINUTE
from tests.independent.kernel import died
from tests.independent.kinds import (
    amazon2,
    arm,
    azure,
    database,
    edge,
    founding,
    google,
    guest,
    metal,
    rancher,
    rocky8,
    small,
)
from tests.independent.label import Label, near, sick
from tests.independent.machine import Machine

_FAILED = "failed-units"
_OFF: dict[str, Any] = {"ActiveState": "inactive", "SubState": "dead"}
_DOWN: dict[str, Any] = {"ActiveState": "failed", "SubState": "failed", "Result": "exit-code"}
FAILED: list[Label] = [
    sick(_FAILED, "certificates for the web were not renewed", guest().failed("certbot.service", "Certbot")),
    sick(_FAILED, "a data disk could not be mounted", metal().failed("srv-data.mount", "/srv/data")),
    sick(
        _FAILED,
        "a module for a sensor is missing since the last kernel",
        edge().failed("systemd-modules-load.service", "Load Kernel Modules"),
    ),
    sick(_FAILED, "user data ended with an error", Machine().failed("cloud-final.service", "Cloud-init: Final Stage")),
    sick(
        _FAILED,
        "the mail queue and its filter are both down",
        rocky8().failed("postfix.service", "Postfix").failed("rspamd.service", "rspamd", Result="core-dump"),
    ),
    sick(
        _FAILED,
        "an upload was killed by its own time limit",
        database().failed("wal-upload.service", "WAL upload", Result="timeout", ExecMainCode=2, ExecMainStatus=15),
    ),
    near(
        _FAILED,
        "a job of a timer is at work",
        azure().service("apt-daily-upgrade.service", ActiveState="activating", SubState="start", started_ago=40),
        "activating is no failure",
    ),
    near(
        _FAILED,
        "a job that ended well keeps its state",
        rocky8().service("lvm2-monitor.service", ActiveState="active", SubState="exited"),
        "active (exited)",
    ),
    near(
        _FAILED,
        "a service that somebody stopped in good order",
        guest().service("memcached.service", **_OFF),
        "inactive, and its result is success",
    ),
    near(
        _FAILED,
        "a unit that others name and nobody installed",
        small().service("plymouth-quit.service", LoadState="not-found", UnitFileState="", **_OFF),
        "not found is not failed",
    ),
    near(
        _FAILED,
        "containerd failed, on a node of a cluster",
        google()
        .failed("containerd.service", "containerd container runtime")
        .essential("containerd.service", changed_ago=20 * MINUTE, **_DOWN)
        .health("500 0", "500 0"),
        "nothing runs without it",
        "essential-unit-stopped",
        plan=("start",),
    ),
    near(
        _FAILED,
        "log rotation failed on a root that is read-only",
        arm()
        .failed("logrotate.service", "Rotate log files")
        .mount("nvme0n1p1 xfs ro,attr2,inode64 /", "UUID=6a1e / xfs defaults,noatime 1 1"),
        "the disk comes first",
        "filesystem-read-only",
        plan=("cordon",),
    ),
    near(
        _FAILED,
        "a backup failed where nothing is free",
        database().room("/", 100, 0.3).failed("pg-backup.service", "nightly backup"),
        "no room",
        "disk-full",
    ),
    near(
        _FAILED,
        "a Java service was the kernel's victim ten minutes ago",
        died(guest(), 10 * MINUTE).failed("billing.service", "billing", Result="oom-kill", ExecMainCode=2),
        "the machine ran out of memory",
        "oom-kills",
    ),
    near(
        _FAILED,
        "updates failed while no name server answers",
        metal().dns(("192.0.2.53", ""), ("192.0.2.54", "")).failed("dnf-makecache.service", "dnf makecache"),
        "no names",
        "dns-failing",
    ),
    near(
        _FAILED,
        "the founding case, and certbot failed beside it",
        starves(
            kubelet_holds(ecs_loops(founding(), 68_300, 11.2).cgroups(240, 68_440, 68_440), 5), 5, 900, 5400, 18
        ).failed("certbot.service", "Certbot"),
        "the leak is the mechanism",
        "leaked-memory-cgroups",
        plan=("disable", "mask", "drain", "cordon", "reboot", "uncordon"),
    ),
    near(
        _FAILED,
        "one service loops, another failed once",
        amazon2().loops("agent-relay.service", 9_000, 14).failed("kdump.service", "Crash recovery kernel arming"),
        "a loop and a failure: the loop is named",
        "crash-looping-unit",
        plan=("disable", "mask"),
    ),
    near(
        _FAILED,
        "nothing failed, on a node that is long up",
        rancher(up=300 * DAY).service("tuned.service", started_ago=HOUR),
    ),
]
