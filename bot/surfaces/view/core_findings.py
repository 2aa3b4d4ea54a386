"""What of a verdict's evidence a function of some core may explain: there a profile is worth its cost."""

from __future__ import annotations

from bot.domain.verdict import Evidence

_PROBES = ("cpu", "softirq", "processes")
# Of other probes: a core was not given back, and whatever held it need not have come while the node was looked at.
_FINDINGS = ("nic-starved", "nic-starved-earlier", "lockup", "memcg-walk-stack", "memcg-walk-earlier")


def is_about_a_core(item: Evidence) -> bool:
    """True where what some core ran would tell more.

    Example:
    >>> is_about_a_core(Evidence("nic-starved", "kernel_log", "the driver's poll was scheduled and did not run"))
    True
    >>> is_about_a_core(Evidence("dying-cgroups", "cgroups", "68,440 dying cgroups"))
    False
    """
    return item.probe in _PROBES or item.finding in _FINDINGS
