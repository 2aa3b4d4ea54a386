"""The fence around a command that changes a node: it runs only on the approved machine, in the same boot, and in time.

The fence is plain POSIX sh that the login runs without root, so the command's sudoers line does not change. Behind its
conditions, and just before the command, one line goes to the node's own journal: who approved it, and why.

Source: /proc/sys/kernel/random/boot_id (random(4)), /etc/machine-id (machine-id(5)), /proc/uptime (proc(5)); logger(1).
"""

from __future__ import annotations

import enum
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from bot.domain.command import Completed
from bot.domain.safe_text import one_line

BOOT_ID, MACHINE_ID, UPTIME = "/proc/sys/kernel/random/boot_id", "/etc/machine-id", "/proc/uptime"
# Counted from the node's uptime when last read: enough to write the ledger, to connect and to log in. A command that
# arrives later is not run; it is sent again after another look.
SENT_WITHIN = timedelta(seconds=15)
JOURNAL_WITHIN = timedelta(seconds=3)  # how much later the command may begin because of its line in the journal
JOURNAL_BYTES = 800  # logger(1) splits at 1 KiB, and what follows would stand there as an entry of its own
_SAYS = "not run: "
_NO_ID = re.compile(r"[^A-Za-z0-9_-]")
_WORD = r"('[^']*'|[A-Za-z0-9_@%+=:,./-]+)"


class FenceRefusal(enum.Enum):
    """Why a fence did not let its command run, by exit status."""

    MACHINE = 91
    BOOT = 92
    LATE = 93


_WHY = {FenceRefusal.MACHINE: "another machine", FenceRefusal.BOOT: "another boot", FenceRefusal.LATE: "too late"}


@dataclass(frozen=True, slots=True)
class Fence:
    """Where a command may run, and until when.

    Shape: `machine_id` is in lower case, as everywhere in the bot, whatever case the node's file has. `host_key` is the
    fingerprint that the connection of this command must show; all else is checked in the command's text. `incident` is
    the id under which the node's journal gets its line; empty: none.
    Units: `until` is the node's uptime, in whole seconds.
    """

    boot_id: str
    machine_id: str
    host_key: str
    until: int
    incident: str = ""

    def fenced_line(self, line: str) -> str:
        """Return a shell command that runs `line` only on that machine, in that boot and in time.

        What it reads on its input goes to the journal before that. A logger that is missing, fails or hangs is waited
        for no longer than `JOURNAL_WITHIN`; then `line` runs all the same, with an empty input.

        Example:
        >>> Fence("b", "m", "", 60).fenced_line("sudo -n systemctl start -- x")[:79]
        'test "$(tr A-F a-f </etc/machine-id)" = m || { echo "not run: another machine" '
        """
        return (
            f'test "$(tr A-F a-f <{MACHINE_ID})" = {shlex.quote(self.machine_id)} || {_refusal(FenceRefusal.MACHINE)}; '
            f'test "$(cat {BOOT_ID})" = {shlex.quote(self.boot_id)} || {_refusal(FenceRefusal.BOOT)}; '
            f'up=$(cat {UPTIME}); test "${{up%%.*}}" -lt {self.until:d} || {_refusal(FenceRefusal.LATE)}; '
            f"{_to_journal(self.incident) if self.incident else ''}{line}"
        )

    def refusal(self, files: Mapping[str, str]) -> FenceRefusal | None:
        """Return why the fence stops its command on a node with these files, None if not; for simulated nodes."""
        if files.get(MACHINE_ID, "").strip().lower() != self.machine_id:
            return FenceRefusal.MACHINE
        if files.get(BOOT_ID, "").strip() != self.boot_id:
            return FenceRefusal.BOOT
        up = files.get(UPTIME, "").partition(".")[0]
        return None if up.isdecimal() and int(up) < self.until else FenceRefusal.LATE


def journal_command(incident: str) -> str:
    """Return the command that takes the line for the node's journal on its input; only the id varies.

    Example:
    >>> print(journal_command("7k3m9x2qpv"))
    logger -p user.notice -t "zombie[7k3m9x2qpv]"
    """
    return f'logger -p user.notice -t "zombie[{_NO_ID.sub("_", incident)}]"'


def journal_line(text: str) -> str:
    """Return a text as one line that is safe in a journal, and is not split there.

    Example:
    >>> journal_line("a\\nb") == "a b\\n", len(journal_line("é" * 9000).encode()) <= JOURNAL_BYTES
    (True, True)
    """
    line = one_line(text, JOURNAL_BYTES).encode(errors="replace")
    room = JOURNAL_BYTES - len("…\n".encode())
    return (line.decode() if len(line) <= room else line[:room].decode(errors="ignore") + "…") + "\n"


def parse_fenced(text: str) -> tuple[Fence, str] | None:
    """Return the fence in a shell command and the command behind it, None without a fence; for simulated nodes.

    Example:
    >>> parse_fenced(Fence("b", "m", "", 60).fenced_line("reboot"))
    (Fence(boot_id='b', machine_id='m', host_key='', until=60, incident=''), 'reboot')
    """
    found = _AROUND.fullmatch(text)
    if found is None:
        return None
    machine_id, boot_id, until, incident, line = found.groups()
    return Fence(shlex.split(boot_id)[0], shlex.split(machine_id)[0], "", int(until), incident or ""), line


def refusal_text(why: FenceRefusal) -> str:
    """Return what a fence prints on stderr when it stops its command."""
    return _SAYS + _WHY[why]


def refusal_of(ended: Completed) -> FenceRefusal | None:
    """Return why the fence stopped a command; None if the command ran or this is not known."""
    for why in FenceRefusal:
        if ended.exit_status == why.value and refusal_text(why) in ended.stderr:
            return why
    return None


def _refusal(why: FenceRefusal) -> str:
    return f'{{ echo "{refusal_text(why)}" >&2; exit {why.value}; }}'


def _to_journal(incident: str) -> str:
    # A logger whose file hangs on its disk cannot be killed: so a shell waits for it, which can.
    waits = f"timeout -k 1 2 sh -c '{journal_command(incident)} <&3 & wait' 3<&0 >/dev/null 2>&1"
    return f"{waits}; exec </dev/null; "


_JOURNAL = re.escape(_to_journal("ID")).replace("ID", "([A-Za-z0-9_-]+)")
_AROUND = re.compile(
    re.escape(Fence("BOOT", "MACHINE", "", 0).fenced_line("LINE"))
    .replace("=\\ MACHINE", f"=\\ {_WORD}")
    .replace("=\\ BOOT", f"=\\ {_WORD}")
    .replace("\\-lt\\ 0", "\\-lt\\ ([0-9]+)")
    .replace("LINE", f"(?:{_JOURNAL})?(.*)")
)
