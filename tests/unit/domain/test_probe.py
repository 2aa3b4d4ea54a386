"""What a probe says of itself when it was not read."""

from __future__ import annotations

import pytest

from bot.domain.command import Command, Completed, Outputs
from bot.domain.errors import CannotRead
from bot.domain.probe import Probe, Unread


def test_each_way_that_failed_is_told_once() -> None:
    said = "sudo: a password is required\ndmesg: Operation not permitted\nsudo: a password is required\n"
    run = Completed("log", "log", 0, "", said, 1)
    assert run.failure == "sudo refused (sudo: a password is required; dmesg: Operation not permitted)"


@pytest.mark.parametrize(
    "shell", ["sh: 1: sudo: not found", "bash: line 3: sudo: command not found", "ash: sudo: not found"]
)
@pytest.mark.parametrize("status", [1, 127])
def test_node_without_sudo_is_no_node_whose_sudo_refuses(shell: str, status: int) -> None:
    stderr = f"dmesg: read kernel buffer failed: Operation not permitted\n{shell}\n"
    assert Completed("log", "log", 0, "", stderr, status).failure == "sudo is not installed"


def test_reason_does_not_begin_with_the_probe_that_it_stands_beside() -> None:
    def refuses(outputs: Outputs) -> str:
        raise CannotRead("dns: neither dig nor host is installed")

    probe = Probe("dns", "", (Command("asked", ("dig",)),), refuses)
    assert probe.read(Outputs()) == Unread("dns", "neither dig nor host is installed")
