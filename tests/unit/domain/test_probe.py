"""What a probe says of itself when it was not read."""

from __future__ import annotations

from bot.domain.command import Command, Completed, Outputs
from bot.domain.errors import CannotRead
from bot.domain.probe import Probe, Unread


def test_each_way_that_failed_is_told_once() -> None:
    said = "sudo: a password is required\ndmesg: Operation not permitted\nsudo: a password is required\n"
    run = Completed("log", "log", 0, "", said, 1)
    assert run.failure == "sudo refused (sudo: a password is required; dmesg: Operation not permitted)"


def test_reason_does_not_begin_with_the_probe_that_it_stands_beside() -> None:
    def refuses(outputs: Outputs) -> str:
        raise CannotRead("dns: neither dig nor host is installed")

    probe = Probe("dns", "", (Command("asked", ("dig",)),), refuses)
    assert probe.read(Outputs()) == Unread("dns", "neither dig nor host is installed")
