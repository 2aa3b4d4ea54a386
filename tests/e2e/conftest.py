"""What the end-to-end tests may ask for."""

from collections.abc import Iterator

import pytest

from tests.conftest import missing
from tests.nodes.sshd import SSHD, Sshd


@pytest.fixture(scope="module")
def shared() -> Iterator[Sshd]:
    if SSHD is None:
        missing("sshd is not installed (Debian: apt install openssh-server)")
    with Sshd() as node:
        yield node
