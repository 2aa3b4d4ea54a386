"""Metrics that exist: what exporters of nodes give, by the collector that has to be on, and with which labels."""

from __future__ import annotations

# node_exporter's collectors that are on by default.
DEFAULT = {
    "up": {"instance", "job"},
    "node_cpu_seconds_total": {"cpu", "mode"},
    "node_schedstat_waiting_seconds_total": {"cpu"},
    "node_pressure_cpu_waiting_seconds_total": set(),
    "node_pressure_memory_waiting_seconds_total": set(),
    "node_pressure_memory_stalled_seconds_total": set(),
    "node_pressure_io_waiting_seconds_total": set(),
    "node_pressure_io_stalled_seconds_total": set(),
    "node_softnet_processed_total": {"cpu"},
    "node_softnet_dropped_total": {"cpu"},
    "node_softnet_times_squeezed_total": {"cpu"},
    "node_nf_conntrack_entries": set(),
    "node_nf_conntrack_entries_limit": set(),
    "node_kernel_hung_tasks_total": set(),
    "node_vmstat_oom_kill": set(),
    "node_boot_time_seconds": set(),
    "node_procs_blocked": set(),
}
# Those that somebody has to switch on, by the collector's name.
ON_REQUEST = {
    "node_cgroups_cgroups": ("cgroups", {"subsys_name"}),
    "node_systemd_unit_state": ("systemd", {"name", "state", "type"}),
    "node_systemd_service_restart_total": ("systemd", {"name"}),
    "node_ethtool_total_resets": ("ethtool", {"device"}),
    "node_ethtool_bw_in_allowance_exceeded": ("ethtool", {"device"}),
    "node_ethtool_bw_out_allowance_exceeded": ("ethtool", {"device"}),
    "node_ethtool_pps_allowance_exceeded": ("ethtool", {"device"}),
    "node_ethtool_conntrack_allowance_exceeded": ("ethtool", {"device"}),
}
CADVISOR = {
    "container_cpu_cfs_periods_total": {"namespace", "pod", "container"},
    "container_cpu_cfs_throttled_periods_total": {"namespace", "pod", "container"},
}
# What the rules' own text says how to make of the kernel's log.
OF_LOGS = {"kernel_nic_resets_total": {"device"}, "kernel_soft_lockups_total": set()}
OF_SCRIPT: dict[str, set[str]] = {  # docs/memory-cgroups.sh, by the textfile collector
    "node_memory_cgroups_alive": set(),
    "node_memory_cgroups_dying": set(),
}
COMMON = {"instance", "job", "le"}

KNOWN: dict[str, set[str]] = {
    **DEFAULT,
    **{name: labels for name, (_, labels) in ON_REQUEST.items()},
    **CADVISOR,
    **OF_LOGS,
    **OF_SCRIPT,
}
