"""The launcher makes one environment, once, whoever calls it from wherever, and says why when it cannot."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHON = Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}"
SPREAD = '"--forks", "auto"'
SHOW = "import json, os, sys; print(json.dumps([sys.argv[1:], os.getcwd()]))\n"

# Stands in for uv: makes an environment without packages, counts, and waits in the middle when it is told to.
UV = f"""#!/bin/sh
case "$1 $2" in
    "venv -q") for folder; do :; done; exec {PYTHON} -m venv --without-pip "$folder" ;;
    "pip install") echo "$*" >>"$COUNT"; [ -z "${{GATE-}}" ] || read -r _ <"$GATE" || : ;;
esac
"""

USUAL = "not lab and not benchmark and not long"


class Checkout:
    """A checkout with a program that shows how it was called, and a PATH that holds only what is put there."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "a checkout"
        self.tools = folder / "tools"
        self.elsewhere = folder / "elsewhere"
        self.count = folder / "count"
        for made in (self.root / "bot", self.root / "tests", self.tools, self.elsewhere):
            made.mkdir(parents=True)
        shutil.copy(ROOT / "zombie", self.root / "zombie")
        for name in ("requirements.lock", "requirements-dev.lock"):
            (self.root / name).write_text(f"# nothing for {name}\n")
        (self.root / "bot/__init__.py").touch()
        (self.root / "bot/__main__.py").write_text(SHOW)
        (self.root / "pytest.py").write_text(SHOW)
        for tool in ("sh", "readlink", "cmp", "rm", "cp", "tail"):
            (self.tools / tool).symlink_to(str(shutil.which(tool)))
        (self.tools / "python3").symlink_to(PYTHON)
        self.environment = {"PATH": str(self.tools), "COUNT": str(self.count), "PIP_CONFIG_FILE": os.devnull}

    def tool(self, name: str, script: str) -> None:
        """Put a program of the test's own on the PATH."""
        path = self.tools / name
        path.unlink(missing_ok=True)
        path.write_text(script)
        path.chmod(0o755)

    def installs(self) -> list[str]:
        return self.count.read_text().splitlines() if self.count.exists() else []

    def start(self, *arguments: str, start: Path | None = None, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(start or self.root / "zombie"), *arguments],
            cwd=self.elsewhere,
            env=self.environment | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments: str, start: Path | None = None, **environment: str) -> tuple[int, str, str]:
        with self.start(*arguments, start=start, **environment) as process:
            out, err = process.communicate(timeout=120)
        return process.returncode, out, err


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    made = Checkout(tmp_path)
    made.tool("uv", UV)
    return made


def shown(arguments: str, folder: Path) -> str:
    return f'[[{arguments}], "{folder}"]\n'


def test_first_call_sets_up_and_says_so_and_the_second_is_silent(checkout: Checkout) -> None:
    code, out, err = checkout.run("check", "a b", "*")
    assert (code, out) == (0, shown('"check", "a b", "*"', checkout.elsewhere))
    assert err.count("\n") == 1
    assert "setting up" in err
    assert checkout.run("--json") == (0, shown('"--json"', checkout.elsewhere), "")
    assert len(checkout.installs()) == 1


def test_texts_name_the_launcher_and_tools_of_the_administrator_are_found(checkout: Checkout) -> None:
    (checkout.root / "bot/__main__.py").write_text(
        "import os; print(os.environ['ZOMBIE_COMMAND'], os.environ['PATH'])\n"
    )
    _, out, _ = checkout.run()
    said, path = out.strip().rsplit(" ", 1)
    assert said == "./zombie", "its folder's name has a space: nothing that could be pasted"
    assert path.startswith(f"{checkout.tools}:")
    assert {"/usr/sbin", "/sbin"} < set(path.split(":"))
    link = checkout.elsewhere / "link"
    link.symlink_to(checkout.root / "zombie")
    assert checkout.run(start=link)[1].startswith(f"{link} ")


def test_folder_one_stands_in_cannot_put_its_own_program_in_place(checkout: Checkout) -> None:
    (checkout.elsewhere / "bot").mkdir()
    (checkout.elsewhere / "bot/__init__.py").write_text("raise SystemExit('not ours')")
    (checkout.elsewhere / "json.py").write_text("raise SystemExit('not ours')")
    code, out, _ = checkout.run(PYTHONPATH=str(checkout.elsewhere))
    assert (code, out) == (0, shown("", checkout.elsewhere))


def test_symlink_finds_its_checkout(checkout: Checkout) -> None:
    first, second = checkout.elsewhere / "first", checkout.tools / "zombie"
    for first_to, second_to in (
        ("../a checkout/zombie", os.path.relpath(first, checkout.tools)),
        (checkout.root / "zombie", first),
    ):
        for link, to in ((first, first_to), (second, second_to)):
            link.unlink(missing_ok=True)
            link.symlink_to(to)
        code, out, _ = checkout.run("x", start=second)
        assert (code, out) == (0, shown('"x"', checkout.elsewhere))
    assert (checkout.root / ".venv/bin/python").exists()


def test_changed_lock_makes_the_environment_anew(checkout: Checkout) -> None:
    checkout.run()
    (checkout.root / ".venv/left over").touch()
    with (checkout.root / "requirements.lock").open("a") as lock:
        lock.write("# one more\n")
    assert "setting up" in checkout.run()[2]
    assert not (checkout.root / ".venv/left over").exists()
    assert checkout.run()[2] == ""
    assert len(checkout.installs()) == 2


def test_test_tools_are_added_to_what_is_there(checkout: Checkout) -> None:
    checkout.run()
    (checkout.root / ".venv/kept").touch()
    code, out, err = checkout.run("test", "unit", "-k", "a b")
    chosen = f'"-m", "{USUAL}", "tests/unit", "-k", "a b"'
    assert (code, out) == (0, shown(f"{SPREAD}, {chosen}", checkout.root))
    assert "setting up" in err
    assert (checkout.root / ".venv/kept").exists()
    assert [line.rsplit("/", 1)[-1] for line in checkout.installs()] == ["requirements.lock", "requirements-dev.lock"]
    assert checkout.run("check")[2] == checkout.run("test")[2] == ""


def test_parts_are_chosen_by_marks_and_made_of_files_that_are_there(checkout: Checkout) -> None:
    for words, chosen in (
        ([], f'"-m", "{USUAL}"'),
        (["lab"], '"-m", "lab"'),
        (["all"], '"-m", "not lab"'),
        (["long"], '"-m", "long"'),
        (["-m", "x"], f'"-m", "{USUAL}", "-m", "x"'),  # pytest takes the last
    ):
        assert checkout.run("test", *words)[1] == shown(f"{SPREAD}, {chosen}", checkout.root)
    for part, workers in (("quick", "logical"), ("docs", "0")):
        arguments, _ = json.loads(checkout.run("test", part, "-x")[1])
        files = [word for word in arguments if word.startswith("tests/")]
        assert len(files) >= 5
        assert [file for file in files if not (ROOT / file).exists()] == []
        assert (arguments[1], arguments[-1]) == (workers, "-x")


def test_parts_are_told_in_ten_lines_without_a_set_up(checkout: Checkout) -> None:
    for word in ("-h", "--help"):
        code, out, err = checkout.run("test", word)
        assert (code, err, checkout.installs()) == (0, "", [])
        assert len(out.splitlines()) <= 10
        for part in ("docs", "quick", "unit", "contract", "e2e", "lab", "long", "all"):
            assert f"\n  {part} " in out


def test_two_at_once_set_up_once(checkout: Checkout) -> None:
    gate = checkout.elsewhere / "gate"
    os.mkfifo(gate)
    with checkout.start("1", GATE=str(gate)) as first:
        opened = gate.open("w")  # returns once the first one stands in the middle of its set-up
        with checkout.start("2") as second:
            assert second.stderr is not None
            assert "another one is setting up" in second.stderr.readline()
            opened.close()
            assert second.communicate(timeout=60) == (shown('"2"', checkout.elsewhere), "")
        assert first.communicate(timeout=60)[0] == shown('"1"', checkout.elsewhere)
    assert len(checkout.installs()) == 1


@pytest.mark.parametrize("words", [[], ["test"]], ids=["first", "adding the tools"])
def test_set_up_that_was_interrupted_is_begun_again(checkout: Checkout, words: list[str]) -> None:
    if words:
        checkout.run()
    gate = checkout.elsewhere / "gate"
    os.mkfifo(gate)
    with checkout.start(*words, GATE=str(gate)) as first, gate.open("w"):
        os.killpg(first.pid, signal.SIGINT)
        assert first.wait(timeout=60) != 0
        (checkout.root / ".venv/half written").touch()
    code, out, err = checkout.run(*words)
    assert (code, "setting up" in err) == (0, True)
    assert out != ""
    assert not (checkout.root / ".venv/half written").exists()
    assert checkout.run(*words)[2] == ""


@pytest.fixture(scope="module")
def by_python_alone(tmp_path_factory: pytest.TempPathFactory) -> tuple[Checkout, tuple[int, str, str]]:
    """A checkout that was set up by Python alone, with a pip of its own, and what that said."""
    checkout = Checkout(tmp_path_factory.mktemp("alone"))
    return checkout, checkout.run("x")


@pytest.fixture
def with_pip(tmp_path: Path, by_python_alone: tuple[Checkout, tuple[int, str, str]]) -> Checkout:
    """A checkout whose Python makes an environment by a copy of one that has its pip: to install that takes seconds."""
    checkout, made = Checkout(tmp_path), by_python_alone[0].root / ".venv"
    checkout.tool(
        "python3",
        f"""#!/bin/sh
case "$1 $2" in
    "-m venv") for folder; do :; done; cp -R -P "{made}" "$folder" && exec rm "$folder/requirements.lock" ;;
    *"print(sys.executable)"*) {PYTHON} "$@" >/dev/null && echo "$0" ;;
    *) exec {PYTHON} "$@" ;;
esac
""",
    )
    return checkout


@pytest.mark.slow
def test_python_alone_is_enough(by_python_alone: tuple[Checkout, tuple[int, str, str]]) -> None:
    checkout, (code, out, err) = by_python_alone
    assert (code, out) == (0, shown('"x"', checkout.elsewhere)), err
    assert "and pip" in err
    assert checkout.run("x")[2] == ""


@pytest.mark.slow
def test_unreachable_package_index_is_named_with_what_to_do(with_pip: Checkout) -> None:
    (with_pip.root / "requirements.lock").write_text(f"tenacity==9.0.0 --hash=sha256:{'0' * 64}\n")
    code, out, err = with_pip.run("x", PIP_INDEX_URL="http://127.0.0.1:1/simple", PIP_RETRIES="0")
    assert (code, out) == (2, "")
    assert "Is the package index reachable?" in err
    assert "PIP_INDEX_URL" in err.splitlines()[-1]
    assert not (with_pip.root / ".venv/requirements.lock").exists()  # not taken for done by the next call


@pytest.mark.slow
def test_package_of_which_there_is_no_file_for_this_python_is_named(with_pip: Checkout) -> None:
    (with_pip.root / "requirements.lock").write_text(f"google-re2==1.1 --hash=sha256:{'0' * 64}\n")
    code, out, err = with_pip.run("x", PIP_NO_INDEX="1", PIP_FIND_LINKS=str(with_pip.elsewhere))
    assert (code, out) == (2, "")
    assert "could not install google-re2==1.1: the package index has no ready-made file of it for Python 3." in err
    assert "ZOMBIE_PYTHON=" in err.splitlines()[-1]
    assert "Is the package index reachable?" not in err


@pytest.mark.parametrize("version", ["Python 3.10.9", None])
def test_python_too_old_or_absent_is_said_with_what_to_install(tmp_path: Path, version: str | None) -> None:
    checkout = Checkout(tmp_path)
    (checkout.tools / "python3").unlink()
    if version:
        checkout.tool("python3", f"#!/bin/sh\n[ $1 = --version ] && echo {version} && exit\nexit 1\n")
        checkout.tool("python3.12", "#!/bin/sh\necho 'pyenv: python3.12: command not found' >&2; exit 127\n")
    code, out, err = checkout.run("x")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "needs Python 3.11 or newer" in err
    assert (f"python3 is {version}" if version else "there is no python3") in err
    assert "apt install python3 python3-venv" in err
    assert not (checkout.root / ".venv").exists()


def test_checkout_nobody_may_write_in_is_said(checkout: Checkout) -> None:
    (checkout.root / ".venv.lock").mkdir()  # not even root can open it for writing
    code, _, err = checkout.run("x")
    assert code == 2
    assert f"cannot write in {checkout.root}" in err


def test_environment_whose_python_this_user_may_not_run_is_said(checkout: Checkout) -> None:
    (checkout.root / ".venv.lock").mkdir()
    (checkout.root / ".venv/bin").mkdir(parents=True, exist_ok=True)
    (checkout.root / ".venv/bin/python").unlink(missing_ok=True)
    (checkout.root / ".venv/bin/python").symlink_to("/root/of/somebody/python3.11")
    code, _, err = checkout.run("x")
    assert code == 2
    assert "this user may not run /root/of/somebody/python3.11, which the environment in " in err
    assert "ZOMBIE_PYTHON=/usr/bin/python3" in err
