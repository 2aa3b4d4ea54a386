"""Why there is no profile, and how to get it."""

from __future__ import annotations

from bot.domain.capture_wire import CaptureEnd, Facts
from bot.domain.errors import CannotRead
from bot.domain.safe_text import one_line

# By ID of os-release(5): the package with perf.
_PACKAGES = {
    "debian": "apt install linux-perf",
    "ubuntu": "apt install linux-tools-$(uname -r)",
    "amzn": "yum install perf",
    "rhel": "dnf install perf",
    "centos": "dnf install perf",
    "rocky": "dnf install perf",
    "fedora": "dnf install perf",
    "sles": "zypper install perf",
}
RIGHTS = "Give the login its rights there: zombie sudoers --profile prints the lines."


def perf_missing(facts: Facts) -> CannotRead | None:
    """Return the refusal where perf is missing, or is not for this kernel.

    Example:
    >>> str(perf_missing(Facts({"perf": "", "system": "debian"})))
    'perf is missing On the node: apt install linux-perf'
    """
    said = facts.text("perf")
    if said.startswith("perf version"):
        return None
    install = _PACKAGES.get(facts.text("system"), "install the package with /usr/bin/perf")
    if not said:
        return CannotRead("perf is missing", f"On the node: {install}")
    return CannotRead(f"perf does not run there ({one_line(said, 100)})", f"On the node: {install}")


def why_nothing(facts: Facts, end: CaptureEnd) -> CannotRead:
    """Return why perf recorded nothing."""
    said = one_line(end.said, 160)
    lowered = said.lower()
    if "sudo" in lowered and ("password" in lowered or "not allowed" in lowered or "may not" in lowered):
        return CannotRead(f"perf may not be run as root ({said})", RIGHTS)
    if "permission" in lowered or "perf_event_paranoid" in lowered:
        return CannotRead(
            f"the kernel does not allow recording there ({said})",
            "Look at kernel.perf_event_paranoid, and at lockdown: cat /sys/kernel/security/lockdown",
        )
    if end.record_status in (137, 139):
        return CannotRead(
            f"perf was killed before it printed anything (exit status {end.record_status})",
            "Try again; dmesg on the node says whether memory ran out.",
        )
    if not said and end.record_status is None:
        return CannotRead("the node recorded nothing, and gave no reason", "Try again.")
    return CannotRead(f"perf recorded nothing ({said or f'exit status {end.record_status}'})", "Is every core idle?")
