"""What of an alert's own words was read on its node: a verdict without a cause is no answer to what nobody read."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bot.domain.alert import PEOPLE, Alert
from bot.domain.probe import Snapshot, Unread
from bot.domain.safe_text import listed, one_line

MOST_NAMED = 6
_NAME = re.compile(r"[\w/][\w./:@-]*\w")
_DEVICE = re.compile(  # what is called so is a part of a machine, whether it was found there or not
    r"(?:nvme|sd|vd|xvd|eth|en[ospx]|ib|bond|md|mlx)[a-z]?\w*\d\w*|(?:[\w@-]+)\.(?:service|mount|socket|timer)"
)
# The words of symptoms, and the probes that read where these show.
_SYMPTOMS = tuple(
    (re.compile(rf"(?<![a-z])(?:{words})", re.IGNORECASE), probes)
    for words, probes in (
        ("cpus?(?![a-z])|load(?![a-z])|steal|throttl", ("cpu", "throttling", "processes")),
        ("memory|oom|swap|reclaim", ("reclaim", "memory_errors", "kernel_log")),
        ("disk|storage|volume|iops|i/o|nvme|ebs(?![a-z])|file ?system|inode", ("storage", "filesystems", "ebs")),
        (
            "network|packet|(?:nic|ena|pps)(?![a-z])|retrans|bandwidth|throughput|tcp|connection",
            ("nic", "softirq", "conntrack"),
        ),
        ("gpu|nvidia|xid|cuda|nccl|nvlink|ecc", ("gpu",)),
        ("dns|name ?server|resolv", ("dns",)),
        ("clock|ntp|chrony|time ?sync", ("clock",)),
        ("kubelet|not ?ready|readiness", ("essential_units", "units")),
        ("container|pod(?![a-z])|pods|crash ?loop", ("containers",)),
        ("thermal|temperature|heat|fan(?![a-z])", ("interrupts",)),
        ("threads?(?![a-z])|pids?(?![a-z])|descriptor", ("kernel_limits",)),
        ("kernel|panic|oops|hung", ("kernel_log",)),
    )
)


def alerted(alerts: Sequence[Alert], snapshot: Snapshot | None) -> str:
    """Return what of these alerts' words was read, in a sentence; empty where no source raised one or nothing was read.

    Shape: it tells what was read, and nothing of what the alert measured.
    """
    said = " ".join(alert.text for alert in alerts if alert.kind not in PEOPLE)
    if snapshot is None or not said.strip():
        return ""
    read = {name: reading for name, reading in snapshot.readings.items() if not isinstance(reading, Unread)}
    texts = repr(tuple(read.values())).casefold()  # each text of a reading stands there between quotes
    words = list(dict.fromkeys(word.casefold() for word in _NAME.findall(said.replace(snapshot.node, " "))))
    named = [word for word in words if not word.isalpha() and not word.isdigit() and f"'{word}'" in texts]
    named += [f"{word}.service" for word in words if f"'{word}.service'" in texts]
    gone = [word for word in words if _DEVICE.fullmatch(word) and word not in named]
    asked = dict.fromkeys(probe for words, probes in _SYMPTOMS if words.search(said) for probe in probes)
    named += [probe for probe in asked if probe in read]
    unread = [probe for probe in asked if isinstance(snapshot.readings.get(probe), Unread)]
    parts = [f"{_listed(named)} {'was' if len(named) == 1 else 'were'} read"] if named else []
    parts += [f"{_listed(unread)} {'was' if len(unread) == 1 else 'were'} not read"] if unread else []
    parts += [f"no reading names {_listed(gone)}"] if gone and not unread else []
    if not parts:
        return "What the alert measures was not measured: this may or may not explain it."
    return f"Of what the alert points at, {'; '.join(parts)}."


def _listed(names: Sequence[str]) -> str:
    return listed([one_line(name, 60) for name in names], MOST_NAMED)
