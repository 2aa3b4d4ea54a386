"""What every test may ask for."""

import contextlib
import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import hypothesis
import pytest

import tests.examples  # noqa: F401 - registers the profile
from bot.__main__ import ALLOCATIONS_BETWEEN_LOOKS
from bot.ledger import Database
from tests import forked
from tests.commandline import CommandLine
from tests.memory import memory, temporary_files_in_memory
from tests.nodes.sshd import SSHD, Sshd
from tests.program import nursery
from tests.record.ledgers import Clock, ledger_url
from tests.record.postgresql import BINARIES, Postgresql

# What is started in the background of a script has SIGINT ignored, and so would every program that a test interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# The same of SIGHUP under nohup; a shell cannot trap what it was started to ignore.
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


hypothesis.settings.load_profile("any-machine")
gc.disable()  # until all is collected: nearly everything that is made until then stays

ROOM = 8 * 2**30  # on a disk, making and removing a hundred thousand files is a twentieth of all the computing
MOST_FORKS = 8  # most of the time is windows and deadlines, in which nobody works
MEMORY_OF_FORK = 2**30  # with what its tests start, and its part of their files
SERVER = pytest.StashKey[Postgresql]()  # of all forks


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--forks",
        default="0",
        help="in how many processes: a number; auto: several a core as memory allows, or none where something is"
        " measured or has virtual machines, by its marks; logical: one a core, for tests that wait for nothing",
    )


def _forks(config: pytest.Config) -> int:
    asked = str(config.getoption("--forks"))
    if getattr(config.option, "numprocesses", None) is not None or config.getoption("usepdb"):
        return 0  # pytest-xdist was asked for, or a person who debugs
    if config.option.collectonly:
        return 0
    if asked == "logical":
        return os.cpu_count() or 1
    if asked != "auto":
        return int(asked)
    marks = str(config.option.markexpr)
    side_by_side = marks == "long" or ("not benchmark" in marks and "not lab" in marks)
    return min(MOST_FORKS, 4 * (os.cpu_count() or 1), memory() // MEMORY_OF_FORK) if side_by_side else 0


def pytest_sessionstart(session: pytest.Session) -> None:
    """Begin to load the program for all forks, beside what is collected."""
    if _forks(session.config) >= 2:
        nursery()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Share the files out among forks, where that was asked for and nothing stands against it."""
    forks = _forks(session.config)
    if forks < 2 or session.testsfailed:
        return None
    with temporary_files_in_memory(ROOM), contextlib.ExitStack() as of_all:
        if BINARIES is not None and any(map(_needs_postgresql, session.items)):
            session.config.stash[SERVER] = of_all.enter_context(Postgresql())
        return forked.run(session, forks)


def _needs_postgresql(item: pytest.Item) -> bool:
    """Whether a test names the server among its fixtures, or has it as the kind of its database."""
    return "postgresql" in item.nodeid or "postgresql" in getattr(item, "fixturenames", ())


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out folders of which a mark expression wants nothing: they would be imported for nothing."""
    marks = str(config.option.markexpr)
    unwanted = {folder for folder, mark in (("lab", "lab"), ("benchmarks", "benchmark")) if f"not {mark}" in marks}
    return True if collection_path.parent == Path(__file__).parent and collection_path.name in unwanted else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what runs real processes or machines: only that may be tried a second time (`.ci/run`)."""
    for item in items:
        folder = item.path.relative_to(Path(__file__).parent).parts[0]
        if folder in ("e2e", "lab") or item.get_closest_marker("real_sshd") is not None:
            item.add_marker(pytest.mark.real)


def pytest_collection_finish() -> None:
    """Keep what was collected out of later searches for garbage, which are as rare as the program's own."""
    gc.freeze()
    gc.set_threshold(ALLOCATIONS_BETWEEN_LOOKS)
    gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the tables that tests kept by `record_property("table", …)`."""
    for report in terminalreporter.stats.get("passed", []):
        for name, table in getattr(report, "user_properties", ()):
            if name == "table":
                terminalreporter.write_line(f"\n{table}")


def missing(what: str) -> NoReturn:
    """Skip for want of a tool, with the reason; fail where CI=true, so that nothing is skipped unseen there."""
    if os.environ.get("CI") == "true":
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture
def sshd() -> Iterator[Sshd]:
    """A fresh OpenSSH server on loopback; tests that use it carry the mark `real_sshd`."""
    if SSHD is None:
        missing("sshd is not installed (Debian: apt install openssh-server)")
    with Sshd() as node:
        yield node


@pytest.fixture(scope="session")
def postgresql(request: pytest.FixtureRequest) -> Iterator[Postgresql]:
    """A PostgreSQL server for the whole run and all of its forks; each test takes a database of its own."""
    if BINARIES is None:
        missing("PostgreSQL is not installed (Debian: apt install postgresql)")
    if SERVER in request.config.stash:
        yield request.config.stash[SERVER]
        return
    with Postgresql() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a database in which nothing was made yet, of each kind that the record may be kept in."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'zombie.db'}"
    server: Postgresql = request.getfixturevalue("postgresql")
    return server.new_database()


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a database with a ledger that has no entry, of each kind that the record may be kept in."""
    if request.param == "sqlite":
        return ledger_url(tmp_path / "zombie.db")
    server: Postgresql = request.getfixturevalue("postgresql")
    return server.new_ledger()


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """A database with a ledger that has no entry, open."""
    with Database.open(database_url) as opened:
        yield opened


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """What runs a command line in a folder of the test's own."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("ZOMBIE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("ZOMBIE_STATE_DIR", str(tmp_path / "state"))
    return CommandLine(tmp_path, capsys)


@pytest.fixture
def clock() -> Clock:
    """A clock that stands still until it is set."""
    return Clock()
