"""What the contract tests may ask for."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.conftest import missing
from tests.contract.ways import SimulatedNode, Way, local, over_ssh
from tests.nodes.sshd import SSHD, Sshd


@pytest.fixture(scope="module")
def shared_sshd() -> Iterator[Sshd | None]:
    """One OpenSSH server for all tests of a file; None where sshd is not installed."""
    if SSHD is None:
        yield None
        return
    with Sshd() as node:
        yield node


@pytest.fixture
async def way(request: pytest.FixtureRequest, shared_sshd: Sshd | None, tmp_path: Path) -> AsyncIterator[Way]:
    """A way to a node, chosen with `members`."""
    if request.param == "local":
        yield local()
    elif request.param == "openssh":
        if shared_sshd is None:
            missing("sshd is not installed (Debian: apt install openssh-server)")
        yield over_ssh(shared_sshd)
    else:
        async with SimulatedNode(tmp_path) as simulated:
            yield simulated
