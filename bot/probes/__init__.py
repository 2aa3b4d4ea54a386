"""The probes: each is a value with its commands and the pure function that parses their outputs."""

from __future__ import annotations

from bot.domain.probe import Probe
from bot.probes import (
    agents,
    boot_units,
    certificates,
    cgroups,
    clock,
    conntrack,
    containers,
    cpu,
    dns,
    ebs,
    essential_units,
    filesystems,
    gpu,
    hardware,
    host,
    interrupts,
    kernel_limits,
    kernel_log,
    memory_errors,
    nic,
    processes,
    reclaim,
    softirq,
    softirq_waits,
    storage,
    throttling,
    unfinished,
    units,
)

PROBES: dict[str, Probe] = {
    probe.name: probe
    for probe in (
        agents.PROBE,
        boot_units.PROBE,
        certificates.PROBE,
        cgroups.PROBE,
        clock.PROBE,
        conntrack.PROBE,
        containers.PROBE,
        cpu.PROBE,
        dns.PROBE,
        ebs.PROBE,
        essential_units.PROBE,
        filesystems.PROBE,
        gpu.PROBE,
        hardware.PROBE,
        host.PROBE,
        interrupts.PROBE,
        kernel_limits.PROBE,
        kernel_log.PROBE,
        memory_errors.PROBE,
        nic.PROBE,
        processes.PROBE,
        reclaim.PROBE,
        softirq.PROBE,
        softirq_waits.PROBE,
        storage.PROBE,
        throttling.PROBE,
        unfinished.PROBE,
        units.PROBE,
    )
}
