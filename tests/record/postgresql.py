"""A real PostgreSQL server of the tests' own: on loopback, a port from the kernel, an unprivileged user."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
from datetime import timedelta
from pathlib import Path
from types import TracebackType

import psycopg

from bot.ledger.database import Database
from tests.memory import folder_in_memory
from tests.ports import free_port
from tests.waiting import until


def find_binaries() -> Path | None:
    """Where initdb and postgres are: on PATH, or where Debian keeps them; the newest of several."""
    if found := shutil.which("postgres"):
        return Path(found).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    return versions[-1].parent if versions else None


BINARIES = find_binaries()
# For some hundred databases. Each is three hundred files: to copy them on a disk takes six times the computing.
_ROOM = 4 * 2**30
_CONNECTIONS = 300  # of all forks at once, each with some programs


class Postgresql:
    """A server that lives as long as the `with` block; nothing is synced: it need not outlive a crash."""

    def __init__(self) -> None:
        assert BINARIES is not None
        self._binaries = BINARIES
        self._user = _unprivileged()
        self._password = secrets.token_hex(16)
        self._server: subprocess.Popen[bytes] | None = None
        self.folder = Path(tempfile.mkdtemp(prefix="zombie-postgresql-", dir=folder_in_memory(_ROOM)))
        self.port = 0
        self._ledger = ""

    def __enter__(self) -> Postgresql:
        try:
            self._start()
            self._ledger = self.new_database()
            Database.open(self._ledger).close()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database: str = "postgres") -> str:
        """The URL of one of its databases."""
        return f"postgresql://tests:{self._password}@127.0.0.1:{self.port}/{database}"

    def new_database(self, encoding: str = "UTF8", template: str = "template0") -> str:
        """Make an empty database, or a copy of another that nobody is connected to, and return its URL."""
        name = f"t{secrets.token_hex(6)}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            # Files are copied: to write each page of them anew, as is usual since 15, takes more than twice the time.
            how = "STRATEGY file_copy" if connection.info.server_version >= 150_000 else ""
            made = f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE {template} {how}"
            connection.execute(made.encode())
        return self.url(name)

    def new_ledger(self) -> str:
        """Make a database that holds a ledger without an entry, migrated once for all, and return its URL."""
        return self.new_database(template=self._ledger.rpartition("/")[2])

    def _start(self) -> None:
        password = self.folder / "password"
        password.write_text(self._password)
        self._own(self.folder, password)
        self._run("initdb", "-A", "md5", "-U", "tests", "--pwfile", str(password), "--no-sync", "-E", "UTF8")
        for _ in range(5):  # between asking the kernel and listening, another program may take the port
            self.port = free_port()
            if self._listens():
                return
        raise RuntimeError((self.folder / "log").read_text())

    def _listens(self) -> bool:
        settings = {"listen_addresses": "127.0.0.1", "port": self.port, "unix_socket_directories": "", "fsync": "off"}
        settings |= {"max_connections": _CONNECTIONS}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            self._server = server = subprocess.Popen(
                [self._binaries / "postgres", "-D", self.folder / "data", *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                user=self._user,
                cwd=self.folder,
            )

        def answered() -> bool:
            try:
                psycopg.connect(self.url(), connect_timeout=2).close()
            except psycopg.OperationalError:
                return server.poll() is not None
            return True

        until(answered, within=timedelta(seconds=30), what="PostgreSQL to answer")
        return server.poll() is None

    def _stop(self) -> None:
        if self._server is not None:
            self._server.send_signal(signal.SIGQUIT)  # at once: what was not written down is not wanted any more
            self._server.wait(timeout=30)

    def _run(self, program: str, *options: str) -> None:
        subprocess.run(
            [self._binaries / program, "-D", self.folder / "data", *options],
            user=self._user,
            cwd=self.folder,
            capture_output=True,
            timeout=120,
            check=True,
        )

    def _own(self, *paths: Path) -> None:
        if self._user is not None:
            for path in paths:
                os.chown(path, self._user, -1)


def _unprivileged() -> int | None:
    """Whom the server runs as: it refuses to be root's."""
    if os.geteuid() != 0:
        return None
    known = {user.pw_name: user.pw_uid for user in pwd.getpwall()}
    return known.get("postgres", known["nobody"])
