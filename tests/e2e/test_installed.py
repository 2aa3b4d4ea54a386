"""The wheel and the sdist, each put by pip into a fresh environment and run from another folder."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bot.app.version import version
from tests.contract.test_packaging import locked

pytestmark = [pytest.mark.slow, pytest.mark.long]
ROOT = Path(__file__).parents[2]


class Installed:
    """An environment with the program in it, and a folder that holds none of it."""

    def __init__(self, folder: Path) -> None:
        self.venv, self.elsewhere = folder / "venv", folder / "elsewhere"
        self.elsewhere.mkdir()
        subprocess.run([sys.executable, "-m", "venv", self.venv], check=True, timeout=120)

    def pip(self, *arguments: str | Path) -> None:
        command = [str(self.venv / "bin/python"), "-m", "pip", "install", "-q", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0, done.stderr

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.elsewhere)}
        command = [str(self.venv / "bin/zombie"), *arguments]
        return subprocess.run(
            command, cwd=self.elsewhere, env=environment, capture_output=True, text=True, timeout=120, check=False
        )


def built(target: str, folder: Path) -> Path:
    """Build one and return its file."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, capture_output=True, timeout=120, check=True)
    (made,) = folder.glob("*.whl" if target == "wheel" else "*.tar.gz")
    return made


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """An environment with the packages that the wheel asks for, in the versions that were tested."""
    folder = tmp_path_factory.mktemp("installed")
    environment = Installed(folder)
    constraints = folder / "constraints.txt"
    constraints.write_text("".join(f"{name}=={version}\n" for name, version in locked("requirements.lock").items()))
    environment.pip("--only-binary", ":all:", "-c", constraints, built("wheel", folder))
    return environment


@pytest.fixture(params=["wheel", "sdist"])
def program(request: pytest.FixtureRequest, installed: Installed, tmp_path: Path) -> Installed:
    installed.pip("--force-reinstall", "--no-deps", built(request.param, tmp_path))
    return installed


def test_installed_program_works_from_any_folder_and_calls_itself_by_its_name(program: Installed) -> None:
    assert program.run("--version").stdout == f"zombie {version()}\n"
    for name in ("node-health", "zombie-cgroups"):
        assert name in program.run("playbooks").stdout
    done = program.run("check", "--local", "--json", "--samples", "1")
    assert json.loads(done.stdout)["schema"] == 1, done.stderr
    assert json.loads(program.run("check", "--json-schema").stdout)["$schema"]
    done = program.run("check", "node-1")
    assert done.returncode == 2
    assert "For this machine: zombie check --local" in done.stderr
    assert program.run("serve", "--help").stdout.startswith("usage: zombie serve")


def test_postgresql_without_its_extra_says_what_to_install(program: Installed) -> None:
    environment = {"PATH": os.environ["PATH"], "ZOMBIE_DATABASE_URL": "postgresql://127.0.0.1:1/x"}
    done = subprocess.run(
        [program.venv / "bin/zombie", "incidents"],
        cwd=program.elsewhere,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "zombie-bot[postgresql]" in done.stderr
