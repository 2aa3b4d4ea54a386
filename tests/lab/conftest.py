"""One virtual node for all tests of a cgroup version, because a boot takes half a minute."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.bench import Bench, require


@pytest.fixture(scope="module", params=["v2", "v1"])
def bench(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A lab with one node up; nothing of it is left afterwards."""
    require()
    here = Bench(tmp_path_factory.mktemp(f"lab-{request.param}"))
    try:
        here.up("--cgroups", request.param, "--memory", "1536", "--cpus", "3")
        yield here
    finally:
        here.zombie("lab", "down")


@pytest.fixture(scope="module")
def small(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A lab with one node that has so little memory that a small leak does harm; the cgroup version is asked for."""
    require()
    here = Bench(tmp_path_factory.mktemp("lab-small"))
    try:
        here.up("--cgroups", request.param, "--memory", "512")
        yield here
    finally:
        here.zombie("lab", "down")


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Bench]:
    """A lab that is not up yet."""
    require()
    here = Bench(tmp_path)
    yield here
    here.zombie("lab", "down")
