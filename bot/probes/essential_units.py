"""Units that the node needs to take work: kubelets, container runtimes and networks, at two looks.

Defined in: systemctl(1), org.freedesktop.systemd1(5); the kubelet's health check,
https://kubernetes.io/docs/reference/command-line-tools-reference/kubelet/ (`--healthz-port`, 10248); kubernetes,
pkg/kubelet/kubelet.go (`syncLoop`) and pkg/kubelet/runtime.go: what it logs while it skips pod synchronization.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar

from bot.domain.command import Command, Outputs, SampleTimes
from bot.domain.errors import CannotRead
from bot.domain.probe import Probe
from bot.domain.protected import KUBELET_UNITS, services
from bot.domain.safe_text import redacted_line
from bot.probes.formats.fragment import END, fragment, is_whole
from bot.probes.formats.systemctl import shown_units


@dataclass(frozen=True, slots=True)
class EssentialUnit:
    """An existing unit; `..._later` is the second look, None if there was none.

    Units: `changed_usec` is the node's monotonic clock at its last state change, 0 for none since boot.
    """

    name: str
    kind: str  # "kubelet", "runtime" or "network"
    enabled: str = "enabled"  # UnitFileState
    active: str = "active"
    sub: str = "running"
    active_later: str | None = None
    result: str = "success"
    condition_met: bool = True  # False: systemd tried to start it, and its conditions were not met
    changed_usec: int | None = None
    sockets: tuple[str, ...] = ()  # sockets that listen for it and start it
    source: tuple[str, ...] = ()

    @property
    def is_stopped(self) -> bool:
        """True when it starts at boot, has something to do, and neither runs nor starts at either look."""
        stopped = self.active in _STOPPED and self.active_later in (None, *_STOPPED)
        return stopped and self.enabled in _AT_BOOT and self.condition_met and not self.sockets


@dataclass(frozen=True, slots=True)
class KubeletComplaint:
    """A line of the kubelet: it skips its pods because its container runtime does not answer."""

    since_boot: timedelta
    text: str


@dataclass(frozen=True, slots=True)
class EssentialUnitsReading:
    """The existing units; `systemd` False: no systemd runs here.

    Shape: `health` is the answer of the kubelet's own check at each look: `ok`, `timeout`, an HTTP status, or empty if
    nothing answers or curl is missing. `complaints` are the kubelet's lines of the last minutes, oldest first, if the
    login may read the journal.
    """

    probe: ClassVar[str] = "essential_units"

    systemd: bool
    units: tuple[EssentialUnit, ...] = ()
    health: tuple[str, ...] = ()
    complaints: tuple[KubeletComplaint, ...] = ()

    @property
    def stopped_count(self) -> int:
        """How many are stopped although they start at boot."""
        return sum(unit.is_stopped for unit in self.units)

    @property
    def is_kubelet_ill(self) -> bool:
        """True when the kubelet's own check failed at both looks."""
        return len(self.health) > 1 and all(said not in ("", "ok") for said in self.health)


RUNTIME_UNITS = services("asked-runtime")
NETWORK_UNITS = services("asked-network")
_SOCKETS = ("docker.socket", "cri-docker.socket")
_KINDS: Mapping[str, str] = {
    **dict.fromkeys(KUBELET_UNITS, "kubelet"),
    **dict.fromkeys(RUNTIME_UNITS, "runtime"),
    **dict.fromkeys(NETWORK_UNITS, "network"),
}
_PROPERTIES = (
    "Id",
    "LoadState",
    "ActiveState",
    "SubState",
    "Result",
    "UnitFileState",
    "ConditionResult",
    "ConditionTimestampMonotonic",
    "StateChangeTimestampMonotonic",
    "TriggeredBy",
)
_STOPPED = ("inactive", "failed")
_AT_BOOT = ("enabled", "enabled-runtime", "linked", "linked-runtime")

_NO_SYSTEMD = "no /run/systemd/system"
# curl's exit status 28 is a time-out; 7 means that nothing listens, for example if the check is switched off.
_LOOK = fragment(f"""
    [ -d /run/systemd/system ] || {{ echo '{_NO_SYSTEMD}'; exit; }};
    systemctl show --no-pager -p {",".join(_PROPERTIES)} {" ".join([*_KINDS, *_SOCKETS])};
    echo; echo 'Id=-- health --';
    if command -v curl >/dev/null; then
        c=$(curl -s -o /dev/null -m 2 -w '%{{http_code}}' http://127.0.0.1:10248/healthz); echo "Answer=$c $?"; fi;
    echo '{END}'
""")
# At each start the kubelet says that PLEG "has yet to be successful": that is not a fault. A real complaint is repeated
# within 5 s. A login that may not read the journal gets no lines and no error; this is only extra evidence, so no other
# way is tried.
_JOURNAL = (
    *("journalctl", "-b", "-q", "--no-pager", "-o", "short-monotonic", "--since=-10min", "-n", "2000"),
    *(f"_SYSTEMD_UNIT={unit}" for unit in KUBELET_UNITS),
)
_WORDS = "PLEG is not healthy: pleg was last seen active|container runtime is down"
_COMPLAINTS = fragment(f"""
    k=; for d in /var/lib/kubelet /var/lib/rancher /var/snap/microk8s; do
        [ -d $d ] && k=y; done;
    [ $k ] && for f in /run/log/journal/*/system.journal /var/log/journal/*/system.journal; do
        [ -r "$f" ] && {{ {shlex.join(_JOURNAL)} | grep -aE '{_WORDS}' | tail -n 40; break; }}; done;
    echo '{END}'
""")
# klog's own prefix comes first: the output of a pod's failing check is inside other lines of the kubelet.
_COMPLAINT = re.compile(
    r"\[\s*(?P<at>[0-9]{1,12}(?:\.[0-9]{1,9})?)\] \S+ [^:]{1,80}: (?P<says>[EWI][0-9]{4} [0-9:.]{8,20} +[0-9]{1,10} "
    rf"kubelet\.go:[0-9]{{1,6}}\] \"?[Ss]kipping pod synchronization(?:\" err=\"| - ).{{0,400}}(?:{_WORDS}).*)"
)


def parse(outputs: Outputs) -> EssentialUnitsReading:
    """Read the units at both looks, and the kubelet's own health.

    Unread when: systemd runs but does not answer. Without systemd there is an answer: `systemd` is False.
    """
    first = outputs.text("look", 0)
    if first.strip() == _NO_SYSTEMD:
        return EssentialUnitsReading(systemd=False)
    again = outputs.text_or_none("look", 1) or ""
    shown, later = _properties_by_unit(first), _properties_by_unit(again if is_whole(again) else "")
    if not is_whole(first) or not any(name in shown for name in _KINDS):
        raise CannotRead("essential_units: systemctl's answer is cut short")
    listening = {name for name in _SOCKETS if shown.get(name, {}).get("ActiveState") == "active"}
    units = tuple(
        _unit(name, kind, shown[name], later.get(name), listening)
        for name, kind in _KINDS.items()
        if shown.get(name, {}).get("LoadState") == "loaded"
    )
    looks = (look for look in (shown, later) if look)
    complaints = tuple(_complaints(outputs.text_or_none("complaints") or ""))
    return EssentialUnitsReading(
        True, units, tuple(_health(look.get("-- health --", {})) for look in looks), complaints
    )


def _complaints(text: str) -> Iterator[KubeletComplaint]:
    for line in text.split("\n"):
        if found := _COMPLAINT.fullmatch(line):
            yield KubeletComplaint(timedelta(seconds=float(found["at"])), redacted_line(found["says"], 300))


def _properties_by_unit(text: str) -> dict[str, Mapping[str, str]]:
    return {properties["Id"]: properties for properties in shown_units(text) if properties.get("Id")}


def _unit(
    name: str, kind: str, properties: Mapping[str, str], later: Mapping[str, str] | None, listening: set[str]
) -> EssentialUnit:
    keys = ("ActiveState", "SubState", "UnitFileState", "Result")
    changed = properties.get("StateChangeTimestampMonotonic", "")
    return EssentialUnit(
        name=name,
        kind=kind,
        enabled=properties.get("UnitFileState", ""),
        active=properties.get("ActiveState", ""),
        sub=properties.get("SubState", ""),
        active_later=None if later is None else later.get("ActiveState", ""),
        result=properties.get("Result", ""),
        # If systemd never tried to start it, it never checked the conditions, and says "no" then too.
        condition_met=properties.get("ConditionResult") != "no"
        or properties.get("ConditionTimestampMonotonic", "0") == "0",
        changed_usec=int(changed) if re.fullmatch(r"[0-9]{1,20}", changed) else None,
        sockets=tuple(sorted(listening.intersection(properties.get("TriggeredBy", "").split()))),
        source=(f"Id={name}", *(f"{key}={properties[key]}" for key in keys if key in properties)),
    )


def _health(properties: Mapping[str, str]) -> str:
    answer = re.fullmatch(r"([0-9]{3}) ([0-9]{1,3})", properties.get("Answer", ""))
    if answer is None:
        return ""
    if answer.group(2) == "28":
        return "timeout"
    return {"200": "ok", "000": ""}.get(answer.group(1), answer.group(1))


PROBE = Probe(
    name="essential_units",
    title="kubelet, runtime and network units",
    commands=(
        Command("look", ("sh", "-c", _LOOK), looks=SampleTimes.TWICE, lane="systemd", output_limit_bytes=64 * 1024),
        Command("complaints", ("sh", "-c", _COMPLAINTS), lane="journal", output_limit_bytes=64 * 1024),
    ),
    parse=parse,
    reading=EssentialUnitsReading,
)
