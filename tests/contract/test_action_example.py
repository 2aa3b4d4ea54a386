"""The GitHub Action of docs/cases.md, as it stands there: its steps are taken in a repository with a changed playbook.

GitHub itself is not here. Each `actions/checkout` becomes a clone of the same repository, ref and path, and the run
step is handed to the shell that GitHub hands it to: https://docs.github.com/actions/reference/workflow-syntax.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from tests.contract.test_backtest import planted
from tests.contract.test_why import FOUNDING

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "cases.md").read_text()
BASE = "main"


def workflow() -> dict[Any, Any]:
    """The workflow of the page."""
    (text,) = [block for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL) if "runs-on" in block]
    found: dict[Any, Any] = yaml.safe_load(text)
    return found


def git(*words: str, cwd: Path) -> None:
    named = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    subprocess.run(["git", *named, *words], cwd=cwd, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Somebody's repository: cases and playbooks on `main`, and a branch that changes a threshold."""
    theirs = tmp_path / "theirs"
    (theirs / "cases").mkdir(parents=True)
    shutil.copy(FOUNDING, theirs / "cases" / "node-1.jsonl.gz")
    git("init", "-q", "-b", BASE, cwd=theirs)
    planted(theirs / "playbooks", 1001)
    git("add", ".", cwd=theirs)
    git("commit", "-qm", "cases and playbooks", cwd=theirs)
    git("checkout", "-qb", "change", cwd=theirs)
    return theirs


def taken(repository: Path, job: Path) -> subprocess.CompletedProcess[str]:
    """Take the steps of the job in an empty folder, as far as a shell and git are enough for them."""
    done: subprocess.CompletedProcess[str] | None = None
    for step in workflow()["jobs"]["backtest"]["steps"]:
        uses, given = step.get("uses", ""), step.get("with", {})
        if uses.startswith("actions/checkout@") and "repository" in given:
            program = job / given["path"]  # this program's: the launcher would make an environment of its own
            program.mkdir(parents=True)
            launcher = program / "zombie"
            launcher.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -P -m bot "$@"\n')
            launcher.chmod(0o755)
        elif uses.startswith("actions/checkout@"):
            ref = given.get("ref", "change").replace("${{ github.base_ref }}", BASE)
            target = job / given.get("path", ".")
            git("clone", "-q", "--branch", ref, str(repository), "clone", cwd=job.parent)
            shutil.copytree(job.parent / "clone", target, dirs_exist_ok=True)
            shutil.rmtree(job.parent / "clone")
        elif "run" in step:
            done = subprocess.run(
                ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
                cwd=job,
                env={"PATH": "/usr/bin:/bin", "HOME": str(job), "GITHUB_STEP_SUMMARY": str(job / "summary.md")},
                capture_output=True,
                text=True,
                check=False,
            )
        else:
            assert uses.startswith("actions/upload-artifact@")
            assert step["if"] == "always()", "the file is wanted most where the step before failed"
            assert (job / given["path"]).is_file()
    assert done is not None
    return done


def test_change_that_flips_a_verdict_fails_the_job_and_says_which(repository: Path, tmp_path: Path) -> None:
    planted(repository / "playbooks", 10**7)
    git("commit", "-qam", "another threshold", cwd=repository)
    (tmp_path / "job").mkdir()
    done = taken(repository, tmp_path / "job")
    assert done.returncode == 1, done.stderr
    assert "1 of 1 verdicts flip" in (tmp_path / "job" / "summary.md").read_text()
    suite = ElementTree.parse(tmp_path / "job" / "backtest.xml").getroot()
    assert [test.get("name") for test in suite.iter("testcase")] == ["cases/node-1.jsonl.gz"]
    assert suite.get("failures") == "1"
    because = suite.find(".//failure")
    assert because is not None
    assert "dying_many: 1,001 → 10,000,000" in (because.text or "")


def test_change_that_flips_nothing_passes(repository: Path, tmp_path: Path) -> None:
    planted(repository / "playbooks", 1002)
    git("commit", "-qam", "hardly another threshold", cwd=repository)
    (tmp_path / "job").mkdir()
    done = taken(repository, tmp_path / "job")
    assert (done.returncode, done.stderr) == (0, "")
    assert "0 of 1 verdicts flip" in (tmp_path / "job" / "summary.md").read_text()


def test_job_may_read_and_nothing_else() -> None:
    found = workflow()
    assert found["permissions"] == {"contents": "read"}
    assert found[True] == {"pull_request": {"paths": ["playbooks/**"]}}, "YAML 1.1 reads `on` as yes"
    for step in found["jobs"]["backtest"]["steps"]:
        assert "${{" not in step.get("run", ""), "nothing of a pull request becomes a part of a command"
