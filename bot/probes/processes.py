"""Which processes use CPU now, and on which core: two looks at every /proc/PID/stat, compared on the node.

Defined in: Linux, proc_pid_stat(5) and include/linux/sched.h (flags).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import ClassVar

from bot.domain.command import Command, Outputs, SampleTimes
from bot.domain.errors import CannotRead
from bot.domain.probe import Probe
from bot.domain.safe_text import one_line
from bot.probes.formats.core_list import MOST_CORES
from bot.probes.formats.fragment import fragment


@dataclass(frozen=True, slots=True)
class ThreadUse:
    """A thread of a busy process. Units: seconds of CPU in the short look at threads."""

    tid: int
    core: int  # where it last ran
    usr_seconds: float
    sys_seconds: float


@dataclass(frozen=True, slots=True)
class ProcessUse:
    """A process's CPU inside the window. Units: seconds of CPU; a busy core uses 1 second per second."""

    pid: int
    name: str  # comm: at most 15 characters
    usr_seconds: float
    sys_seconds: float
    state: str = ""
    core: int | None = None  # where its main thread last ran
    realtime: bool = False
    kernel_thread: bool = False
    threads: tuple[ThreadUse, ...] = ()
    raw: str = ""

    @property
    def cores_in_kernel(self) -> frozenset[int]:
        """The cores on which its threads worked in the kernel; its main thread's core when threads were not read."""
        busy = frozenset(thread.core for thread in self.threads if thread.sys_seconds > 0)
        return busy or (frozenset({self.core}) if self.core is not None and not self.threads else frozenset())

    @property
    def cores_in_user_code(self) -> frozenset[int]:
        """The same of its own code."""
        busy = frozenset(thread.core for thread in self.threads if thread.usr_seconds > 0)
        return busy or (frozenset({self.core}) if self.core is not None and not self.threads else frozenset())


@dataclass(frozen=True, slots=True)
class Waiting:
    """A process in state D at both looks. `wchan` is the kernel function it sleeps in, empty if hidden."""

    pid: int
    name: str
    wchan: str = ""


@dataclass(frozen=True, slots=True)
class ProcessKind:
    """All processes of one name; the kernel's threads and zombies are none. Units: seconds; `age` is of the oldest."""

    name: str  # comm: at most 15 characters
    count: int
    age: float
    cpu_seconds: float  # of all of them, inside the window
    threads: int | None = None  # of all of them, where they are hundreds
    file_slots: int | None = None  # in their tables of open files, where half of all files that may be open are


@dataclass(frozen=True, slots=True)
class ProcessesReading:
    """The busiest processes, most kernel time first, those that wait uninterruptibly, and all by their names."""

    probe: ClassVar[str] = "processes"

    busiest: tuple[ProcessUse, ...]
    seconds: float  # the time that the figures cover
    uninterruptible: tuple[str, ...] = ()  # names of processes in state D in both looks
    seen: int = 0
    waiting: tuple[Waiting, ...] = ()  # the same, with where they sleep
    kinds: tuple[ProcessKind, ...] | None = None  # None: an older recording, which does not list them
    kinds_not_listed: int = 0  # names of processes beyond the first 500

    @property
    def uninterruptible_count(self) -> int:
        """How many processes waited uninterruptibly at both looks."""
        return len(self.uninterruptible)

    @property
    def lock_wait_count(self) -> int:
        """How many waited at both looks for a lock of the kernel's network, cgroup or RCU code."""
        return sum(waits_for_kernel_lock(each.wchan) for each in self.waiting)

    @property
    def answer_wait_count(self) -> int:
        """How many waited at both looks for a program that has to allow or to serve what they do: a virus scanner."""
        return sum(_ANSWER.match(each.wchan) is not None for each in self.waiting)

    @property
    def init_percent(self) -> float:
        """How much of a core the init system used; PID 1 of a container is its program."""
        spent = (each.usr_seconds + each.sys_seconds for each in self.busiest if _is_init(each))
        return 100 * max(spent, default=0.0) / self.seconds

    @property
    def bound_worker_percent(self) -> float:
        """The most of a core that any of the kernel's workers bound to a core used in the kernel."""
        shares = (each.sys_seconds for each in self.busiest if each.kernel_thread and _BOUND_WORKER.match(each.name))
        return 100 * max(shares, default=0.0) / self.seconds

    @property
    def reclaim_threads(self) -> tuple[ProcessUse, ...]:
        """The kernel's threads that reclaim and compact memory, where they used CPU."""
        names = ("kswapd", "kcompactd")
        return tuple(each for each in self.busiest if each.name.startswith(names) and each.sys_seconds > 0)

    @property
    def kswapd_percent(self) -> float:
        """The most of a core that a thread which reclaims memory (kswapd) used in the kernel."""
        shares = (each.sys_seconds for each in self.busiest if each.kernel_thread and each.name.startswith("kswapd"))
        return 100 * max(shares, default=0.0) / self.seconds

    def lines_of(self, field: str) -> tuple[str, ...]:
        """Return the processes that a field is counted from, as `ps` and /proc/PID/stat show them."""
        if field in ("lock_wait_count", "answer_wait_count"):
            awaited = _KERNEL_LOCK if field == "lock_wait_count" else _ANSWER
            waits = (each for each in self.waiting if awaited.match(each.wchan))
            return tuple(f"{each.pid} D {each.wchan} {each.name}" for each in waits)
        if field == "init_percent":
            return tuple(each.raw for each in self.busiest if _is_init(each))
        if field == "bound_worker_percent":
            return tuple(each.raw for each in self.busiest if each.kernel_thread and _BOUND_WORKER.match(each.name))
        return ()

    def named(self, *names: str) -> tuple[ProcessUse, ...]:
        """Return the busy processes of these names (comm)."""
        return tuple(process for process in self.busiest if process.name in names)


# kworker/CPU:ID. It runs on no other core, and should not hold it: kernel/workqueue.c warns of one that "hogged CPU for
# >10000us". Unbound ones (kworker/uPOOL:ID) encrypt and write back for as long as there is work.
_BOUND_WORKER = re.compile(r"kworker/[0-9]")
# rtnl_mutex and namespaces (net/core), cgroup_mutex (kernel/cgroup), a grace period of RCU (kernel/rcu).
_KERNEL_LOCK = re.compile(
    r"_*(?:rtnl_|rtnetlink_|copy_net_ns|unregister_netdevice|register_netdev|netdev_run_todo|wait_rcu_gp|"
    r"synchronize_(?:rcu|net|srcu)|rcu_barrier|cgroup_(?:lock|kn|drain|mutex|procs|attach)|css_|cpuset_)"
)
# fs/notify/fanotify (virus scanners, fapolicyd), fs/userfaultfd.c, kernel/seccomp.c, fs/autofs.
_ANSWER = re.compile(r"_*(?:fanotify_|handle_userfault|seccomp_do_user_notification|autofs_wait)")
_KERNEL_THREAD = 0x00200000  # PF_KTHREAD
_REALTIME = ("1", "2", "6")  # SCHED_FIFO, SCHED_RR, SCHED_DEADLINE

_LOOKS = re.compile(r"looks ([0-9]{1,10}\.[0-9]{1,3}) ([0-9]{1,10}\.[0-9]{1,3}) ([0-9]{1,8})", re.ASCII)
_HZ = re.compile(r"hz ([1-9][0-9]{1,4})", re.ASCII)
_PROCESS = re.compile(r"p ([0-9]{1,9}) ([0-9]{1,9}) (([0-9]{1,9}) \((.*)\) ([A-Za-z]) ([-0-9 ]+))", re.ASCII)
_WAITING = re.compile(r"d ([0-9]{1,9}) \((.*)\) D [-0-9 ]+", re.ASCII)
_WCHAN = re.compile(r"w ([0-9]{1,9}) ([A-Za-z_][A-Za-z0-9_.]{0,79})", re.ASCII)
_KIND = re.compile(r"n ([0-9]{1,7}) ([0-9]{1,15}) ([0-9]{1,15}) \((.*)\)", re.ASCII)
_HELD = re.compile(r"([mo]) ([0-9]{1,9}) \((.*)\)", re.ASCII)
_KINDS = re.compile(r"names ([0-9]{1,7})", re.ASCII)
_THREAD = re.compile(r"t ([0-9]{1,9}) ([0-9]{1,9}) ([0-9]{1,5}) ([0-9]{1,9}) ([0-9]{1,9})", re.ASCII)

# Fields of a stat line, counted from the state: the name before it may contain anything.
_FLAGS, _THREADS, _CORE, _POLICY = 6, 17, 36, 38


def waits_for_kernel_lock(wchan: str) -> bool:
    """Return whether this function waits for a lock or grace period of the kernel's own, and not for storage."""
    return _KERNEL_LOCK.match(wchan) is not None


def _is_init(process: ProcessUse) -> bool:
    return process.pid == 1 and process.name in ("systemd", "init")


def parse(outputs: Outputs) -> ProcessesReading:
    """Read what the node found: the busiest processes with their threads, and those that wait uninterruptibly.

    Unread when: other users' processes are hidden (hidepid), or the answer is incomplete.
    """
    lines = [line for line in outputs.text("processes").split("\n") if line]
    if "hidden" in lines:
        raise CannotRead("processes: /proc shows no processes of other users (mounted with hidepid)")
    hz = next((int(found.group(1)) for line in lines if (found := _HZ.fullmatch(line))), 0)
    looks = next((found for line in lines if (found := _LOOKS.fullmatch(line))), None)
    if not hz or looks is None or lines[-1] != "end":
        raise CannotRead("processes: the answer is incomplete")
    seconds = round(float(looks.group(2)) - float(looks.group(1)), 2)
    if not 0 < seconds <= 3600:
        raise CannotRead("processes: the looks are too close together")
    threads: dict[int, list[ThreadUse]] = {}
    rows: list[re.Match[str]] = []
    waiting: list[tuple[int, str]] = []
    wchans: dict[int, str] = {}
    kinds: list[ProcessKind] = []
    held: dict[tuple[str, str], int] = {}
    names = next((int(found.group(1)) for line in lines if (found := _KINDS.fullmatch(line))), None)
    for line in lines:
        if row := _PROCESS.fullmatch(line):
            rows.append(row)
        elif thread := _THREAD.fullmatch(line):
            pid, tid, core, usr, system = map(int, thread.groups())
            threads.setdefault(pid, []).append(ThreadUse(tid, _checked_core(core), usr / hz, system / hz))
        elif line.startswith("d "):
            found = _WAITING.fullmatch(line)
            pid, name = (int(found.group(1)), found.group(2)) if found else (0, line[2:])
            waiting.append((pid, one_line(name, 64)))
        elif sleeps := _WCHAN.fullmatch(line):
            wchans[int(sleeps.group(1))] = sleeps.group(2)
        elif kind := _KIND.fullmatch(line):
            count, born, spent = map(int, kind.groups()[:3])
            age = max(0.0, float(looks.group(2)) - born / hz)
            kinds.append(ProcessKind(one_line(kind.group(4), 64), count, age, spent / hz))
        elif many := _HELD.fullmatch(line):
            held[many.group(1), one_line(many.group(3), 64)] = int(many.group(2))
        elif line[:2] in ("p ", "t ", "w ", "n ", "m ", "o "):
            raise CannotRead(f"processes: a line is malformed ({one_line(line, 60)})")
    kinds = [replace(kind, threads=held.get(("m", kind.name)), file_slots=held.get(("o", kind.name))) for kind in kinds]
    busiest = [_process(row, hz, tuple(threads.get(int(row.group(4)), ()))) for row in rows]
    busiest.sort(key=lambda process: (-process.sys_seconds, -process.usr_seconds, process.pid))
    waits = tuple(Waiting(pid, name, wchans.get(pid, "")) for pid, name in waiting)
    return ProcessesReading(
        tuple(busiest),
        seconds,
        tuple(w.name for w in waits),
        int(looks.group(3)),
        waits,
        None if names is None else tuple(sorted(kinds, key=lambda kind: (-kind.cpu_seconds, kind.name))),
        0 if names is None else max(0, names - len(kinds)),
    )


def _process(row: re.Match[str], hz: int, threads: tuple[ThreadUse, ...]) -> ProcessUse:
    usr, system, raw, pid, name, state, rest = row.groups()
    fields = [state, *rest.split()]
    if len(fields) <= _POLICY or not all(fields[at].isdigit() for at in (_FLAGS, _THREADS, _CORE, _POLICY)):
        raise CannotRead(f"processes: a line of /proc/PID/stat is malformed ({one_line(raw, 60)})")
    # Only its threads show where a program of many threads works: its main thread mostly sleeps elsewhere.
    alone = int(fields[_THREADS]) <= 1
    return ProcessUse(
        pid=int(pid),
        name=one_line(name, 64),
        usr_seconds=int(usr) / hz,
        sys_seconds=int(system) / hz,
        state=state,
        core=_checked_core(int(fields[_CORE])) if alone or threads else None,
        realtime=fields[_POLICY] in _REALTIME,
        kernel_thread=bool(int(fields[_FLAGS]) & _KERNEL_THREAD),
        threads=tuple(sorted(threads, key=lambda thread: (-thread.sys_seconds, -thread.usr_seconds, thread.tid))),
        raw=raw,
    )


def _checked_core(core: int) -> int:
    if core >= MOST_CORES:
        raise CannotRead(f"processes: there is no core {core}")
    return core


# Files are read separately, because a name may hold a newline and forge a line of another process. Our own session and
# its sshd are left out. A process born between the looks counts with all its time. The kernel tells programs times in
# hundredths of a second (USER_HZ).
_AWK = fragment(
    r"""
    function read(f,  l, s) { s = ""; while ((getline l < f) > 0) s = (s == "" ? l : s "\n" l); close(f); return s }
    # the fields of a stat line from the state on, in a: what stands before is the name
    function rest(s) { if (!match(s, /.*\)/)) return 0; return split(substr(s, RLENGTH + 2), a, " ") > 38 }
    function visible(s) { gsub(/\n/, "?", s); return s }
    function uptime(  l, w) { getline l < "/proc/uptime"; close("/proc/uptime"); split(l, w, " "); return w[1] }
    # the busiest not told yet, by kernel time alone or by all time
    function busiest(alone,  j, b) { b = 0; for (j = 1; j <= n; j++)
        if (!(j in told) && kern[j] + (alone ? 0 : user[j]) > kern[b] + (alone ? 0 : user[b])) b = j;
        return b }
    function tell(b) { told[b]; print "p", user[b], kern[b], line[b] }
    BEGIN {
        all = "printf '%s\\n' /proc/[0-9]*/stat"; up = uptime();
        if (read("/proc/1/stat") == "") print "hidden";
        print "hz 100";
        # above our session stand one or two sshd of this connection; the one that listens, a child of PID 1, does not
        own = rest(read("/proc/self/stat")) ? a[4] : 0; pid = own;
        for (i = 0; i < 3 && pid > 1; i++) {
            s = read("/proc/" pid "/stat"); if (!rest(s)) break;
            if (i > 0) { if (s !~ /^[0-9]+ \(sshd/ || (i > 1 && a[2] <= 1)) break; ours[pid] }
            pid = a[2] }
        while ((all | getline f) > 0) if (rest(read(f))) {
            u[f] = a[12]; k[f] = a[13]; born[f] = a[20]; waited[f] = a[1] == "D" }
        close(all);
        t = up + gap - 0.25 - uptime(); if (t > 0) system("exec sleep " t);
        up2 = uptime();
        # /proc/PID/fd is closed to others; how large a table of open files is, anybody may read, and it never shrinks
        getline l < "/proc/sys/fs/file-nr"; split(l, nr, " "); full = nr[1] * 2 > nr[3] + 0;
        while ((all | getline f) > 0) {
            s = read(f); if (!rest(s)) continue;
            seen++; pid = s + 0; if ((own > 0 && a[4] == own) || (pid in ours)) continue;
            same = (f in born) && born[f] == a[20];
            du = a[12] - (same ? u[f] : 0); dk = a[13] - (same ? k[f] : 0);
            if (same && waited[f] && a[1] == "D" && ++waits <= 500) { print "d", visible(s);
                chan = read("/proc/" pid "/wchan"); if (chan ~ /^[A-Za-z_][A-Za-z0-9_.]*$/) print "w", pid, chan }
            # all by name; the kernel's threads are children of PID 2. Their cgroups are not read: that takes its mutex.
            if (a[2] != 2 && pid != 2 && a[1] != "Z") { match(s, /\(.*\)/);
                g = visible(substr(s, RSTART + 1, RLENGTH - 2)); alike[g]++; spent[g] += du + dk; thr[g] += a[18];
                if (full && match(st = read("/proc/" pid "/status"), /\nFDSize:[ \t]*[0-9]+/))
                    slots[g] += substr(st, RSTART + 8, RLENGTH - 8);
                if (alike[g] == 1 || a[20] + 0 < oldest[g] + 0) oldest[g] = a[20] }
            if (du + dk > 0) { n++; line[n] = visible(s); id[n] = pid; user[n] = du; kern[n] = dk; many[n] = a[18] } }
        close(all);
        print "looks", up, up2, seen + 0;
        for (g in alike) if (++names <= 500) { print "n", alike[g], oldest[g], spent[g], "(" g ")";
            if (thr[g] >= 300) print "m", thr[g], "(" g ")";
            if (slots[g] * 10 > nr[1]) print "o", slots[g], "(" g ")" }
        print "names", names + 0;
        # the threads of the five busiest in the kernel, unless there are hundreds
        for (i = 0; i < 15 && (b = busiest(1)); i++) { tell(b);
            if (i < 5 && many[b] > 1 && many[b] <= 400) want = want " /proc/" id[b] "/task/[0-9]*/stat" }
        for (; i < 25 && (b = busiest(0)); i++) tell(b);
        # PID 1 is asked for by name: of a machine of many cores it is not among those
        for (b = 1; b <= n; b++) if (id[b] == 1 && !(b in told)) tell(b);
        if (want != "") {
            tasks = "printf '%s\\n'" want;
            while ((tasks | getline f) > 0) if (rest(read(f))) { tu[f] = a[12]; tk[f] = a[13] }
            system("exec sleep 0.3");
            for (f in tu) { s = read(f); if (!rest(s)) continue;
                du = a[12] - tu[f]; dk = a[13] - tk[f];
                if (du + dk > 0) { split(f, part, "/"); print "t", part[3], s + 0, a[37], du, dk } } }
        print "end" }
    """
)

PROBE = Probe(
    name="processes",
    title="busiest processes",
    commands=(Command("processes", ("awk", "-v", "gap={rest}", _AWK), looks=SampleTimes.THROUGHOUT, lane="processes"),),
    parse=parse,
    reading=ProcessesReading,
)
