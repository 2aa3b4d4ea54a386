"""A command that is forked from a loaded program says and does what one does that starts anew."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.program import ROOT, environment, zombie


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["settings"], ""),
        (["chekc"], ""),
        (["route", "explain", "-"], '{"version": "4", "receiver": "é"}'),
    ],
)
def test_it_says_and_ends_as_a_program_that_starts_anew(tmp_path: Path, words: list[str], said: str) -> None:
    environ = environment(tmp_path, ZOMBIE_TEST="x")
    forked = zombie(*words, cwd=tmp_path, env=environ, said=said)
    anew = subprocess.run(
        [sys.executable, "-P", "-m", "bot", *words],
        cwd=tmp_path,
        env={**environ, "PYTHONPATH": str(ROOT)},
        input=said,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (forked.returncode, forked.stdout, forked.stderr) == (anew.returncode, anew.stdout, anew.stderr)
    assert forked.stdout + forked.stderr


def test_one_that_takes_too_long_is_killed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "endless")
    with pytest.raises(TimeoutError):
        zombie("route", "explain", str(tmp_path / "endless"), cwd=tmp_path, env=environment(tmp_path), within=1)
