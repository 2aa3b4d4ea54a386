"""Several links as one interface: what the bonding driver says of its ports, and sysfs of a team's.

Defined in: Linux, drivers/net/bonding/bond_procfs.c (/proc/net/bonding), Documentation/networking/bonding.rst,
Documentation/ABI/testing/sysfs-class-net (flags, carrier, carrier_up_count), include/uapi/linux/if.h (IFF_UP).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bot.probes.formats.fragment import fragment


@dataclass(frozen=True, slots=True)
class Port:
    """A link of a bond or team.

    Shape: `linked` False: it carries nothing. `switched_off`: somebody took the interface down, so it can have no link.
    `had_link`: it had a link since the boot. `unnoticed`: it has none, and the bond calls it up. `failures` counts how
    often the link was lost since it joined; None: the driver does not count.
    """

    name: str
    linked: bool
    switched_off: bool = False
    had_link: bool = False
    unnoticed: bool = False
    failures: int | None = None
    aggregator: str = ""  # of 802.3ad: ports that carry traffic together have the same
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Bond:
    """A bond or team that is switched on, and its ports; `mode` is the driver's words for how they are used."""

    name: str
    kind: str  # "bond" or "team"
    mode: str = ""
    ports: tuple[Port, ...] = ()

    @property
    def lost(self) -> tuple[Port, ...]:
        """The ports that should have a link and have none."""
        return tuple(port for port in self.ports if not port.linked and not port.switched_off)


# Ports of bridges are many, and passed over without starting a program for any of them; so are those of a software
# switch (Open vSwitch), which is asked once what it is.
BONDS = fragment("""
    port() { f= c= u=; read -r f <"$1/flags"; read -r c <"$1/carrier"; read -r u <"$1/carrier_up_count";
        echo "port ${1##*/} flags ${f:-?} carrier ${c:-?} ups ${u:-?}"; };
    for b in /proc/net/bonding/*; do
        [ -f "$b" ] || continue;
        n=${b##*/}; f=; read -r f <"/sys/class/net/$n/flags"; echo "-- bond $n flags ${f:-?} --";
        grep -a -e '^Bonding Mode:' -e '^MII ' -e '^Slave Interface:' -e '^Link Failure' -e '^Aggregator ID:' "$b";
        s=; read -r s <"/sys/class/net/$n/bonding/slaves"; for p in $s; do port "/sys/class/net/$p"; done; done;
    o=;
    for p in /sys/class/net/*/master; do
        [ -e "$p/ifindex" ] || continue;
        if [ -e "$p/bridge" ] || [ -e "$p/bonding" ] || [ -e "$p/device" ]; then continue; fi;
        t=; n=; while IFS='=' read -r k v; do case $k in DEVTYPE) t=$v;; INTERFACE) n=$v;; esac; done <"$p/uevent";
        case " $o " in *" $n "*) continue;; esac;
        [ -z "$t" ] && ethtool -i "$n" 2>/dev/null | grep -q '^driver: team$' || { o="$o $n"; continue; };
        f=; read -r f <"$p/flags"; echo "-- team $n flags ${f:-?} --"; port "${p%/master}"; done;
""")

HEADING = re.compile(r"-- (bond|team) (\S{1,64}) flags (0x[0-9a-f]{1,8}|\?) --")
_PORT = re.compile(r"port (\S{1,64}) flags (0x[0-9a-f]{1,8}|\?) carrier ([01?]) ups ([0-9]{1,10}|\?)")
_SAYS = re.compile(r"(Bonding Mode|MII Status|Slave Interface|Link Failure Count|Aggregator ID): (.{1,120})")
_SWITCHED_ON = 1  # IFF_UP


def parse_bonds(lines: Sequence[str]) -> tuple[Bond, ...]:
    """Return the bonds and teams that are switched on and have a port, from the lines of a look.

    Shape: the lines begin with a heading; each line that says nothing of a port is passed over.
    """
    found: dict[tuple[str, str], list[str]] = {}
    said: list[str] = []
    for line in lines:
        if heading := HEADING.fullmatch(line):
            said = found.setdefault((heading[1], heading[2]), [])
        said.append(line)
    read = (_parse_bond(kind, name, about) for (kind, name), about in found.items())
    return tuple(bond for bond in read if bond is not None)


def _parse_bond(kind: str, name: str, lines: Sequence[str]) -> Bond | None:
    heading = HEADING.fullmatch(lines[0])
    if heading is None or not _is_switched_on(heading[3]):
        return None
    mode, about = "", dict[str, dict[str, str]]()
    port: dict[str, str] = {}
    for line in lines:
        if says := _SAYS.fullmatch(line):
            key, value = says[1], says[2].strip()
            if key == "Bonding Mode":
                mode = value
            elif key == "Slave Interface":
                port = about.setdefault(value, {})
            port[key] = value
        elif of_port := _PORT.fullmatch(line):
            about.setdefault(of_port[1], {}).update(flags=of_port[2], carrier=of_port[3], ups=of_port[4])
    ports = tuple(_parse_port(each, said) for each, said in about.items())
    return Bond(name, kind, mode, ports) if ports else None


def _parse_port(name: str, said: dict[str, str]) -> Port:
    status, flags, carrier = said.get("MII Status", ""), said.get("flags", "?"), said.get("carrier", "?")
    off = not _is_switched_on(flags)
    # A bond that does not watch its ports calls each of them up: the card's own word counts, too.
    unnoticed = status == "up" and carrier == "0" and not off
    failures = said.get("Link Failure Count", "")
    lines = [f"{key}: {said[key]}" for key in ("Slave Interface", "MII Status", "Link Failure Count") if key in said]
    lines += [f"Aggregator ID: {said['Aggregator ID']}"] if "Aggregator ID" in said else []
    lines += [f"{name}: flags {flags}, carrier {carrier}, carrier_up_count {said['ups']}"] if "ups" in said else []
    counted = int(failures) if re.fullmatch(r"[0-9]{1,10}", failures) else None
    return Port(
        name=name,
        linked=not (status == "down" or carrier == "0" or off),
        switched_off=off,
        had_link=bool(counted) or said.get("ups", "?") not in ("0", "?"),
        unnoticed=unnoticed,
        failures=counted,
        aggregator=said.get("Aggregator ID", ""),
        lines=tuple(lines),
    )


def _is_switched_on(flags: str) -> bool:
    return flags == "?" or bool(int(flags, 16) & _SWITCHED_ON)
