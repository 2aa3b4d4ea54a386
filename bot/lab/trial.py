"""What each fault of the lab has to bring: the verdict on it, what cures it, and a machine on which it can be made."""

from __future__ import annotations

from dataclasses import dataclass

from bot.lab.virtual_machine import Hardware

LEAK_LIMITS = "/usr/local/lib/lab/leak"  # variables of the leaking unit
AT_A_TIME = 400  # so many cgroups a start of the agent: what takes an emulated node time is starting it


@dataclass(frozen=True, slots=True)
class Machine:
    """A kernel that can be had: the Debian release that has it, and the cgroup hierarchies with which it boots."""

    kernel: str
    suite: str
    cgroups: tuple[str, ...] = ("v2",)


# systemd 258 knows no cgroup v1 any more, and 256 takes it only where it is told twice.
MACHINES = (
    Machine("5.10", "bullseye", ("v1", "v2")),
    Machine("6.1", "bookworm", ("v1", "v2")),
    Machine("6.12", "trixie"),
    Machine("7.2", "forky"),
)


@dataclass(frozen=True, slots=True)
class Trial:
    """A fault and the verdict that it has to get.

    Shape: `status` lists what it may be: how much is lost is sometimes the emulated machine's speed. `plan` are the
    actions of the plan, in order; empty: none is offered, and undoing the fault is the cure. `playbook` judges the sick
    node, and whether it is over. `before` and `until` are shell, run as root: before the fault is made, and until it is
    old or grave enough to be judged. `undone` is shell that succeeds once the plan's undo was carried out; empty where
    nothing of it can be undone. On the releases of `confirmed_on` a reading shows what the log alone says elsewhere.
    `lingers`: the kernel's log still reports the fault once it is over, so that the node is at most degraded, and
    nothing is planned. On the kernels of `gone_on` the same deeds do no harm: `done` waits until as much was done as
    makes the fault elsewhere, and then neither the fault nor its verdict may be there.
    """

    fault: str
    cause: str
    status: tuple[str, ...]
    plan: tuple[str, ...] = ()
    confidence: str = "confirmed"
    confirmed_on: tuple[str, ...] = ()
    playbook: str = "node-health"
    cgroups: tuple[str, ...] = ("v2",)  # where its version changes neither the fault nor what shows it, one is enough
    hardware: Hardware = Hardware(1024, 2)
    before: str = ""
    until: str = ""
    undone: str = ""
    lingers: bool = False
    gone_on: tuple[str, ...] = ()
    done: str = ""

    def confidence_on(self, suite: str) -> str:
        """Return how sure the verdict has to be on a release."""
        return "confirmed" if suite in self.confirmed_on else self.confidence


def leaking(many: int) -> str:
    """Return what lets the leak's agent be quick up to so many cgroups; from there it leaks about two a second."""
    variables = f"MOST={many}\\nLEAK={AT_A_TIME}\\n"
    return f"mkdir -p {LEAK_LIMITS.rpartition('/')[0]} && printf '{variables}' >{LEAK_LIMITS}"


def leaked(many: int) -> str:
    """Return what waits until so many have leaked, on the node itself: a login costs it a second of its work."""
    return f". /usr/local/lib/lab/leaked-memory-cgroups.sh; until [ $(count) -ge {many} ]; do sleep 1; done"


def charged(many: int) -> str:
    """Return what waits until a page was charged to each of so many cgroups that were removed."""
    state = "/dev/shm/ecs-agent.state"
    return f"until [ $(stat -c %s {state} 2>/dev/null || echo 0) -ge $(({many} * 4096)) ]; do sleep 1; done"


def up_for(seconds: int) -> str:
    """Return what waits until the machine has been up for so long."""
    return f"until [ $(cut -d. -f1 /proc/uptime) -gt {seconds} ]; do sleep 5; done"


_BOTH = ("v1", "v2")
_CRITICAL, _DEGRADED, _EITHER = ("critical",), ("degraded",), ("degraded", "critical")
_LEAK, _LOST = "leaked-memory-cgroups", 8_000  # of a machine of 768 MiB, more than a tenth of its memory
_THREE_CORES, _ROOMY = Hardware(1536, 3), Hardware(1536, 2)
_REPARENTED = ("forky",)  # Linux 7.x hands the pages of a removed cgroup to its parent
_ENABLED = "systemctl -q is-enabled ecs.service"
_STATIC = '[ "$(systemctl is-enabled ecs.service)" = static ]'


def _harmless_leak(
    fault: str,
    plan: tuple[str, ...] = (),
    confidence: str = "confirmed",
    undone: str = "",
    cgroups: tuple[str, ...] = ("v2",),
) -> Trial:
    """A leak on a machine with memory enough for it; what leaked stays until a reboot."""
    return Trial(
        fault,
        _LEAK,
        _DEGRADED,
        plan,
        confidence,
        cgroups=cgroups,
        hardware=_ROOMY,
        before=leaking(3_200),
        until=leaked(3_200),
        undone=undone,
        lingers=True,
        gone_on=_REPARENTED,
    )


TRIALS = (
    Trial("failed-units", "failed-units", _DEGRADED),
    Trial("cfs-throttling", "cfs-throttling", _DEGRADED, cgroups=_BOTH),
    Trial("disk-full", "disk-full", _CRITICAL),
    Trial("disk-full-of-inodes", "disk-full", _CRITICAL),
    Trial("certificate-expiry", "certificate-expiry", _CRITICAL),
    Trial("dns-failing", "dns-failing", _DEGRADED),
    Trial("clock-unsynced", "clock-unsynced", _DEGRADED),
    Trial("bond-degraded", "bond-degraded", _DEGRADED),
    Trial("tcp-memory-exhausted", "tcp-memory-exhausted", _DEGRADED),
    Trial("too-many-live-cgroups", "too-many-live-cgroups", _DEGRADED, confidence="possible", cgroups=_BOTH),
    Trial("unused-agent-enabled", "unused-agent-enabled", _DEGRADED, confidence="likely", playbook="image-gate"),
    Trial(
        "essential-unit-stopped",
        "essential-unit-stopped",
        _CRITICAL,
        ("start_unit",),
        before=up_for(300),  # nobody says so of a node that has only just booted
    ),
    Trial(
        "crash-looping-unit",
        "crash-looping-unit",
        _DEGRADED,
        ("disable_unit",),
        # Its own dependencies may be away for ten minutes: before that nobody disables it.
        until="until [ $(($(date +%s) - $(cat /usr/local/lib/lab/looping-since))) -ge 640 ]; do sleep 5; done",
        undone="systemctl -q is-enabled log-shipper.service",
    ),
    Trial(
        _LEAK,
        _LEAK,
        _CRITICAL,
        ("disable_unit", "reboot"),
        cgroups=_BOTH,
        hardware=Hardware(768, 2),
        before=leaking(_LOST),
        until=leaked(_LOST),
        undone=_ENABLED,
        gone_on=_REPARENTED,
        done=charged(_LOST),
    ),
    _harmless_leak("leak-without-harm", ("disable_unit",), undone=_ENABLED, cgroups=_BOTH),
    _harmless_leak("leaked-memory-cgroups-in-a-static-unit", ("mask_unit",), undone=_STATIC),
    _harmless_leak("leaked-memory-cgroups-by-a-timer", ("mask_unit",), undone=_STATIC),
    _harmless_leak("leaked-memory-cgroups-of-the-runtime"),  # nobody may stop it
    # Whose it is, is seen; which of their services, is not.
    _harmless_leak("leaked-memory-cgroups-of-a-user", confidence="likely"),
    Trial("oom-kills", "oom-kills", _DEGRADED, lingers=True),
    Trial("oom-kills-of-the-machine", "oom-kills", _DEGRADED, lingers=True),
    Trial("neighbour-overflow", "neighbour-overflow", _CRITICAL, lingers=True),
    Trial("pid-or-fd-exhaustion", "pid-or-fd-exhaustion", _CRITICAL, lingers=True),
    Trial("pid-or-fd-exhaustion-of-files", "pid-or-fd-exhaustion", _CRITICAL, lingers=True),
    Trial("conntrack-full", "conntrack-full", _CRITICAL, lingers=True),
    # In 6.12, and in kernels that took it over, the options stay `rw`: the log alone says so. 7.2 shows it again.
    Trial(
        "filesystem-read-only",
        "filesystem-read-only",
        _CRITICAL,
        confidence="likely",
        confirmed_on=("bullseye", "forky"),
        lingers=True,
    ),
    Trial("array-degraded", "array-degraded", _DEGRADED, lingers=True),
    Trial("array-degraded-rebuilding", "array-degraded", _DEGRADED, lingers=True),
    Trial("io-stall", "io-stall", _CRITICAL, lingers=True),
    # The bot's login does not see what a task waits for, so that nothing says that these wait for the silent server.
    Trial("io-stall-of-a-file-server", "io-stall", _DEGRADED, confidence="likely"),
    Trial("memory-reclaim", "memory-reclaim", _EITHER, hardware=_THREE_CORES),
    Trial("irq-affinity", "irq-affinity", _EITHER, hardware=_THREE_CORES),
    Trial("softirq-storm", "softirq-storm", _EITHER, hardware=_THREE_CORES),
)
BY_FAULT = {trial.fault: trial for trial in TRIALS}
