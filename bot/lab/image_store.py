"""A cache of disk images, by the digest of their recipe; a missing image is built."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bot.domain.errors import UsageError
from bot.lab import tools
from bot.lab.recipe import Recipe

Say = Callable[[str], None]
_DONE = "recipe.digest"  # written last: without it the image is not finished
_MIRROR = "http://deb.debian.org/debian"


@dataclass(frozen=True, slots=True)
class Image:
    """A finished image."""

    folder: Path

    @property
    def disk(self) -> Path:
        """The root file system. Nodes never write to it."""
        return self.folder / "root.img"

    @property
    def kernel(self) -> Path:
        """Debian's kernel."""
        return self.folder / "vmlinuz"

    @property
    def initrd(self) -> Path:
        """What the kernel boots with."""
        return self.folder / "initrd.img"

    def key(self, login: str) -> Path:
        """Return the private key of a login, `zombie` or `root`."""
        return self.folder / login

    @property
    def host_key(self) -> str:
        """The host key of every node of this image, as in a known_hosts file."""
        kind, key = (self.folder / "host_key.pub").read_text(encoding="ascii").split()[:2]
        return f"{kind} {key}"


class ImageStore:
    """A folder of images. It may be deleted while no node runs."""

    def __init__(self, folder: Path, say: Say) -> None:
        self._folder = folder
        self._say = say

    def image(self, recipe: Recipe) -> Image:
        """Return the image of a recipe, and build it if it is not cached.

        Raises: UsageError when this machine cannot build it.
        """
        final = self._folder / recipe.digest
        image = Image(final)
        if (final / _DONE).is_file():
            self._say(f"image {recipe.digest}: from the cache ({_used(final)})")
            return image
        needed = tools.need(tools.FOR_THE_IMAGE)
        if os.geteuid() != 0:
            raise UsageError(
                "Building the image needs root: Debian's tools set file owners and run inside the new system.",
                "Run `zombie lab up` as root once. Nodes of a cached image start without root.",
            )
        self._folder.mkdir(parents=True, exist_ok=True)
        with _locked(self._folder / "lock", self._say):
            if (final / _DONE).is_file():
                return image
            self._remove_unfinished(recipe.digest)
            making = self._folder / f"{recipe.digest}.making"
            making.mkdir()
            try:
                self._make(recipe, making, needed)
                (making / _DONE).write_text(recipe.digest + "\n", encoding="ascii")
                making.rename(final)
            finally:
                self._remove_unfinished(recipe.digest)
        return image

    def remove_all(self) -> None:
        """Delete every image."""
        if self._folder.is_dir():
            self._say(f"images: {_used(self._folder)} deleted")
            shutil.rmtree(self._folder)

    def _remove_unfinished(self, digest: str) -> None:
        # A killed tool may have left mounts in it; deleting through a mount would delete the wrong files.
        for folder in (self._folder / f"{digest}.making", self._folder / digest):
            if folder.is_dir() and not (folder / _DONE).exists():
                _unmount_below(folder)
                shutil.rmtree(folder)

    def _make(self, recipe: Recipe, folder: Path, needed: dict[str, str]) -> None:
        began = time.monotonic()
        self._say(f"image {recipe.digest}: building it, Debian {recipe.suite}, {len(recipe.packages)} packages …")
        for login in ("zombie", "root"):
            _run([needed["ssh-keygen"], "-q", "-t", "ed25519", "-N", "", "-C", f"{login}-lab", "-f", folder / login])
        staged = folder / "staged"
        _stage(recipe, folder, staged)
        early = folder / "initramfs.conf"
        early.write_text(recipe.initramfs, encoding="ascii")
        tree, log = folder / "tree", folder / "mmdebstrap.log"
        hooks = [
            f'--essential-hook=d="$1/etc/initramfs-tools/conf.d"; mkdir -p "$d" && cp {early} "$d/lab"',
            f"--customize-hook=sync-in {staged} /",
            '--customize-hook=chroot "$1" sh /lab/setup.sh',
            f"--customize-hook=copy-out /lab/vmlinuz /lab/initrd.img /lab/host_key.pub {folder}",
            '--customize-hook=rm -rf "$1/lab"',
        ]
        _run(
            [
                needed["mmdebstrap"],
                "--mode=root",
                "--variant=minbase",
                "--format=directory",
                f"--include={','.join(recipe.packages)}",
                '--aptopt=Acquire::Languages "none"',
                '--aptopt=Acquire::Check-Valid-Until "false"',  # a mirror may stand still; what it signed holds
                '--aptopt=APT::Install-Recommends "false"',
                *(f"--dpkgopt={option}" for option in recipe.dpkg_options),
                *hooks,
                recipe.suite,
                tree,
                _mirror(),
            ],
            log,
        )
        installed = time.monotonic()
        self._say(f"  packages: {installed - began:.0f} s, {_used(tree)}")
        disk = folder / "root.img"
        _run([needed["mke2fs"], "-q", "-t", "ext4", "-d", tree, "-m", "0", "-L", "root", disk, f"{recipe.size_mib}M"])
        shutil.rmtree(staged)
        shutil.rmtree(tree)
        early.unlink()
        self._say(
            f"  disk: {time.monotonic() - installed:.0f} s, {_used(disk)} of {recipe.size_mib} MiB; "
            f"kernel {_used(folder / 'vmlinuz')}, initrd {_used(folder / 'initrd.img')}"
        )


def _stage(recipe: Recipe, folder: Path, staged: Path) -> None:
    files = {
        **dict(recipe.files),
        "lab/setup.sh": recipe.setup,
        "lab/sudoers": recipe.sudoers,
        **{f"lab/{login}.pub": (folder / f"{login}.pub").read_text(encoding="ascii") for login in ("zombie", "root")},
    }
    for name, text in files.items():
        path = staged / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _mirror() -> str:
    """The Debian mirror of this machine's own apt, else the default mirror."""
    apt = shutil.which("apt-get")
    if apt is None:
        return _MIRROR
    asked = subprocess.run(
        [apt, "indextargets", "--format", "$(ORIGIN) $(LABEL) $(SITE)"], capture_output=True, text=True, check=False
    )
    sites = [line.split()[2] for line in asked.stdout.splitlines() if line.startswith("Debian Debian ")]
    return sites[0] if sites else _MIRROR


def _run(argv: list[str | Path], log: Path | None = None) -> None:
    """Run a tool to its end, and stop it if this program is stopped.

    Raises: UsageError with the last lines of its output, when it fails.
    """
    with contextlib.ExitStack() as stack:
        out = stack.enter_context(log.open("wb")) if log is not None else subprocess.DEVNULL
        process = subprocess.Popen(
            [str(word) for word in argv],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT if log is not None else subprocess.PIPE,
            start_new_session=True,  # so that a single signal reaches it and its children
        )
        try:
            _, err = process.communicate()
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(20)  # it unmounts what it mounted
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            raise
    if process.returncode:
        output = log.read_text(errors="replace") if log is not None else (err or b"").decode(errors="replace")
        last = "\n".join(output.strip().splitlines()[-8:])
        raise UsageError(f"{Path(str(argv[0])).name} failed with status {process.returncode}:\n{last}")


def _unmount_below(folder: Path) -> None:
    """Unmount everything at and below a folder, the innermost first."""
    text = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    points = [line.split()[4].encode().decode("unicode_escape") for line in text.splitlines()]
    for point in reversed(points):
        if point == str(folder) or point.startswith(f"{folder}/"):
            subprocess.run(["umount", "-l", point], check=False, stderr=subprocess.DEVNULL)


def _used(path: Path) -> str:
    """The space that a file or folder takes on disk."""
    inner = path.rglob("*") if path.is_dir() else [path]
    blocks = sum(entry.lstat().st_blocks for entry in inner)
    return f"{blocks * 512 / 2**20:.0f} MiB"


@contextlib.contextmanager
def _locked(path: Path, say: Say) -> Iterator[None]:
    """Hold an exclusive lock. The kernel releases it if this program dies."""
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            say("another process is building an image; waiting for it …")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield  # the file stays: deleting it would leave waiters with a lock that nobody else sees
