"""What a node keeps of its kernel's log: an awk program, so that a log of any length is sent as a few lines.

Defined here. The words of each sort are those of `ena_events.py`, `kernel_events.py` and `device_events.py`, more
loosely; what they mean is decided where they are parsed.
"""

from __future__ import annotations

from bot.probes.formats.kernel_habits import HABITS
from bot.probes.formats.log_burst import COUNT, TELL

MOST_OF_A_SORT = 80
WHOLE = "-- whole --"  # ends the log, and begins the lines that the kernel calls errors
GRAVE = "-- grave --"  # begins those that it calls critical or worse
BEFORE = "-- before --"  # begins the errors of an hour half a day ago
LEVELS_END = "-- levels --"  # ends them all: without it none counts, for a part of them may lack a habit
BEFORE_SECONDS = (12 * 3600, 13 * 3600)  # ours: a fault that wakes somebody is not that old, and a habit has no age
# Loose on purpose: the node only filters the log, it is parsed here. The newest lines of each sort are kept, so that a
# storm of a sort does not push another out.
_NIC_SORT = (
    "TX q [0-9]+ is paused|Transmit time out|napi handler hasn|ost (tx|TX) completions|missed TX completions|"
    "\\[2\\/2\\] qid|Keep alive watchdog|ENA admin queue|for the admin cmd|driver didn.t receive|Potential MSIX|"
    "Trigger (reset is on|refill)|Device reset completed|attempt failed|FW isn.t responsive|nvalid req_id|"
    "Faulty descriptor|unhealthy state|Tx queue is stuck|malformed|Elastic Network Adapter|NETDEV WATCHDOG|"
    "Unit Hang|tx hang|Reset adapter|PF reset failed|health compromised|TX timeout detected"
)
_DISK_SORT = (
    "I.O (error|Error)|(critical .*|transport|timeout|protection|offline) error, dev|ata[0-9.]+: failed command|"
    "md.raid.*: Disk failure|uncorrectable I.O failure|remote port time out|task abort|timing out command|"
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
    ".(CRIT|FATAL|DEAD)[)]|exceeds maximum allowed"
)
_FAILED = (
    "[Tt]imed?.?out|[Ff]ail|[Hh][au]ng|tuck|espon|omplete|atal|[Ee]rror|ERROR|[Ff]ault|ockup|TIMEOUT|[Nn]ever|nable to|"
    "iving up|ithdr|nconsis|nexpected|[Ll]ost|not a head|been idle|High temp|reset occ| full|limit |max[a-z_]* reached|"
    "oo many|ot enough|annot|an.t |ailing"
)
_COMPLAINT_SORT = (
    f"[]:] +[a-z][a-z0-9_-]+ [A-Za-z0-9._:-]*[0-9][A-Za-z0-9._:-]*( [^ :]+)?: .*({_FAILED})|"
    f"((CIFS|Lustre|LNet|libceph|GFS2|dlm|o2net|bcache|drbd|NFS)|warning .device ).*({_FAILED})|"
    "amdgpu.*ERROR|Completion-Wait|VT-d detected|audit_backlog=|Route cache is full|dst cache overflow|"
    "number of routes reached|mds[0-9]+ caps .*stale|hpsa .*resetting (phy|log)|"
    "tipc: Resetting link|rbd: rbd[0-9]+: .* result -|nf_queue: full at|qla2xxx .*Dropped frame|"
    "is full, maxelem|no killable proc|vmap alloc|read error corrected|advertised our|sas_cm[0-9]+: log_info.0x31|"
    "own address as source|allocation deadlock|EEH: |CMCI storm detected|NMI received for unknown"
)
# One word that speaks for itself, in a sort of its own: it is most of what an ordinary log says.
_SPEAKER_SORT = f"(kernel:|\\]) +[A-Za-z_][A-Za-z0-9_.:-]*: .*({_FAILED})"
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
    "NVRM: .*(Xid|fallen off|FatalError)|SXid \\(",
    "(nfs|lockd): server .* (not responding|OK)|Lustre.*: Connection (to .* was lost|restored to)|CIFS.*not responded",
    _CORRECTED_SORT,
    _UNCORRECTED_SORT,
    _BUG_SORT,
    "unregister_netdevice: waiting for",
    _EFA_SORT,
    "EXT4-fs .*: mounted filesystem|XFS .*: Mounting V|BTRFS .*: first mount",
    "EXT4-fs .*: error count since",  # once a day: volumes of pods, mounted all day, must not push it out
    "link status definitely (down|up)",
    "page allocation failure",
    "temperature (is )?above threshold|temperature.speed normal",
    "consider tuning tcp_mem|too many (of )?orphaned sockets",
    "oom-kill:constraint=CONSTRAINT_[MC]|killed as a result of limit of",
    _MAPPED_SORT,
    _LINK_SORT,
    _LOST_SORT,
    _COMPLAINT_SORT,
    _SPEAKER_SORT,  # the widest
)
_PER_PACKET = "/completed on time, qid|TX hasn.t completed/"  # a line for each packet: three are enough
# Of nodes with many containers these are most lines by far. None is of a sort; to see that once costs less than thirty
# questions.
_ORDINARY = (
    "(kernel: |\\] )("
    "[A-Za-z0-9_.@-]+: (port [0-9]+\\([^)]*\\) entered [a-z]+ state|(entered|left) [a-z]+ mode|renamed from)|"
    "device [^ ]+ (entered|left) promiscuous mode|IPv6: ADDRCONF|audit: type=[0-9]+ audit\\(|"
    "IPVS: [a-z]+: [A-Z]+ [^ ]+ - no destination|TCP: request_sock_TCP: Possible SYN|net_ratelimit: [0-9]+ callbacks|"
    "[^ ]+\\[[0-9]+\\]: segfault at|\\[ *[0-9]+\\] +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+ )| IN=[^ ]* OUT=[^ ]* .*SRC="
)
# Of the widest sort are words of many healthy machines: what was said half a day ago as well, give or take an hour or
# two, is a habit of this one.
_WIDEST = len(_SORTS)
_SPOKE = f"c == {_WIDEST} {{ late = substr($0, 2); spoke[shape($0), int(late / 3600)] }} "
_UNSAY = (
    f"for (i = 0; i < {MOST_OF_A_SORT}; i++) if (({_WIDEST}, i) in r) {{ j = r[{_WIDEST}, i]; t = shape(s[j]); "
    "a = int(late / 3600); if ((t in before) || ((t, a - 12) in spoke) || ((t, a - 13) in spoke)) delete s[j] } "
)
# After the log come the lines that the kernel itself calls errors. Those that no sort knows are kept too, but for
# habits: those of every healthy kernel, and those of this machine, which wrote the same half a day ago. Each line of
# the answer whose level is known begins with it, as in the kernel's own buffer.
_FUNCTIONS = (
    'function says(t) { sub(/^\\[[^]]*\\](\\[[^]]*\\])? ([^ ]+ kernel: )?/, "", t); return t } '
    'function shape(t, i, r) { t = says(t); i = index(substr(t, 1, 80), ": "); '
    'r = substr(t, i + 1, 40); gsub(/[0-9a-f]+/, "#", r); return substr(t, 1, i) r } '
)
_LEVELS = (
    f'$0 == "{LEVELS_END}" && w {{ w = 4; next }} '
    "w == 1 { before[shape($0)]; next } "
    'w { l = w; if (sub(/^kern +:(emerg|alert|crit) *: /, "")) l = 2; else sub(/^kern +:err *: /, ""); '
    "if (!($0 in e)) g[++h] = $0; e[$0] = l; next } "
)
_UNLISTED = (
    'if (w != 4) { h = 0; split("", e) } '
    "for (i in s) if (s[i] in e) p[s[i]]; "
    "for (j = 1; j <= h; j++) { a = substr(g[h], 2) - substr(g[j], 2); "
    f"if (a >= {BEFORE_SECONDS[0]} && a <= {BEFORE_SECONDS[1]}) before[shape(g[j])] }} "
    f"for (j = h; j > 0 && u < {MOST_OF_A_SORT}; j--) "
    "if (!(g[j] in p) && !(e[g[j]] == 3 && (shape(g[j]) in before)) && "
    f"says(g[j]) !~ /^({'|'.join(HABITS)})/) {{ m[j]; u++ }} j = 1; "
)
_TELL_UNLISTED = 'for (; j <= h && {until}; j++) if (j in m) print "<" e[g[j]] ">" g[j]; '
FILTER = (
    f'{_FUNCTIONS}$0 == "{WHOLE}" {{ w = 3; next }} $0 == "{GRAVE}" && w {{ w = 2; next }} '
    f'$0 == "{BEFORE}" && w {{ w = 1; next }} {_LEVELS}'
    f"{{ n++; c = 0; {COUNT} }} /{_ORDINARY}/ {{ f = 0; next }} "
    f"{_PER_PACKET} {{ if (++f < 4) c = 1 }} "
    f"!{_PER_PACKET} {{ f = 0; "
    + "; else ".join(f"if (/{words}/) c = {number}" for number, words in enumerate(_SORTS, start=1))
    + " } "
    + _SPOKE
    + f"c {{ i = k[c]++ % {MOST_OF_A_SORT}; if ((c, i) in r) {{ delete s[r[c, i]]; x++ }} r[c, i] = n; s[n] = $0 }} "
    f"END {{ if (w && n) {{ {_UNSAY}{_UNLISTED} for (i = 1; i <= n; i++) if (i in s) {{ "
    + _TELL_UNLISTED.format(until="substr(g[j], 2) + 0 <= substr(s[i], 2) + 0")
    + 'print (s[i] in e ? "<" e[s[i]] ">" : "") s[i] } '
    + _TELL_UNLISTED.format(until="1")
    + f'{TELL}; print "-- " o ": " n " lines, " x + 0 " left out --" }} }}'
)
