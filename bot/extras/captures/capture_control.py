"""Starts and stops rolling captures: each is recorded, limited, and fenced like an action."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.domain.alert import BOT
from bot.domain.claim import check_brake_off
from bot.domain.contracts import Clock, Fresh
from bot.domain.errors import (
    BudgetSpent,
    CannotRead,
    CannotTell,
    ConnectionLost,
    MissingRight,
    NodeBusy,
    NotAllowedToAsk,
    StateChanged,
    Unreachable,
    UsageError,
    ZombieError,
)
from bot.domain.fence import SENT_WITHIN
from bot.domain.node import Node
from bot.domain.root_command import root_argv, root_line
from bot.domain.safe_text import one_line, redacted_line
from bot.extras.captures.capture_fold import AFTER_LAST_LOOK, CaptureRecord, RollingCapture
from bot.extras.captures.events import (
    CaptureAsked,
    CaptureBegan,
    CaptureEnded,
    CaptureEvent,
    CaptureStarting,
    CaptureStopping,
    SymptomCaught,
)
from bot.extras.captures.recorder_commands import (
    ROOM_KIB,
    ROOT_SECONDS,
    SYSTEMD_LEAST,
    RollingRequest,
    make_folder_argv,
    remove_argv,
    reset_failed_commands,
    start_argv,
    stop_commands,
    unit_free_line,
)
from bot.extras.captures.ring_access import MachineIdentity, RingAccess
from bot.extras.captures.ring_status import RollingStatus
from bot.extras.captures.settings import CaptureSettings
from bot.extras.captures.store import CaptureStore
from bot.extras.profiles.profiler import perf_missing, too_starved

_SETTLES = 45.0  # seconds from the fence until systemd has started the unit: what runs before it takes 10 s each
_ENDED_BY_TIME = (None, 124, 137)  # what it asked systemd for may still be done


@dataclass(frozen=True, slots=True)
class RollingControl:
    """Starts and stops captures. `new_id` makes a capture's id; `seconds` replaces its hours in tests."""

    access: RingAccess
    ledger: CaptureStore
    limits: CaptureSettings
    now: Clock
    new_id: Fresh
    seconds: int = 0

    async def all(self) -> Mapping[str, RollingCapture]:
        """Return every capture on record, by its id, the oldest first."""
        return (await self.ledger.record()).captures

    async def find(self, capture: str) -> RollingCapture:
        """Return the capture whose id begins like this. Raises: UsageError for none or several."""
        found = [rolling for name, rolling in (await self.all()).items() if capture and name.startswith(capture)]
        if len(found) != 1:
            several = f"{len(found)} captures begin with" if found else "There is no capture"
            raise UsageError(f"{several} {one_line(capture, 40)}.", "zombie capture list")
        return found[0]

    async def ask(
        self, node: Node, request: RollingRequest, by: str, os_user: str = "", capture: str = ""
    ) -> RollingCapture:
        """Look whether the node can be recorded, put request and start on record, and start the recorder.

        Shape: `capture` is its id, where known. Nothing is on record of one that is refused.
        Raises: Refused, by its name, when not allowed; Unreachable; CannotRead, with what to do. Where it is not known
        whether the recorder started, the error says so, and a later look finds out.
        """
        if request.hours > self.limits.most_hours:
            raise BudgetSpent(f"[capture] most_hours allows {self.limits.most_hours} hours, not {request.hours}.")
        around, minutes = request.around, request.segment_minutes
        asked = CaptureAsked(capture or self.new_id(), node.name, request.hours, minutes, around, os_user=os_user)
        self._check_request_allowed(await self.ledger.record(), asked, by)  # else nobody logs in there
        whom, look = await self.access.look(node)
        starting = CaptureStarting(
            asked.capture, whom.boot_id, whom.machine_id, whom.host_key, whom.uptime, look.facts.event
        )

        def decide(record: CaptureRecord) -> Sequence[CaptureEvent]:
            self._check_request_allowed(record, asked, by)
            ended = tuple(_ends_before(record, starting, whom, look))  # a recorder that the record knows has a name
            check_can_keep_ring(node, look)
            return (*ended, asked, starting)

        await self.ledger.append(decide, by)
        record = await self.ledger.record()
        rolling = record.captures[asked.capture]
        if record.pulled is not None:
            await self.record_end(rolling, "the brake was pulled before anything was sent to the node", "")
        check_brake_off(record.pulled)
        return await self._start_recorder(node, whom, rolling, look)

    async def stop(self, node: Node, rolling: RollingCapture, by: str, os_user: str = "") -> RollingCapture:
        """Stop the recorder. Its ring stays for the next look, which reads the last samples and removes it.

        Raises: Unreachable; CannotTell when another machine answers; MissingRight; StateChanged while it is not known
        whether the recorder has started; CannotRead when systemd does not stop it.
        """
        if rolling.is_over or rolling.started is None:
            return rolling
        whom, look = await self.access.look(node)
        check_same_machine(node, rolling, whom)
        if not is_recorder_of(rolling, whom, look):
            if not (rolling.since_usec or is_start_settled(rolling.started, whom)):
                raise StateChanged(f"Capture {rolling.id} is just being started.", "Stop it in half a minute.")
            return rolling  # it ended by itself: the next look says why
        recorded = max(0.0, whom.uptime - look.since_usec / 1e6)
        stopping = CaptureStopping(rolling.id, os_user, look.spent_seconds, recorded)
        rolling = await self._append(stopping, by, lambda now, _: now.stopping is None)
        await self.stop_unit(node, whom)
        return rolling

    async def stop_unit(self, node: Node, whom: MachineIdentity) -> None:
        """Stop the recorder on the node. Raises: Unreachable, StateChanged, MissingRight; CannotRead if it runs on."""
        ended = await self.access.run(node, whom, _as_root(stop_commands(self.access.places)))
        if ended.exit_status != 0:
            said = redacted_line(ended.stderr, 160) or f"exit status {ended.exit_status}"
            raise CannotRead(f"systemd did not stop the recorder ({said})", "It ends by itself at its time.")

    async def end_lost(
        self, rolling: RollingCapture, said: str, by: str = "", unread: Sequence[str] = ()
    ) -> RollingCapture:
        """End a capture that has ended by itself on a node that cannot be looked at; return its state.

        Shape: `said` is why not, `unread` what was not read of it before. A person (`by`) may end it as soon as its
        time is over, the bot a day after.
        """
        because = f"its time was over, and its node could not be looked at ({one_line(said, 160).rstrip('.')})"
        left = f"its ring in {self.access.places.folder}, if that node still exists"
        ended = CaptureEnded(rolling.id, because, left, (*unread, *AFTER_LAST_LOOK))
        return await self._append(ended, by or BOT, lambda now, at: now.is_overdue(at) if by else now.is_lost(at))

    async def record_begun(self, rolling: RollingCapture, since_usec: int) -> RollingCapture:
        """Record that its recorder runs, and since when; return its state."""
        return await self._append(CaptureBegan(rolling.id, since_usec), BOT, lambda now, _: not now.since_usec)

    async def record_symptom(self, event: SymptomCaught) -> RollingCapture:
        """Record a symptom, unless it is on record: several programs may see it; return the capture's state."""
        return await self._append(event, BOT, lambda now, _: not now.knows(event))

    async def record_end(
        self, rolling: RollingCapture, because: str, left: str, unread: Sequence[str] = ()
    ) -> RollingCapture:
        """Record the end; return the capture's new state."""
        return await self._append(CaptureEnded(rolling.id, because, left, tuple(unread)), BOT, lambda *_: True)

    async def remove_ring(self, node: Node, rolling: RollingCapture, whom: MachineIdentity, look: RollingStatus) -> str:
        """Remove the ring of a capture's ended recorder; return what is left, empty if nothing is.

        While an unknown recorder runs, the ring is its own and is left alone: the command looks for one itself. So is
        that of a capture of this boot that has ended by itself, and was not looked at since.
        """
        for other in (await self.all()).values():
            has_begun = other.started is not None and whom.matches_capture_start(other.started)
            if has_begun and not other.is_over and other.id != rolling.id:
                return f"the ring of capture {other.id}, which reads it first"
        if look.is_active:
            return "a recorder that this record does not know"
        places = self.access.places
        forget = _as_root(reset_failed_commands(places))  # it fails where no unit had failed
        line = f"{unit_free_line(places)} && {root_line(remove_argv(places), ROOT_SECONDS)} && {{ {forget}; true; }}"
        try:
            ended = await self.access.run(node, whom, line)
        except MissingRight:
            return f"what is in {places.folder}, which the login may not remove"
        return "" if ended.exit_status == 0 else f"its ring ({redacted_line(ended.stderr, 160)})"

    async def _start_recorder(
        self, node: Node, whom: MachineIdentity, rolling: RollingCapture, look: RollingStatus
    ) -> RollingCapture:
        """Start the recorder, and look whether it runs. Raises: as `ask`."""
        assert rolling.started is not None
        failed, has_ended = await self._send_start(node, whom, rolling, look)
        try:
            whom, look = await self.access.look(node)
            check_same_machine(node, rolling, whom)
        except (Unreachable, CannotRead, CannotTell) as no:
            raise _not_known(rolling, failed or no) from no
        if is_recorder_of(rolling, whom, look):
            return await self.record_begun(rolling, look.since_usec)
        if look.is_active or (not has_ended and not is_start_settled(rolling.started, whom)):
            raise _not_known(rolling, failed or CannotRead("its command did not end"))
        said = f"the recorder ended at once ({look.reason or 'no reason was given'})"
        because = said if failed is None else f"it did not start: {one_line(failed.sentence, 200)}"
        await self.record_end(rolling, because, await self.remove_ring(node, rolling, whom, look))
        raise failed or CannotRead(said, "Does perf record run there? journalctl -u zombie-capture says more.")

    async def _send_start(
        self, node: Node, whom: MachineIdentity, rolling: RollingCapture, look: RollingStatus
    ) -> tuple[ZombieError | None, bool]:
        """Send the command that starts the recorder; return what went wrong, and whether the command has ended."""
        places = self.access.places
        start = start_argv(rolling.request, look.facts.event, look.systemd, places, self.seconds)
        steps = (
            unit_free_line(places),
            root_line(remove_argv(places), ROOT_SECONDS),  # what an earlier capture may have left
            # An older systemd starts no failed unit anew.
            f"{{ {_as_root(reset_failed_commands(places))} 2>/dev/null; true; }}",
            shlex.join(root_argv(make_folder_argv(places), ROOT_SECONDS)),
            shlex.join(root_argv(start, ROOT_SECONDS)),
        )
        try:
            ended = await self.access.run(node, whom, " && ".join(steps))
        except (MissingRight, StateChanged) as no:
            return no, True
        except Unreachable as no:  # it may still arrive
            return no, False
        if ended.exit_status == 0:
            return None, True
        said = redacted_line(ended.stderr, 200) or f"exit status {ended.exit_status}"
        failed = CannotRead(f"the recorder did not start ({said})", "systemctl status zombie-capture says more.")
        return failed, ended.exit_status not in _ENDED_BY_TIME

    def _check_request_allowed(self, record: CaptureRecord, asked: CaptureAsked, by: str) -> None:
        """Raises: Braked, StateChanged, NodeBusy, BudgetSpent or NotAllowedToAsk where it may not go on record now."""
        check_brake_off(record.pulled)
        if asked.capture in record.captures:
            raise StateChanged(f"Capture {asked.capture} is on record already.")
        alive = [rolling for rolling in record.captures.values() if rolling.occupies_slot(record.now)]
        if same := [rolling for rolling in alive if rolling.node.lower() == asked.node.lower()]:
            raise NodeBusy(f"{asked.node} has capture {same[0].id} already.", f"zombie capture show {same[0].id}")
        if len(alive) >= self.limits.at_once:
            raise BudgetSpent(f"{len(alive)} captures run, and [capture] at_once allows no more.")
        most = self.limits.a_day
        lately = (rolling for rolling in record.captures.values() if rolling.was_asked_lately(record.now))
        if sum(rolling.by == by for rolling in lately) >= most:
            raise NotAllowedToAsk(f"{by} asked for {most} captures within a day; [capture] a_day allows no more.")

    async def _append(
        self, event: CaptureEvent, by: str, may: Callable[[RollingCapture, datetime], bool]
    ) -> RollingCapture:
        """Append it where `may` says so of its capture at the ledger's time; return the capture's state afterwards.

        Only a symptom may come after the end: another program may have ended the capture that this one looked at.
        """

        def decide(record: CaptureRecord) -> Sequence[CaptureEvent]:
            rolling = record.captures.get(event.capture)
            is_late = rolling is not None and rolling.is_over and not isinstance(event, SymptomCaught)
            return () if rolling is None or is_late or not may(rolling, record.now) else (event,)

        await self.ledger.append(decide, by)
        return await self.find(event.capture)


def _ends_before(
    record: CaptureRecord, starting: CaptureStarting, whom: MachineIdentity, look: RollingStatus
) -> Iterator[CaptureEnded]:
    """Yield the ends of what ran before on the machine `whom`.

    Raises: NodeBusy where one of them runs, or may still run.
    """
    for other in record.captures.values():  # a machine may have two names
        # Copied images share a machine-id, and never a boot. A capture of an earlier boot is ended by its own look.
        if other.is_over or other.started is None or not whom.matches_capture_start(other.started):
            continue
        is_past = other.is_overdue(record.now) and is_start_settled(other.started, whom)
        if not is_past or is_recorder_of(other, whom, look):
            raise NodeBusy(
                f"The machine has capture {other.id} already, as {other.node}.", f"zombie capture show {other.id}"
            )
        because = f"its time was over, and capture {starting.capture} began there"
        yield CaptureEnded(other.id, because, unread=AFTER_LAST_LOOK)


def _not_known(rolling: RollingCapture, no: ZombieError) -> ConnectionLost:
    said = one_line(no.sentence, 200).rstrip(".")
    return ConnectionLost(
        f"Whether a recorder started on {rolling.node} is not known ({said}).",
        f"A later look finds out: zombie capture show {rolling.id}",
    )


def is_start_settled(started: CaptureStarting, whom: MachineIdentity) -> bool:
    """True once the command that starts a recorder has done what it ever will; `whom` is what the node says now."""
    latest = started.uptime + SENT_WITHIN.total_seconds() + _SETTLES
    return whom.boot_id != started.boot_id or whom.uptime > latest


def is_recorder_of(rolling: RollingCapture, whom: MachineIdentity, look: RollingStatus) -> bool:
    """True if this capture started the unit that runs there: same machine, boot and start time."""
    started = rolling.started
    if started is None or not look.is_active or not whom.matches_capture_start(started):
        return False
    if rolling.since_usec:
        return look.since_usec == rolling.since_usec
    since = look.since_usec / 1e6  # whether the command arrived is not known
    return started.uptime - 1 <= since <= started.uptime + SENT_WITHIN.total_seconds() + _SETTLES


def check_same_machine(node: Node, rolling: RollingCapture, whom: MachineIdentity) -> None:
    """Raises: CannotTell when another machine answers than the recording machine; nothing is sent to it.

    A copied image has its machine-id, in another boot, as a reboot has: only the host key tells it apart.
    """
    started = rolling.started
    if started is not None and (started.machine_id, started.host_key) != (whom.machine_id, whom.host_key):
        raise CannotTell(f"Another machine than that of capture {rolling.id} answers as {node.name}.")


def _as_root(ways: tuple[tuple[str, ...], ...]) -> str:
    folders = tuple(way[0].rpartition("/")[0] for way in ways)
    return root_line((ways[0][0].rpartition("/")[2], *ways[0][1:]), ROOT_SECONDS, folders)


def check_can_keep_ring(node: Node, look: RollingStatus) -> None:
    """Raises: CannotRead or NodeBusy when no recorder can be started there."""
    if look.systemd < SYSTEMD_LEAST:
        runs = f"runs systemd {look.systemd}" if look.systemd else "runs no systemd"
        raise CannotRead(f"{node.name} {runs}, and a capture needs {SYSTEMD_LEAST}", "zombie profile needs none.")
    if look.is_active:
        raise NodeBusy(
            f"A recorder that this record does not know runs on {node.name} already.",
            "It ends by itself within 24 h; to stop it on the node: systemctl stop zombie-capture",
        )
    if (missing := perf_missing(look.facts)) is not None:
        raise missing
    if not look.keeps_ring:
        raise CannotRead("its perf keeps no ring (--switch-max-files, Linux 5.1)", "zombie profile needs none.")
    if look.room_kib is None or look.room_kib < ROOM_KIB:
        free = "an unknown amount" if look.room_kib is None else f"{look.room_kib / 1024:.0f} MB"
        raise CannotRead(f"not started: /var/lib has {free} free, and 2 GB are wanted", "Make room there first.")
    if why := too_starved(look.facts):
        raise CannotRead(f"not started: {why}", "zombie profile --anyway profiles it for some seconds all the same.")
