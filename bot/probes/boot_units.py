"""The units that the next boot will start, read from unit files on disk: an image under construction runs no systemd.

Defined in: systemd.unit(5) (`.wants/` and `.requires/` folders, masking, templates, the search path); the ECS agent's
configuration, https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-agent-config.html.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from bot.domain.command import Command, Outputs
from bot.domain.errors import CannotRead
from bot.domain.known_agents import KNOWN_AGENTS
from bot.domain.probe import Probe
from bot.domain.protected import KUBELET_UNITS
from bot.domain.safe_text import one_line
from bot.probes.formats.fragment import END, fragment


@dataclass(frozen=True, slots=True)
class BootUnit:
    """A unit that a target starts at boot. `by_vendor`: the link comes with a package; nobody enabled the unit."""

    name: str  # "ecs.service", "getty@tty1.service"
    wanted_in: str  # the folder of the link: "multi-user.target.wants"
    by_vendor: bool = False
    source: str = ""


@dataclass(frozen=True, slots=True)
class BootUnitsReading:
    """The units that start at boot; `systemd` False: there is no systemd on this disk.

    Shape: masked units and links without a unit file are left out, because they start nothing; of links from packages
    only those of known agents are listed. `kubelet` are the files that show that this is a Kubernetes node.
    """

    probe: ClassVar[str] = "boot_units"

    systemd: bool
    enabled: tuple[BootUnit, ...] = ()
    kubelet: tuple[str, ...] = ()
    ecs_cluster: str = ""
    ecs_config_readable: bool = True  # False: a configuration exists but could not be read

    @property
    def enabled_count(self) -> int:
        """How many units start at boot because somebody enabled them."""
        return sum(not unit.by_vendor for unit in self.enabled)


_AGENTS = " ".join(unit for agent in KNOWN_AGENTS for unit in agent.units)
_KUBELET_FILES = (
    "usr/bin/kubelet",
    "usr/local/bin/kubelet",
    "opt/bin/kubelet",
    "usr/bin/nodeadm",
    "usr/local/bin/k3s",
    "var/lib/kubelet/config.yaml",
    "etc/kubernetes/kubelet.conf",
    "etc/kubernetes/kubelet",
    "etc/eks/bootstrap.sh",
)
_NO_SYSTEMD = "no systemd on this disk"
# `systemctl --root=/` lists enabled units too, but not single instances; and reading a folder needs no process.
# An empty unit file masks a unit like a link to /dev/null: both have size 0.
_FILES = fragment(f"""
    r=; c=$r/etc/systemd/system; d="$c $r/run/systemd/system $r/usr/local/lib/systemd/system
    $r/usr/lib/systemd/system $r/lib/systemd/system";
    [ -d $c ] || [ -d $r/usr/lib/systemd/system ] || [ -d $r/lib/systemd/system ] ||
        {{ echo '{_NO_SYSTEMD}'; exit; }};
    [ ! -d $c ] || {{ [ -r $c ] && [ -x $c ]; }} || {{ echo "$c is not readable" >&2; exit 1; }};
    starts() {{
        case $1 in *@*.*) t=${{1%%@*}}@.${{1##*.}};; *) t=$1;; esac;
        for n in "$1" "$t"; do
            if [ -e "$c/$n" ] && [ ! -s "$c/$n" ]; then return 1; fi; done;
        for p in $d; do
            if [ -e "$p/$1" ] || [ -e "$p/$t" ] || [ -L "$p/$1" ] || [ -L "$p/$t" ]; then return 0; fi; done;
        return 1;
    }};
    told() {{
        for w in "$2"/*.wants "$2"/*.requires; do
            [ ! -d "$w" ] || [ -r "$w" ] || {{ echo "$w is not readable" >&2; exit 1; }}; done;
        for l in "$2"/*.wants/* "$2"/*.requires/*; do
            [ -e "$l" ] || [ -L "$l" ] || continue;
            u=${{l##*/}}; w=${{l%/*}}; w=${{w##*/}};
            [ $1 = enabled ] || case " {_AGENTS} " in *" $u "*) ;; *) continue;; esac;
            starts "$u" && echo "$1 $w/$u"; done;
    }};
    told enabled $c; told vendor $r/usr/lib/systemd/system; told vendor $r/lib/systemd/system;
    for u in {" ".join(KUBELET_UNITS)}; do
        starts $u && echo "kubelet $u"; done;
    for f in {" ".join(_KUBELET_FILES)}; do
        [ -e $r/$f ] && echo "kubelet /$f"; done;
    for f in $r/etc/ecs/ecs.config $r/var/lib/ecs/ecs.config; do
        [ -e $f ] || {{ p=${{f%/*}}; [ -d $p ] && [ ! -x $p ]; }} || continue;
        if [ -r $f ]; then grep -a '^[[:space:]]*ECS_CLUSTER[=]' $f; else echo 'unreadable ecs.config'; fi; done;
    echo '{END}'
""")

_ROW = re.compile(r"(enabled|vendor) (\S+\.(?:wants|requires))/(\S+)")
_KUBELET = re.compile(r"kubelet (\S+)")
_CLUSTER = re.compile(r"\s*ECS_CLUSTER=\s*[\"']?([^\"'\s#]{0,255}).*")
_UNREADABLE = "unreadable ecs.config"


def parse(outputs: Outputs) -> BootUnitsReading:
    """Read the units that start at boot.

    Unread when: the unit folders cannot be listed, or the list is cut short. A disk without systemd is an answer.
    """
    text = outputs.text("files")
    if text.strip() == _NO_SYSTEMD:
        return BootUnitsReading(systemd=False)
    *lines, last = text.rstrip("\n").split("\n")
    if last != END:
        raise CannotRead("boot_units: the list of units is cut short")
    units: dict[str, BootUnit] = {}
    kubelet: list[str] = []
    cluster = ""
    for line in lines:
        if row := _ROW.fullmatch(line):
            unit = BootUnit(one_line(row[3]), one_line(row[2]), row[1] == "vendor", one_line(f"{row[2]}/{row[3]}"))
            units.setdefault(unit.name, unit)
        elif here := _KUBELET.fullmatch(line):
            kubelet.append(one_line(here[1]))
        elif named := _CLUSTER.fullmatch(line):
            cluster = one_line(named[1])
        elif line != _UNREADABLE:
            raise CannotRead(f"boot_units: a row of the list is malformed ({one_line(line, 60)})")
    return BootUnitsReading(True, tuple(units.values()), tuple(kubelet), cluster, _UNREADABLE not in lines)


PROBE = Probe(
    name="boot_units",
    title="units that the next boot starts",
    commands=(Command("files", ("sh", "-c", _FILES), output_limit_bytes=64 * 1024),),
    parse=parse,
    reading=BootUnitsReading,
)
