"""A unit that the node needs to take work starts at boot but does not run, or the kubelet reports that it is unhealthy.

Confirms: a kubelet, runtime or network unit that is enabled and stopped at both looks, or hangs in its start or stop;
the kubelet's own health check fails at both looks; the kubelet says now that its runtime does not answer (PLEG), which
makes its node not ready.
Refutes: every such unit that starts at boot runs, is socket-activated, or has nothing to do here. A unit without which
a kubelet is well is no harm to its node: another kubelet's, or another runtime.
Remedy: start the stopped units, unless they would probably fail again: they were stopped at both looks, and have not
failed after a restart. If they have, a person must find out why; a reboot would end the work that still runs. Nothing
is started while a package manager is at work, and no network unit beside another one that runs.
"""

from __future__ import annotations

from datetime import timedelta

from bot.causes import _packages
from bot.causes._essential import is_dispensable_unit
from bot.causes._figures import span
from bot.causes._finding import make_finding
from bot.domain.action import Step
from bot.domain.cause import Cause, CauseResult, Threshold, Tuning
from bot.domain.probe import Snapshot, Unread
from bot.domain.verdict import Confidence, Evidence, RuledOut, Status, Undecided
from bot.probes.certificates import CertificatesReading
from bot.probes.containers import ContainersReading
from bot.probes.essential_units import EssentialUnit, EssentialUnitsReading, KubeletComplaint
from bot.probes.host import HostReading
from bot.probes.processes import ProcessesReading
from bot.probes.units import UnitsReading

_FIRST = ("network", "runtime", "kubelet")  # each needs those before it
_ON_THE_WAY = ("activating", "deactivating")
_KUBELETS_AT_WORK = ("kubelet", "kubelite", "k3s", "k3s-server", "k3s-agent")  # comm; RKE2 and k0s start a kubelet

NAME = "essential-unit-stopped"
_STALLED = "stalled and was ended at its time limit"  # the words of a command that never came back


def evaluate(snapshot: Snapshot, tuning: Tuning) -> CauseResult:
    """Tell whether a unit that the node needs is not running."""
    reading, host = snapshot.get(EssentialUnitsReading), snapshot.get(HostReading)
    if isinstance(reading, Unread):
        return Undecided(NAME, f"the essential units were not read ({reading.reason})")
    if not reading.systemd:
        return _evaluate_without_systemd(snapshot)
    stopped = [unit for unit in reading.units if unit.is_stopped]
    hanging = [unit for unit in reading.units if _hangs_in_start_or_stop(unit, host, tuning["boot_minutes"])]
    evidence = [Evidence("unit-stopped", "essential_units", _unit_words(unit, host), unit.source) for unit in stopped]
    evidence += [Evidence("unit-hangs", "essential_units", _unit_words(unit, host), unit.source) for unit in hanging]
    if reading.is_kubelet_ill:
        said = " and ".join(reading.health)
        evidence.append(
            Evidence("kubelet-ill", "essential_units", f"the kubelet's own health check failed at both looks ({said})")
        )
    silent = _complaints_of_now(reading, host, tuning["complaint_minutes"])
    if silent and not isinstance(host, Unread):
        newest = span(_complaint_age(silent[-1], host))
        says = f"the kubelet says that its container runtime does not answer, {newest} ago"
        source = tuple(complaint.text for complaint in silent[-2:])
        evidence.append(Evidence("runtime-silent", "essential_units", says, source))
    packages = snapshot.once(_packages.running_package_manager)
    if stopped and packages is not None:
        evidence.append(packages)
    if not evidence:
        return _hung_runtime(snapshot, reading) or _ruled_out_or_undecided(reading, host)
    needed = [
        unit
        for unit in (*stopped, *hanging)
        if unit.kind != "network" and not is_dispensable_unit(reading, host, (unit.name,), tuning["sync_minutes"])
    ]
    has_network = any(unit.kind == "network" and _is_running(unit) for unit in reading.units)
    missed = [unit for unit in stopped if unit in needed or (unit.kind == "network" and not has_network)]
    takes_no_work = reading.is_kubelet_ill or silent or needed
    if not isinstance(host, Unread) and host.uptime < timedelta(minutes=tuning["boot_minutes"]):
        # A unit that waits for another unit or for the network is stopped until then. Nobody may call it healthy yet.
        return Undecided(
            NAME,
            f"{evidence[0].says}, but the node booted {span(host.uptime)} ago",
            suspected=bool(takes_no_work),
            would_decide="a later look",
            worst=Status.CRITICAL if takes_no_work else Status.DEGRADED,
        )
    return make_finding(
        NAME,
        Status.CRITICAL if takes_no_work else Status.DEGRADED,
        Confidence.CONFIRMED,
        evidence,
        suspects=tuple(unit.name for unit in (*stopped, *hanging)),
        remedy=()
        if hanging or packages or isinstance(host, Unread)
        else _start_steps(missed, snapshot.get(UnitsReading)),
        lasting_fix=_advice([*stopped, *hanging], bool(silent)),
    )


def _is_running(unit: EssentialUnit) -> bool:
    return unit.active == "active" and unit.active_later in (None, "active")


def _hangs_in_start_or_stop(unit: EssentialUnit, host: HostReading | Unread, minutes: float) -> bool:
    """True if it has been starting or stopping for so long: K3s has no time limit for its start (TimeoutStartSec=0)."""
    if unit.active not in _ON_THE_WAY or unit.active_later != unit.active or not unit.changed_usec:
        return False
    if isinstance(host, Unread) or unit.sub.startswith("auto-restart"):
        return False
    return host.uptime - timedelta(microseconds=unit.changed_usec) >= timedelta(minutes=minutes)


def _hung_runtime(snapshot: Snapshot, reading: EssentialUnitsReading) -> Undecided | None:
    """A runtime that runs and did not list its containers in time may be stuck: nobody may call this node healthy."""
    containers = snapshot.get(ContainersReading)
    runs = [unit.name for unit in reading.units if unit.kind == "runtime" and unit.active == "active"]
    if not runs or not isinstance(containers, Unread) or _STALLED not in containers.reason:
        return None
    because = f"{runs[0]} runs, and the list of its containers did not come in time"
    return Undecided(NAME, because, suspected=True, would_decide="`docker ps` or `crictl ps` by hand")


def _evaluate_without_systemd(snapshot: Snapshot) -> CauseResult:
    """Without systemd nobody says whether a kubelet runs: where one is installed, it is looked for at work."""
    certificates, processes = snapshot.get(CertificatesReading), snapshot.get(ProcessesReading)
    if isinstance(certificates, Unread) or not certificates.has_kubelet:
        return RuledOut(NAME, "no systemd runs here, and no kubelet is known", applies=False)
    if isinstance(processes, Unread):
        return Undecided(NAME, f"no systemd runs here, and the processes were not read ({processes.reason})")
    if seen := processes.named(*_KUBELETS_AT_WORK):
        return RuledOut(NAME, f"no systemd runs here; {seen[0].name} is at work")
    because = "no systemd runs here, a kubelet is installed, and none was at work within the window"
    return Undecided(NAME, because, suspected=True, would_decide="`ps` by hand")


def _complaint_age(complaint: KubeletComplaint, host: HostReading) -> timedelta:
    return max(timedelta(0), host.uptime - complaint.since_boot)


def _complaints_of_now(
    reading: EssentialUnitsReading, host: HostReading | Unread, minutes: float
) -> tuple[KubeletComplaint, ...]:
    """The kubelet's recent complaints: it repeats them while they last. Empty if the node's clock is not known."""
    if isinstance(host, Unread):
        return ()
    return tuple(each for each in reading.complaints if _complaint_age(each, host) <= timedelta(minutes=minutes))


def _unit_words(unit: EssentialUnit, host: HostReading | Unread) -> str:
    since, verb = "", "starts" if unit.active == "activating" else "stops"
    if unit.changed_usec and not isinstance(host, Unread):
        since = span(max(timedelta(0), host.uptime - timedelta(microseconds=unit.changed_usec)))
    if unit.active in _ON_THE_WAY:
        return f"{unit.name} {verb} and has not ended that{f' for {since}' if since else ''} ({unit.sub})"
    if unit.active == "failed":
        how = f"failed {since} ago" if since else "is failed"
    else:
        how = f"has been stopped for {since}" if since else "is stopped"
    why = f", result {unit.result}" if unit.result not in ("", "success") else ""
    return f"{unit.name} starts at boot and {how}{why}"


def _start_steps(stopped: list[EssentialUnit], units: UnitsReading | Unread) -> tuple[Step, ...]:
    """Start all of them, or none: if any would only fail again, a person must look first."""
    if not all(_may_be_started(unit, units) for unit in stopped):
        return ()
    in_order = sorted(stopped, key=lambda unit: _FIRST.index(unit.kind))
    return tuple(Step("start_unit", {"unit": unit.name}) for unit in in_order)


def _may_be_started(unit: EssentialUnit, units: UnitsReading | Unread) -> bool:
    """True if both looks found it, and it stopped normally or failed without having been restarted."""
    if unit.active_later is None:
        return False
    if (unit.active, unit.active_later) == ("inactive", "inactive"):
        return True
    known = None if isinstance(units, Unread) else units.get(unit.name)
    return known is not None and known.restarts == 0 and known.most_restarts == 0 and known.restarts_logged == 0


def _advice(stopped: list[EssentialUnit], runtime_silent: bool) -> str:
    names = " ".join(unit.name for unit in stopped)
    if not names:
        return "Find out why the runtime is silent (`crictl ps`, and its own log)." if runtime_silent else ""
    return f"Find out why it stopped (`journalctl -u {stopped[0].name}`), then `systemctl start {names}`."


def _ruled_out_or_undecided(reading: EssentialUnitsReading, host: HostReading | Unread) -> CauseResult:
    running = [unit.name for unit in reading.units if unit.active == "active"]
    if not reading.units:
        says = "no kubelet, container runtime or network unit that we know is installed"
        return RuledOut(NAME, says, applies=False)
    if any(said not in ("", "ok") for said in reading.health):
        return Undecided(
            NAME, "the kubelet's own health check failed at only one of the two looks", would_decide="a further look"
        )
    before = ""
    if reading.complaints and isinstance(host, Unread):
        return Undecided(NAME, "the kubelet said, at an unknown time, that its runtime does not answer")
    if reading.complaints and not isinstance(host, Unread):
        before = f"; the kubelet's runtime last did not answer {span(_complaint_age(reading.complaints[-1], host))} ago"
    return RuledOut(NAME, f"every unit that starts at boot runs: {', '.join(running) or 'none does'}{before}")


CAUSE = Cause(
    name=NAME,
    title="Essential unit stopped",
    probes=("essential_units", "host", "units"),
    beside=("certificates", "processes", "containers", "unfinished"),
    thresholds={
        "boot_minutes": Threshold(
            5,
            "Units that wait for the network or for cloud-init come up within minutes of a boot; systemd's own limit "
            "for a start is 90 s (DefaultTimeoutStartSec). Five minutes are ours.",
        ),
        "complaint_minutes": Threshold(
            1,
            "While its runtime does not answer, the kubelet says so again after 5 s at most (syncLoop in "
            "pkg/kubelet/kubelet.go); a minute of silence means that it is over (ours).",
        ),
        "sync_minutes": Threshold(
            6,
            "Without its runtime the kubelet's sync loop stands, and its own check fails after five minutes of that "
            "(syncLoopHealthCheck in pkg/kubelet/kubelet.go): a kubelet that is well after six has another runtime.",
        ),
    },
    signature=("essential_units", "host"),
    evaluate=evaluate,
    eased_by=("start_unit",),
    remedy=("start_unit",),
    lasting_fix="Find out why the unit stopped, and start it; a reboot ends the work that still runs.",
)
