"""The important lines of the kernel's log of this boot: resets, lockups, stalls, kills, full tables, bad hardware.

Defined in: journalctl(1), dmesg(1); the wordings in `formats/ena_events.py`, `formats/kernel_events.py` and
`formats/device_events.py`.

Longer than 300 lines: the words by which a node thins out its log stand beside the reading that is made of them.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from datetime import timedelta
from typing import ClassVar

from bot.domain.command import Command, Outputs
from bot.domain.errors import CannotRead
from bot.domain.probe import Probe
from bot.domain.root_command import in_folders, root_line
from bot.probes.formats.kernel_line import KernelEvent, KernelEventKind, kernel_line
from bot.probes.formats.kernel_story import parse_file
from bot.probes.formats.log_burst import COUNT, TELL, LogBurst, log_burst


@dataclass(frozen=True, slots=True)
class KernelLogReading:
    """The important lines of this boot, oldest first; `lines_seen` counts all lines, and is never zero."""

    probe: ClassVar[str] = "kernel_log"

    origin: str  # "journal" or "dmesg"
    lines_seen: int
    events: tuple[KernelEvent, ...] = ()
    kinds: tuple[str, ...] = field(default=())  # every kind seen, for conditions
    left_out: int = 0  # important lines left out: of each sort only the newest are read
    bursts: tuple[LogBurst, ...] = ()  # periods with more output than a serial line can print, oldest first

    def of(self, *kinds: KernelEventKind) -> tuple[KernelEvent, ...]:
        """Return the events of these kinds, oldest first."""
        return tuple([event for event in self.events if event.kind in kinds])

    @property
    def nic_resets(self) -> int:
        """How many device resets the log has."""
        return len(self.of(KernelEventKind.NIC_RESET, KernelEventKind.NIC_RESET_FAILED))

    @property
    def last_nic_reset_seconds(self) -> float | None:
        """Seconds after boot of the last device reset; None without a reset that has a time."""
        resets = self.of(KernelEventKind.NIC_RESET, KernelEventKind.NIC_RESET_FAILED)
        times = [reset.since_boot.total_seconds() for reset in resets if reset.since_boot is not None]
        return max(times, default=None)

    @property
    def last_kernel_bug_seconds(self) -> float:
        """Seconds after boot of the last oops or BUG; far ahead without a known time, long before boot without any."""
        return self._last(KernelEventKind.KERNEL_BUG)

    @property
    def last_workqueue_stall_seconds(self) -> float:
        """Seconds after boot of the last stuck pool of kernel workers; without any as above."""
        return self._last(KernelEventKind.WORKQUEUE_STALL)

    @property
    def netdev_held_minutes(self) -> float:
        """How long the newest run of lines has reported an interface as removed but held; 0 if there is none.

        The kernel repeats the line every ten seconds: a minute without it ends a run.
        """
        times = [event.since_boot.total_seconds() for event in self.of(KernelEventKind.NETDEV_HELD) if event.since_boot]
        first = len(times) - 1
        while first > 0 and times[first] - times[first - 1] <= _ROW_SECONDS:
            first -= 1
        return (times[-1] - times[first]) / 60 if times else 0.0

    @property
    def last_netdev_held_seconds(self) -> float:
        """Seconds after boot of the last line about a held interface; without any as above."""
        return self._last(KernelEventKind.NETDEV_HELD)

    @property
    def last_efa_silent_seconds(self) -> float:
        """Seconds after boot of the last command that an EFA device did not answer; without any as above."""
        return self._last(KernelEventKind.EFA_SILENT)

    @property
    def last_device_lost_seconds(self) -> float:
        """Seconds after boot of the last device that was given up; without any as above."""
        return self._last(KernelEventKind.DEVICE_LOST)

    @property
    def last_complaint_seconds(self) -> float:
        """Seconds after boot of the last failure of a device whose failures repeat; without any as above.

        One failure writes many lines at once: only lines of three different minutes of an hour, or many over ten
        seconds, repeat.
        """
        return max((times[-1] for times in self._repeating().values()), default=-_FAR)

    def _repeating(self) -> dict[str, list[float]]:
        """The times of each device's failures, where they repeat."""
        by_device: dict[str, list[float]] = {}
        for event in self.of(KernelEventKind.COMPLAINT):
            if event.since_boot is not None:
                by_device.setdefault(event.device, []).append(event.since_boot.total_seconds())
        return {device: times for device, times in by_device.items() if _repeats(times)}

    def lines_of(self, field: str) -> tuple[str, ...]:
        """Return the lines that a field is counted from, oldest first."""
        if field == "last_complaint_seconds":
            repeating = self._repeating()
            return tuple(event.text for event in self.of(KernelEventKind.COMPLAINT) if event.device in repeating)
        return tuple(event.text for event in self.of(*_COUNTED.get(field, ())))

    def _last(self, kind: KernelEventKind) -> float:
        times = (event.since_boot for event in self.of(kind))
        return max((_FAR if at is None else at.total_seconds() for at in times), default=-_FAR)

    @property
    def nic_resets_untimed(self) -> int:
        """How many device resets have no time: they may be recent."""
        resets = self.of(KernelEventKind.NIC_RESET, KernelEventKind.NIC_RESET_FAILED)
        return sum(1 for reset in resets if reset.since_boot is None)

    @property
    def lockups(self) -> int:
        """How many soft or hard lockups and RCU stalls the log has."""
        return len(self.of(KernelEventKind.SOFT_LOCKUP, KernelEventKind.HARD_LOCKUP, KernelEventKind.RCU_STALL))

    @property
    def hung_tasks(self) -> int:
        """How many hung tasks the log has."""
        return len(self.of(KernelEventKind.HUNG_TASK))


def _repeats(times: list[float]) -> bool:
    hour = [at for at in times if times[-1] - at <= 3600]
    minutes = {int(at // 60) for at in hour}
    last = hour[-_FLOOD_LINES:]
    is_flood = len(last) == _FLOOD_LINES and hour[-1] - hour[0] >= _FLOOD_SECONDS
    return len(minutes) >= _MINUTES_FEW or is_flood


_RESETS = (KernelEventKind.NIC_RESET, KernelEventKind.NIC_RESET_FAILED)
_COUNTED: dict[str, tuple[KernelEventKind, ...]] = {
    "nic_resets": _RESETS,
    "last_nic_reset_seconds": _RESETS,
    "nic_resets_untimed": _RESETS,
    "last_kernel_bug_seconds": (KernelEventKind.KERNEL_BUG,),
    "last_workqueue_stall_seconds": (KernelEventKind.WORKQUEUE_STALL,),
    "netdev_held_minutes": (KernelEventKind.NETDEV_HELD,),
    "last_netdev_held_seconds": (KernelEventKind.NETDEV_HELD,),
    "last_efa_silent_seconds": (KernelEventKind.EFA_SILENT,),
    "last_device_lost_seconds": (KernelEventKind.DEVICE_LOST,),
    "lockups": (KernelEventKind.SOFT_LOCKUP, KernelEventKind.HARD_LOCKUP, KernelEventKind.RCU_STALL),
    "hung_tasks": (KernelEventKind.HUNG_TASK,),
}
MOST_OF_A_SORT = 80
_MINUTES_FEW = 3  # of an hour
_FLOOD_LINES, _FLOOD_SECONDS = 20, 10.0
LAST_LINES, LAST_BYTES = 400, 48 * 1024  # of the log's end, kept unfiltered
_LONGEST_LINE = 4096  # characters, four times what the kernel writes (PRINTKRB_RECORD_MAX): matching takes its square
_ROW_SECONDS = 60.0
_FAR = 1e12  # seconds: longer than any node is up
_LIMIT = timedelta(seconds=8)
# journalctl takes 5 µs a line; a reset of a large device writes four thousand lines. Facility 0 is the kernel's own:
# lines that programs write to /dev/kmsg never have it, whatever their name. `dmesg -k` filters the same way.
_JOURNAL = (
    *("journalctl", "-k", "-b", "-q", "--no-pager", "-o", "short-monotonic", "-n", "20000"),
    "SYSLOG_FACILITY=0",
)
_DMESG = ("dmesg", "-k")
_WHOLE = "-- whole --"

# Loose on purpose: the node only filters the log, it is parsed here. The newest lines of each sort are kept, so that a
# storm of one sort does not push another out.
_NIC_SORT = (
    "TX q [0-9]+ is paused|Transmit time out|napi handler hasn|ost (tx|TX) completions|missed TX completions|"
    "\\[2\\/2\\] qid|Keep alive watchdog|ENA admin queue|for the admin cmd|driver didn.t receive|Potential MSIX|"
    "Trigger (reset is on|refill)|Device reset completed|attempt failed|FW isn.t responsive|nvalid req_id|"
    "Faulty descriptor|unhealthy state|Tx queue is stuck|malformed|Elastic Network Adapter|NETDEV WATCHDOG|"
    "Unit Hang|tx hang|Reset adapter|PF reset failed|health compromised|TX timeout detected"
)
_DISK_SORT = (
    "I.O (error|Error)|(critical .*|transport|timeout|protection|offline) error, dev|ata[0-9.]+: failed command|"
    "md.raid.*: Disk failure|uncorrectable I.O failure|remote port time out|task abort!|timing out command|"
    "detected conn error|timeout of [0-9]+ secs expired|switching pool to|"
    "nvme nvme[0-9]*: (I.O|controller|Device|Removing|Disabling|Abort)|"
    "(EXT4-fs|BTRFS):? (error|critical)|BTRFS .*forced readonly|EXT4-fs .*read-only|JBD2|Aborting journal|"
    "offline device|XFS \\(.*(orruption|hut)"
)
_CORRECTED_SORT = (
    "Hardware Error.: +(event severity: corrected|section_type|CPU [0-9]+: Machine Check|Machine check)|"
    "EDAC MC[0-9]+: [0-9]+ CE "
)
_UNCORRECTED_SORT = (
    "EDAC MC[0-9]+: [0-9]+ UE |Memory failure: 0x|MCE 0x|"
    "ncorrected hardware memory error|STATUS.*.UECC.|event severity: (fatal|recoverable)"
)
_BUG_SORT = (
    "kernel BUG at|BUG: (unable|kernel NULL|Bad page|scheduling|workqueue|K[FA]|stack)|Oops|Unable to handle kernel|"
    "general protection fault[,:]|list_(add|del) corruption|Internal error: |: [0-9a-f]+ (ilc:[0-9] )?.#[0-9]+."
)
_EFA_SORT = (
    "(infiniband (efa_|rdmap)|efa [0-9a-f]).*: (The device|Wait for completion|Admin queue|Device isn|Reset indic)"
)
_MAPPED_SORT = (
    "device-mapper: (integrity|verity|crypt|thin|cache|snapshots): |md.raid.*(Cannot continue|correctable|unrecover)|"
    "bcache: .*IO err|drbd[0-9]+: (IO ERROR|Local IO|disk)|zio pool=|-error on swap-device|mmc[0-9]+: Timeout|"
    "mmcblk[0-9]+: (error|recovery)|hv_storvsc .*: tag|qla2xxx .*: (Abort|ISP|RISC|Adapter)|"
    "sas_cm[0-9]+: (fault_state|sending diag)|megaraid_sas .*: (FW in FAULT|resetting fusion)|aacraid: Host adapter|"
    "nvme nvme[0-9]+: (failed to connect|Reconn|resetting|starting)|(EXT4-fs|BTRFS) warning .*(I.O error|csum failed)|"
    "F2FS-fs .*Stopped|uas_eh_abort|ata[0-9.]+: disable|EXT4-fs .*([Dd]elayed block|will be lost)|XFS .*error -5|"
    "GFS2: .*(fatal|withdr)|client was evicted|UBIFS error|ceph: .*mds[0-9]+ (hung|came)"
)
_LINK_SORT = "(: |NIC |Copper )[Ll]ink (is )?[Dd]own|Data path switched from VF"
_LOST_SORT = (
    "AER: Uncorrect(ed|able) .Fatal|device recovery failed|ontroller (lockup|is offline)|permanently disabled|"
    "eartbeat failed|GPU re(set|covery).* failed|irmware .*(halted|crashed|died)|uncorrectable hardware error|"
    "irq [0-9]+: nobody cared|device is dead|link lost|urprise (removal|down)|firmware internal error|FW fatal|"
    "[Ff]atal (error|fw|firmware)|nrecoverable|nresponsive|is now (OFFLINE|DEGRADED|FAILED|offline|degraded|failed)|"
    ".(CRIT|FATAL|DEAD)[)]"
)
_COMPLAINT_SORT = (
    "[]:] +[a-z][a-z0-9_-]+ [A-Za-z0-9._:-]*[0-9][A-Za-z0-9._:-]*( [^ :]+)?: .*([Tt]imed?.?out|[Ff]ail|[Hh][au]ng|tuck|"
    "espon|omplete|atal|[Ee]rror|ERROR|[Ff]ault|ockup|TIMEOUT|[Nn]ever|nable to|iving up|ithdr|nconsis|nexpected|"
    "[Ll]ost|not a head)|(CIFS|Lustre|LNet|libceph|GFS2|dlm|o2net|bcache|drbd|NFSv4).*([Ee]rror|[Ff]ail|[Tt]imed|idle)|"
    "amdgpu.*ERROR|Completion-Wait|VT-d detected|audit_backlog=|Route cache is full|dst cache overflow|"
    "own address as source|allocation deadlock|EEH: |CMCI storm detected|NMI received for unknown"
)
_TRACE_SORT = (
    "Comm: |[0-9]-[^ ]*: \\(|(mem_cgroup|memcg|memory|rstat|shrink)_[a-z_.0-9]*\\+0x|"
    "(RIP: [0-9a-f]+:|pc : ).*(io_serial|mem_serial|serial8250|wait_for_(xmitr|lsr)|pl011_con|console_[ufe])"
)
_SORTS = (
    _NIC_SORT,
    "soft lockup|hard LOCKUP|INFO: rcu_",
    _TRACE_SORT,
    "blocked (in I.O wait )?for more than|Kill(ed)? process",
    "conntrack: table full|fork rejected by pids|cgroup: .*(o space left|ENOSPC|error -28)",
    "eighbou?r table overflow|file-max limit",
    _DISK_SORT,
    "unstable",
    "NVRM: .*(Xid|fallen off)|SXid \\(",
    "(nfs|lockd): server .* (not responding|OK)|Lustre.*: Connection (to .* was lost|restored to)|CIFS.*not responded",
    _CORRECTED_SORT,
    _UNCORRECTED_SORT,
    _BUG_SORT,
    "unregister_netdevice: waiting for",
    _EFA_SORT,
    "EXT4-fs .*: mounted filesystem|XFS .*: Mounting V|BTRFS .*: first mount",
    "link status definitely (down|up)",
    "page allocation failure",
    "temperature (is )?above threshold|temperature.speed normal",
    "consider tuning tcp_mem|too many (of )?orphaned sockets",
    "oom-kill:constraint=CONSTRAINT_[MC]|killed as a result of limit of",
    _MAPPED_SORT,
    _LINK_SORT,
    _LOST_SORT,
    _COMPLAINT_SORT,  # the widest
)
_PER_PACKET = "/completed on time, qid|TX hasn.t completed/"  # a line for each packet: three are enough
FILTER = (
    f'$0 == "{_WHOLE}" {{ w = 1; next }} {{ n++; c = 0; {COUNT} }} '
    f"{_PER_PACKET} {{ if (++f < 4) c = 1 }} "
    f"!{_PER_PACKET} {{ f = 0; "
    + "; else ".join(f"if (/{words}/) c = {number}" for number, words in enumerate(_SORTS, start=1))
    + " } "
    f"c {{ i = k[c]++ % {MOST_OF_A_SORT}; if ((c, i) in r) {{ delete s[r[c, i]]; x++ }} r[c, i] = n; s[n] = $0 }} "
    f"END {{ if (w && n) {{ for (i = 1; i <= n; i++) if (i in s) print s[i]; {TELL}; "
    'print "-- " o ": " n " lines, " x + 0 " left out --" } }'
)
_END = re.compile(r"-- (journal|dmesg): ([0-9]{1,12}) lines, ([0-9]{1,12}) left out --")


def _way(origin: str, said: str) -> tuple[str, ...]:
    return ("sh", "-c", f"{{ {said} && echo '{_WHOLE}'; }} | awk -v o={origin} {shlex.quote(FILTER)}")


def _as_root(argv: tuple[str, ...]) -> str:
    return root_line(argv, _LIMIT.total_seconds())


def parse(outputs: Outputs) -> KernelLogReading:
    """Read the lines that the node's filter kept.

    Unread when: nothing was printed: a kernel's log is never empty, and a login that may not read it gets no lines.
    """
    lines = [line[:_LONGEST_LINE] for line in outputs.text("log").rstrip("\n").split("\n")]
    end = _END.fullmatch(lines[-1])
    if end is None:
        raise CannotRead("kernel_log: the log is cut short")
    origin, seen, left_out = end.groups()
    if not int(seen):
        raise CannotRead("kernel_log: the log is empty, which never happens: it could not be read")
    by_line = {line: burst for line in lines[:-1] if (burst := log_burst(line)) is not None}
    read = (kernel_line(line, origin == "journal") for line in lines[:-1] if line not in by_line)
    events = parse_file([line for line in read if line is not None])
    kinds = tuple(dict.fromkeys(event.kind.value for event in events))
    bursts = tuple(sorted(by_line.values(), key=lambda burst: burst.since_boot))
    return KernelLogReading(origin, int(seen), events, kinds, int(left_out), bursts)


def _last(said: str) -> tuple[str, ...]:
    return ("sh", "-c", f"{said} | tail -n {LAST_LINES} | tail -c {LAST_BYTES}")


# Not part of the probe: the unfiltered end of the log, saved before a reboot destroys it. It needs the same rights.
TAIL = Command(
    "tail",
    _last(shlex.join(_JOURNAL)),
    alternatives=(
        _last(_as_root(_JOURNAL)),
        _last("{ dmesg -k 2>/dev/null || dmesg; }"),
        _last(_as_root(_DMESG)),
    ),
    lane="journal",
    limit=_LIMIT,
    sudo=(*in_folders(_JOURNAL), *in_folders(_DMESG)),
)

PROBE = Probe(
    name="kernel_log",
    title="kernel log of this boot",
    commands=(
        Command(
            "log",
            _way("journal", shlex.join(_JOURNAL)),
            alternatives=(
                _way("journal", _as_root(_JOURNAL)),
                _way("dmesg", "{ dmesg -k 2>/dev/null || dmesg; }"),
                _way("dmesg", _as_root(_DMESG)),
            ),
            lane="journal",
            limit=_LIMIT,
            sudo=(*in_folders(_JOURNAL), *in_folders(_DMESG)),
        ),
    ),
    parse=parse,
    reading=KernelLogReading,
)
