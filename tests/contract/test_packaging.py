"""What is installed is what was tested: the locks, the wheel and the image."""

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from setuptools_scm import get_version

from bot.app.version import UNKNOWN, version, version_of_description, version_of_sources
from bot.settings.general import General
from tests.image import instructions

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCKS = ["requirements.lock", "requirements-dev.lock", "requirements-docs.lock", "requirements-deploy.lock"]


def locked(lock: str) -> dict[str, str]:
    """Return each package of a lock with its version."""
    pairs = re.findall(r"^([a-z0-9][a-z0-9._-]*)==([^ ;\\]+)", (ROOT / lock).read_text(), re.MULTILINE)
    return dict(pairs)


@pytest.mark.parametrize("lock", LOCKS)
def test_every_locked_package_has_hashes_and_no_address(lock: str) -> None:
    text = (ROOT / lock).read_text()
    entries = re.split(r"\n(?=[a-z0-9])", "\n".join(line for line in text.splitlines() if not line.startswith("#")))
    assert [entry for entry in entries if entry.strip() and "--hash=sha256:" not in entry] == []
    assert re.findall(r"\S*(?:://|index|find-links|/home|/root|/opt)\S*", text.replace("--no-emit-index-url", "")) == []


def test_tools_lock_holds_the_programs_versions() -> None:
    program, tools = (locked(lock) for lock in LOCKS[:2])
    assert program.items() <= tools.items()


@pytest.mark.parametrize(
    ("lock", "wanted"),
    [
        ("requirements.lock", PROJECT["project"]["dependencies"]),
        ("requirements-dev.lock", PROJECT["dependency-groups"]["dev"]),
    ],
)
def test_lock_meets_what_the_project_asks_for(lock: str, wanted: list[str]) -> None:
    versions = locked(lock)
    for requirement in map(Requirement, wanted):
        name = requirement.name.lower()
        assert name in versions, f"{name} is not in {lock}: make it again with the command at its top"
        assert versions[name] in requirement.specifier


def test_every_python_that_is_named_is_tested_and_tried_by_the_launcher() -> None:
    named = [row.rpartition(" ")[2] for row in PROJECT["project"]["classifiers"] if "Python :: 3." in row]
    gate = yaml.safe_load((ROOT / ".github/workflows/gate.yml").read_text())
    (here,) = re.findall(r"requires-python = \">=(3\.\d+)\"", (ROOT / "pyproject.toml").read_text())
    assert named == [here, *gate["jobs"]["pythons"]["strategy"]["matrix"]["python"]]
    launcher = (ROOT / "zombie").read_text()
    assert " ".join(f"python{each}" for each in reversed(named)) in launcher
    assert f"The packages are made for Python {named[0]} to {named[-1]}" in launcher
    assert f"Python {named[0]} to {named[-1]}, each tested" in (ROOT / "README.md").read_text()


def built(folder: Path, repository: str) -> Path:
    """Return a wheel of this checkout, whose links lead to a repository."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)],
        cwd=ROOT,
        env={**os.environ, "ZOMBIE_REPOSITORY": repository},
        capture_output=True,
        timeout=120,
        check=True,
    )
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of a checkout that knows no repository."""
    return built(tmp_path_factory.mktemp("wheel"), "")


def test_wheel_runs_by_itself_and_carries_the_playbooks(tmp_path: Path, wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        archive.extractall(tmp_path / "installed")
    folder = ROOT / "playbooks"
    playbooks = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert {name.removeprefix("bot/_playbooks/") for name in names if name.startswith("bot/_playbooks/")} == playbooks
    said = wheel.name.split("-")[1]
    assert re.sub(r"\.d\d{8}$", "", said) == version(), "the build's, and that of its checkout, but for changed files"
    named = f"zombie_bot-{said}"
    assert {name.split("/")[0] for name in names} == {"bot", f"{named}.data", f"{named}.dist-info"}
    assert f"{named}.data/data/share/man/man1/zombie.1" in names
    files = subprocess.run(
        ["git", "ls-files", "-z", "bot"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert set(files.split("\0")) - {""} <= names, "what a command reads, as pages and scripts, comes along"
    assert not any(name.startswith("bot/tests") or "__pycache__" in name for name in names)
    entry_points = (tmp_path / f"installed/{named}.dist-info/entry_points.txt").read_text()
    assert "zombie = bot.__main__:main" in entry_points
    done = subprocess.run(
        [sys.executable, "-P", "-c", "import sys, bot.__main__; sys.exit(bot.__main__.main(['--version']))"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path / "installed"), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"zombie {said}\n", "")


@pytest.mark.parametrize(
    ("described", "named"),
    [
        ("v0.1.0", "0.1.0"),
        ("v0.1.0-0-g1a2b3c4d5", "0.1.0"),
        ("v0.1.0-243-ge27962722", "0.2.0.dev243+ge27962722"),
        ("v1.9.3-1-g0000000001", "1.10.0.dev1+g000000000"),
        ("$Format:%(describe:tags=true,match=v[0-9]*)$", UNKNOWN),
        ("", UNKNOWN),
    ],
)
def test_version_is_what_git_says_of_the_commit(described: str, named: str) -> None:
    assert version_of_description(described) == named


def test_archive_and_sdist_say_their_version_and_a_bare_copy_says_that_it_knows_none(tmp_path: Path) -> None:
    assert version_of_sources(tmp_path) == UNKNOWN
    (tmp_path / "PKG-INFO").write_text("Metadata-Version: 2.4\nName: zombie-bot\nVersion: 0.2.0.dev7+gabc\n")
    assert version_of_sources(tmp_path) == "0.2.0.dev7+gabc"
    (tmp_path / ".git_archival.txt").write_text("node: 1a2b\ndescribe-name: v0.1.0-7-gabcdef123\n")
    assert version_of_sources(tmp_path) == "0.2.0.dev7+gabcdef123"
    (tmp_path / ".git").write_text("gitdir: /nonexistent\n")
    assert version_of_sources(tmp_path) == UNKNOWN, "git is asked where it is, and does not know"


def test_checkout_says_what_hatch_vcs_says_with_tags_and_without(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        who = ("-c", "user.name=A", "-c", "user.email=a@example.com")
        subprocess.run(["git", "-C", str(tmp_path), *who, *words], check=True, capture_output=True)

    git("init", "--quiet")
    said = []
    for tag in ("", "", "v0.1.0", "", "", "v0.1.1", ""):
        git("commit", "--quiet", "--allow-empty", "--message", "change")
        if tag:
            git("tag", tag)
        of_the_build = get_version(str(tmp_path), version_scheme="semver-pep440-release-branch")
        assert version_of_sources(tmp_path) == of_the_build
        said.append(of_the_build.partition("+")[0])
    assert said == ["0.1.0.dev1", "0.1.0.dev2", "0.1.0", "0.2.0.dev1", "0.2.0.dev2", "0.1.1", "0.2.0.dev1"]


@pytest.mark.parametrize("repository", ["", "https://example.com/sre/zombie"])
def test_index_page_shows_pictures_and_links_that_lead_somewhere(tmp_path: Path, wheel: Path, repository: str) -> None:
    wheel = built(tmp_path, repository) if repository else wheel
    with zipfile.ZipFile(wheel) as archive:
        said = archive.read("-".join(wheel.name.split("-")[:2]) + ".dist-info/METADATA").decode()
    tag = "main" if "+" in version() else f"v{version()}"
    targets = re.findall(r"\]\(([^)\s]+)\)", said)
    assert [target for target in targets if not target.startswith(("https://", "#"))] == []
    picture = f"]({repository}/raw/{tag}/docs/card.png)"
    assert (picture in said, "Project-URL: Source, " in said) == (bool(repository), bool(repository))
    assert "Description-Content-Type: text/markdown" in said
    assert "zombie check node-123" in said


@pytest.mark.long
def test_release_is_the_same_bytes_twice_and_says_what_is_in_it(tmp_path: Path) -> None:
    def made(folder: Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(ROOT / "deploy/release.py"), str(folder)]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)

    folders = [tmp_path / "once", tmp_path / "twice"]
    assert [made(folder).returncode for folder in folders] == [0, 0]
    once, twice = ({path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders)
    assert once == twice
    lines = [line.split() for line in once["SHA256SUMS"].decode().splitlines()]
    sums = {name: digest for digest, name in lines}
    assert sums == {name: hashlib.sha256(file).hexdigest() for name, file in once.items() if name != "SHA256SUMS"}
    (wheel,) = folders[0].glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (inside,) = (name for name in archive.namelist() if "/sboms/" in name)
        bill = json.loads(archive.read(inside))
    beside = json.loads(once["sbom.cdx.json"])
    assert {one["purl"] for one in bill["components"]} == {one["purl"] for one in beside["components"]}
    assert bill["metadata"]["component"]["version"] == wheel.name.split("-")[1]
    assert once["changes.md"].startswith(b"### ")
    again = made(folders[1])
    assert (again.returncode, "is not empty" in again.stderr) == (1, True)


def dockerfile() -> list[tuple[str, str]]:
    """Return the image's instructions with their arguments."""
    return instructions((ROOT / "Dockerfile").read_text())


def test_image_has_two_stages_on_a_named_slim_python() -> None:
    bases = [arguments.split()[0] for word, arguments in dockerfile() if word == "FROM"]
    assert len(bases) == 2
    assert bases[0] == bases[1], "an environment runs on the very Python it was made with"
    assert re.fullmatch(r"python:3\.\d+-slim-[a-z]+", bases[0])


def test_image_runs_the_command_as_a_numbered_user_who_is_not_root() -> None:
    last_stage = dockerfile()[[word for word, _ in dockerfile()].index("FROM", 1) :]
    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", dict(last_stage)["USER"])
    assert dict(last_stage)["ENTRYPOINT"] == '["zombie"]'
    assert [word for word, _ in last_stage].index("USER") < [word for word, _ in last_stage].index("ENTRYPOINT")


def test_image_installs_by_hash_and_takes_only_what_it_needs() -> None:
    steps = dockerfile()
    installs = [arguments for word, arguments in steps if word == "RUN" and "pip install" in arguments]
    assert installs
    assert all("--require-hashes" in arguments for arguments in installs)
    copied = {arguments.split()[0] for word, arguments in steps if word in ("COPY", "ADD")} - {"--from=build"}
    ignore = (ROOT / ".dockerignore").read_text().splitlines()
    assert {f"!{name}" for name in copied} == {line for line in ignore if line.startswith("!")}
    assert "*" in ignore
    assert all((ROOT / name).exists() for name in copied)


def test_image_says_what_it_is_where_it_keeps_its_record_and_where_it_answers() -> None:
    steps = dockerfile()
    told = {word: arguments for word, arguments in steps if word != "ENV"}
    given = dict(pair.split("=", 1) for word, arguments in steps if word == "ENV" for pair in arguments.split())
    assert given["ZOMBIE_STATE_DIR"] == given["HOME"] == told["VOLUME"] == "/var/lib/zombie"
    assert given["ZOMBIE_LISTEN"] == f"0.0.0.0:{told['EXPOSE']}"
    assert General().listen.endswith(f":{told['EXPOSE']}")
    labels = dict(word.split("=", 1) for word in shlex.split(told["LABEL"]))
    assert labels["org.opencontainers.image.version"] == "$VERSION"
    assert [arguments for word, arguments in steps if word == "ARG"] == [f"VERSION={UNKNOWN}"] * 2
    assert labels["org.opencontainers.image.licenses"] == PROJECT["project"]["license"]
    assert labels["org.opencontainers.image.description"] == PROJECT["project"]["description"]
    assert ("COPY", "LICENSE /opt/zombie/LICENSE") in steps


def test_serving_page_and_dockerfile_run_the_image_by_the_same_commands() -> None:
    def commands(text: str) -> list[str]:
        joined = re.sub(r" *\\\n *", " ", text)
        return [" ".join(line.split()) for line in re.findall(r"^\W*(docker (?:build|run) .*)$", joined, re.MULTILINE)]

    on_page = commands((ROOT / "docs/serving.md").read_text())
    assert len(on_page) >= 3
    assert set(commands((ROOT / "Dockerfile").read_text())) <= set(on_page)
