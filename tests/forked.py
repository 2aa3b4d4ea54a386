"""Test files shared out among processes that are forked once all is collected (`--forks N`).

Each worker of pytest-xdist collects all fourteen thousand tests for itself, which takes it 15 s of a core. Here one
process collects, and a fork has everything as it lies. A fork takes the number of the next file from a pipe and sends
its reports back by another; the process that collected hands them to the reporters, as if it had run the tests itself.
Tests of real processes, which mostly wait, are taken one by one where nothing of their file is made for all of them.
Those of the browser are all taken by one fork, which starts it once.
"""

from __future__ import annotations

import atexit
import faulthandler
import itertools
import mmap
import os
import signal
import sys
import traceback
import zlib
from contextlib import suppress
from multiprocessing import connection
from typing import Any, NoReturn

import pytest

_NUMBER = 2  # bytes of a file's number: a pipe gives them whole to whoever reads
BROWSER = "browser"  # a fixture of the session
ALL_REAL_BEGUN = 0.75  # of all that is taken
HANGS_AFTER = 600  # seconds; mypy, the longest that is not marked as long, takes half of that on a busy machine
_SHOW = ("terminal", "terminalprogress", "junitxml", "cacheprovider", "stepwise")  # of pytest: what a fork leaves to us
REPORTERS = tuple(f"_pytest.{name}" for name in _SHOW)


class Sender:
    """In a fork: sends each report, and which test runs, to the process that collected."""

    def __init__(self, out: connection.Connection, stop: mmap.mmap) -> None:
        self._out, self._stop = out, stop

    def _send(self, *what: object) -> None:
        try:
            self._out.send(what)
        except BrokenPipeError:
            self._stop[0] = True  # nobody waits for it

    def pytest_runtest_logstart(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        self._send("begun", (nodeid, location))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._send("report", report)

    def ended(self) -> None:
        self._send("ended", None)


class Fork:
    """A process that runs tests, as the one that collected sees it."""

    def __init__(self, pid: int, reports: connection.Connection) -> None:
        self.pid, self.reports = pid, reports
        self._runs: tuple[str, tuple[str, int | None, str]] | None = None

    def hand_on(self, config: pytest.Config, begun: set[str]) -> bool:
        """Hand what it sent next to the reporters; return whether more may come."""
        try:
            kind, what = self.reports.recv()
        except EOFError:
            kind, what = "died", None
        if kind == "begun":
            self._runs = what
            begun.add(what[0])
        elif kind == "report":
            config.hook.pytest_runtest_logreport(report=what)
        else:
            status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
            if kind == "died" or status:
                self._died(config, status)
            return False
        return True

    def _died(self, config: pytest.Config, status: int) -> None:
        nodeid, location = self._runs or ("tests", ("tests", None, "no test"))
        said = f"the process that ran this test, and what was left of its file, ended with {status}"
        report = pytest.TestReport(nodeid, location, {}, "failed", said, "call")
        config.hook.pytest_runtest_logreport(report=report)


def run(session: pytest.Session, count: int) -> bool:
    """Run a session's tests in so many forks; the result is that of `pytest_runtestloop`."""
    files = _mixed([list(tests) for _, tests in itertools.groupby(session.items, lambda item: item.path)])
    while files:
        begun = _run(session, count, files)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
        left = [tests for tests in files if begun.isdisjoint(item.nodeid for item in tests)]
        if len(left) == len(files):
            break  # each fork died before its first test
        files = left  # what a fork had taken before it died in the last test of another file
    return True


def _mixed(files: list[list[pytest.Item]]) -> list[list[pytest.Item]]:
    """Return files in an order in which tests of real processes, which mostly wait, stand among those that compute.

    The cores are busy then while others wait. Tests that are alike wait alike, so those of real processes are shuffled,
    the same way each time. They end sooner: the last of them would be waited for alone.
    """
    browsing = [item for tests in files for item in tests if BROWSER in getattr(item, "fixturenames", ())]
    real, others = list[list[pytest.Item]](), list[list[pytest.Item]]()
    for tests in files:
        if rest := [item for item in tests if item not in browsing]:
            if rest[0].get_closest_marker("real") is not None:
                real += _parts(rest)
            else:
                others.append(rest)
    real.sort(key=lambda tests: zlib.crc32(tests[0].nodeid.encode()))
    placed = [
        (span * at / len(queue), tests)
        for span, queue in ((ALL_REAL_BEGUN, real), (1.0, others))
        for at, tests in enumerate(queue)
    ]
    return [*([browsing] if browsing else []), *(tests for _, tests in sorted(placed, key=lambda each: each[0]))]


def _parts(tests: list[pytest.Item]) -> list[list[pytest.Item]]:
    """Return the tests of a file one by one; together where they share what is made once for all of them."""
    functions = [item for item in tests if isinstance(item, pytest.Function)]
    made = [each for item in functions for each in item._fixtureinfo.name2fixturedefs.values()]
    shared = any(fixture.scope not in ("function", "session") for fixtures in made for fixture in fixtures)
    return [tests] if shared else [[item] for item in tests]


def _run(session: pytest.Session, count: int, files: list[list[pytest.Item]]) -> set[str]:
    """Share files out; return the tests that were begun."""
    begun = set[str]()
    queue, fill = os.pipe()
    os.write(fill, b"".join(number.to_bytes(_NUMBER, "big") for number in range(len(files))))
    os.close(fill)
    stop = mmap.mmap(-1, 1)  # shared with the forks
    sys.stdout.flush()
    sys.stderr.flush()
    forks: dict[connection.Connection, Fork] = {}
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # Python loses one that meets a fork
        for _ in range(min(count, len(files))):
            reports, out = connection.Pipe(duplex=False)
            if (pid := os.fork()) == 0:
                _become(session, files, queue, stop, out)
            out.close()
            forks[reports] = Fork(pid, reports)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        while forks:
            for ready in connection.wait(list(forks)):
                assert isinstance(ready, connection.Connection)
                if not forks[ready].hand_on(session.config, begun):
                    ready.close()
                    del forks[ready]
            stop[0] = bool(session.shouldfail or session.shouldstop)
    except BaseException:
        stop[0] = True
        for fork in forks.values():
            with suppress(ProcessLookupError):  # it had just ended, and was waited for
                os.kill(fork.pid, signal.SIGINT)
        for reports, fork in forks.items():
            reports.close()
            with suppress(ChildProcessError):
                os.waitpid(fork.pid, 0)
        raise
    finally:
        os.close(queue)
    return begun


def _become(
    session: pytest.Session, files: list[list[pytest.Item]], queue: int, stop: mmap.mmap, out: connection.Connection
) -> NoReturn:
    status, stacks = 1, 2  # until nothing is captured any more
    try:
        config = session.config
        capture: Any = config.pluginmanager.get_plugin("capturemanager")
        capture.stop_global_capturing()  # its file is shared with the other forks
        stacks = os.dup(sys.stderr.fileno())
        for plugin in list(config.pluginmanager.get_plugins()):
            if type(plugin).__module__ in REPORTERS:
                config.pluginmanager.unregister(plugin)
        capture.start_global_capturing()
        sender = Sender(out, stop)
        config.pluginmanager.register(sender)
        with suppress(KeyboardInterrupt):
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
            _run_files(session, files, queue, stop, stacks)
        faulthandler.dump_traceback_later(HANGS_AFTER, file=stacks, exit=True)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        session._setupstate.teardown_exact(None)  # what fixtures of the session left to be ended
        with suppress(FileNotFoundError):  # an old folder of tests, which another fork removes at the same time
            config.hook.pytest_sessionfinish(session=session, exitstatus=0)
        atexit._run_exitfuncs()
        sender.ended()
        status = 0
    finally:
        if status:
            os.write(stacks, traceback.format_exc().encode())
        os._exit(status)


def _run_files(
    session: pytest.Session, files: list[list[pytest.Item]], queue: int, stop: mmap.mmap, stacks: int
) -> None:
    """Run files until none is left; a test that hangs ends its fork, with the stacks of its threads."""

    def following() -> list[pytest.Item]:
        number = os.read(queue, _NUMBER)
        return list(files[int.from_bytes(number, "big")]) if number else []

    tests = following()
    while tests and not stop[0]:
        item = tests.pop(0)
        if item.get_closest_marker("long") is None:
            faulthandler.dump_traceback_later(HANGS_AFTER, file=stacks, exit=True)
        tests = tests or following()  # fixtures of more than a file stay for whoever comes next
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=tests[0] if tests else None)
        faulthandler.cancel_dump_traceback_later()
