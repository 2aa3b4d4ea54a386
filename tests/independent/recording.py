"""The recording of a machine: what every probe's commands would have printed on it, at both looks."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from datetime import UTC, datetime, timedelta

from bot.domain.case import Case, CaseHeader
from bot.domain.command import Completed, SampleTimes
from bot.probes import PROBES
from tests.independent import answers
from tests.independent.facts import NOW, WINDOW, Facts

_ABSENT = "-- absent --\n"
_END = "-- end --"
_CONNTRACK_ABSENT = "\n".join(
    f"tail: cannot open '/proc/sys/net/netfilter/nf_conntrack_{name}' for reading: No such file or directory"
    for name in ("count", "max")
)
_ENA_COUNTERS = (
    "tx_timeout suspend resume wd_expired interface_up interface_down admin_q_pause bw_in_allowance_exceeded "
    "bw_out_allowance_exceeded pps_allowance_exceeded conntrack_allowance_exceeded "
    "linklocal_allowance_exceeded conntrack_allowance_available reset_fail total_resets bad_tx_req_id "
    "bad_rx_req_id bad_rx_desc_num missing_intr suspected_poll_starvation missing_tx_cmpl rx_desc_malformed "
    "tx_desc_malformed invalid_state os_netdev_wd missing_admin_interrupt admin_to device_request_reset "
    "missing_first_intr"
)


def recording(facts: Facts) -> Case:
    """Return the case that `zombie check --record` would have written."""
    return Case(CaseHeader("node", samples=5), tuple(run for run in _runs(facts) if run.probe not in facts.without))


def _runs(facts: Facts) -> Iterator[Completed]:
    known = (*_system(facts), *_services(facts), *_devices(facts))
    for probe, name, *looks in (*known, *_as_probes_say({str(answer[0]) for answer in known})):
        looks = list(facts.instead.get((str(probe), str(name)), looks))
        for look, text in enumerate(looks):
            began = round(facts.up + 0.2 + look * WINDOW, 2)
            status = 124 if text is None else 0
            absent = _CONNTRACK_ABSENT if probe == "conntrack" and facts.conntrack is None else ""
            yield Completed(
                str(probe), str(name), look, text or "", absent, status, False, began, timedelta(seconds=0.02)
            )


Answer = tuple[str | None, ...]


def _as_probes_say(known: Collection[str]) -> Iterator[Answer]:
    """What a healthy node answers to the probes that nothing here is written for, by their own word."""
    for probe in PROBES.values():
        for command in probe.commands if probe.name not in known else ():
            if command.name in probe.example:
                text, looks = probe.example[command.name], 2 if command.looks is SampleTimes.TWICE else 1
                yield probe.name, command.name, *[text] * looks


def _system(facts: Facts) -> Iterator[Answer]:
    both = (0, 1)
    yield "host", "files", answers.files(_host(facts))
    filesystem = "tmpfs" if facts.v1 else "cgroup2fs"
    yield "host", "said", f"time={NOW}\ncgroup={filesystem}\nvirt={facts.virt}\n"
    filled = [
        [{**shares, "idle": max(0.0, 100 - sum(shares.values()))} for shares in second] for second in facts.shares
    ]
    yield "cpu", "mpstat", answers.mpstat(facts.kernel, filled)
    looks = f"looks {facts.up + 0.2:.2f} {facts.up + 4.65:.2f} {len(facts.processes) + 180}"
    said = ["hz 100", *facts.waits, looks, *_names(facts), *facts.processes, *facts.threads, "end", ""]
    yield "processes", "processes", "\n".join(said)
    yield "interrupts", "interrupts", *(_interrupts(facts, look) for look in both)
    yield "interrupts", "irqbalance", f"{facts.irqbalance}\n"
    base = [tuple((70_000_000 + at * row[0], at * row[1], 3 + at * row[2]) for row in facts.softnet) for at in both]
    yield "softirq", "softirqs", *(answers.softirqs(facts.cores, facts.up + 5 * at, base[at]) for at in both)
    yield "reclaim", "memory", *(_reclaim(facts, look) for look in both)
    yield "throttling", "cpu.stat", *(_throttling(facts, look) for look in both)
    yield "cgroups", "look", *(_cgroup_look(facts, look) for look in both)
    yield "kernel_limits", "limits", *(_limit_files(facts, look) for look in both)
    speaker = "ena 0000:00:05.0: Elastic Network Adapter (ENA) v2.13.2g" if facts.driver == "ena" else "virtio_net: up"
    boot = [(n / 40, f"pci 0000:00:0{n % 9}.0: [8086:7000] type 00") for n in range(60)]
    lines = [*boot, (2.6, speaker), *((facts.up - ago, text) for ago, text in facts.log if ago < facts.up)]
    yield "kernel_log", "log", answers.kernel_log(sorted(lines, key=lambda line: line[0]), facts.up)
    yield "clock", "look", _clock_look(facts)


def _names(facts: Facts) -> Iterator[str]:
    """All processes by their names: those that were busy, and the system's own."""
    seen: dict[str, list[tuple[int, int]]] = {"systemd": [(3, 0)]}
    threads: dict[str, int] = {}
    for row in facts.processes:
        if found := re.fullmatch(r"p (\d+) (\d+) \d+ \((.*)\) \S (.*)", row):
            fields = found.group(4).split()
            if fields[0] != "2":  # the kernel's threads are its children
                seen.setdefault(found.group(3), []).append((int(fields[18]), int(found.group(1)) + int(found.group(2))))
                threads[found.group(3)] = threads.get(found.group(3), 0) + int(fields[16])
    for name, mine in seen.items():
        yield f"n {len(mine)} {min(born for born, _ in mine)} {sum(spent for _, spent in mine)} ({name})"
    yield from (f"m {many} ({name})" for name, many in threads.items() if many >= 300)
    yield f"names {len(seen)}"


def _services(facts: Facts) -> Iterator[Answer]:
    shown = ["\n".join(map(answers.properties, units.values())) for units in (facts.units, facts.units_later)]
    yield "units", "show", *shown
    yield "units", "failed", "\n".join([facts.systemd, *facts.failed, "-- status 0 --", ""])
    restarts = [f"[{facts.up - ago:.6f}] node {text}" for ago, text in sorted(facts.restarts, reverse=True)]
    yield "units", "restarts", "\n".join([*restarts, "-- read --", ""])
    looks = []
    for units, health in zip((facts.essential, facts.essential_later), facts.health, strict=True):
        looks.append(
            "\n".join(map(answers.properties, units.values())) + f"\nId=-- health --\nAnswer={health}\n{_END}\n"
        )
    yield "essential_units", "look", *looks
    lists = [f"{unit} {enabled} enabled" for unit, (enabled, _, _) in facts.agents.items() if enabled]
    active = [f"{unit} loaded {state} {sub} {unit}" for unit, (_, state, sub) in facts.agents.items()]
    yield "agents", "units", "\n".join([*lists, "-- active --", *active, _END, ""])
    yield "agents", "files", f"{facts.agent_files}{_END}\n"
    plain = ("vendor ", "kubelet ", "ECS_CLUSTER", "no systemd")
    wanted = [line if line.startswith(plain) else f"enabled {line}" for line in facts.boot_units]
    yield "boot_units", "files", "\n".join([*wanted, _END, ""])
    end = f"-- end {NOW} --\n"
    if facts.docker is None:
        yield "containers", "docker", _ABSENT, _ABSENT
        yield "containers", "exits", _ABSENT
    else:
        yield "containers", "docker", *("\n".join([*rows, end]) for rows in facts.docker)
        yield "containers", "exits", "\n".join([*facts.exits, end])
    if facts.cri is None:
        yield "containers", "cri", _ABSENT, _ABSENT
    else:
        yield "containers", "cri", *(json.dumps({"containers": rows}) + "\n" + end for rows in facts.cri)
    yield "certificates", "look", _certificate_look(facts)
    yield "dns", "look", _dns_look(facts)


def _devices(facts: Facts) -> Iterator[Answer]:
    both = (0, 1)
    yield "nic", "look", *(_nics(facts, look) for look in both)
    sys = "/proc/sys/net"
    tracked = {f"{sys}/core/somaxconn": "4096"}
    if facts.conntrack is not None:
        for name, value in zip(("count", "max"), facts.conntrack, strict=True):
            tracked[f"{sys}/netfilter/nf_conntrack_{name}"] = str(value)
    yield "conntrack", "conntrack", answers.files(tracked)
    yield "filesystems", "look", _filesystem_look(facts)
    if facts.ebs:
        pages = [
            [
                answers.ebs_page(device, (first, later)[look], queue)
                for device, (first, later, queue) in facts.ebs.items()
            ]
            for look in both
        ]
        yield "ebs", "log", *("\n".join([*page, _END, ""]) for page in pages)
    else:
        yield "ebs", "log", "no volume\n", "no volume\n"
    yield "gpu", "bus", "\n".join([*facts.gpus, _END, ""])
    yield "gpu", "smi", facts.smi
    counts = [
        f"/sys/devices/system/edac/mc/{name}/{what}:{value}"
        for name, values in facts.edac.items()
        for what, value in zip(("ue_count", "ce_count", "seconds_since_reset"), values, strict=True)
    ]
    corrupted = f"HardwareCorrupted:     {facts.corrupted} kB"
    yield "memory_errors", "look", "\n".join([*counts, corrupted, f"product {facts.product}", _END, ""])
    yield "storage", "disks", *(_disk_files(facts, look) for look in both)
    arrays = (line for name, lines in facts.arrays.items() for line in (f"==> /{name} <==", *lines))
    yield "storage", "arrays", "\n".join([*arrays, _END, ""])


def _interrupts(facts: Facts, look: int) -> str:
    counts = {queue: 40_000_000 + look * facts.irqs[queue] for queue in facts.queues}
    text = answers.interrupts(facts.cores, facts.queues, counts, "eth0")
    if facts.heat is None:
        return text
    counted = {core: at[look] for core, at in facts.heat.items() if sum(at[look])}
    return text + "heat counted\n" + "".join(f"heat {core} {own} {whole}\n" for core, (own, whole) in counted.items())


def _host(facts: Facts) -> dict[str, str]:
    return {
        "/proc/sys/kernel/osrelease": facts.kernel,
        "/proc/sys/kernel/random/boot_id": "b65fd348-b23c-4032-99d3-1adde2dc90cc",
        "/etc/machine-id": "cc43761e660f4ad581f31bfb1d065175",
        "/proc/uptime": f"{facts.up:.2f} {facts.up * facts.cores * 0.8:.2f}",
        "/etc/os-release": f'PRETTY_NAME="{facts.system}"',
        "/sys/devices/system/clocksource/clocksource0/current_clocksource": facts.source,
        "/sys/devices/system/cpu/online": f"0-{facts.cores - 1}" if facts.cores > 1 else "0",
        "/proc/sys/kernel/hostname": "node",
        "/sys/class/dmi/id/sys_vendor": facts.maker,
        "/sys/class/dmi/id/product_name": facts.product,
        "/proc/consoles": facts.consoles,
        "/proc/sys/kernel/printk": f"{facts.log_level}\t4\t1\t7",
    }


def _nics(facts: Facts, look: int) -> str:
    lines = ["==> eth0 <==", f"driver: {facts.driver}", f"driver: {facts.driver}"]
    if facts.driver == "ena":
        lines += ["version: 2.13.2g", "bus-info: 0000:00:05.0", "-- ethtool -S --"]
        told = dict.fromkeys(_ENA_COUNTERS.split(), (0, 0)) | {"interface_up": (1, 1)} | facts.nic
    else:
        lines += ["version: 1.0.0", "bus-info: 0000:00:02.0", "-- /sys/class/net --"]
        told = {"rx_crc_errors": (0, 0), "rx_errors": (0, 0), "rx_dropped": (0, 0), "tx_errors": (0, 0)} | facts.nic
    counters = [f"     {name}: {values[look]}" for name, values in told.items()]
    return "\n".join([*lines, *counters, *facts.bonds[look].splitlines(), "-- end of look --", ""])


def _reclaim(facts: Facts, look: int) -> str:
    sections = re.split(r"==> (\S+) <==\n", answers.recorded("reclaim", "memory"))
    texts = dict(zip(sections[1::2], sections[2::2], strict=True))
    for name, values in facts.vm.items():
        texts["/proc/vmstat"] = re.sub(rf"(?m)^{name} \d+$", f"{name} {values[look]}", texts["/proc/vmstat"])
    for name, kib in facts.memory.items():
        texts["/proc/meminfo"] = re.sub(rf"(?m)^{name}: .*$", f"{name}:       {kib:8} kB", texts["/proc/meminfo"])
    for name, avg10 in facts.psi.items():
        what, kind = name.split()
        path = f"/proc/pressure/{what}"
        line = (
            f"{kind} avg10={avg10:.2f} avg60={avg10 * 0.8:.2f} avg300={avg10 * 0.5:.2f} total={int(avg10 * 1e6) + look}"
        )
        texts[path] = re.sub(rf"(?m)^{kind} .*$", line, texts[path])
    return answers.files(texts)


def _throttling(facts: Facts, look: int) -> str:
    texts = {}
    for path, (periods, throttled, usec) in facts.quotas.items():
        time = (
            f"throttled_time {(90_000 + look * usec) * 1000}" if facts.v1 else f"throttled_usec {90_000 + look * usec}"
        )
        texts[path] = f"nr_periods {81_000 + look * periods}\nnr_throttled {300 + look * throttled}\n{time}"
    return answers.files(texts | {"/seen": "40"})


def _cgroup_look(facts: Facts, look: int) -> str:
    alive, dying = facts.cgroups[0], facts.cgroups[1 + look]
    lines = [
        f"filesystem {'tmpfs' if facts.v1 else 'cgroup2fs'}",
        "namespace cgroup:[4026531835]",
        "==> /proc/self/mountinfo <==",
    ]
    if facts.v1:
        names = ("cpu,cpuacct", "blkio", "memory", "devices", "pids")
        lines += [
            f"{35 + n} 30 0:{31 + n} / /sys/fs/cgroup/{name} rw,relatime shared:{15 + n} - cgroup cgroup rw,{name}"
            for n, name in enumerate(names)
        ]
        lines += [
            "==> /proc/cgroups <==",
            "#subsys_name\thierarchy\tnum_cgroups\tenabled",
            f"cpu\t3\t{alive}\t1",
            f"cpuacct\t3\t{alive}\t1",
        ]
        lines += [
            f"blkio\t4\t{alive}\t1",
            f"memory\t5\t{alive + dying}\t1",
            f"devices\t6\t{alive}\t1",
            f"pids\t7\t{alive}\t1",
        ]
        walked = "at least 10000" if alive >= 10_000 else str(alive)
        lines += ["==> /walk <==", f"directories {walked} in /sys/fs/cgroup/memory"]
    else:
        fine = tuple(map(int, facts.kernel.split(".")[:2])) >= (6, 12)
        root = "/sys/fs/cgroup"
        lines += [
            f"30 24 0:26 / {root} rw,nosuid,nodev,noexec shared:4 - cgroup2 cgroup2 rw,nsdelegate",
            f"==> {root}/cgroup.controllers <==",
        ]
        lines += [
            "cpuset cpu io memory hugetlb pids rdma misc",
            "",
            f"==> {root}/cgroup.stat <==",
            f"nr_descendants {alive}",
        ]
        lines += [f"nr_subsys_memory {alive}"] if fine else []
        lines += [
            f"nr_dying_descendants {dying}",
            *([f"nr_dying_subsys_memory {dying}"] if fine else []),
            "==> /below <==",
        ]
        kind = "subsys_memory" if fine else "descendants"
        lines += [f"{root}/{path}/cgroup.stat: nr_dying_{kind} {counts[look]}" for path, counts in facts.below.items()]
    return "\n".join([*lines, "-- end of look --", ""])


def _clock_look(facts: Facts) -> str:
    keeper, said = facts.clock
    name = {"chronyd": "chrony", "systemd-timesyn": "timesyncd", "ntpd": "ntp"}.get(keeper, "")
    lines = ["==> /source <==", facts.source, facts.sources, "==> /keeper <==", keeper]
    return "\n".join([*lines, *([f"==> /{name} <==", *said] if name else []), "-- end --", ""])


def _certificate_look(facts: Facts) -> str:
    lines = [f"now {NOW}", *(["kubelet"] if facts.kubernetes else [])]
    for path, (began, ends, issuer) in facts.certificates.items():
        lines += [f"==> {path} <==", f"notBefore={_date(NOW + began)}", f"notAfter={_date(NOW + ends)}"]
        own = issuer == "own"
        lines.append("subject=CN = node@1790000000" if own else "subject=O = system:nodes, CN = system:node:node")
        lines.append(f"issuer=CN = {'node-ca@1790000000' if own else issuer}")
    return "\n".join([*lines, *(["==> /served <=="] if facts.kubernetes else []), "-- end --", ""])


def _dns_look(facts: Facts) -> str:
    servers = facts.dns or []
    told = [f"server {address} {codes}".rstrip() for address, codes in servers]
    return "\n".join(["tool dig", " ".join(["servers", *(address for address, _ in servers)]), *told, "-- end --", ""])


def _filesystem_look(facts: Facts) -> str:
    lines = ["==> /mounts <==", *facts.mounts, "==> /fstab <==", *facts.fstab]
    own = ("/", "/var", "/tmp", "/var/log", "/run", "/var/lib/kubelet", "/var/lib/containerd", "/var/lib/docker")
    for kind, rows in (
        ("", [row for row in facts.rooms if row[5] in (*own, "/var/lib/containers")]),
        ("data-", [row for row in facts.rooms if row[5] not in (*own, "/var/lib/containers")]),
    ):
        blocks = [(row[0], row[1], row[2], row[5]) for row in rows]
        inodes = [(row[0], row[3], row[4], row[5]) for row in rows]
        lines += [f"==> /{kind}blocks <==", answers.df("Filesystem 1024-blocks Used Available Capacity", blocks)]
        lines += [f"==> /{kind}inodes <==", answers.df("Filesystem Inodes IUsed IFree IUse%", inodes)]
    lines += ["==> /kubelet <==", *(["here"] if facts.kubernetes else []), *facts.kubelet_config]
    lines += ["==> /etc <==", *facts.etc]
    return "\n".join([*lines, "-- end --", ""])


def _limit_files(facts: Facts, look: int) -> str:
    texts = {
        "/proc/loadavg": f"3.01 2.70 2.20 4/{facts.threads_now + look} 31266",
        "/proc/sys/kernel/pid_max": str(facts.pid_max),
        "/proc/sys/kernel/threads-max": str(facts.threads_max),
        "/proc/sys/fs/file-nr": f"{facts.open}\t0\t{facts.most_open}",
        "/proc/net/stat/arp_cache": answers.neighbours(220, facts.table_fulls[look]),
        "/proc/net/stat/ndisc_cache": answers.neighbours(12, 0),
    }
    pages, orphans, highest = facts.tcp[look]
    tcp = f"TCP: inuse 214 orphan {orphans} tw 61 alloc {240 + orphans} mem {pages}"
    texts["/proc/net/sockstat"] = f"sockets: used 812\n{tcp}\nUDP: inuse 9 mem 4"
    texts["/proc/sys/net/ipv4/tcp_mem"] = f"{highest // 2}\t{highest * 2 // 3}\t{highest}"
    texts["/proc/sys/net/ipv4/tcp_max_orphans"] = "262144"
    tree = "/sys/fs/cgroup/pids" if facts.v1 else "/sys/fs/cgroup"
    for name, (used, most) in facts.tasks.items():
        group = {"kubepods": "kubepods" if facts.v1 else "kubepods.slice", "system": "system.slice"}[name]
        texts |= {f"{tree}/{group}/pids.current": str(used), f"{tree}/{group}/pids.max": most}
    return answers.files(texts)


def _disk_files(facts: Facts, look: int) -> str:
    rows = []
    for at, (name, (first, later, reads, writes)) in enumerate(facts.disks.items()):
        done = (481_200 + look * reads, 240_110 + look * reads, 981_221 + look * writes)
        rows.append(answers.disk_row(259, at, name, *done, (first, later)[look]))
    texts = {"/proc/diskstats": "\n".join(rows)}
    if facts.hung is not None:
        texts["/proc/sys/kernel/hung_task_detect_count"] = str(facts.hung[look])
    return answers.files(texts)


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%b %d %H:%M:%S %Y GMT")
