"""Real faults for a node, each with its undo and a measurement that proves it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bot.domain.errors import UsageError
from bot.domain.nearest import nearest
from bot.lab.node import Answer, LabNode

_SCRIPTS = Path(__file__).with_name("faults")
_ON_THE_NODE = "/usr/local/lib/lab"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Whether the fault was made or undone, and the measurement that proves it."""

    proven: bool
    says: str


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault.

    Shape: a shell script of the same name has `make`, `undo` and `look`. `look` prints the measurement and succeeds
    while the fault is there. `needs` are further files. The name is that of the cause, where it brings a cause.
    """

    name: str
    says: str
    needs: tuple[str, ...] = ()
    within_seconds: int = 60

    def make(self, node: LabNode) -> Outcome:
        """Make the fault and wait until the measurement shows it."""
        return self._outcome(node, "make", "look")

    def begin(self, node: LabNode) -> Outcome:
        """Do what makes the fault, and do not wait for it."""
        return _outcome_of(node.run(self._script("make && echo begun"), within_seconds=4 * self.within_seconds))

    def undo(self, node: LabNode) -> Outcome:
        """Undo the fault and wait until the measurement shows it. The kernel may take a while to free what leaked."""
        return self._outcome(node, "undo", "! look")

    def look(self, node: LabNode) -> Outcome:
        """Measure; proven while the fault is there."""
        return _outcome_of(node.run(self._script("look")))

    def _outcome(self, node: LabNode, verb: str, proof: str) -> Outcome:
        again = f"tries=$((tries + 1)); [ $tries -lt {self.within_seconds} ] || exit 1; sleep 1"
        wait = f"tries=0; until {proof}; do {again}; done"
        return _outcome_of(node.run(self._script(f"{verb}; {wait}"), within_seconds=4 * self.within_seconds))

    def _script(self, then: str) -> str:
        parts = [f"set -u; lab={_ON_THE_NODE}; mkdir -p $lab"]
        for name in (f"{self.name}.sh", *self.needs):
            text = (_SCRIPTS / name).read_text(encoding="utf-8")
            parts.append(f"cat >$lab/{name} <<'END-OF-THE-FILE'\n{text}END-OF-THE-FILE")
        return "\n".join([*parts, f". $lab/{self.name}.sh", then, ""])


def _outcome_of(answer: Answer) -> Outcome:
    last = answer.stdout.strip().rpartition("\n")[2]
    return Outcome(answer.ok, last or f"no output: {answer.stderr.strip()[-300:] or 'the connection broke'}")


def _like_the_leak(name: str, about: str) -> Fault:
    """A variation of leaked-memory-cgroups, whose script it begins with."""
    return Fault(name, about, ("ecs-agent.pl", "leaked-memory-cgroups.sh"), 180)


FAULTS: dict[str, Fault] = {
    fault.name: fault
    for fault in (
        Fault(
            "leaked-memory-cgroups",
            "ecs.service fails, is restarted for ever, and leaks memory cgroups",
            ("ecs-agent.pl",),
            180,
        ),
        _like_the_leak(
            "leaked-memory-cgroups-in-one-unit", "the same leak inside a unit that systemd shows as running"
        ),
        _like_the_leak("leak-without-harm", "the same leak on a node with memory enough for it"),
        _like_the_leak("leaked-memory-cgroups-in-a-static-unit", "the same leak in a unit that can only be masked"),
        _like_the_leak("leaked-memory-cgroups-by-a-timer", "the same leak in a job that a timer starts"),
        _like_the_leak(
            "leaked-memory-cgroups-of-the-runtime",
            "the same leak inside the container runtime, a stand-in that is well",
        ),
        _like_the_leak(
            "leaked-memory-cgroups-of-a-user", "the same leak in a service of somebody's own (systemd --user)"
        ),
        Fault("too-many-live-cgroups", "a job runner makes a cgroup for each job and removes none"),
        Fault("unused-agent-enabled", "an agent that nobody needs starts at the next boot"),
        Fault("crash-looping-unit", "a service fails whenever it starts, and is started again"),
        Fault("held-core", "a stand-in named kubelet keeps a core in the kernel", ("kernel-time.pl",)),
        Fault(
            "compaction", "a stand-in named kubelet has the kernel compact memory, on a core", ("compact-memory.pl",)
        ),
        Fault("failed-units", "a unit has failed"),
        Fault("cfs-throttling", "a service is held back by its CPU quota"),
        Fault("conntrack-full", "the table of tracked connections is full", ("open-connections.pl",)),
        Fault("io-stall", "a disk stops answering, and writers wait in state D", ("one-disk.sh", "write-files.pl")),
        Fault("io-stall-of-a-file-server", "a file server stops answering", ("file-server.pl",)),
        Fault("filesystem-read-only", "a disk fails every request, and ext4 shuts its file system", ("one-disk.sh",)),
        Fault("array-degraded", "a mirror has lost one of its two disks"),
        Fault(
            "array-degraded-rebuilding",
            "a mirror's lost disk was replaced, and is being filled",
            ("array-degraded.sh",),
        ),
        Fault("disk-full", "the root file system has no blocks left"),
        Fault("disk-full-of-inodes", "the file system of the container images has no inodes left"),
        Fault("oom-kills", "a service is killed at its cgroup's limit again and again", within_seconds=120),
        Fault("oom-kills-of-the-machine", "a job takes all memory and is killed for it", within_seconds=120),
        Fault("pid-or-fd-exhaustion", "a pool of workers leaves few threads to all others"),
        Fault(
            "pid-or-fd-exhaustion-of-files",
            "a service holds nearly all files that may be open at once",
            ("hold-files.pl",),
        ),
        Fault("essential-unit-stopped", "the container runtime, a stand-in, starts at boot and is stopped"),
        Fault("clock-unsynced", "the clock was set wrong, and chrony says so", ("time-server.pl",)),
        Fault("neighbour-overflow", "the table of neighbours has no room", ("many-neighbours.pl",)),
        Fault("bond-degraded", "one of the two ports of a bond has lost its link"),
        Fault("tcp-memory-exhausted", "a service reads nothing of what it is sent", ("unread-connections.pl",)),
        Fault("certificate-expiry", "the certificate that the kubelet's port serves has ended"),
        Fault("dns-failing", "the only name server answers nothing", ("silent-resolver.pl",)),
        Fault("softirq-storm", "a core does nothing but soft interrupts", ("one-core.sh", "echo-flood.pl")),
        Fault(
            "irq-affinity",
            "a single core handles every interrupt of two network cards, and is saturated",
            ("one-core.sh", "echo-flood.pl"),
        ),
        Fault("memory-reclaim", "a job holds nearly all memory; readers compete for the rest", ("hold-memory.pl",)),
        Fault("busy", "no fault: a busy, healthy node", ("work.pl",)),
    )
}


def find(name: str) -> Fault:
    """Return a fault.

    Raises: UsageError when there is none of that name.
    """
    if name not in FAULTS:
        near = nearest(name, FAULTS)
        raise UsageError(f"There is no fault {name!r}.", f"There are: {', '.join(near or FAULTS)}")
    return FAULTS[name]
