"""What stands on a unit: which no plan may ever stop, disable or mask, which are essential, which keep others' data.

Source: `playbooks/tables/units.toml`, which says what its columns are. A site's units are added to ours, and only where
that makes us more careful.
"""

from __future__ import annotations

import fnmatch
import functools
import re
from collections.abc import Iterable, Mapping
from typing import Any

from bot.domain.builtin_playbooks import SiteRows, builtin_rows

# What a unit of a site may be. Of the other words each takes something from what ours mean: a network is not missed
# where the node answers, a guest makes no cgroups.
OF_SITES = ("protected", "essential", "keeps-for-others", "makes-cgroups")
LEFT_OUT = "left-out"  # what all units are while rows of a site's have a mistake: what else they are is not known
UNITS_OF_SITES: SiteRows[tuple[str, frozenset[str]]] = SiteRows()  # a name, and what it is


@functools.cache
def own_units() -> Mapping[str, Any]:
    """Return our groups of units by their names, and the agents under `agents`."""
    return builtin_rows("units")


@UNITS_OF_SITES.cached
def units(what: str) -> tuple[str, ...]:
    """Return the names, and patterns of names, of all units that are this: ours first, then those of sites.

    Example:
    >>> units("packaged-kubelet")
    ('kubelet', 'snap.kubelet.daemon', 'snap.kubelet-eks.daemon')
    """
    ours = (name for group in own_units().values() if what in group.get("is", ()) for name in group["names"])
    added = (name for name, words in UNITS_OF_SITES if what in words)
    return tuple(dict.fromkeys((*ours, *added)))


def services(what: str) -> tuple[str, ...]:
    """Return the full names of our services that are this.

    Example:
    >>> services("asked-runtime")
    ('containerd.service', 'docker.service', 'crio.service', 'cri-docker.service')
    """
    return tuple(f"{name}.service" for name in units(what))


KUBELET_UNITS = services("kubelet")
# Kubelets that bring a container runtime of their own: a distribution's runtime beside them runs nothing.
WITH_OWN_RUNTIME = tuple(name for name in KUBELET_UNITS if name not in services("packaged-kubelet"))
_STOPPABLE = ("service", "socket", "timer", "path")
_NEVER = ("mount", "automount", "swap", "target", "slice", "scope", "device")


def is_protected(names: Iterable[str]) -> bool:
    """True when any of a unit's names (its Id and every alias) is on the list.

    Example:
    >>> is_protected(["k3s-agent.service"]), is_protected(["wg-quick@wg0.service"]), is_protected(["ecs.service"])
    (True, True, False)
    """
    return any(map(_is_protected, names))


def is_essential(names: Iterable[str]) -> bool:
    """True when the node cannot take work or be reached without a unit of any of these names.

    Example:
    >>> is_essential(["containerd.service"]), is_essential(["chronyd.service"])
    (True, False)
    """
    return any(_matches_any(name, units("essential")) for name in names)


def is_network(names: Iterable[str]) -> bool:
    """True when a unit of any of these names makes the network: a node that answers has one.

    Example:
    >>> is_network(["networking.service"]), is_network(["containerd.service"])
    (True, False)
    """
    return any(_matches_any(name, units("network")) for name in names)


def makes_cgroups(names: Iterable[str]) -> bool:
    """True when a unit of any of these names runs jobs, machines or containers with cgroups of their own.

    Example:
    >>> makes_cgroups(["slurmd.service"]), makes_cgroups(["qemu-guest-agent.service"])
    (True, False)
    """
    return any(map(_makes_cgroups, names))


def keeps_shared_data(names: Iterable[str]) -> bool:
    """True when a unit of any of these names keeps data, or a cluster together: a reboot of its node is felt elsewhere.

    Example:
    >>> keeps_shared_data(["ceph-osd@3.service"]), keeps_shared_data(["kubelet.service"])
    (True, False)
    """
    return bool(data_pattern(names))


def data_pattern(names: Iterable[str]) -> str:
    """Return what a unit of any of these names is known as where it keeps data, or a cluster together; else "".

    Example:
    >>> data_pattern(["postgresql@14-main.service"]), data_pattern(["postgres"]), data_pattern(["kubelet.service"])
    ('postgres*', 'postgres*', '')
    """
    return next(filter(None, map(_data_pattern, names)), "")


def may_never_start(name: str) -> bool:
    """True for a unit whose start ends the boot, or opens a root shell.

    Example:
    >>> may_never_start("systemd-reboot.service"), may_never_start("kubelet.service")
    (True, False)
    """
    return _matches_any(name, units("never-started"))


# `why` evaluates a case hundreds of times, and there are many patterns. What a reboot would take from others is asked
# of every unit, in every plan.
@UNITS_OF_SITES.cached
def _is_protected(name: str) -> bool:
    return _type_of(name) in _NEVER or _matches_any(name, units("protected"))


@UNITS_OF_SITES.cached
def _makes_cgroups(name: str) -> bool:
    return _matches_any(name, units("makes-cgroups")) and not _matches_any(name, units("guest"))


@UNITS_OF_SITES.cached
def _data_pattern(name: str) -> str:
    return next((pattern for pattern in units("keeps-for-others") if _matches_any(name, (pattern,))), "")


def _type_of(name: str) -> str:
    return name.rpartition(".")[2]


@functools.lru_cache(4096)
def _matches_any(name: str, patterns: tuple[str, ...]) -> bool:
    stem, dot, suffix = name.rpartition(".")
    stem = stem if dot and suffix in _STOPPABLE else name
    template = stem.partition("@")[0]
    known = {stem.casefold(), template.casefold()}
    return any(map(_pattern(patterns).match, known))


@functools.cache
def _pattern(patterns: tuple[str, ...]) -> re.Pattern[str]:
    never = "(?!)"  # an empty expression would match every name
    return re.compile("|".join(fnmatch.translate(pattern.casefold()) for pattern in patterns) or never)
