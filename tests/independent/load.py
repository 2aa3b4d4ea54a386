"""What a machine's kernel says and what its cores, processes and memory do; each method changes one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

from tests.independent import answers
from tests.independent.facts import Facts


class Load:
    """A machine as far as its kernel counts it."""

    facts: Facts

    # What the kernel says.

    def log(self, *said: tuple[float, str]) -> Self:
        """Add lines of the kernel's log, each with how many seconds before the look it was said.

        A line may begin with its level, `<3>`; without one it is at 4, a warning.
        """
        self.facts.log += said
        return self

    def log_every(self, newest_ago: float, every: float, count: int, text: str) -> Self:
        """Add one line `count` times, `every` seconds apart; `{n}` in it counts up."""
        return self.log(*((newest_ago + every * (count - 1 - n), text.replace("{n}", str(n))) for n in range(count)))

    def instead(self, probe: str, name: str, *looks: str | None) -> Self:
        """Print these answers of one command, one a look, instead of those that the machine would make; None: never."""
        self.facts.instead[probe, name] = looks
        return self

    # Cores, processes, memory.

    def core(self, core: int, *seconds: Mapping[str, float], **shares: float) -> Self:
        """Set one core's shares, the same in every second or one mapping for each."""
        for second in range(5):
            self.facts.shares[second][core] = dict(seconds[second]) if seconds else dict(shares)
        return self

    def all_cores(self, **shares: float) -> Self:
        """Set every core's shares."""
        for core in range(self.facts.cores):
            self.core(core, **shares)
        return self

    def process(
        self,
        name: str,
        usr: int = 0,
        sys: int = 0,
        core: int = 0,
        pid: int = 9000,
        threads: int = 1,
        kernel: bool = False,
        policy: int = 0,
        state: str = "S",
        working: Sequence[tuple[int, int, int]] = (),
    ) -> Self:
        """Add a busy process. Units: ticks of 10 ms in the window; `working` holds core, user and kernel ticks."""
        line = answers.stat_line(pid, name, state, core, threads, kernel, policy)
        self.facts.processes.append(f"p {usr} {sys} {line}")
        self.facts.threads += [
            f"t {pid} {pid + 1 + at} {where} {user} {held}" for at, (where, user, held) in enumerate(working)
        ]
        return self

    def waiting(self, count: int, name: str, wchan: str = "", pid: int = 20000) -> Self:
        """Add processes that sleep uninterruptibly at both looks."""
        for each in range(pid, pid + count):
            self.facts.waits.append(f"d {answers.stat_line(each, name, 'D', each % self.facts.cores)}")
            self.facts.waits += [f"w {each} {wchan}"] if wchan else []
        return self

    def memory(self, **kib: int) -> Self:
        """Set rows of /proc/meminfo."""
        self.facts.memory.update(kib)
        return self

    def vmstat(self, **values: tuple[int, int]) -> Self:
        """Set counters of /proc/vmstat, at the first and the second look."""
        self.facts.vm.update(values)
        return self

    def pressure(self, **avg10: float) -> Self:
        """Set PSI, `io_full=40.0`."""
        self.facts.psi.update({name.replace("_", " "): share for name, share in avg10.items()})
        return self

    def cgroups(
        self, alive: int, dying: int, later: int | None = None, below: Mapping[str, tuple[int, int]] | None = None
    ) -> Self:
        """Set how many memory cgroups live and are dying; `below` counts those under a cgroup of v2 at both looks."""
        self.facts.cgroups, self.facts.below = (alive, dying, dying if later is None else later), dict(below or {})
        return self

    def quota(self, path: str, periods: int, throttled: int, usec: int) -> Self:
        """Add a cgroup with a CPU quota, and its rises within the window."""
        self.facts.quotas[path] = (periods, throttled, usec)
        return self

    def limits(
        self,
        threads: int = 1400,
        pid_max: int = 4_194_304,
        threads_max: int = 1_029_000,
        open_files: int = 9000,
        most_open: int = 9_223_372_036_854_775_807,
        **tasks: tuple[int, str],
    ) -> Self:
        """Set the kernel's counts; a keyword names a cgroup with what runs in it and its limit."""
        self.facts.threads_now, self.facts.pid_max, self.facts.threads_max = threads, pid_max, threads_max
        self.facts.open, self.facts.most_open, self.facts.tasks = open_files, most_open, tasks
        return self

    def bond(self, first: str, later: str | None = None) -> Self:
        """Add bonds and teams, at both looks."""
        before, after = self.facts.bonds
        self.facts.bonds = (before + first, after + (first if later is None else later))
        return self

    def table_fulls(self, first: int, later: int) -> Self:
        """Set how often a new neighbour found its table full, at both looks."""
        self.facts.table_fulls = (first, later)
        return self

    def tcp(self, pages: int, most: int = 768_000, orphans: int = 0) -> Self:
        """Set how much memory TCP holds, and how much it may. Units: pages."""
        self.facts.tcp = ((pages, orphans, most), (pages, orphans, most))
        return self

    def heat(self, cores: Mapping[int, tuple[int, int]] | None = None, package: int = 0) -> Self:
        """Count how often heat slowed cores: since boot, and within the window; `package`: its rise on all of them."""
        self.facts.heat = {
            core: ((before, 7 if package else 0), (before + rise, 7 + package if package else 0))
            for core, (before, rise) in (cores or {}).items()
        }
        return self

    def edac(self, name: str, uncorrected: int, corrected: int, seconds: int, given_up_kib: int = 0) -> Self:
        """Add a memory controller."""
        self.facts.edac[name] = (uncorrected, corrected, seconds)
        self.facts.corrupted = given_up_kib
        return self

    def disk(self, name: str, waiting: int, later: int, reads: int = 0, writes: int = 0) -> Self:
        """Set one disk: requests in it at both looks, and what it completed between."""
        self.facts.disks[name] = (waiting, later, reads, writes)
        return self

    def array(self, name: str, level: str, disks: int, *faulty: str, lacks: int | None = 0, **files: str) -> Self:
        """Add an array of md; `files` are others of its files, `lacks` is None where its level counts none."""
        told = {"array_state": "clean", "level": level, "raid_disks": str(disks)}
        told |= {} if lacks is None else {"degraded": str(lacks), "sync_action": "idle", "sync_completed": "none"}
        told |= {"metadata_version": "1.2"} | files
        self.facts.arrays[name] = [*(" ".join(each) for each in told.items()), *(f"faulty {each}" for each in faulty)]
        return self.disk(name, 0, 0, 40, 40)

    def hung_count(self, first: int, later: int) -> Self:
        """Set how many tasks the kernel found hung, at both looks."""
        self.facts.hung = (first, later)
        return self
