"""Recordings of cgroups, kernel logs, network cards' counters and systemctl."""

import re
from collections.abc import Callable
from typing import Any

from bot.domain.command import Outputs
from bot.probes import nic
from bot.probes.agents import AgentsReading
from bot.probes.cgroups import CgroupsReading
from bot.probes.formats.cgroup_look import END
from bot.probes.formats.kernel_filter import FILTER
from bot.probes.kernel_log import KernelLogReading
from bot.probes.nic import NicReading
from bot.probes.units import UnitsReading
from tests.contract.corpus import Refused, Row, text_of
from tests.readings.node_tools import filtered
from tests.readings.recorded import once, run, twice

# --- cgroups: what is recorded apart is put together as one look sees it


def look(rows: str = "", mounts: str = "", directories: int | None = None, unified: str = "") -> str:
    walked = "" if directories is None else f"==> /walk <==\ndirectories {directories} in /sys/fs/cgroup/memory\n"
    stat = f"==> /sys/fs/cgroup/unified/cgroup.stat <==\n{unified}\n" if unified else ""
    mounted = f"==> /proc/self/mountinfo <==\n{mounts}\n"
    return (
        f"filesystem tmpfs\nnamespace cgroup:[4026531835]\n{mounted}{stat}==> /proc/cgroups <==\n{rows}\n{walked}{END}"
    )


def mountinfo() -> str:
    return text_of("cgroup/local-mountinfo-hybrid.txt")


def experiment(text: str) -> Outputs:
    """The figures of two moments: before anything was made, and after all was removed."""
    figures = {
        name: (int(counted), int(directories))
        for name, counted, directories in re.findall(r"(\S+): .*num_cgroups=(\d+) +directories=(\d+)", text)
    }
    first, later = (
        look(f"memory\t4\t{figures[name][0]}\t1", mountinfo(), figures[name][1]) for name in ("start", "removed")
    )
    return twice("look", first, later, between=12.0)


def of_cgroups(reading: CgroupsReading) -> Any:
    return reading.mode, reading.dying, reading.alive, reading.growth, reading.alive_is_at_least


CGROUPS: tuple[tuple[str, Callable[[str], Outputs], Any], ...] = (
    ("local-cgroup.stat-6.18-hybrid-unified.txt", lambda text: once("look", look(unified=text)), Refused("neither")),
    (
        "local-mountinfo-hybrid.txt",
        lambda text: once("look", look("memory\t4\t454\t1", text, 8)),
        ("hybrid", 446, 8, None, False),
    ),
    (
        "local-proc_cgroups-6.18-hybrid.txt",
        lambda text: once("look", look(text, mountinfo(), 8)),
        ("hybrid", 446, 8, None, False),
    ),
    ("local-zombie-experiment-6.18-v1.txt", experiment, ("hybrid", 28, 8, 201, False)),
    ("proc_cgroups-gke-kind-421.txt", lambda text: once("look", look(text)), ("v1", 104, 125, None, True)),
)

# --- kernel log: kinds with how often, and what the last event says


def log(text: str) -> Outputs:
    return once("log", filtered(FILTER, text.rstrip("\n") + "\n-- whole --\n", o="dmesg"))


def of_kernel_log(reading: KernelLogReading) -> Any:
    kinds = [event.kind for event in reading.events]
    last = reading.events[-1] if reading.events else None
    said = (last.device, last.core, last.queue, last.reason) if last else None
    return reading.lines_seen, kinds, said


DMESG: dict[str, Any] = {
    "aws-doc-keepalive-reset-example.txt": (14, ["nic-keepalive", "nic-reset"], ("eth1", None, None, "nic-keepalive")),
    "ena-issue-134-keepalive.txt": (
        9,
        ["nic-stalled", "nic-stalled", "nic-stalled", "nic-keepalive", "nic-reset"],
        ("eth0", None, None, "nic-keepalive"),
    ),
    "ena-issue-163-2.4.0g.txt": (
        7,
        ["nic-stalled", "nic-stalled", "nic-stalled", "nic-reset"],
        ("ens5", None, None, "nic-stalled"),
    ),
    "ena-issue-220-2.5-2.7-napi-usecs.txt": (3, ["nic-stalled"] * 3, ("ens5", None, None, None)),
    "ena-issue-336-al2023-6.1-napi-starvation.txt": (1, ["netdev-watchdog"], ("eth0", 56, 11, None)),
    "insights-dmesg-msginfo.txt": (17, [], None),
    "insights-dmesg-ts_msginfo.txt": (35, [], None),
    "insights-watchdog-watchdog_log.txt": (9, [], None),
    "memcg_numa_stat-softlockup-x86-128cpu.txt": (10, ["stack-memcg-walk"], ("", None, None, None)),
}

# --- network cards


def counters(driver: str) -> Callable[[str], Outputs]:
    def outputs(text: str) -> Outputs:
        kept = filtered(nic.COUNTERS, text, d=driver)
        return once("look", f"==> eth0 <==\ndriver: {driver}\n-- ethtool -S --\n{kept}{nic.END}\n")

    return outputs


def facts(text: str) -> Outputs:
    kept = "".join(line for line in text.splitlines(keepends=True) if re.match("driver:|version:|bus-info:", line))
    return once("look", f"==> eth0 <==\n{kept}-- ethtool -S --\n{nic.END}\n")


def unfiltered(text: str) -> Outputs:
    return once("look", f"==> eth0 <==\ndriver: x\n-- ethtool -S --\n{text}\n{nic.END}\n")


def of_nic(reading: NicReading) -> Any:
    (card,) = reading.nics
    return card.driver, card.version, card.bus, card.counters


def zero(names: str) -> dict[str, int]:
    return dict.fromkeys(names.split(), 0)


NIC: tuple[tuple[str, Callable[[str], Outputs], Any], ...] = (
    (
        "ena/ethtool-S-allowance-exceeded.txt",
        counters("ena"),
        (
            "ena",
            "",
            "",
            {
                "bw_in_allowance_exceeded": 38750610,
                "bw_out_allowance_exceeded": 1165693,
                "pps_allowance_exceeded": 103,
                "conntrack_allowance_exceeded": 0,
                "linklocal_allowance_exceeded": 0,
            },
        ),
    ),
    ("ethtool/insights-ethtool-ethtool_k_standard.txt", unfiltered, Refused("malformed")),
    ("ethtool/insights-ethtool-failed_ethtool_s_two.txt", unfiltered, Refused("malformed")),
    (
        "ethtool/insights-ethtool-ethtool_s_eth0_1.txt",
        counters("be2net"),
        ("be2net", "", "", {"rxq0: rx_drops_no_frags": 5000, "rxq1: rx_drops_no_frags": 5000}),
    ),
    (
        "ethtool/insights-ethtool-test_ethtool_s_docs.txt",
        counters("bnx2"),
        (
            "bnx2",
            "",
            "",
            zero("rx_fcs_errors rx_align_errors rx_xon_pause_rcvd rx_xoff_pause_rcvd rx_frame_too_long_errors"),
        ),
    ),
    (
        "ethtool/insights-ethtool-succeed_ethtool_s.txt",
        counters("e1000e"),
        (
            "e1000e",
            "",
            "",
            zero(
                "collisions rx_crc_errors rx_no_buffer_count rx_missed_errors tx_aborted_errors tx_carrier_errors "
                "tx_window_errors tx_abort_late_coll tx_timeout_count rx_long_length_errors rx_short_length_errors "
                "rx_align_errors tx_tcp_seg_failed dropped_smbus tx_hwtstamp_timeouts rx_errors tx_errors tx_dropped "
                "rx_length_errors rx_over_errors rx_frame_errors rx_fifo_errors tx_fifo_errors tx_heartbeat_errors"
            ),
        ),
    ),
    ("ethtool/local-ethtool-i.txt", facts, ("virtio_net", "1.0.0", "0000:00:03.0", {})),
    (
        "ethtool/local-virtio-or-none.txt",
        counters("virtio_net"),
        ("virtio_net", "", "", zero("rx_drops rx_xdp_drops tx_xdp_tx_drops tx_tx_timeouts")),
    ),
)

# --- systemctl


def show(text: str) -> Outputs:
    return Outputs(run("show", text), run("failed", "systemd 219\n-- status 0 --"))


def failed(text: str) -> Outputs:
    return Outputs(run("show", "Id=a.service"), run("failed", f"systemd 237\n{text}\n-- status 0 --"))


def unit_files(text: str) -> Outputs:
    return once("units", f"{text}\n-- active --\n-- end --")


def of_units(reading: UnitsReading) -> Any:
    return [(unit.name, unit.sub, unit.enabled) for unit in reading.services if unit.name != "a.service"]


def of_failed(reading: UnitsReading) -> Any:
    return reading.failed_count


def of_agents(reading: AgentsReading) -> Any:
    return reading.agents


INSIGHTS = "systemctl/insights-show-system"
SYSTEMCTL: tuple[tuple[str, str, Callable[[str], Outputs], Any, Callable[[Any], Any]], ...] = (
    (
        f"{INSIGHTS}_show_all_services_with_cpuaccouting_info.txt",
        "units",
        show,
        [("test1.service", "dead", "static"), ("test2.service", "dead", "enabled")],
        of_units,
    ),
    (
        f"{INSIGHTS}_show_all_services_with_cpuaccouting_info2.txt",
        "units",
        show,
        [("test1.service", "dead", "static"), ("test3.service", "running", "enabled")],
        of_units,
    ),
    (
        f"{INSIGHTS}_show_all_services_with_cpuaccouting_info5.txt",
        "units",
        show,
        [
            ("test1.service", "dead", "static"),
            ("test2.service", "failed", "enabled"),
            ("test3.service", "exited", "enabled"),
        ],
        of_units,
    ),
    (
        f"{INSIGHTS}ctl_show_all_examples.txt",
        "units",
        show,
        [("postfix.service", "", ""), ("postgresql.service", "", ""), ("tuned.service", "running", "enabled")],
        of_units,
    ),
    (f"{INSIGHTS}ctl_show_all_exp.txt", "units", show, Refused("named no unit"), of_units),
    (
        f"{INSIGHTS}ctl_show_target.txt",
        "units",
        show,
        [(f"{name}.target", "active", "static") for name in ("network", "swap", "paths", "sockets")],
        of_units,
    ),
    ("systemctl/jc-centos-7.7-systemctl-ls.txt", "units", failed, Refused("malformed"), of_failed),
    ("systemctl/jc-centos-7.7-systemctl.txt", "units", failed, 0, of_failed),
    ("systemctl/jc-ubuntu-18.04-systemctl-lj.txt", "units", failed, Refused("malformed"), of_failed),
    ("systemctl/jc-ubuntu-18.04-systemctl-ls.txt", "units", failed, Refused("malformed"), of_failed),
    ("systemctl/jc-ubuntu-18.04-systemctl.txt", "units", failed, 0, of_failed),
    ("systemctl/local-systemd252-list-unit-files-root.json", "agents", unit_files, Refused("malformed"), of_agents),
    ("systemctl/status-auto-restart-kubelet.txt", "units", failed, Refused("malformed"), of_failed),
)

ROWS = [
    *(Row(f"cgroup/{name}", "cgroups", outputs, wanted, of_cgroups) for name, outputs, wanted in CGROUPS),
    *(Row(f"dmesg/{name}", "kernel_log", log, wanted, of_kernel_log) for name, wanted in DMESG.items()),
    *(Row(name, "nic", outputs, wanted, of_nic) for name, outputs, wanted in NIC),
    *(Row(name, probe, outputs, wanted, figures) for name, probe, outputs, wanted, figures in SYSTEMCTL),
]
