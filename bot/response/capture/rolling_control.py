"""Starts and stops rolling captures: each is recorded, limited, and fenced like an action."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from datetime import timedelta

from bot.domain.alert import BOT
from bot.domain.contracts import ActingLedger, Clock, Fresh
from bot.domain.defaults import CAPTURE_HOURS, CAPTURES_A_DAY, CAPTURES_AT_ONCE
from bot.domain.errors import (
    Braked,
    BudgetSpent,
    CannotRead,
    CannotTell,
    MissingRight,
    NodeBusy,
    NotAllowedToAsk,
    SelfApproval,
    StateChanged,
    UsageError,
)
from bot.domain.fence import SENT_WITHIN
from bot.domain.house_events import (
    HOUSE,
    CaptureApproved,
    CaptureAsked,
    CaptureBegan,
    CaptureEnded,
    CaptureStarting,
    CaptureStopping,
    HouseEvent,
)
from bot.domain.node import Node
from bot.domain.policy import Approval, Policy
from bot.domain.rolling import (
    ROOT_SECONDS,
    RollingRequest,
    forget_ways,
    make_folder_argv,
    remove_argv,
    start_argv,
    stop_ways,
)
from bot.domain.rolling_record import RollingCapture, RollingState, captures_of
from bot.domain.root_command import root_argv, root_line
from bot.domain.safe_text import one_line
from bot.response.capture.capacity import can_keep_ring
from bot.response.capture.ring_access import MachineIdentity, RingAccess
from bot.response.capture.rolling_status import RollingStatus
from bot.response.decision import guards

_SETTLES = 15.0  # seconds within which systemd has started the unit


@dataclass(frozen=True, slots=True)
class RollingLimits:
    """The limits of recording: nodes at once, hours, captures a day for each person; and who has to agree."""

    at_once: int = CAPTURES_AT_ONCE
    most_hours: int = CAPTURE_HOURS
    a_day: int = CAPTURES_A_DAY
    approval: bool = False


@dataclass(frozen=True, slots=True)
class RollingControl:
    """Starts and stops captures. `new_id` makes a capture's id; `seconds` replaces its hours in tests."""

    access: RingAccess
    ledger: ActingLedger
    policy: Policy
    limits: RollingLimits
    now: Clock
    new_id: Fresh
    seconds: int = 0

    async def all(self) -> dict[str, RollingCapture]:
        """Return every capture on record, by its id, the oldest first."""
        return captures_of(await self.ledger.captures())

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
        """Record a request, and start it unless another person has to agree; `capture` is its id, where known.

        Raises: Refused, by its name, when not allowed; Unreachable; CannotRead, with what to do.
        """
        if request.hours > self.limits.most_hours:
            raise BudgetSpent(f"[capture] most_hours allows {self.limits.most_hours} hours, not {request.hours}.")
        await self._is_free(node.name, by, "")
        asked = CaptureAsked(
            capture or self.new_id(),
            node.name,
            request.hours,
            request.segment_minutes,
            request.around,
            self.limits.approval,
            os_user,
        )
        await self._tell(asked, by)
        try:
            await self._is_free(node.name, by, asked.capture)
            rolling = await self.find(asked.capture)
            return await self.begin(node, rolling) if rolling.state is RollingState.APPROVED else rolling
        except BaseException as no:
            await self._over_if_never_started(asked.capture, no)
            raise

    async def approve(self, node: Node, rolling: RollingCapture, approval: Approval) -> RollingCapture:
        """Record another person's yes, and start it.

        Raises: NotAnApprover, SelfApproval, StateChanged; and what `begin` raises.
        """
        self.may_approve(rolling, approval)
        if self.now() - rolling.asked_at > self.policy.approval_expires:
            await self._tell(CaptureEnded(rolling.id, "nobody agreed in time"), BOT)
            raise StateChanged(f"Capture {rolling.id} was asked for too long ago.", "Ask again.")
        await self._tell(CaptureApproved(rolling.id, approval.os_user, one_line(approval.reason, 500)), approval.by)
        try:
            return await self.begin(node, await self.find(rolling.id))
        except BaseException as no:
            await self._over_if_never_started(rolling.id, no)
            raise

    def may_approve(self, rolling: RollingCapture, approval: Approval) -> None:
        """Return for a person who may say yes. Raises: NotAnApprover, SelfApproval, StateChanged."""
        guards.is_named(self.policy, approval)
        asker = self.policy.people_of(rolling.by, rolling.os_user)
        if not self.policy.self_approval and asker & self.policy.people_of(approval.by, approval.os_user):
            raise SelfApproval("The person who asked for a capture may not approve it.", "Ask another person.")
        _is_asked(rolling)

    async def decline(self, rolling: RollingCapture, approval: Approval) -> RollingCapture:
        """Record a no from a person who may say yes. Raises: NotAnApprover, StateChanged."""
        guards.is_named(self.policy, approval)
        _is_asked(rolling)
        because = f"{approval.by} declined it" + (f": {one_line(approval.reason, 300)}" if approval.reason else "")
        await self._tell(CaptureEnded(rolling.id, because), approval.by)
        return await self.find(rolling.id)

    async def begin(self, node: Node, rolling: RollingCapture) -> RollingCapture:
        """Check the node's resources, record the intent, and start the recorder.

        Raises: Refused; Unreachable; CannotRead, with what to do. Then nothing runs, or the next look finds out.
        """
        whom, look = await self.access.look(node)
        can_keep_ring(node, look)
        starting = CaptureStarting(rolling.id, whom.boot_id, whom.machine_id, whom.host_key, whom.uptime, look.event)
        await self._tell(starting, BOT)
        argv = start_argv(rolling.request, look.event, look.systemd, self.access.places, self.seconds)
        folder = root_argv(make_folder_argv(self.access.places), ROOT_SECONDS)
        anew = root_line(remove_argv(self.access.places), ROOT_SECONDS)  # what an earlier capture may have left
        line = f"{anew} && {shlex.join(folder)} && {shlex.join(root_argv(argv, ROOT_SECONDS))}"
        try:
            ended = await self.access.run(node, whom, line)
        except (MissingRight, StateChanged) as no:
            await self._tell(CaptureEnded(rolling.id, one_line(no.sentence, 200)), BOT)
            raise
        if ended.exit_status != 0:
            said = one_line(ended.stderr, 200) or f"exit status {ended.exit_status}"
            await self._tell(CaptureEnded(rolling.id, f"it did not start: {said}"), BOT)
            raise CannotRead(f"the recorder did not start ({said})", "systemctl status zombie-capture says more.")
        whom, look = await self.access.look(node)
        if not owns(await self.find(rolling.id), whom, look):
            left = await self.cleaned(node, whom, look)
            said = f"the recorder ended at once ({look.reason or 'no reason was given'})"
            await self._tell(CaptureEnded(rolling.id, said, left), BOT)
            raise CannotRead(said, "Does perf record run there? journalctl -u zombie-capture says more.")
        await self._tell(CaptureBegan(rolling.id, look.since_usec), BOT)
        return await self.find(rolling.id)

    async def stop(self, node: Node, rolling: RollingCapture, by: str, os_user: str = "") -> RollingCapture:
        """Stop the recorder. Its ring stays for the next look, which reads the last samples and removes it.

        Raises: Unreachable; CannotTell when another machine answers; MissingRight.
        """
        if rolling.is_over:
            return rolling
        if rolling.started is None:
            await self._tell(CaptureEnded(rolling.id, f"{by} called it off"), by)
            return await self.find(rolling.id)
        whom, look = await self.access.look(node)
        same_machine(node, rolling, whom)
        if not owns(rolling, whom, look):
            return rolling  # it ended by itself: the next look says why
        recorded = max(0.0, whom.uptime - look.since_usec / 1e6)
        await self._tell(CaptureStopping(rolling.id, os_user, look.spent_seconds, recorded), by)
        ended = await self.access.run(node, whom, _first(stop_ways(self.access.places)))
        if ended.exit_status != 0:
            said = one_line(ended.stderr, 160) or f"exit status {ended.exit_status}"
            raise CannotRead(f"systemd did not stop the recorder ({said})", "It ends by itself at its time.")
        return await self.find(rolling.id)

    async def cleaned(self, node: Node, whom: MachineIdentity, look: RollingStatus) -> str:
        """Remove the ring of an ended recorder; return what is left, empty if nothing is.

        While an unknown recorder runs, the ring is its own and is left alone.
        """
        if look.is_active:
            return "a recorder that this record does not know"
        places = self.access.places
        forget = _first(forget_ways(places))  # it fails where no unit had failed
        line = f"{root_line(remove_argv(places), ROOT_SECONDS)} && {{ {forget}; true; }}"
        ended = await self.access.run(node, whom, line)
        return "" if ended.exit_status == 0 else f"its ring ({one_line(ended.stderr, 160)})"

    async def over(self, rolling: RollingCapture, because: str, left: str) -> RollingCapture:
        """Record the end, and return the capture's new state."""
        await self._tell(CaptureEnded(rolling.id, because, left), BOT)
        return await self.find(rolling.id)

    async def _is_free(self, node: str, by: str, own: str) -> None:
        """Raises: Braked, NodeBusy, BudgetSpent or NotAllowedToAsk when none may begin there; `own` is this capture."""
        if (pulled := await self.ledger.braked()) is not None:
            raise Braked(
                f"{pulled.by} pulled the brake at {pulled.at:%H:%M} UTC.", "An approver releases it: zombie brake off"
            )
        before: list[RollingCapture] = []
        for rolling in (await self.all()).values():
            if rolling.id == own:
                break
            before.append(rolling)
        alive = [rolling for rolling in before if not rolling.is_over and not rolling.is_overdue(self.now())]
        if same := [rolling for rolling in alive if rolling.node == node]:
            raise NodeBusy(f"{node} has capture {same[0].id} already.", f"zombie capture show {same[0].id}")
        if len(alive) >= self.limits.at_once:
            raise BudgetSpent(f"{len(alive)} captures run, and [capture] at_once allows no more.")
        day_ago = self.now() - timedelta(days=1)
        asked = sum(rolling.by == by and rolling.asked_at > day_ago for rolling in before)
        if asked >= self.limits.a_day:
            raise NotAllowedToAsk(f"{by} asked for {asked} captures within a day; [capture] a_day allows no more.")

    async def _over_if_never_started(self, capture: str, no: BaseException) -> None:
        rolling = await self.find(capture)
        if rolling.started is None and not rolling.is_over:
            said = one_line(str(getattr(no, "sentence", "")) or type(no).__name__, 200)
            await self._tell(CaptureEnded(capture, f"it did not start: {said}"), BOT)

    async def _tell(self, event: HouseEvent, by: str) -> None:
        await self.ledger.append(HOUSE, None, event, by)


def owns(rolling: RollingCapture, whom: MachineIdentity, look: RollingStatus) -> bool:
    """True if this capture started the unit that runs there: same machine, boot and start time."""
    started = rolling.started
    if started is None or not look.is_active or not whom.is_that_of(started):
        return False
    if rolling.since_usec:
        return look.since_usec == rolling.since_usec
    began = look.since_usec / 1e6  # whether the command arrived is not known
    return started.uptime - 1 <= began <= started.uptime + SENT_WITHIN.total_seconds() + _SETTLES


def same_machine(node: Node, rolling: RollingCapture, whom: MachineIdentity) -> None:
    """Raises: CannotTell when another machine answers than the recording machine; nothing is sent to it."""
    if rolling.started is not None and rolling.started.machine_id != whom.machine_id:
        raise CannotTell(f"Another machine than that of capture {rolling.id} answers as {node.name}.")


def _is_asked(rolling: RollingCapture) -> None:
    """Raises: StateChanged when it no longer waits for an answer."""
    if rolling.state is not RollingState.ASKED:
        raise StateChanged(f"Capture {rolling.id} is {rolling.state.value}: it waits for no answer.")


def _first(ways: tuple[tuple[str, ...], ...]) -> str:
    folders = tuple(way[0].rpartition("/")[0] for way in ways)
    return root_line((ways[0][0].rpartition("/")[2], *ways[0][1:]), ROOT_SECONDS, folders)
