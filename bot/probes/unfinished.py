"""What a reboot would cut off or trip over: rebuilds, firmware and packages being written, the next boot's files.

Defined in: Linux, Documentation/admin-guide/md.rst (sync_action); fs/btrfs/sysfs.c (exclusive_operation, since 5.10);
zpool-status(8); dpkg(1), "package states", and its journal in updates/. A RAID of LVM has no file that every login may
read: while it is rebuilt or checked, its kernel thread is called mdX_resync (drivers/md/md.c).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from bot.domain.command import Command, Outputs
from bot.domain.probe import Probe
from bot.domain.safe_text import listed, one_line
from bot.probes.formats.fragment import END, fragment, whole_text


@dataclass(frozen=True, slots=True)
class Unfinished:
    """Something that has to end, or to be mended, before a reboot.

    Shape: `kind` is `storage`, `firmware` or `packages` for what is at work, `half-done` for packages that nobody goes
    on with, `boot` for the next boot's files; `says` is a clause without a full stop; `line` is the node's own.
    """

    kind: str
    says: str
    line: str = ""


@dataclass(frozen=True, slots=True)
class UnfinishedReading:
    """What is at work or half done, gravest first; `not_read` is what could not be looked at, in words."""

    probe: ClassVar[str] = "unfinished"

    found: tuple[Unfinished, ...] = ()
    not_read: tuple[str, ...] = ()  # what could not be looked at before a reboot

    @property
    def count(self) -> int:
        """How many things a reboot would cut off or trip over."""
        return len(self.found)


# Names as the kernel cuts them, at fifteen letters (TASK_COMM_LEN). These write firmware, or move or mend storage.
_FIRMWARE = (
    *("fwupdtool", "fwupdmgr", "flashrom", "nvflash*", "nvfwupd", "mlxfwmanager*", "mlxburn", "flint", "mstflint"),
    *("bfb-install", "afulnx*", "h2offt*", "nvmupdate64e", "sg_write_buffer", "dsu"),
)
_STORAGE = (
    *("pvmove", "lvconvert", "lvreduce", "lvextend", "resize2fs", "xfs_growfs", "xfs_repair", "e2fsck", "fsck.*"),
    *("mdX_resync", "mdX_reshape", "cryptsetup-reen"),
)
_PACKAGES = (
    *("apt", "apt-get", "aptitude", "dpkg-deb", "dnf", "dnf5", "microdnf", "yum", "tdnf", "zypper", "transactional-u"),
    *("rpm-ostree", "pacman", "apk", "emerge", "dracut", "mkinitramfs", "update-initramf", "mkinitcpio", "depmod"),
    *("dkms", "kernel-install", "update-grub", "grub-mkconfig", "grub2-mkconfig"),
)
# These also only ask: their arguments decide, read without the blanks between them. A password may be among them, so
# that they do not leave the node.
_BY_ARGUMENTS = {
    "firmware": (
        *("nvme*fw-download", "nvme*fw-commit", "nvme*fw-activate", "ipmitool*hpm*upgrade", "ipmitool*fwum"),
        *("storcli*download", "perccli*download", "MegaCli*-adpfwflash", "ssacli*flash", "ethtool*--flash"),
        *("ethtool-f", "devlink*flash", "hdparm*--fwdownload", "racadm*update", "ilorest*flash"),
    ),
    "storage": ("mdadm*--grow", "mdadm*-G", "cryptsetup*reencrypt", "btrfs*replace*start", "nvme*sanitize"),
    "packages": (
        *("dpkg*--unpack", "dpkg*--configure", "dpkg*--install", "dpkg*--remove", "dpkg*--purge", "dpkg-i", "dpkg-r"),
        *("dpkg-P", "rpm-U", "rpm-i", "rpm-e", "rpm-F", "rpm*--install", "rpm*--upgrade", "rpm*--erase"),
    ),
}
_ASKED_MORE = (
    *("nvme", "ipmitool", "storcli*", "perccli*", "MegaCli*", "ssacli", "ethtool", "devlink", "hdparm", "racadm"),
    *("ilorest", "mdadm", "cryptsetup", "btrfs", "dpkg", "rpm"),
)


def _program_cases() -> str:
    """The cases of the shell that tell by name and arguments what a program does; a path before the name is cut off."""
    return " ".join(
        f'{"|".join(f"{pattern}*" for pattern in patterns)}) echo "program {kind} $n";;'
        for kind, patterns in _BY_ARGUMENTS.items()
    )


_HALF = "(unpacked|half-configured|half-installed|triggers-awaited|triggers-pending)"
# Nothing but the shell's own words, one grep where dpkg is, and zpool where ZFS has a pool: that may hang, and is last.
_LOOK = fragment(f"""
    {{ for f in /sys/block/md*/md/sync_action; do [ -e "$f" ] || continue; s=; p=;
        read -r s <"$f"; read -r p <"${{f%action}}completed"; echo "md ${{f#/sys/block/}} $s $p"; done;
    for d in /sys/fs/btrfs/*-*; do [ -d "$d" ] || continue; s=; read -r s <"$d/exclusive_operation";
        echo "btrfs ${{d##*/}} $s"; done;
    if [ -r /proc/1/comm ]; then for c in /proc/[0-9]*/comm; do n=; read -r n <"$c" || continue; case $n in
        {"|".join(_FIRMWARE)}) echo "program firmware $n";;
        {"|".join(_STORAGE)}) echo "program storage $n";;
        {"|".join(_PACKAGES)}) echo "program packages $n";;
        {"|".join(_ASKED_MORE)}) a=; read -r a <"${{c%comm}}cmdline"; case $n${{a#*"$n"}} in {_program_cases()} esac;;
        esac; done; else echo "hidden programs"; fi;
    if [ -d /var/lib/dpkg ]; then
        for f in /var/lib/dpkg/updates/[0-9]*; do [ -e "$f" ] && echo "dpkg journal ${{f##*/}}"; done;
        if [ -r /var/lib/dpkg/status ]; then
            grep -B2 -m8 -aE '^Status: ([a-z]+ reinstreq|.* {_HALF}$)' /var/lib/dpkg/status;
        else echo "hidden dpkg"; fi; fi;
    if [ -r /boot ] && [ -x /boot ]; then for f in /boot/vmlinu[xz]-* /boot/init*; do [ -e "$f" ] || continue;
        if [ -s "$f" ]; then echo "boot file ${{f##*/}}"; else echo "boot empty ${{f##*/}}"; fi; done;
    else echo "hidden boot"; fi;
    for d in /proc/spl/kstat/zfs/*/; do [ -e "${{d}}state" ] || [ -e "${{d}}io" ] || continue;
        p=; for z in /usr/sbin /sbin /usr/local/sbin /usr/bin; do [ -x "$z/zpool" ] && p=$z/zpool; done;
        if [ -n "$p" ] && z=$($p status); then printf '%s\\n' "$z"; else echo "hidden zfs"; fi;
        break; done; }} 2>/dev/null;
    echo '{END}'
""")

_PROGRAM = re.compile(r"program (firmware|storage|packages) (\S.{0,20})")
_MD = re.compile(r"md ([A-Za-z0-9_]{1,32})/md/sync_action(?: (\S{1,20})(?: (.{1,60}))?)?")
_BTRFS = re.compile(r"btrfs (\S{1,60})(?: (.{1,40}))?")
_MD_RESTS = ("idle", "check", "frozen")  # a check only reads, and begins anew
_BTRFS_RESTS = ("none", "balance paused", "swap activate")
_ZFS = re.compile(r"\s*(?:scan|remove|expand): (?!scrub)(.{1,120}\bin progress\b.{0,80})", re.IGNORECASE)
_KERNEL = re.compile(r"vmlinu[xz]-(.{1,120})")
_ASIDE = ("rescue", ".old", ".bak", ".dpkg-", ".rpmsave")


def parse(outputs: Outputs) -> UnfinishedReading:
    """Read what is at work and half done.

    Unread when: the answer is cut short, for example because a ZFS pool is suspended and `zpool` hangs.
    """
    text = whole_text(outputs, "look", "unfinished")
    lines = [one_line(line, 200) for line in text.splitlines()]
    hidden = {line.removeprefix("hidden ") for line in lines if line.startswith("hidden ")}
    not_read = [words for what, words in _NOT_READ.items() if what in hidden]
    found = [*_unfinished_storage(lines, not_read), *_unfinished_programs(lines), *_unfinished_packages(lines)]
    if "boot" not in hidden:
        found += _unfinished_boot(lines, not_read)
    found.sort(key=lambda each: _KINDS.index(each.kind))
    return UnfinishedReading(tuple(dict.fromkeys(found)), tuple(not_read))


_KINDS = ("storage", "firmware", "packages", "half-done", "boot")
_NOT_READ = {
    "programs": "which programs of others run (/proc is mounted with hidepid)",
    "dpkg": "the state of packages",
    "boot": "the next boot's kernel and initrd (/boot)",
    "zfs": "what ZFS is rebuilding (zpool status)",
}


def _unfinished_storage(lines: Iterable[str], not_read: list[str]) -> Iterator[Unfinished]:
    for line in lines:
        if md := _MD.fullmatch(line):
            name, action, done = md.groups()
            if not action:
                not_read.append(f"what {name} is doing")
            elif action not in _MD_RESTS:
                far = f" ({done} sectors)" if re.fullmatch(r"[0-9]+ / [0-9]+", done or "") else ""
                yield Unfinished("storage", f"{name} is in {action}{far}", line)
        elif btrfs := _BTRFS.fullmatch(line):
            if not (action := btrfs[2]):
                not_read.append("what btrfs is doing (the kernel says it since 5.10)")
            elif action not in _BTRFS_RESTS:
                yield Unfinished("storage", f"btrfs is at work: {action}", line)
        elif zfs := _ZFS.fullmatch(line):
            yield Unfinished("storage", f"ZFS is at work: {zfs[1]}", line.strip())


def _unfinished_programs(lines: Iterable[str]) -> Iterator[Unfinished]:
    words = {
        "storage": "{} moves or mends storage now",
        "firmware": "{} writes firmware now",
        "packages": "{} installs or removes packages now",
    }
    for line in dict.fromkeys(lines):
        if found := _PROGRAM.fullmatch(line):
            name = found[2].strip()
            says = "a RAID of LVM is rebuilt or checked" if name.startswith("mdX_") else words[found[1]].format(name)
            yield Unfinished(found[1], says, line)


def _unfinished_packages(lines: list[str]) -> Iterator[Unfinished]:
    half, package = [], ""
    for line in lines:
        if line.startswith("Package: "):
            package = line.removeprefix("Package: ")
        elif line.startswith("Status: ") and package:
            half.append((package, line))
            package = ""
    if half:
        names = listed([name for name, _ in half], 3)
        yield Unfinished(
            "half-done", f"packages are not configured to the end: {names}", f"Package: {half[0][0]}, {half[0][1]}"
        )
    elif journal := next((line for line in lines if line.startswith("dpkg journal ")), None):
        yield Unfinished("half-done", "dpkg was interrupted, or is at work (its journal is not empty)", journal)


def _unfinished_boot(lines: Iterable[str], not_read: list[str]) -> Iterator[Unfinished]:
    """The newest kernel, which boot loaders take unless somebody pinned another, and its initrd.

    Kernels may be built to boot without one: a missing initrd counts where another kernel here has its own.
    """
    files = {words[2]: words[1] == "file" for line in lines if (words := line.split(" ", 2))[0] == "boot"}
    names = [found[1] for name in files if (found := _KERNEL.fullmatch(name)) and not any(x in name for x in _ASIDE)]
    if not names:
        not_read.append("the next boot's kernel and initrd (none lie in /boot)")
        return
    newest = max(names, key=_version)
    kernel = next(name for name in files if name in (f"vmlinuz-{newest}", f"vmlinux-{newest}"))
    initrd = next((name for name in _initrds(newest) if name in files), None)
    if not files[kernel]:
        yield Unfinished("boot", f"/boot/{kernel}, the newest kernel, is empty", f"boot empty {kernel}")
    elif initrd is not None and not files[initrd]:
        yield Unfinished("boot", f"/boot/{initrd}, of the newest kernel, is empty", f"boot empty {initrd}")
    elif initrd is None and any(name in files for other in names for name in _initrds(other)):
        yield Unfinished("boot", f"the newest kernel, {newest}, has no initrd in /boot", f"boot file {kernel}")


def _initrds(version: str) -> tuple[str, ...]:
    """The names that distributions give a kernel's initrd."""
    return (f"initrd.img-{version}", f"initramfs-{version}.img", f"initrd-{version}", f"initramfs-{version}")


def _version(name: str) -> list[tuple[int, str]]:
    """A kernel's name as what can be compared: 6.1.0-28 is newer than 6.1.0-9."""
    return [(int(word), "") if word.isdigit() else (-1, word) for word in re.findall(r"[0-9]+|[A-Za-z]+", name)]


PROBE = Probe(
    name="unfinished",
    title="what a reboot would cut off: rebuilds, firmware, packages, the next boot's files",
    commands=(Command("look", ("sh", "-c", _LOOK), lane="devices", output_limit_bytes=64 * 1024),),
    parse=parse,
    reading=UnfinishedReading,
    example={"look": f"boot file vmlinuz-6.1.0-28-amd64\nboot file initrd.img-6.1.0-28-amd64\n{END}\n"},
)
