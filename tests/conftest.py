"""What every test may ask for."""

import os
from collections.abc import Iterator
from typing import NoReturn

import pytest

from tests.sshd import SSHD, Sshd


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
