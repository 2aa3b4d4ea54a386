"""A scheduler and workers as processes of their own, as people run them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from tests.program import Started
from tests.waiting import until

ROOT = Path(__file__).parents[2]
STARTS = timedelta(seconds=60)  # also where much else runs on this machine


class Program:
    """A running program whose stderr is kept line by line."""

    def __init__(self, process: subprocess.Popen[str] | Started) -> None:
        self.lines: list[str] = []
        self.process = process
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as lines:
            self.lines.extend(lines)

    @property
    def said(self) -> str:
        return "".join(self.lines)

    def says(self, words: str) -> None:
        """Wait until it says so."""
        until(lambda: words in self.said or self.process.poll() is not None, within=STARTS, what=words)
        assert words in self.said, self.said

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """End it, and return its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        with self.process:
            try:
                status = self.process.wait(30)
            finally:
                self.process.kill()
            self._reader.join(10)
        return status


class Workshop:
    """A scheduler, and the workers that were started for it."""

    def __init__(self, folder: Path, environ: Mapping[str, str], *options: str) -> None:
        self.folder = folder
        self.environ = dict(environ)
        self._file = folder / "scheduler.json"
        self.options = options
        argv = [sys.executable, "-m", "dask", "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
        argv += ["--no-show"]
        argv += ["--scheduler-file", str(self._file), "--dashboard-address", "127.0.0.1:0", *options]
        # As somebody else starts it: in an empty folder, and without this program.
        (elsewhere := folder / "scheduler").mkdir(exist_ok=True)
        own, pipe, null = {**environ, "PYTHONPATH": ""}, subprocess.PIPE, subprocess.DEVNULL
        started = subprocess.Popen(argv, env=own, cwd=elsewhere, stdout=null, stderr=pipe, text=True)
        self.scheduler = Program(started)
        self.workers: list[Program] = []
        until(self._is_up, within=STARTS, what="the scheduler")
        self.url: str = json.loads(self._file.read_text())["address"]

    def _is_up(self) -> bool:
        assert self.scheduler.process.poll() is None, self.scheduler.said
        return self._file.is_file() and self._file.read_text().endswith("}")

    def starts(self, *options: str, script: str = "", **environ: str) -> Program:
        """Start a worker, or a script that becomes one, without waiting for it."""
        words = ("worker", "--scheduler", self.url, *options)
        self.workers.append(Program(Started(*words, script=script, cwd=self.folder, env=self.environ | environ)))
        return self.workers[-1]

    def worker(self, *options: str, script: str = "", **environ: str) -> Program:
        """Start a worker, and return it once it can be given work."""
        started = self.starts(*options, script=script, **environ)
        started.says("reads nodes")
        return started


@contextmanager
def workshop(folder: Path, environ: Mapping[str, str], *options: str) -> Iterator[Workshop]:
    """Run a scheduler for the length of a block; its workers end with it."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("ZOMBIE_", "DASK_"))}
    shop = Workshop(folder, {**plain, **environ, "PYTHONPATH": str(ROOT)}, *options)
    try:
        yield shop
    finally:
        for program in (*shop.workers, shop.scheduler):
            program.end(signal.SIGKILL)
