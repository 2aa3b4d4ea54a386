"""Network interfaces with a device: driver, version, and trouble counters at two looks; and the ports of bonds.

Defined in: ethtool(8); counter names in each driver's source (ENA: ena_ethtool.c); Linux,
Documentation/ABI/testing/sysfs-class-net-statistics.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from bot.domain.command import Command, Outputs, SampleTimes
from bot.domain.errors import CannotRead
from bot.domain.probe import Probe
from bot.domain.safe_text import one_line
from bot.probes.formats.bonds import BONDS, HEADING, Bond, parse_bonds
from bot.probes.formats.fragment import fragment

ALLOWANCE_COUNTERS = {
    "bw_in_allowance_exceeded": "more came in than the instance may receive",
    "bw_out_allowance_exceeded": "more went out than the instance may send",
    "pps_allowance_exceeded": "more packets per second than the instance may send or receive",
    "conntrack_allowance_exceeded": "more tracked connections than the instance may have",
    "linklocal_allowance_exceeded": "more questions to DNS, time and metadata services than they answer",
}
# Frames that arrived and found no buffer: the kernel's own count, Intel's, Mellanox's.
MISSED_COUNTERS = ("rx_missed_errors", "rx_no_dma_resources", "rx_out_of_buffer", "rx_discards_phy")


@dataclass(frozen=True, slots=True)
class Nic:
    """An interface. Counters are cumulative since the driver was loaded; an absent name is not zero.

    Shape: a queue's counter has its own name (`queue_5_tx_missed_tx`) if it is not zero, and the sum over all queues
    has the bare name (`missed_tx`). `origin` says where the counters come from.
    """

    name: str
    driver: str
    version: str = ""
    bus: str = ""
    counters: Mapping[str, int] = field(default_factory=dict)
    counters_later: Mapping[str, int] = field(default_factory=dict)
    lines: Mapping[str, str] = field(default_factory=dict)  # counter -> its line, from the second look if there is one
    origin: str = "ethtool -S"  # or "/sys/class/net", which every driver has, without resets
    firmware: str = ""

    @property
    def is_ena(self) -> bool:
        """True for Amazon's Elastic Network Adapter."""
        return self.driver == "ena"

    def total(self, counter: str) -> int | None:
        """The newest value, None when this driver has no such counter."""
        return self.counters_later.get(counter, self.counters.get(counter))

    def rise(self, counter: str) -> int | None:
        """How far it rose inside the window (never below zero: counters restart), None if unknown."""
        if counter not in self.counters or counter not in self.counters_later:
            return None
        return max(0, self.counters_later[counter] - self.counters[counter])


@dataclass(frozen=True, slots=True)
class Allowance:
    """A counter of an instance's limit, on one card: what was lost, and how often. `rise` None: not counted twice."""

    card: str
    counter: str
    means: str
    rise: int | None
    total: int
    lines: tuple[str, ...] = ()

    @property
    def short_name(self) -> str:
        """The counter's name with dashes."""
        return self.counter.replace("_", "-")


@dataclass(frozen=True, slots=True)
class NicReading:
    """Every interface with a device, and every bond and team with a port; empty lists are answers.

    Shape: `bonds` are of the newest look.
    """

    probe: ClassVar[str] = "nic"

    nics: tuple[Nic, ...]
    seconds_between: float | None = None
    bonds: tuple[Bond, ...] = ()

    def traits(self) -> Mapping[str, str]:
        """Return the interfaces' drivers, for people."""
        drivers = dict.fromkeys(f"{nic.driver} {nic.version}".strip() for nic in self.nics)
        return {"driver": " · ".join(drivers)} if drivers else {}

    @property
    def ena(self) -> tuple[Nic, ...]:
        """The ENA interfaces."""
        return tuple(nic for nic in self.nics if nic.is_ena)

    @property
    def links_lost(self) -> int:
        """Ports of bonds and teams that should have a link and have none."""
        return sum(len(bond.lost) for bond in self.bonds)

    @property
    def resets(self) -> int | None:
        """Device resets since the driver was loaded, over all ENA interfaces; None if no driver counts them."""
        totals = [total for nic in self.ena if (total := nic.total("total_resets")) is not None]
        return sum(totals) if totals else None

    @property
    def resets_rise(self) -> int | None:
        """Device resets inside the window, over all ENA interfaces; None if no driver counts them."""
        rises = [rise for nic in self.ena if (rise := nic.rise("total_resets")) is not None]
        return sum(rises) if rises else None

    @property
    def missed_rise(self) -> int | None:
        """The most frames for which a card had no buffer inside the window; None if no driver counts them."""
        rises = (nic.rise(name) for nic in self.nics for name in MISSED_COUNTERS)
        return max((rise for rise in rises if rise is not None), default=None)

    def lines_of(self, field: str) -> tuple[str, ...]:
        """Return the counters that a field is a rise of, as the driver's statistics show them."""
        if field == "missed_rise":
            risen = ((nic, name) for nic in self.nics for name in MISSED_COUNTERS if nic.rise(name))
            return tuple(f"{nic.name} {nic.lines[name]}" for nic, name in risen if name in nic.lines)
        names = {"resets_rise": ("total_resets",), "allowance_exceeded_rise": tuple(ALLOWANCE_COUNTERS)}.get(field, ())
        return tuple(f"{nic.name} {nic.lines[name]}" for nic in self.ena for name in names if name in nic.lines)

    @property
    def allowances(self) -> tuple[Allowance, ...]:
        """The instance's limits as each ENA card counts them."""
        return tuple(
            Allowance(
                nic.name,
                name,
                means,
                nic.rise(name),
                nic.total(name) or 0,
                (nic.lines[name],) if name in nic.lines else (),
            )
            for nic in self.ena
            for name, means in ALLOWANCE_COUNTERS.items()
        )

    @property
    def allowance_exceeded_rise(self) -> int | None:
        """How far the instance's allowance counters rose in the window; None if there are none."""
        rises = [rise for nic in self.ena for name in ALLOWANCE_COUNTERS if (rise := nic.rise(name)) is not None]
        return sum(rises) if rises else None


END = "-- end of look --"

# A machine with 96 queues has four thousand counters. All of ENA's device counters are kept; its queue counters about
# trouble are summed over the queues, and kept by queue if not zero. Of other drivers, counters with names of trouble
# are kept, those of queues only if not zero.
_QUEUE_TROUBLE = (
    "queue_stop|missed_tx|lost_interrupt|pending_timedout_pkts|dma_mapping_err|linearize_failed|prepare_ctx_err|"
    "bad_req_id|bad_desc_num|page_alloc_fail|skb_alloc_fail|empty_rx_ring|refil_partial"
)
_TROUBLE = (
    "error|_err|drop|discard|timeout|timed|miss|fail|reset|abort|bad|lost|overrun|over_|fifo|collision|carrier|crc|"
    "no_buf|nobuf|no_dma|out_of_buf|no_rx_|stall|hang|exceed|starv|wd_|pause"
)
# Of `ethtool -i`, then `ethtool -S`; it ends with 1 where there are no counters.
COUNTERS = fragment(f"""
    function tell(line) {{ if (!told++) print "-- ethtool -S --"; print line }}
    /^(driver|version|firmware-version|bus-info):/ {{ print; next }}
    /^(NIC statistics|[a-z-]*-version|supports-[a-z-]*):/ || !/: *[0-9]+ *$/ {{ next }}
    /^ *queue_[0-9]+_(xdp_)?[rt]x_/ {{
        n = $1; sub(/^queue_[0-9]+_(xdp_)?[rt]x_/, "", n); sub(/:$/, "", n);
        if (n !~ /^({_QUEUE_TROUBLE})$/) next;
        if (!(n in s)) o[++k] = n;
        s[n] += $NF; if ($NF > 0) tell($0); next }}
    d == "ena" || (tolower($0) ~ /{_TROUBLE}/ && ($NF > 0 || !/[0-9].*:/)) {{ tell($0) }}
    END {{ for (i = 1; i <= k; i++) tell(sprintf("queue_*_%s: %.0f", o[i], s[o[i]])); exit !told }}
""")
_FRAGMENT = fragment(f"""
    for p in /sys/class/net/*; do
        [ -e "$p/device" ] || continue;
        n=${{p##*/}}; echo "==> $n <==";
        d=; cd -P "$p/device/driver" 2>/dev/null && d=${{PWD##*/}}; echo "driver: $d";
        command -v ethtool >/dev/null &&
        {{ ethtool -i "$n"; ethtool -S "$n"; }} 2>/dev/null | awk -v d="$d" '{COUNTERS}' && continue;
        echo '-- /sys/class/net --';
        for f in "$p"/statistics/*errors "$p"/statistics/*dropped "$p"/statistics/collisions; do
            read -r v <"$f" && echo "${{f##*/}}: $v"; done; done;
    {BONDS}
    echo '{END}'
""")

_HEADING = re.compile(r"==> (\S{1,64}) <==")
_ORIGIN = re.compile(r"-- (ethtool -S|/sys/class/net) --")
_COUNTER = re.compile(r"\s*(?P<name>\S.{0,120}?): *(?P<value>[0-9]{1,20})\s*")
_FACT = re.compile(r"(driver|version|firmware-version|bus-info): ?(.*)")


@dataclass(slots=True)
class _Seen:
    facts: dict[str, str] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)
    lines: dict[str, str] = field(default_factory=dict)
    origin: str = ""


def parse(outputs: Outputs) -> NicReading:
    """Read every interface at both looks; an empty list is an answer.

    Unread when: the first look is cut short or a counter is malformed. Without a second look there are no rises.
    """
    first, ports = _interfaces_and_bonds(outputs.text("look", 0))
    later: Mapping[str, _Seen] = {}
    with contextlib.suppress(CannotRead):
        later, ports = _interfaces_and_bonds(outputs.text("look", 1))
    return NicReading(
        nics=tuple(_nic_of_looks(name, seen, later.get(name)) for name, seen in first.items()),
        seconds_between=outputs.seconds_between("look") if later else None,
        bonds=ports,
    )


def _interfaces_and_bonds(text: str) -> tuple[dict[str, _Seen], tuple[Bond, ...]]:
    """Read a look: the interfaces, then what is said of bonds and teams."""
    lines = text.rstrip("\n").split("\n")
    at = next((at for at, line in enumerate(lines) if HEADING.fullmatch(line)), len(lines) - 1)
    return parse_sample("\n".join([*lines[:at], lines[-1]])), parse_bonds(lines[at:-1])


def _nic_of_looks(name: str, seen: _Seen, later: _Seen | None) -> Nic:
    if later is not None and (later.origin != seen.origin or later.facts.get("driver") != seen.facts.get("driver")):
        later = None  # counters of another origin cannot be compared
    return Nic(
        name=name,
        driver=seen.facts.get("driver", ""),
        version=seen.facts.get("version", ""),
        bus=seen.facts.get("bus-info", ""),
        firmware=one_line(seen.facts.get("firmware-version", ""), 60),
        counters=seen.counters,
        counters_later=later.counters if later else {},
        lines={**seen.lines, **(later.lines if later else {})},
        origin=seen.origin,
    )


def parse_sample(text: str) -> dict[str, _Seen]:
    """Read a look: headings, the driver's facts, an origin and its counters.

    Raises: CannotRead when it is cut short or has any other line.
    """
    lines = text.rstrip("\n").split("\n")
    if lines[-1] != END:
        raise CannotRead("nic: the look is cut short")
    found: dict[str, _Seen] = {}
    nic = _Seen()
    for line in lines[:-1]:
        if heading := _HEADING.fullmatch(line):
            nic = found.setdefault(heading.group(1), _Seen())
        elif origin := _ORIGIN.fullmatch(line):
            nic.origin = origin.group(1)
        elif nic.origin and (counter := _COUNTER.fullmatch(line)):
            name = counter["name"].removeprefix("queue_*_")
            nic.counters[name] = int(counter["value"])
            nic.lines[name] = line.strip()
        elif not nic.origin and (fact := _FACT.fullmatch(line)):
            if fact.group(2).strip():
                nic.facts[fact.group(1)] = fact.group(2).strip()
        elif line.strip():
            raise CannotRead(f"nic: a counter is malformed ({one_line(line, 60)})")
    return found


PROBE = Probe(
    name="nic",
    title="network interfaces and their drivers' counters",
    commands=(
        Command(
            "look", ("sh", "-c", _FRAGMENT), looks=SampleTimes.TWICE, lane="devices", output_limit_bytes=512 * 1024
        ),
    ),
    parse=parse,
    reading=NicReading,
)
