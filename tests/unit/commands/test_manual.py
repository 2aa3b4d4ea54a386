"""The man page holds every command and option, and real groff has nothing to complain about."""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bot.__main__ import parser
from bot.commands.completion import every_parser
from bot.commands.manual import man_page
from bot.settings import all_keys
from bot.sources import settings_of
from tests.conftest import missing

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def printed() -> str:
    """The page as `man` prints it, 80 columns wide."""
    if shutil.which("groff") is None:
        missing("groff is not installed (Debian: apt install groff-base)")
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-P-bcou", "-rLL=78n"],
        input=man_page(parser()).encode("ascii"),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr.decode()) == (0, "")
    return done.stdout.decode()


def test_every_command_and_option_is_in_it(printed: str) -> None:
    for below in list(every_parser(parser()))[1:]:
        assert f"   {below.prog}\n" in printed
        for action in below._actions:
            if not isinstance(action, argparse._HelpAction):
                assert all(option in printed for option in action.option_strings)
    names = {key.environment for table in all_keys(settings_of()).values() for key in table.values()} - {""}
    assert names == set(re.findall(r"^ {7}([A-Z_]+)\b", printed, re.MULTILINE)) & names


def test_examples_can_be_copied_as_they_stand(printed: str) -> None:
    assert "zombie check 'ray-gpu-*'" in printed or "'ray-gpu-*'" in printed
    assert 'eval "$(zombie completion bash)"' in printed
    assert "fpath=(~/.zfunc $fpath)" in printed


def test_it_is_as_wide_and_as_dated_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    first = man_page(parser())
    monkeypatch.setenv("COLUMNS", "200")
    assert man_page(parser()) == first


def test_it_is_written_with_the_standard_library_alone() -> None:
    """So the wheel can be built where nothing else is installed (deploy/man_page.py)."""
    program = "import bot.__main__, bot.commands.manual as m; print(len(m.man_page(bot.__main__.parser())))"
    done = subprocess.run(
        [sys.executable, "-S", "-c", program],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert int(done.stdout) > 10_000, done.stderr
