"""The image's steps carried out in a folder, without a container engine, as `docker build` and `docker run` would.

Instructions: https://docs.docker.com/reference/dockerfile/. Only those that the Dockerfile has are known here; any
other is an error, so that nothing in it is passed over. The base image is made by mmdebstrap from the Debian release
and with the Python that its tag names; the registry's own image is not fetched.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

# What the build takes from this machine: how pip reaches the package index. An engine gives it by --build-arg.
_OF_PIP = ("/etc/resolv.conf", "/etc/ssl/certs/ca-certificates.crt", "/etc/pip.conf")
_SLIM = ('--aptopt=Acquire::Languages "none"', "--dpkgopt=path-exclude=/usr/share/doc/*")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# A tag of Docker's Python images has python and python3 in front; Debian has python3 alone.
_PYTHON = 'ln -s python3 "$1/usr/bin/python"'


def instructions(dockerfile: str) -> list[tuple[str, str]]:
    """Return the instructions with their arguments, continued lines joined and comments dropped."""
    text = re.sub(r"^#.*\n", "", dockerfile, flags=re.MULTILINE).replace("\\\n", "")
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in text.splitlines() if line)]


def base_of(dockerfile: Path) -> Path:
    """Return a tar with the root of the base image's Debian release and Python; made once, then kept in the cache."""
    (base,) = {arguments.split()[0] for word, arguments in instructions(dockerfile.read_text()) if word == "FROM"}
    version, suite = re.fullmatch(r"python:(3\.\d+)-slim-([a-z]+)", base).groups()  # type: ignore[union-attr]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "zombie"
    kept = cache / f"base-{version}-{suite}.tar"
    if not kept.exists():
        cache.mkdir(parents=True, exist_ok=True)
        making = kept.with_name(f"making-{os.getpid()}.tar")
        packages = f"--include=python{version},python{version}-venv,python3,python3-venv"
        made = ["mmdebstrap", "--quiet", "--variant=minbase", packages, *_SLIM, suite, str(making)]
        try:
            subprocess.run(made, check=True, capture_output=True, timeout=600)
            making.rename(kept)
        finally:
            making.unlink(missing_ok=True)
    return kept


@dataclass
class Stage:
    """A root folder, and what runs in it."""

    root: Path
    environment: dict[str, str] = field(default_factory=lambda: {"PATH": _PATH})
    folder: str = "/"
    user: str = "0:0"
    command: dict[str, list[str]] = field(default_factory=dict)
    volumes: list[str] = field(default_factory=list)
    ports: list[int] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)


class Build:
    """A Dockerfile carried out, step after step; `stages` are what came of it, the last one the image."""

    def __init__(self, context: Path, base: Path, folder: Path, given: Mapping[str, str]) -> None:
        """`base` is a tar of its root; `context` is built, in `folder`, with the build arguments `given`."""
        self._context, self._base, self._folder, self._given = context, base, folder, given
        self._stages: dict[str, Stage] = {}
        self._sent = [line[1:] for line in (context / ".dockerignore").read_text().splitlines() if line[:1] == "!"]

    def run(self) -> Stage:
        """Carry out every step and return the image."""
        stage = Stage(Path("/nonexistent"))
        for word, arguments in instructions((self._context / "Dockerfile").read_text()):
            if word == "FROM":
                stage = self._begun(arguments.partition(" AS ")[2])
            else:
                getattr(self, f"_{word.lower()}")(stage, arguments)
        return stage

    def _begun(self, name: str) -> Stage:
        root = self._folder / f"root-{len(self._stages)}"
        root.mkdir()
        subprocess.run(["tar", "-C", root, "-xf", self._base, "--exclude=./dev/*"], check=True, timeout=300)
        subprocess.run(["sh", "-c", _PYTHON, "sh", root], check=True)
        self._stages[name or str(len(self._stages))] = stage = Stage(root)
        return stage

    def _copy(self, stage: Stage, arguments: str) -> None:
        source, target = arguments.removeprefix("--from=build ").split()
        if source == arguments.split()[0]:
            assert source in self._sent, f"{source} is kept out of the build by .dockerignore"
            found = self._context / source
        else:
            found = self._stages["build"].root / source[1:]
        into = stage.root / target.lstrip("/")
        if found.is_dir():
            shutil.copytree(
                found,
                into,
                symlinks=True,
                ignore=shutil.ignore_patterns("__pycache__") if source in self._sent else None,
            )
        else:
            into.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(found, into / found.name if target.endswith("/") else into)

    def _run(self, stage: Stage, arguments: str) -> None:
        there = [Path(name) for name in _OF_PIP if Path(name).exists()]
        for path in there:
            (stage.root / path.relative_to("/")).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, stage.root / path.relative_to("/"))
        pip = {
            name: value for name, value in os.environ.items() if name.startswith("PIP_") and name != "PIP_CONFIG_FILE"
        }
        pip |= {"PIP_CERT": _OF_PIP[1]} if Path(_OF_PIP[1]).exists() else {}
        done = subprocess.run(
            ["chroot", stage.root, "/bin/sh", "-c", f"cd {shlex.quote(stage.folder)} && {arguments}"],
            env=stage.environment | pip,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, f"RUN {arguments}\n{done.stdout}{done.stderr}"

    def _env(self, stage: Stage, arguments: str) -> None:
        for name, value in _pairs(arguments):
            stage.environment[name] = re.sub(r"\$(\w+)", lambda found: stage.environment.get(found[1], ""), value)

    def _arg(self, stage: Stage, arguments: str) -> None:
        name, _, value = arguments.partition("=")
        stage.environment[name] = self._given.get(name, value)

    def _label(self, stage: Stage, arguments: str) -> None:
        stage.labels.update(_pairs(arguments))

    def _workdir(self, stage: Stage, arguments: str) -> None:
        (stage.root / arguments[1:]).mkdir(parents=True, exist_ok=True)
        stage.folder = arguments

    def _user(self, stage: Stage, arguments: str) -> None:
        stage.user = arguments

    def _volume(self, stage: Stage, arguments: str) -> None:
        stage.volumes.append(arguments)

    def _expose(self, stage: Stage, arguments: str) -> None:
        stage.ports.append(int(arguments))

    def _entrypoint(self, stage: Stage, arguments: str) -> None:
        stage.command["ENTRYPOINT"] = json.loads(arguments)

    def _cmd(self, stage: Stage, arguments: str) -> None:
        stage.command["CMD"] = json.loads(arguments)

    def _healthcheck(self, stage: Stage, arguments: str) -> None:
        stage.command["HEALTHCHECK"] = json.loads(arguments.partition(" CMD ")[2])


def _pairs(arguments: str) -> list[tuple[str, str]]:
    return [(name, value) for name, _, value in (word.partition("=") for word in shlex.split(arguments))]


# $1 the root, $2 the user, $3 the folder, then SOURCE TARGET pairs up to `--`, then what runs. The mounts are in a
# namespace of their own and go with it; every step execs the next, so that a signal reaches what runs.
_RUN = """
set -eu
root=$1 user=$2 folder=$3; shift 3
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t tmpfs tmpfs "$root/dev"
for device in null zero urandom random; do : >"$root/dev/$device"; mount --bind "/dev/$device" "$root/dev/$device"; done
ln -s /proc/self/fd "$root/dev/fd"
mkdir -m 1777 "$root/dev/shm"
while [ "$1" != -- ]; do mount --bind "$1" "$root$2"; shift 2; done
shift
mount -o remount,bind,ro "$root"
exec chroot --userspec="$user:$user" --groups= "$root" /bin/sh -c 'cd "$0" && exec "$@"' "$folder" "$@"
"""


@dataclass(frozen=True)
class Container:
    """The image run as by `docker run --read-only --tmpfs /tmp --user UID:UID -v FOLDER:/etc/zombie --network host`."""

    image: Stage
    volumes: Path
    uid: int
    mounted: Path

    def argv(self, *arguments: str, entrypoint: Sequence[str] = ()) -> list[str]:
        """Return the command that runs the image with these arguments; its environment is the image's."""
        pairs = [str(self.mounted), "/etc/zombie"]
        for number, volume in enumerate(self.image.volumes):
            kept = self.volumes / str(number)
            if not kept.exists():  # a new volume takes what the image has at its place
                shutil.copytree(self.image.root / volume[1:], kept)
            pairs += [str(kept), volume]
        command = [*(entrypoint or self.image.command["ENTRYPOINT"]), *arguments]
        where = [str(self.image.root), str(self.uid), self.image.folder]
        return [
            *("unshare", "--mount", "--propagation", "private", "sh", "-c", _RUN, "sh"),
            *where,
            *pairs,
            "--",
            *command,
        ]
