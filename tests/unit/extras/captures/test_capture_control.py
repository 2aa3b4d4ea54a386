"""What may go on record about captures, and what it takes to say that one did not start."""

from __future__ import annotations

import argparse
import asyncio
import re
import subprocess
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bot.commands import options
from bot.domain.command import Completed, Outputs
from bot.domain.errors import (
    Braked,
    BudgetSpent,
    CannotRead,
    ConnectionLost,
    NodeBusy,
    NotAllowedToAsk,
    StateChanged,
    Unreachable,
)
from bot.domain.house_events import HOUSE, BrakePulled
from bot.domain.node import Node
from bot.extras.captures import command, words
from bot.extras.captures.capture_control import RollingControl
from bot.extras.captures.capture_fold import AFTER_LAST_LOOK, RollingState, incident_of
from bot.extras.captures.capture_watch import CaptureLookResult, RollingWatch
from bot.extras.captures.events import CaptureAsked, CaptureStarting, CaptureStopping
from bot.extras.captures.in_report import shown
from bot.extras.captures.recorder_commands import CapturePaths, RollingRequest, unit_free_line
from bot.extras.captures.ring_access import MachineIdentity
from bot.extras.captures.ring_status import LogLine, Segment, parse_status, status_commands
from bot.extras.captures.serving import CapturePoller
from bot.extras.captures.settings import CaptureSettings
from bot.extras.captures.store import CaptureStore
from bot.extras.profiles.capture_wire import WallClock
from bot.extras.profiles.perf_command import JOURNAL_LINES
from bot.ledger import Database, Ledger
from bot.ledger.database import on_thread
from tests.known import known
from tests.schedules.captures import Access, Known, RecordingNode, Run, printed
from tests.schedules.recorder import Recorder
from tests.schedules.world import World

ONE = Node("n0", "n0.example")
SAMPLED = "\tffffffff81234567 mem_cgroup_nr_lru_pages+0x10 ([kernel.kallsyms])"
COMPUTES = "\t00007f0000000010 main+0x10 (/usr/bin/python)"
HELD = "core 1 ran kubelet (7) in mem_cgroup_nr_lru_pages for 100 % of samples"
NOBODY = "no sample shows a process that held a core in the kernel (code with interrupts off may not be sampled)"


def sampled(core: int, at: float, process: str = "kubelet", frame: str = SAMPLED, event: str = "cycles") -> str:
    """A sample of the core, at that second."""
    return f"{process} {len(process)}/7 [{core:03}] {at:.9f}: {event}:\n{frame}\n\n"


def ticks(begins: float, ends: float) -> list[float]:
    """Ten times a second."""
    return [begins + number / 10 for number in range(round(10 * (ends - begins)))]


def through(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Drive a coroutine of the world to its end, on its own."""
    while True:
        try:
            coroutine.send(None)
        except StopIteration as over:
            return over.value


class Stage:
    """One machine with two names, another one, and a program for each that asks."""

    def __init__(self, database: Database) -> None:
        self.world = World(1)
        self.ledger = Ledger(database, lambda: self.world.now)
        self.database, self.store = database, CaptureStore(database, lambda: self.world.now)
        self.machine, other = RecordingNode(self.world, "m0"), RecordingNode(self.world, "m1")
        self.nodes = {"n0": self.machine, "alias": self.machine, "n1": other}
        self.access = Access(self.world, self.nodes, 0.0)
        self.known = Known(self.world, self.nodes)
        self.names = iter(f"capture{number:03}" for number in range(100))
        self.limits = CaptureSettings(at_once=2, most_hours=24, a_day=9)

    def watch(self, access: Any = None) -> RollingWatch:
        recorder: Any = Recorder(self.world, self.store, 0.0)
        way: Any = access or self.access
        control = RollingControl(way, recorder, self.limits, self.world.clock, lambda: next(self.names))
        return RollingWatch(control)

    def ask(self, name: str = "n0", access: Any = None, hours: int = 1, **more: Any) -> Any:
        request = RollingRequest(hours, **more)
        return through(self.watch(access).control.ask(self.known.find(name), request, "terminal:ann"))

    def find(self, capture: str = "capture000") -> Any:
        return through(self.watch().control.find(capture))

    def seen(self, capture: str = "capture000") -> Any:
        return through(self.watch().look_or_give_up(self.known, self.find(capture))).rolling

    def stopped(self, capture: str = "capture000") -> Any:
        return through(self.watch().stopped(self.known, self.find(capture), "terminal:bob")).rolling

    def kinds(self) -> list[str]:
        return [entry.kind for entry in self.store.entries.now()]

    def asked(self, name: str = "n0") -> None:
        """What a program leaves that died before it looked at the node."""
        decided = (CaptureAsked(next(self.names), name, 1, 2, ("lockup",)),)
        self.store.append.now(lambda _: decided, "terminal:ann")


@pytest.fixture
def stage(sqlite: Database) -> Stage:
    return Stage(sqlite)


class Between:
    """An access between whose look and command something happens, or after whose command nothing is heard."""

    def __init__(
        self, access: Access, happens: Any = None, breaks: bool = False, exit_status: int | None = None
    ) -> None:
        self.access, self.happens, self.breaks, self.exit_status = access, happens, breaks, exit_status
        self.places = access.places
        self.looks = 0

    async def look(self, node: Node) -> Any:
        self.looks += 1
        found = await self.access.look(node)
        if self.happens is not None and self.looks == 1:
            self.happens()
        return found

    async def run(self, node: Node, whom: MachineIdentity, line: str) -> Completed:
        ended = await self.access.run(node, whom, line)
        if self.breaks:
            raise ConnectionLost("The connection broke.")
        if self.exit_status is not None:
            return Completed("run", "run", 0, "", "Failed to start", self.exit_status)
        return ended


def test_brake_that_is_pulled_while_the_node_is_looked_at_stops_the_start(stage: Stage) -> None:
    def pull() -> None:
        stage.ledger.append.now(HOUSE, None, BrakePulled("stop"), "terminal:eve")

    with pytest.raises(Braked):
        stage.ask(access=Between(stage.access, pull))
    assert (stage.machine.runs, stage.kinds()) == ([], [])
    with pytest.raises(Braked):
        stage.ask()
    assert stage.kinds() == [], "and nothing is asked for while it is on"


def test_brake_that_is_pulled_before_the_command_is_sent_stops_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts = vars(CaptureStore)["append"].method

    def pulled_after(self: CaptureStore, decide: Any, by: str) -> Any:
        entries = starts(self, decide, by)
        if any(entry.kind == "CaptureStarting" for entry in entries):
            stage.ledger.append.now(HOUSE, None, BrakePulled("stop"), "terminal:eve")
        return entries

    monkeypatch.setattr(CaptureStore, "append", on_thread(pulled_after))
    with pytest.raises(Braked):
        stage.ask()
    assert stage.machine.runs == []
    assert stage.find().is_over


@pytest.mark.parametrize("name", ["n0", "alias"])
def test_of_two_who_ask_at_once_for_a_machine_by_any_of_its_names_one_begins(stage: Stage, name: str) -> None:
    with pytest.raises(NodeBusy, match=name):
        stage.ask(access=Between(stage.access, lambda: stage.ask(name)))
    assert stage.kinds() == ["CaptureAsked", "CaptureStarting", "CaptureBegan"], "the second is not on record"
    assert len(stage.machine.runs) == 1
    assert (stage.machine.run is not None, stage.machine.robbed) == (True, 0)


@pytest.mark.parametrize("later", [0, 2], ids=["", "past its time, as on a node that was suspended"])
def test_recorder_that_the_record_knows_is_named_whatever_its_machine_is_called(stage: Stage, later: int) -> None:
    stage.ask()
    stage.machine.runs[0].until += timedelta(days=1)
    stage.world.now += timedelta(hours=later)
    with pytest.raises(NodeBusy, match="The machine has capture capture000 already, as n0"):
        stage.ask("alias")
    stage.nodes["n1"].runs = stage.machine.runs
    with pytest.raises(NodeBusy, match="A recorder that this record does not know runs on n1"):
        stage.ask("n1")


def test_whoever_calls_it_off_too_late_stops_its_recorder(stage: Stage) -> None:
    stage.asked()
    before = stage.find()
    stage.store.append.now(lambda _: (_starting(stage),), "bot")
    stage.machine.does(stage.machine.identity(), "systemd-run")
    through(stage.watch().stopped(stage.known, before, "terminal:bob"))
    assert stage.machine.run is None
    assert stage.find().stopped_by == "terminal:bob"


def _starting(stage: Stage) -> Any:
    whom = stage.machine.identity()
    return CaptureStarting("capture000", whom.boot_id, whom.machine_id, "key", whom.uptime, "cycles")


@pytest.mark.parametrize("status", [1, 124], ids=["refused", "timed out"])
def test_recorder_that_runs_though_its_command_failed_is_on_record_as_running(stage: Stage, status: int) -> None:
    rolling = stage.ask(access=Between(stage.access, exit_status=status))
    assert (rolling.state, stage.machine.run is not None) == (RollingState.RUNNING, True)


def test_command_that_may_still_arrive_is_not_said_to_have_started_nothing(stage: Stage) -> None:
    class Late(Between):
        async def run(self, node: Node, whom: MachineIdentity, line: str) -> Completed:
            self.line, self.whom = line, whom
            raise ConnectionLost("The connection broke.")

    access = Late(stage.access)
    with pytest.raises(Unreachable, match="Whether a recorder started on n0 is not known"):
        stage.ask(access=access)
    assert stage.seen().state is RollingState.STARTING
    with pytest.raises(StateChanged, match="just being started"):
        stage.stopped()
    stage.world.now += timedelta(seconds=9)
    stage.machine.does(access.whom, access.line)
    assert stage.seen().state is RollingState.RUNNING


def test_look_at_another_machine_says_nothing_of_the_recorder_and_removes_nothing_there(stage: Stage) -> None:
    class Strays(Between):
        """Behind the name another machine answers once the command was sent."""

        async def run(self, node: Node, whom: MachineIdentity, line: str) -> Completed:
            lines.append((whom.machine_id, line))
            return await super().run(node, whom, line)

        async def look(self, node: Node) -> Any:
            found = await super().look(node)
            return (stage.nodes["n1"].identity(), stage.nodes["n1"].status()) if self.looks == 2 else found

    lines = list[tuple[str, str]]()
    with pytest.raises(Unreachable, match="Whether a recorder started on n0 is not known"):
        stage.ask(access=Strays(stage.access))
    assert [machine for machine, _ in lines] == ["m0"], "nothing is sent to the other"
    assert (stage.machine.run is not None, stage.seen().state) == (True, RollingState.RUNNING)


def test_command_that_never_arrived_is_said_so_once_it_cannot_any_more(stage: Stage) -> None:
    stage.asked()
    stage.store.append.now(lambda _: (_starting(stage),), "bot")
    assert not stage.seen().is_over
    stage.world.now += timedelta(seconds=61)
    assert stage.seen().ended.because == "it did not start: the node shows no recorder of it, and no segment"


def test_one_that_an_older_program_asked_for_and_never_began_is_over_and_takes_no_place(stage: Stage) -> None:
    stage.limits = CaptureSettings(at_once=1, most_hours=24, a_day=9)
    stage.asked()
    assert stage.find().ended.because == "its program ended before it began, so nothing was started"
    assert stage.stopped().is_over
    assert stage.ask().state is RollingState.RUNNING
    with pytest.raises(NodeBusy):
        stage.ask()
    with pytest.raises(BudgetSpent):
        stage.ask("n1")


def test_program_that_froze_while_it_began_one_does_not_begin_it_later(stage: Stage) -> None:
    def later() -> None:
        stage.world.now += timedelta(minutes=7)

    with pytest.raises(StateChanged, match="nothing was run"):
        stage.ask(access=Between(stage.access, later))
    assert stage.machine.runs == []
    assert stage.find().is_over


def test_refused_request_costs_the_node_no_login(stage: Stage) -> None:
    stage.ask()
    access = Between(stage.access)
    with pytest.raises(NodeBusy):
        stage.ask(access=access)
    assert access.looks == 0


@pytest.mark.parametrize("how", ["away", "removed"])
def test_node_that_is_gone_does_not_keep_its_capture(stage: Stage, how: str) -> None:
    stage.ask()
    if how == "away":
        stage.machine.leave()
    else:
        stage.known.without = "n0"
    stage.world.now += timedelta(hours=1, minutes=6)
    assert stage.ask("n1").state is RollingState.RUNNING
    with pytest.raises(Exception, match="n0"):
        stage.seen()
    stage.world.now += timedelta(days=1)
    ended = stage.seen().ended
    assert ended.because.startswith("its time was over, and its node could not be looked at (")
    assert ended.unread == AFTER_LAST_LOOK
    assert "if that node still exists" in ended.left


@pytest.mark.parametrize("keeps", [(), (lambda _: nullcontext(len),)], ids=["", "with --out"])
def test_person_may_end_one_on_record_whose_time_is_over_and_whose_node_is_gone(stage: Stage, keeps: Any) -> None:
    rolling, watch = stage.ask(), stage.watch()
    stage.machine.leave()
    with pytest.raises(Unreachable):
        through(watch.stopped(stage.known, rolling, "terminal:bob", "", *keeps))
    stage.world.now += timedelta(hours=1, minutes=6)
    assert through(watch.stopped(stage.known, rolling, "terminal:bob", "", *keeps)).rolling.is_over


def test_clock_that_was_set_back_blocks_nothing_and_counts_against_nobody(stage: Stage) -> None:
    stage.limits = CaptureSettings(at_once=1, most_hours=24, a_day=1)
    stage.world.now += timedelta(days=400)
    stage.ask()
    stage.machine.leave()
    stage.world.now -= timedelta(days=400)
    assert stage.ask("n1").state is RollingState.RUNNING


def lies(node: RecordingNode, unit: str, says: str) -> None:
    """Have the node answer its looks with these lines of its own."""
    since = round((known(node.run).began - node.up_since).total_seconds() * 1e6)
    of_unit = [
        "systemctl=there",
        "version=systemd 252",
        "ActiveState=active",
        f"ExecMainStartTimestampMonotonic={since}",
    ]
    outputs = Outputs(
        printed("unit", [*of_unit, unit]), printed("node", ["perf=perf version 6.1", "ring=1", says, "list=whole"])
    )
    answers: Any = node
    answers.status = lambda: parse_status(outputs)


@pytest.mark.parametrize(
    ("unit", "says"), [("spent=nan", "room=-inf"), ("spent=1e300", "clock=nan 1 1"), ("spent=nan", "clock=1e13 1 1")]
)
def test_figures_that_no_node_has_are_unread_and_keep_nobody_from_being_looked_at(
    stage: Stage, unit: str, says: str
) -> None:
    stage.ask("n0")
    stage.ask("n1")
    lies(stage.nodes["n0"], unit, says)
    status: Any = stage.machine.status()
    assert (status.room_kib, status.clock.minus_mono, status.spent_seconds) == (None, None, 0.0)
    assert not stage.seen("capture000").is_over
    assert stage.stopped("capture001").is_over


def test_start_of_more_digits_than_a_number_may_have_is_unread() -> None:
    unit = ["systemctl=there", "ActiveState=active", "ExecMainStartTimestampMonotonic=" + "9" * 5000]
    assert parse_status(Outputs(printed("unit", unit), printed("node", ["list=whole"]))).since_usec == 0


def test_look_that_breaks_is_logged_and_the_others_are_looked_at() -> None:
    class Watch:
        control: Any

        async def all(self) -> dict[str, Any]:
            return {name: SimpleNamespace(id=name, node=name, is_over=False, caught=()) for name in ("a", "b")}

        async def look_or_give_up(self, _: Any, rolling: Any) -> Any:
            if rolling.id == "a":
                raise ArithmeticError("no such number")
            return SimpleNamespace(rolling=SimpleNamespace(caught=(), ended=None, is_over=False))

        async def note_away(self, rolling: Any, because: str) -> Any:
            return f"{rolling.id}: {because}"

    class Turns:
        async def take(self, _: str, is_over: bool) -> bool:
            return not is_over

    async def hears(news: Any) -> None:
        heard.append(news)

    logged: list[tuple[str, Any]] = []
    heard: list[Any] = []
    watch: Any = Watch()
    watch.control = watch
    known: Any = None
    turns: Any = Turns()
    keeper = CapturePoller(watch, known, turns, lambda event, **fields: logged.append((event, fields)), hears)
    for _ in range(2):
        asyncio.run(keeper.turn())
    assert logged == [("capture_unread", {"capture": "a", "node": "a", "error": "no such number"})]
    assert heard[::2] == ["a: no such number"] * 2, "its card says so"


def test_good_look_whose_telling_failed_is_told_again_though_its_capture_is_over() -> None:
    class Watch:
        """Its capture ends at the first look; a look that was not possible would raise here."""

        control: Any
        ended: Any = None

        async def all(self) -> dict[str, Any]:
            over = self.ended is not None
            return {"a": SimpleNamespace(id="a", node="n0", is_over=over, caught=(), ended=self.ended)}

        async def look_or_give_up(self, *_: Any) -> Any:
            self.ended = SimpleNamespace(because="its time was over")
            return SimpleNamespace(rolling=(await self.all())["a"])

    class Turns:
        async def take(self, _: str, is_over: bool) -> bool:
            return not is_over

        async def release_capture(self, capture: str) -> None:
            logged.append(f"{capture} released")

    async def hears(_: Any) -> None:
        logged.append("told")
        if logged.count("told") == 1:
            raise RuntimeError("The database did not answer in 5 s.")

    logged = list[str]()
    watch: Any = Watch()
    watch.control = watch
    known: Any = None
    turns: Any = Turns()
    keeper = CapturePoller(watch, known, turns, lambda event, **_: logged.append(event), hears)
    for _ in range(3):
        asyncio.run(keeper.turn())
    assert logged == ["capture_ended", "told", "capture_untold", "capture_ended", "told", "a released"]


def test_card_of_a_node_that_cannot_be_looked_at_says_since_when_until_the_end(stage: Stage) -> None:
    log = KernelLog(stage)
    log.minute(3)
    rolling, watch = stage.ask(), stage.watch()
    log.reset()
    log.more["segments"] = ()
    log.minute(3)
    through(watch.look_or_give_up(stage.known, rolling))
    (away,) = through(watch.note_away(rolling, "n0 refused the connection.")).waits
    assert re.fullmatch(r"it could not be looked at since \d\d:\d\d UTC: n0 refused the connection", away), away
    stage.machine.reboot()
    over = through(watch.look_or_give_up(stage.known, rolling)).rolling
    assert over.ended.unread == (away, *AFTER_LAST_LOOK)


def test_hours_and_captures_of_a_person_within_a_day_are_limited(stage: Stage) -> None:
    stage.limits = CaptureSettings(at_once=9, most_hours=6, a_day=1)
    with pytest.raises(BudgetSpent, match="most_hours"):
        stage.ask(hours=12)
    stage.ask()
    with pytest.raises(NotAllowedToAsk):
        stage.ask("n1")


def test_stop_whose_program_died_before_its_command_is_carried_out_by_the_next_look(stage: Stage) -> None:
    stage.ask()
    stage.store.append.now(lambda _: (CaptureStopping("capture000"),), "terminal:bob")
    stage.seen()
    assert stage.machine.run is None
    assert stage.seen().ended.because == "terminal:bob stopped it"


def test_recorder_is_never_said_to_have_ended_while_systemd_says_nothing(stage: Stage) -> None:
    stage.ask()
    stage.machine.is_mute = True
    with pytest.raises(CannotRead, match="systemd does not say"):
        stage.seen()
    with pytest.raises(CannotRead, match="systemd does not say"):
        stage.stopped()
    assert not stage.find().is_over
    assert stage.machine.run is not None
    stage.machine.is_mute = False
    assert stage.stopped().is_over
    assert stage.machine.run is None


def test_one_whose_recorder_is_seen_at_the_last_look_goes_on(stage: Stage) -> None:
    stage.ask()
    run, looks = stage.machine.run, list[bool]()

    class Flickers(Between):
        async def look(self, node: Node) -> Any:
            whom, status = await self.access.look(node)
            looks.append(True)
            return whom, status if len(looks) > 1 else replace(status, is_active=False, since_usec=0)

    rolling = stage.find()
    news = through(stage.watch(Flickers(stage.access)).look(ONE, rolling))
    assert (len(looks), news.rolling.is_over, stage.machine.run) == (2, False, run)


def test_copies_of_an_image_are_recorded_each_for_itself(stage: Stage) -> None:
    stage.nodes["n1"].machine_id, stage.nodes["n1"].boot = stage.machine.machine_id, 7
    stage.ask("n0")
    stage.ask("n1")
    assert [node.run is not None for node in (stage.machine, stage.nodes["n1"])] == [True, True]
    stage.world.now += timedelta(hours=2)
    stage.limits = CaptureSettings(at_once=3, most_hours=24, a_day=9)
    stage.ask("n1")
    assert not stage.find("capture000").is_over, "its own look ends it, and says what is left there"


def test_what_was_never_read_of_one_that_is_over_stays_on_record_and_nothing_caught_is_not_said(stage: Stage) -> None:
    stage.ask()
    assert stage.stopped().is_over
    over = CaptureLookResult(stage.find())  # as whoever asks later sees it
    unread = "the kernel's log is unread (the answer never came), so resets and lockups are not seen"
    assert words.lines(over)[-1] == f"Not read: {unread}."
    assert words.document(over.rolling)["waits"] == [unread]


class KernelLog:
    """What the node's kernel logs, of which a look reads the last; the node's clock stands at the last line."""

    def __init__(self, stage: Stage) -> None:
        self.machine, self.world, self.lines = stage.machine, stage.world, list[LogLine]()
        self.more: dict[str, Any] = {}
        self.plain, answers = self.machine.status, cast("Any", self.machine)
        answers.status = self.status

    def status(self) -> Any:
        said = {"log_unread": "", "clock": WallClock(0.0, 0.001, 1.0), **self.more}
        return replace(self.plain(), lines=tuple(self.lines[-JOURNAL_LINES:]), **said)

    def minute(self, number: int) -> None:
        self.lines.extend(LogLine(self.machine.uptime + at / 1000, "oom-kill") for at in range(number))
        self.world.now += timedelta(seconds=60)

    def reset(self) -> None:
        """The network card is reset, in a segment that is closed 40 s later."""
        self.lines.append(LogLine(self.machine.uptime, "ena 0000:00:05.0 eth0: Trigger reset is on"))
        self.more["segments"] = (Segment("perf.data.2026113002000000", 10**7, int(self.machine.uptime) + 40),)


class Failing:
    """An access to the segments' text, which fails by the errors that it is given, once by each.

    Around a symptom one core computes in the time that was `recorded`; `perf` is what perf says that it lost, and
    `segments` have texts of their own.
    """

    def __init__(self, access: Access, *errors: Exception) -> None:
        self.look, self.run, self.places, self.errors = access.look, access.run, access.places, list(errors)
        self.says, self.perf = sampled(39, 950460), ""
        self.recorded, self.segments = (0.0, 1e9), dict[str, str]()

    async def text(self, _: Node, names: Any, between: Any, hand_on: Callable[[bytes], None]) -> str:
        if self.errors:
            raise self.errors.pop(0)
        begins, ends = (max(between[0], self.recorded[0]), min(between[1], self.recorded[1])) if between else (0, 0)
        computes = (sampled(39, at, "python", COMPUTES) for at in ticks(begins, ends))
        texts = (self.segments.get(name, "".join(computes) or self.says) for name in names)
        hand_on("".join(texts).encode())
        return self.perf


@pytest.mark.parametrize("fails", ["connection", "ledger", "clock", "text"])
def test_reset_whose_look_failed_is_told_by_the_next_though_its_line_is_pushed_out(stage: Stage, fails: str) -> None:
    log, way = KernelLog(stage), Failing(stage.access)
    log.minute(3)
    rolling, watch = stage.ask(), stage.watch(way)
    through(watch.look_or_give_up(stage.known, rolling))
    log.minute(3)
    log.reset()
    log.minute(3)
    ledger: Any = watch.control.ledger
    append = ledger.append
    match fails:
        case "connection":
            way.errors = [ConnectionLost("The connection broke.")]
        case "text":
            way.errors = [CannotRead("no text of the segments came")]
        case "clock":
            log.more["clock"] = WallClock()
        case _:
            ledger.append = None  # it raises
    with suppress(ConnectionLost, TypeError):
        through(watch.look_or_give_up(stage.known, rolling))
    ledger.append = append
    log.more["clock"] = WallClock(0.0, 0.001, 1.0)
    log.minute(JOURNAL_LINES + 60)
    through(watch.look_or_give_up(stage.known, rolling))
    caught = through(watch.look_or_give_up(stage.known, rolling)).rolling.caught
    (reset,) = (each for each in caught if each.symptom != "log-unread")
    assert "no sample shows a process that held a core" in reset.sentence


def test_segment_around_a_reset_is_read_at_the_second_try_or_said_to_be_unread(stage: Stage) -> None:
    log, way = KernelLog(stage), Failing(stage.access, *(CannotRead(f"no text: {number}") for number in range(9)))
    log.minute(3)
    rolling, watch = stage.ask(), stage.watch(way)
    log.reset()
    log.minute(3)
    first = through(watch.look_or_give_up(stage.known, rolling))
    assert ("no text: 0" in first.waits[0], [each.waits for each in first.rolling.caught]) == (True, [True])
    second = through(watch.look_or_give_up(stage.known, rolling))
    assert ([each.unread for each in second.rolling.caught], second.waits) == (["no text: 1"], ())


@pytest.mark.parametrize(
    ("begun", "ends", "says"),
    [
        (4, (40,), "; 26 of the 30 s before it have no sample"),
        (3000, (116, 236), "; 26 of the 30 s before it have no sample"),
        (3000, (-20,), "; 20 of the 30 s before it have no sample"),
        (3000, (-80, 40), ""),
    ],
    ids=["begun just before", "ring lost", "recorder ended before", "whole"],
)
def test_seconds_before_a_reset_that_were_not_recorded_are_said(
    stage: Stage, begun: int, ends: tuple[int, ...], says: str
) -> None:
    log, watch = KernelLog(stage), stage.watch(Failing(stage.access))
    rolling = stage.ask()
    stage.world.now += timedelta(seconds=begun)
    log.reset()
    at = int(stage.machine.uptime)
    log.more["segments"] = tuple(
        Segment(f"perf.data.202611300200{n:04}", 10**7, at + end) for n, end in enumerate(ends)
    )
    watch.control.access.recorded = max(at - begun, at + ends[0] - 120), at + ends[-1]  # type: ignore[attr-defined]
    if ends[-1] < 0:
        stage.machine.end()
    log.minute(3)
    stage.world.now += timedelta(minutes=3)
    (reset,) = through(watch.look_or_give_up(stage.known, rolling)).rolling.caught
    assert reset.sentence.partition("; ")[2] == f"in the 30 s before it {NOBODY}{says}"


def of_two_cores(at: float, begins: float, ends: float, paused: range, held: range = range(0)) -> str:
    """A ring's text, seconds before and after `at`: core 1 idles without a tick, and is held, or the node is paused."""
    return "".join(
        sampled(core, at - tick, *(("kubelet", SAMPLED) if core else ("python", COMPUTES)))
        for tick in ticks(-ends, begins)[::-1]
        for core in (0, 1)
        if int(tick) not in paused and (core == 0 or int(tick) in held)
    )


@pytest.mark.parametrize(
    ("paused", "held", "says"),
    [
        (range(0), range(0), f"in the 30 s before it {NOBODY}"),
        (range(28), range(0), f"in the 30 s before it {NOBODY}; 28 of the 30 s before it have no sample"),
        (
            range(2, 27),
            range(28, 30),
            f"from 29.9 s to 28.0 s before it {HELD}; 25 of the 30 s before it have no sample",
        ),
    ],
    ids=["a core idles", "node paused", "paused after a hold"],
)
def test_seconds_without_samples_of_any_core_before_a_lockup_are_said(
    stage: Stage, paused: range, held: range, says: str
) -> None:
    log, way = KernelLog(stage), Failing(stage.access)
    rolling, watch = stage.ask(), stage.watch(way)
    stage.world.now += timedelta(seconds=3000)
    log.reset()
    at = stage.machine.uptime
    way.segments[log.more["segments"][0].name], way.perf = of_two_cores(at, 30, 2, paused, held), "perf lost 56.26%"
    log.minute(3)
    (reset,) = through(watch.look_or_give_up(stage.known, rolling)).rolling.caught
    assert (reset.sentence.partition("; ")[2], reset.unread) == (says, "perf lost 56.26%")


def test_text_around_a_symptom_on_record_is_kept_for_whoever_asks_while_the_ring_has_it(stage: Stage) -> None:
    def keep(name: str) -> AbstractContextManager[Any]:
        texts.append((name, []))
        return nullcontext(texts[-1][1].append)

    log, rolling, texts = KernelLog(stage), stage.ask(), list[tuple[str, list[bytes]]]()
    log.reset()
    log.minute(3)
    for _ in range(2):
        watch = stage.watch(Failing(stage.access))
        for _ in range(2):
            through(watch.look_or_give_up(stage.known, rolling, keep))
    one, two = texts  # each program once
    assert one == two
    assert len(one[1]) == 1
    assert stage.kinds().count("SymptomCaught") == 2, "as it was seen, and as it was read"


def test_text_is_kept_before_a_serving_bot_may_remove_the_ring_or_it_is_said_why_not(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    removes = stage.access.run

    async def run(node: Node, whom: MachineIdentity, line: str) -> Completed:
        log.more["segments"] = () if " -rf " in line else log.more["segments"]
        return await removes(node, whom, line)

    class Reads(Failing):
        async def text(self, node: Node, names: Any, between: Any, hand_on: Any) -> str:
            await bot.look_or_give_up(stage.known, await bot.control.find(rolling.id))
            if first.name not in names or not log.more["segments"]:
                raise CannotRead("perf was killed")
            return await super().text(node, names, between, hand_on)

    log, rolling = KernelLog(stage), stage.ask()
    monkeypatch.setattr(stage.access, "run", run)
    bot = stage.watch(Failing(stage.access))
    log.reset()
    first = replace(log.more["segments"][0], name="perf.data.2026113001000000")
    stage.world.now += timedelta(minutes=3)
    log.reset()
    log.more["segments"] = (first, *log.more["segments"])
    log.minute(3)
    one, two = through(bot.look_or_give_up(stage.known, rolling)).rolling.found
    monkeypatch.setattr(options, "inventory", lambda *_: stage.known)
    monkeypatch.setattr(options, "settings", lambda _: None)
    command.add((parser := argparse.ArgumentParser()).add_subparsers())
    typed = parser.parse_args(["capture", "stop", rolling.id, "--out", str(tmp_path / "out")])
    typed.environ = {"USER": "bob"}
    through(typed.does(typed, stage.watch(Reads(stage.access))))
    (file,) = (tmp_path / "out").iterdir()
    assert one.name in file.name
    assert capsys.readouterr().err.splitlines() == [f"kept: {file}", f"not kept: {two.name}: perf was killed"]
    assert stage.find().is_over


def test_second_that_no_clock_has_keeps_no_capture_from_its_end(stage: Stage) -> None:
    log, way, at = KernelLog(stage), Failing(stage.access), 9e11
    rolling = stage.ask(around=("core-held", "nic-reset"))
    log.reset()
    log.lines.append(LogLine(at, log.lines[0].says))
    way.segments[log.more["segments"][0].name] = "".join(sampled(7, at + each) for each in ticks(0, 3))
    watch = stage.watch(way)
    stage.world.now += timedelta(minutes=1)
    assert len(through(watch.look_or_give_up(stage.known, rolling)).rolling.caught) == 3
    assert through(watch.stopped(stage.known, rolling, "terminal:ann")).rolling.is_over


class Ring:
    """Segments of two minutes by their numbers, and a program that searches them for held cores.

    Shape: in one that was not written some program computes all the time.
    """

    def __init__(self, stage: Stage, *around: str) -> None:
        self.stage, self.log, self.way = stage, KernelLog(stage), Failing(stage.access)
        self.since, self.watch = int(stage.machine.uptime), stage.watch(self.way)
        self.rolling = stage.ask(around=around or ("core-held",))

    @staticmethod
    def name(number: int) -> str:
        return f"perf.data.20261130020000{number:02}"

    def write(self, number: int, *texts: str) -> None:
        begins = self.since + 120 * (number - 1)
        self.way.segments[self.name(number)] = "".join(texts) or "".join(
            sampled(1, at, "python", COMPUTES) for at in ticks(begins, begins + 120)
        )

    def look(
        self, first: int, last: int, watch: RollingWatch | None = None, stepped: tuple[int, float] = (0, 0)
    ) -> CaptureLookResult:
        """Look when the ring has these segments; after one the clock was stepped, by that many seconds."""
        after, step = stepped
        self.log.more["segments"] = tuple(
            Segment(self.name(number), 10**7, self.since + 120 * number + (step if number > after else 0))
            for number in range(first, last + 1)
        )
        self.stage.world.now += timedelta(seconds=max(0, self.since + 120 * last - self.stage.machine.uptime))
        for number in range(first, last + 1):
            if self.name(number) not in self.way.segments:
                self.write(number)
        return cast("CaptureLookResult", through((watch or self.watch).look_or_give_up(self.stage.known, self.rolling)))


@pytest.mark.parametrize("fails", ["nothing", "once", "at once", "to enter"])
def test_ring_of_which_a_node_lists_a_part_is_not_gone(stage: Stage, tmp_path: Path, fails: str) -> None:
    """A node that is short of processes cannot start `stat` for each file, or its shell ends meanwhile."""
    stage.ask()
    stage.machine.end()
    for number in (1, 2):
        (tmp_path / Ring.name(number)).write_text("x")
    node = next(each for each in status_commands(CapturePaths(folder=str(tmp_path))) if each.name == "node")
    ways = {
        "nothing": "",
        "once": 'stat() { stat() { return 1; }; command stat "$@"; }; ',
        "at once": "cd() { exit 2; }; ",
        "to enter": "cd() { return 2; }; ",
    }
    said = subprocess.run(["sh", "-c", ways[fails] + node.argv[-1]], capture_output=True, text=True, check=False)
    unit = printed("unit", ["systemctl=there", "ActiveState=inactive"])
    answers: Any = stage.machine
    answers.status = lambda: parse_status(Outputs(unit, Completed("ring", "node", 0, said.stdout, said.stderr, 0)))
    if fails == "nothing":
        assert [each.name for each in stage.machine.status().segments] == [Ring.name(1), Ring.name(2)]
        return
    asked = stage.machine.asked
    with suppress(CannotRead):
        stage.seen("capture000")
    assert (stage.find().is_over, stage.machine.asked) == (False, asked)
    for each in (*tmp_path.iterdir(), tmp_path):
        each.unlink() if each.is_file() else each.rmdir()
    said = subprocess.run(["sh", "-c", node.argv[-1]], capture_output=True, text=True, check=False)
    assert stage.machine.status().is_whole, "of none, where its folder is gone"


@pytest.mark.parametrize("dies", [False, True], ids=["", "its program dies"])
def test_recorder_on_a_node_that_lists_a_part_of_its_ring_is_started_and_stopped(stage: Stage, dies: bool) -> None:
    status, answers = stage.machine.status, cast("Any", stage.machine)
    answers.status = lambda: replace(status(), is_whole=False)
    assert stage.ask().state is RollingState.RUNNING
    if dies:
        stage.store.append.now(lambda _: (CaptureStopping("capture000"),), "terminal:bob")
    with pytest.raises(CannotRead, match="list all segments"):
        stage.seen() if dies else stage.stopped()
    assert (stage.machine.run, stage.find().state) == (None, RollingState.STOPPING)
    answers.status = status
    assert stage.seen().ended.left == ""


@pytest.mark.parametrize("step", [0, -300, -7200])
def test_clock_that_is_set_back_moves_no_segment(stage: Stage, step: int) -> None:
    """Core 7 is held all the time; a segment that is new at the step fails once, and the card is reset 5 min later."""
    ring = Ring(stage, "core-held", "nic-reset")
    for number in range(1, 9):
        ring.write(number, *(sampled(7, ring.since + at) for at in ticks(120 * (number - 1), 120 * number)))
    ring.look(1, 3)
    ring.way.errors = [CannotRead("no text")]
    ring.log.more["clock"] = WallClock(step, 0.001, 1.0)
    for last in range(4, 8):
        ring.look(1, last, stepped=(4, step))
    ring.log.lines.append(LogLine(ring.since + 790, "ena 0000:00:05.0 eth0: Trigger reset is on"))
    ring.look(1, 7, stepped=(4, step))
    lines = words.lines(ring.look(1, 8, stepped=(4, step)))
    assert [each[2:24] for each in lines if "core held" in each] == ["core held for 959.9 s "]
    (reset,) = (each for each in lines if each.startswith("* reset"))
    assert "in the 70.0 s before it core 7 ran kubelet (7)" in reset


def test_pause_across_two_segments_is_said_and_one_that_is_unread_is_none(stage: Stage) -> None:
    ring, times = Ring(stage), ((0, 118), (121, 240), (), (360, 480))
    for number, (begins, ends) in enumerate((each or (0, 0) for each in times), 1):
        texts = [sampled(1, ring.since + at, "python", COMPUTES) for at in ticks(begins, ends)]
        ring.write(number, *(texts or ["\n"]))
    paused, unread = ring.look(1, 4).waits
    assert paused == "what the cores did from 00:01:57.900 to 00:02:01.000 UTC: this program has no sample of it"
    assert unread.startswith(f"{ring.name(3)}: there is no text from perf (")


def test_segments_that_overlap_because_a_write_was_blocked_hide_nothing_and_miss_nothing(stage: Stage) -> None:
    ring = Ring(stage)
    for number in (1, 2, 3):
        begins = ring.since + 120 * (number - 1)
        of_core = {0: (begins, begins + 120), 1: (begins - 7 * (number > 1), begins + 113)}  # written later
        parts = [(at, core) for core, times in of_core.items() for at in ticks(*times)]
        ring.write(number, *(sampled(core, at, "python", COMPUTES) for at, core in sorted(parts)))
    assert ring.look(1, 3).waits == ()


def test_segment_that_was_seen_and_is_lost_before_it_is_read_is_said(stage: Stage) -> None:
    ring = Ring(stage)
    assert ring.look(1, 1).waits == ()
    ring.way.errors = [ConnectionLost("The connection broke.")]
    with suppress(ConnectionLost):
        ring.look(1, 2)
    (lost,) = ring.look(3, 14).waits
    assert lost == "what the cores did from 00:01:59.900 to 00:04:00.000 UTC: this program has no sample of it"


def test_hold_across_two_segments_is_told_whole_and_each_of_one_core(stage: Stage) -> None:
    log, way = KernelLog(stage), Failing(stage.access)
    watch = stage.watch(way)
    rolling = through(watch.control.ask(ONE, RollingRequest(1, 2, ("core-held",)), "terminal:ann"))
    names, since = ("perf.data.2026113002000000", "perf.data.2026113002020000"), int(stage.machine.uptime)
    log.more["segments"] = tuple(Segment(name, 10**7, since + 120 * number) for number, name in enumerate(names, 1))
    holds = (("containerd", 111.0, 114.5), ("kubelet", 116.0, 120.0), ("kubelet", 120.0, 129.0), ("java", 131.0, 131.9))
    parts = [[sampled(39, since + at, who) for at in ticks(begins, ends)] for who, begins, ends in holds]
    ways = [[sampled(7, since + at) for at in ticks(*times)] for times in ((118.1, 120.0), (120.0, 121.9))]
    way.segments = {
        name: "".join(
            sorted([*parts[2 * place], *parts[2 * place + 1], *ways[place]], key=lambda each: each.split()[3])
        )
        for place, name in enumerate(names)
    }
    stage.world.now += timedelta(minutes=4)
    for by in (watch, stage.watch(way)):
        caught = through(by.look_or_give_up(stage.known, rolling)).rolling.caught
        assert [each.sentence.partition(" in ")[0] for each in caught] == [
            "core held for 12.9 s from 00:01:56.000 UTC: core 39 ran kubelet (7)",
            "core held for 3.4 s from 00:01:51.000 UTC: core 39 ran containerd (10)",
            "core held for 3.7 s from 00:01:58.100 UTC: core 7 ran kubelet (7)",
        ]


def test_hold_that_goes_on_is_one_be_it_read_by_several_programs_and_crowds_out_nobody(stage: Stage) -> None:
    ring = Ring(stage)
    watch = ring.watch
    for number in range(1, 10):
        begins = ring.since + 120 * (number - 1)
        parts = [sampled(core, at, "kswapd") for at in ticks(begins, begins + 120) for core in range(6)]
        ring.write(number, *parts, *(sampled(39, begins + at) for at in ticks(50, 58) if number == 3))
        watch = watch if number < 9 else stage.watch(ring.way)  # after a restart
        found = ring.look(max(1, number - 5), number, watch).rolling.found
        assert [each.core for each in found] == [*range(5), *([5] if number > 1 else []), *([39] if number > 2 else [])]
    assert stage.kinds().count("SymptomCaught") == 5 + 1 + 1 + 6, "again after half a ring"
    stage.machine.end()
    *kswapd, kubelet = ring.look(5, 9, watch).rolling.found
    says = [f"core held for 1079.9 s from 00:00:00.000 UTC: core {core}" for core in range(6)]
    assert [each.sentence.partition(" ran ")[0] for each in kswapd] == says
    opened = kswapd[0].at + timedelta(seconds=1079, minutes=25)
    incident = cast("Any", SimpleNamespace(node="n0", opened_at=opened, ended=False))
    told = [cast("Any", each) for each in shown(stage.database, incident, (), None)]
    assert [each.words for each in told if each.what == "core-held"] == [each.sentence for each in kswapd]
    assert [incident_of([incident], "n0", each.at, each.until) for each in (*kswapd, kubelet)] == [
        *[incident] * 6,
        None,
    ]


def test_hold_is_over_once_the_next_segment_was_read_and_does_not_show_it(stage: Stage) -> None:
    ring, said = Ring(stage), list[bool]()
    ring.write(1, *(sampled(7, ring.since + at) for at in ticks(110, 120)))
    for number, fails in ((1, 0), (2, 1), (2, 1), (3, 0), (4, 0)):
        ring.way.errors = [CannotRead("no text")] * fails
        looked = ring.look(1, number, ring.watch if number < 4 else stage.watch(ring.way))
        said.append("and it may go on." in "".join(words.lines(looked)))
        (held,) = looked.rolling.found
        assert (held.unfinished, held.sentence[:18]) == (said[-1], "core held for 9.9 ")
    assert (said, stage.kinds().count("SymptomCaught")) == ([True, True, True, False, False], 2)


def test_hold_that_no_segment_of_the_ring_shows_any_more_is_over_and_that_there_is_no_sample_of_what_came_next_is_said(
    stage: Stage,
) -> None:
    ring, said = Ring(stage), list[str]()
    ring.write(1, *(sampled(7, ring.since + at) for at in ticks(110, 120)))
    for first, last in ((1, 1), (9, 12), (10, 13)):
        looked = ring.look(first, last, stage.watch(ring.way))
        said += [line[-36:] for line in words.lines(looked) if "core held" in line]
    assert [said[0][-17:], *said[1:]] == ["and it may go on.", *["has no sample of what came after it."] * 2]
    assert stage.kinds().count("SymptomCaught") == 2


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("first", [2, 3], ids=["", "is lost"])
def test_hold_before_a_segment_that_cannot_be_read_may_go_on_until_that_is_not_tried_again_and_then_that_is_said(
    stage: Stage, first: int, restarts: bool
) -> None:
    ring, said = Ring(stage), list[str]()
    both = ((7, 0.0, "systemd", SAMPLED), (1, 0.05, "python", COMPUTES))  # another core is sampled a moment longer
    times = [(ring.since + at, each) for at in ticks(110, 120) for each in both]
    ring.write(1, *(sampled(core, at + later, *of) for at, (core, later, *of) in times))
    ring.write(2, "\n")
    ring.look(1, 1)
    by = stage.watch(ring.way) if restarts else ring.watch
    for numbers in ((1 + restarts, 3), (first, 4)):
        said += [line for line in words.lines(ring.look(*numbers, by)) if "core held" in line]
    assert said[0].endswith(" 100 % of samples, and it may go on.")
    assert said[1].endswith(" 100 % of samples; this program has no sample of what came after it.")


def test_hold_after_which_nothing_was_read_until_the_end_is_over_then_and_that_is_said(stage: Stage) -> None:
    ring, said = Ring(stage), list[str]()
    ring.write(1, *(sampled(7, ring.since + at) for at in ticks(110, 120)))
    ring.write(2, "\n")
    ring.look(1, 1)
    for ends in (False, True):
        if ends:
            stage.machine.end()
        said += [line for line in words.lines(ring.look(1, 2)) if "core held" in line]
    assert said[0].endswith(" 100 % of samples, and it may go on.")
    assert said[1].endswith(" 100 % of samples; this program has no sample of what came after it.")
    assert [each.unfinished for each in stage.find().found] == [False]


def test_segment_that_failed_is_tried_again_where_an_older_list_lacks_it(stage: Stage) -> None:
    ring = Ring(stage)
    for number in (1, 2, 3):
        begins = ring.since + 120 * (number - 1)
        ring.write(number, *(sampled(7, at) for at in ticks(begins, begins + 120)))
    ring.look(1, 2)
    ring.way.errors = [CannotRead("no room")]
    ring.look(1, 3)
    ring.look(1, 2)
    looked = ring.look(1, 4)
    assert (looked.waits, looked.rolling.found[0].sentence[:19]) == ((), "core held for 359.9")


@pytest.mark.parametrize("later", [-0.004, 0.004])
def test_oldest_segment_that_failed_is_tried_again_whatever_a_look_takes_its_end_for(
    stage: Stage, later: float
) -> None:
    ring = Ring(stage)
    ring.write(1, *(sampled(7, ring.since + at) for at in ticks(20, 90)))
    ring.way.errors = [CannotRead("no text")]
    ring.look(1, 2)
    ring.log.more["clock"] = WallClock(later, 0.011, 1.0)
    looked = ring.look(1, 2)
    assert [each.sentence[:18] for each in looked.rolling.found] == ["core held for 69.9"]


def test_hold_at_the_end_of_a_segment_is_followed_by_what_is_sampled_a_second_later(stage: Stage) -> None:
    ring = Ring(stage)
    others = [sampled(1, ring.since + at, "python", COMPUTES) for at in (*ticks(119, 120), *ticks(121, 240))]
    ring.write(1, *(sampled(7, ring.since + at) for at in ticks(100, 119)), *others[:10])
    ring.write(2, *others[10:])
    ring.look(1, 1)
    (held,) = ring.look(1, 3).rolling.found
    assert held.sentence.endswith(" for 100 % of samples")


@pytest.mark.parametrize("ends", [(70, 73), (43, 73), (119.95, 126)], ids=["", "longer", "next segment"])
def test_two_processes_that_hold_a_core_one_after_the_other_are_two_holds(
    stage: Stage, ends: tuple[float, float]
) -> None:
    ring = Ring(stage)
    times = {"kubelet": (40.0, ends[0]), "node_exporter": (ends[0] + 0.1, ends[1])}
    held = [
        (ring.since + at, 7, name, SAMPLED)
        for name, (begins, until) in times.items()
        for at in (*(begins + each / 5 for each in ticks(0, 5 * (until - begins))), until)
    ]
    idle = [(ring.since + at, 1, "python", COMPUTES) for at in ticks(0, 240)]
    for number in (1, 2):
        texts = [
            sampled(core, at, *of) for at, core, *of in sorted(held + idle) if (at >= ring.since + 120) == (number > 1)
        ]
        ring.write(number, *texts)
    for by in (ring.watch, stage.watch(ring.way)):  # whose entries stay where another program reads them
        found = sorted(ring.look(1, 2, by).rolling.found, key=lambda each: each.at)
        assert [each.sentence.partition("core 7 ran ")[2].split()[0] for each in found] == [*times]
        assert [each.ends_mono - ring.since for each in found] == pytest.approx([*ends], abs=0.01)


def test_hold_whose_second_half_another_program_reads_alone_is_one(stage: Stage) -> None:
    ring = Ring(stage)
    for number in (1, 2):
        ring.write(number, *(sampled(7, ring.since + at) for at in ticks(120 * (number - 1), 120 * number)))
    ring.look(1, 1)
    found = ring.look(2, 2, stage.watch(ring.way)).shown.found
    assert [each.sentence[:19] for each in found] == ["core held for 239.9"]


def test_hold_that_two_programs_read_in_part_is_one_once_a_third_has_read_what_is_between(stage: Stage) -> None:
    ring = Ring(stage)
    for number in (1, 2, 3):
        begins = ring.since + 120 * (number - 1)
        ring.write(number, *(sampled(7, at, "kswapd") for at in ticks(begins, begins + 120)))
    for first, last in ((1, 1), (2, 3), (1, 2)):
        ring.look(first, last, watch := stage.watch(ring.way))
        through(watch.finish())
    assert [each.sentence[:19] for each in stage.find().found] == ["core held for 359.9"]


def test_hold_that_takes_the_place_of_several_has_what_each_of_them_had(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def stored(*of: Any) -> str:
        return f"sketch of {of[-1][:19]}"

    monkeypatch.setattr(RollingWatch, "_store_sketch", stored)
    ring = Ring(stage)
    for number, first, cores in ((1, 110, range(7)), (2, 120, (0,)), (3, 240, (0, *range(20, 27)))):
        lasts = ticks(ring.since + first, ring.since + 120 * number)
        ring.write(number, *(sampled(core, at) for at in lasts for core in cores))
    text, ring.way.segments[ring.name(2)] = ring.way.segments[ring.name(2)], "\n"
    assert [each.core for each in ring.look(1, 3).rolling.found] == [*range(5), 0, *range(20, 24)]
    ring.way.segments[ring.name(2)] = text
    whole, *others = ring.look(1, 4).rolling.found
    assert whole.sentence.startswith("core held for 249.9 s ")
    assert whole.sentence.endswith(" samples; held in this segment, too: core 5, 6, 24, 25, 26")
    assert (whole.sketch, len(others)) == ("sketch of core held for 119.9", 8)


def test_segment_that_one_of_two_looks_of_a_program_at_once_has_read_is_read(stage: Stage) -> None:
    ring, once = Ring(stage), iter([1])
    reads = ring.way.text

    async def text(*of: Any) -> str:
        for _ in once:  # there is no room for two copies
            await ring.watch.look_or_give_up(stage.known, ring.rolling)
            raise CannotRead("no text of the segments came")
        return await reads(*of)

    cast("Any", ring.way).text = text
    assert ring.look(1, 1).waits == ()


def is_away(stage: Stage, ring: Ring) -> Iterator[Any]:
    yield through(ring.watch.note_away(stage.find(), "it is gone")).rolling


def is_stopped(stage: Stage, ring: Ring) -> Iterator[Any]:
    through(ring.watch.finish())
    yield stage.find()


def is_shown_by_another(stage: Stage, ring: Ring) -> Iterator[Any]:
    yield through(stage.watch(ring.way).look_for_person(stage.known, stage.find())).rolling
    stage.machine.reboot()
    yield stage.seen()


def is_ended_by_another(stage: Stage, ring: Ring) -> Iterator[Any]:
    stage.machine.reboot()
    assert stage.seen().is_over
    yield through(ring.watch.look_or_give_up(stage.known, stage.find())).rolling
    yield stage.find()


def is_ended_by_another_meanwhile(stage: Stage, ring: Ring) -> Iterator[Any]:
    async def text(*_: Any) -> str:
        await stage.watch(Failing(stage.access)).stopped(stage.known, stage.find(), "terminal:bob")
        raise CannotRead("its ring is gone")

    cast("Any", ring.way).text = text
    yield ring.look(1, 4).rolling


def is_looked_at_late(stage: Stage, ring: Ring) -> Iterator[Any]:
    yield ring.look(20, 31).rolling


@pytest.mark.parametrize(
    "how",
    [
        *(is_away, is_stopped, is_looked_at_late),
        *(is_shown_by_another, is_ended_by_another, is_ended_by_another_meanwhile),
    ],
)
def test_hold_that_goes_on_is_told_and_on_record_as_far_as_it_was_read(
    stage: Stage, how: Callable[[Stage, Ring], Iterator[Any]]
) -> None:
    ring, looked = Ring(stage), list[CaptureLookResult]()
    for number in (1, 2, 3):
        begins = ring.since + 120 * (number - 1)
        ring.write(number, *(sampled(7, at, "kswapd") for at in ticks(begins, begins + 120)))
        looked.append(ring.look(1, number, ring.watch))
    assert looked[-1].waits == (), "it was read"
    (said,) = (line for line in words.lines(looked[-1]) if "core held" in line)
    assert (said[:22], said[-19:]) == ("* core held for 359.9 ", ", and it may go on.")
    for ends in how(stage, ring):
        assert [each.sentence[:19] for each in ends.found] == ["core held for 359.9"]


@pytest.mark.parametrize("is_closed_by_it", [True, False], ids=["", "by another program"])
@pytest.mark.parametrize("how", ["reboots", "leaves"])
def test_what_was_seen_and_not_finished_is_on_record_where_the_ring_is_lost(
    stage: Stage, how: str, is_closed_by_it: bool
) -> None:
    log = KernelLog(stage)
    rolling, watch = stage.ask(), stage.watch()
    log.reset()
    log.more["segments"] = ()
    log.minute(0)
    seen = through(watch.look_or_give_up(stage.known, rolling))
    assert words.lines(seen)[-1].endswith(" UTC; not read yet: the segment around it.")
    log.lines.clear()
    log.more["log_unread"] = "sudo: a password is required"
    (unread,) = through(watch.look_or_give_up(stage.known, rolling)).waits
    log.more["clock"] = WallClock()  # so another program cannot tell which segment it is
    assert [each.waits for each in stage.seen().caught] == [True]
    if how == "reboots":
        stage.machine.reboot()
    else:
        stage.machine.leave()
        stage.world.now += timedelta(days=2)
    by = watch if is_closed_by_it else stage.watch()
    over = through(by.look_or_give_up(stage.known, stage.find())).rolling
    assert [(each.symptom, each.unread) for each in over.caught] == [("nic-reset", "the segment around it")]
    assert over.ended.unread == (*([unread] if is_closed_by_it else []), *AFTER_LAST_LOOK)


def test_what_the_first_look_of_a_program_left_out_is_said_until_the_end(stage: Stage) -> None:
    log = KernelLog(stage)
    rolling = stage.ask()
    log.minute(500)
    watch = stage.watch()
    (says,) = through(watch.look_or_give_up(stage.known, rolling)).waits
    assert "by this program, which reads its last 200 lines" in says
    log.minute(3)
    assert through(watch.look_or_give_up(stage.known, rolling)).waits == (says,)
    assert through(watch.stopped(stage.known, rolling, "terminal:ann")).rolling.ended.unread == (says,)


def test_lines_of_the_log_that_came_between_two_looks_and_were_left_out_are_on_record(stage: Stage) -> None:
    log = KernelLog(stage)
    logged = log.minute
    logged(500)
    rolling, watch = stage.ask(), stage.watch()

    def looked(by: RollingWatch) -> CaptureLookResult:
        found: CaptureLookResult = through(by.look_or_give_up(stage.known, rolling))
        return found

    for number in (0, JOURNAL_LINES - 1, 10):
        logged(number)
        assert (looked(watch).waits, stage.find().caught) == ((), ())
    log.reset()
    log.more["segments"] = ()
    assert [each.waits for each in looked(watch).rolling.caught] == [True]
    logged(JOURNAL_LINES + 60)
    reset, gap = looked(watch).rolling.caught
    assert (gap.symptom, gap.sentence) == ("log-unread", "the kernel logged more than 200 lines between two looks")
    assert re.fullmatch(r"the kernel's log from [\d:.]+ to [\d:.]+ UTC", gap.unread)
    for by, leaves_out in ((watch, False), (stage.watch(), True)):  # of another program it is the first look
        again = looked(by)
        says = "which reads its last 200 lines" in "".join(again.waits)
        assert (again.rolling.caught, says) == ((reset, gap), leaves_out)
    through(stage.watch(Failing(stage.access)).stopped(stage.known, stage.find(), "terminal:ann"))
    assert [(each.symptom, each.waits) for each in stage.find().caught] == [("nic-reset", False), ("log-unread", False)]


@pytest.mark.parametrize("is_over", [True, False], ids=["before its ring is removed", "while it runs"])
def test_segment_that_cannot_be_read_is_tried_once_more(stage: Stage, is_over: bool) -> None:
    class Starved(Between):
        async def text(self, node: Node, names: Any, between: Any, hand_on: Any) -> None:
            tried.extend(names)
            raise CannotRead("no text of the segments came (sudo: timed out)")

    tried, segment = list[str](), "perf.data.2026113002000000"
    KernelLog(stage).more["segments"] = (Segment(segment, 10**7, 1000),)
    access = Starved(stage.access)
    request = RollingRequest(1, 2, ("core-held",))
    through(stage.watch(access).control.ask(ONE, request, "terminal:ann"))
    watch = stage.watch(access)
    if is_over:
        stage.world.now += timedelta(hours=1, minutes=1)  # by itself
    looks = [through(watch.look_or_give_up(stage.known, stage.find())) for _ in range(1 if is_over else 4)]
    assert tried == [segment, segment], "and no more: perf would keep a sick node busy"
    assert looks[-1].unread[0] == f"{segment}: no text of the segments came (sudo: timed out)"


def test_held_cores_of_a_segment_beyond_those_recorded_are_named(stage: Stage) -> None:
    way = Failing(stage.access)
    said = (
        f"kubelet 7/7 [{core:03}] {950000 + t / 10:.9f}: cycles:\n{SAMPLED}\n\n" for t in range(30) for core in range(8)
    )
    way.says = "".join(said)
    KernelLog(stage).more["segments"] = (Segment("perf.data.2026113002000000", 10**7, 1000),)
    watch = stage.watch(way)
    rolling = through(watch.control.ask(ONE, RollingRequest(1, 2, ("core-held",)), "terminal:ann"))
    first, *others = through(watch.look_or_give_up(stage.known, rolling)).rolling.caught
    assert first.sentence.endswith("; held in this segment, too: core 5, 6, 7")
    assert [(each.core, "too" in each.sentence) for each in others] == [(core, False) for core in range(1, 5)]


@pytest.mark.parametrize(
    ("ends", "says"),
    [
        ((), "from 00:00:00.000 UTC on: its ring is gone"),
        ((None,), "from 00:00:00.000 UTC on: its recorder ended before it closed the segment"),
        ((120, None), "from 00:02:00.000 UTC on: its recorder ended before it closed the segment"),
        ((120,), "from 00:02:00.000 UTC on: its recorder had ended"),
    ],
)
def test_last_segment_that_a_killed_recorder_left_or_a_ring_that_is_gone_is_said(
    stage: Stage, ends: tuple[int | None, ...], says: str
) -> None:
    log, way = KernelLog(stage), Failing(stage.access)
    rolling, watch, since = stage.ask(around=("core-held",)), stage.watch(way), int(stage.machine.uptime)
    way.says = "".join(sampled(39, since + at, "python", COMPUTES) for at in range(121))
    log.more["segments"] = tuple(
        Segment(f"perf.data{n}", 10**7, None if end is None else since + end) for n, end in enumerate(ends)
    )
    stage.world.now += timedelta(minutes=2)
    stage.machine.end()
    ended = through(watch.look_or_give_up(stage.known, rolling)).rolling.ended
    assert ended.unread == (f"what the cores did {says}",)


@pytest.mark.parametrize(
    ("lasted", "says"),
    [
        (600, "its recorder ended early, about 00:10 UTC (systemd does not say why)"),
        (720 * 60, "its time was over"),
    ],
)
def test_recorder_that_ended_early_is_said_so_after_its_time(stage: Stage, lasted: int, says: str) -> None:
    log, watch = KernelLog(stage), stage.watch(Failing(stage.access))
    rolling = stage.ask(hours=12)
    log.more["segments"] = (Segment("perf.data.2026113002000000", 10**7, int(stage.machine.uptime) + lasted),)
    stage.machine.end()
    stage.world.now += timedelta(hours=12, minutes=1)
    assert through(watch.look_or_give_up(stage.known, rolling)).rolling.ended.because == says


def test_ring_of_another_recorder_shows_nothing_of_held_cores(stage: Stage) -> None:
    log, watch = KernelLog(stage), stage.watch(Failing(stage.access))
    rolling = through(watch.control.ask(ONE, RollingRequest(1, 2, ("core-held",)), "terminal:ann"))
    stage.world.now += timedelta(minutes=70)
    stage.machine.runs.append(Run(0.0, stage.world.now, stage.world.now + timedelta(hours=9)))
    log.more["segments"] = (Segment("perf.data.2026113002000000", 10**7, int(stage.machine.uptime)),)
    ended = through(watch.look_or_give_up(stage.known, rolling)).rolling.ended
    assert ended.left == "a recorder that this record does not know"
    assert ended.unread == ("what the cores did from 00:00:00.000 UTC on: another recorder's ring is there",)


def test_report_has_what_a_capture_did_not_read_though_it_ended_later(stage: Stage) -> None:
    log = KernelLog(stage)
    log.more["log_unread"] = "sudo: a password is required"
    stage.ask()
    opened = stage.world.now + timedelta(minutes=10)
    incident = cast("Any", SimpleNamespace(node="n0", opened_at=opened))

    def told(ended: Any) -> Any:
        return [cast("Any", each).words for each in shown(stage.database, incident, (), ended)]

    closed = opened + timedelta(minutes=15)
    assert told(closed) == told(None) == ["every core of n0; it still runs"]
    stage.world.now += timedelta(hours=2)
    begins, ends = (stage.seen(), told(closed))[1]
    assert (begins, "not read: the kernel's log is unread (sudo" in ends) == ("every core of n0", True)
    assert told(opened - timedelta(hours=1)) == [], "it began after that was over"


def test_ring_of_another_capture_is_left_until_that_one_has_read_it(stage: Stage) -> None:
    """Nobody looked meanwhile, as where no bot serves: the one of the boot before is looked at first."""
    stage.ask()
    stage.machine.reboot()
    stage.world.now += timedelta(hours=2)
    second = stage.ask("alias")
    stage.world.now += timedelta(hours=2)
    asked = stage.machine.asked
    first = stage.seen()
    assert stage.machine.asked == asked, "a command removed the ring"
    assert known(first.ended).left == f"the ring of capture {second.id}, which reads it first"
    assert stage.seen(second.id).ended.left == ""
    assert stage.machine.asked == asked + 1


def test_ends_and_stops_are_on_record_once(stage: Stage) -> None:
    stage.ask()
    rolling, watch = stage.find(), stage.watch()
    for _ in range(2):
        through(watch.control.stop(ONE, rolling, "terminal:bob"))
        stage.machine.runs[0].until += timedelta(hours=1)
    stage.machine.end()
    for _ in range(2):
        through(watch.control.record_end(rolling, "its time was over", ""))
    assert stage.kinds().count("CaptureStopping") == stage.kinds().count("CaptureEnded") == 1


@pytest.mark.parametrize(("says", "is_free"), [("inactive", True), ("failed", True), ("active", False), ("", False)])
def test_ring_is_only_removed_where_systemd_says_that_nothing_runs(tmp_path: Path, says: str, is_free: bool) -> None:
    systemctl = tmp_path / "systemctl"
    systemctl.write_text(
        f'#!/bin/sh\n[ "$*" = "show -p ActiveState zombie-capture.service" ] && echo ActiveState={says}\n'
    )
    systemctl.chmod(0o755)
    line = f"{unit_free_line(CapturePaths(systemctl=(str(systemctl),)))} && echo removed"
    ended = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False, timeout=30)
    assert (ended.stdout == "removed\n") is is_free
