"""Commands that a playbook's own probe may not run, because they change the node or run other programs.

This guards against mistakes, not against attacks: such a list is never complete. What a probe can really do depends on
the rights of the login user on the node, which should only be able to read. A playbook's own probe never uses sudo.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

_RUNS_OTHERS = (
    "sh bash dash ash zsh ksh mksh csh tcsh fish busybox toybox env nohup setsid nice ionice timeout time stdbuf chrt "
    "taskset numactl xargs parallel watch sudo doas su runuser pkexec eval exec source . command builtin coproc chroot "
    "unshare nsenter setpriv capsh systemd-run systemd-nspawn flock script expect screen tmux at batch strace ltrace "
    "gdb perf bpftrace rlwrap"
)
_INTERPRETS = (
    "python pypy perl ruby node nodejs deno php lua tclsh awk gawk mawk nawk sed jshell java go make ed ex vi vim nano "
    "emacs"
)
_ELSEWHERE = "ssh scp sftp rsync nc ncat netcat socat telnet ftp wget mail sendmail"
_WRITES = (
    "rm rmdir unlink shred mv cp install ln touch mkdir mkfifo mknod mktemp truncate dd tee split csplit sponge chmod "
    "chown chgrp chattr setfacl setfattr setcap patch gzip gunzip bzip2 xz zstd zip unzip tar cpio fallocate sync "
    "logger wall write crontab passwd chpasswd useradd usermod userdel groupadd groupmod groupdel update-grub "
    "grub-install dracut mkinitramfs update-initramfs ldconfig depmod mkfs mkswap mke2fs"
)
_ACTS = (
    "kill pkill killall skill snice renice reboot shutdown halt poweroff init telinit kexec modprobe insmod rmmod "
    "swapon swapoff mount umount losetup fsck fsfreeze fstrim blkdiscard wipefs parted fdisk sfdisk sgdisk cryptsetup "
    "tune2fs resize2fs xfs_growfs hdparm hwclock setenforce nft iptables-restore ip6tables-restore ipset brctl ifup "
    "ifdown dhclient ebtables arptables dmsetup apt apt-get aptitude dpkg yum dnf zypper pacman apk snap pip npm gem "
    "docker-compose helm ansible terraform puppet cgcreate cgdelete cgset cgexec cgclassify stress stress-ng iperf fio"
)
_DENIED: Mapping[str, str] = {
    **dict.fromkeys(
        _RUNS_OTHERS.split(), "runs other programs; name the program itself (nothing is expanded or piped)"
    ),
    **dict.fromkeys(
        _INTERPRETS.split(), "runs programs or writes files; run the program that prints, and let the fields parse it"
    ),
    **dict.fromkeys(_ELSEWHERE.split(), "reaches other machines; a probe reads this node"),
    **dict.fromkeys(_WRITES.split(), "writes; a probe only reads"),
    **dict.fromkeys(_ACTS.split(), "changes or loads the node; a probe only reads"),
}
# Programs with verbs: only these verbs are allowed.
_CONTAINERS = "ps images info version inspect stats top logs port diff history"
_READING_VERBS: Mapping[str, str] = {
    "systemctl": "status show cat list-units list-unit-files list-timers list-sockets list-jobs list-dependencies "
    "is-active is-enabled is-failed is-system-running get-default show-environment",
    "docker": _CONTAINERS,
    "podman": _CONTAINERS,
    "nerdctl": _CONTAINERS,
    "crictl": f"{_CONTAINERS} pods inspectp inspecti statsp imagefsinfo",
    "kubectl": "get describe version top cluster-info logs",
    "git": "status log show diff rev-parse describe ls-files",
    "nvme": "list list-subsys list-ctrl list-ns smart-log id-ctrl id-ns error-log fw-log",
}
# Arguments with which a program writes or does not end. A trailing = means any argument that starts like this.
_WRITING_WORDS: Mapping[str, str] = {
    "find": "-delete -exec -execdir -ok -okdir -fprint -fprint0 -fprintf -fls",
    "sort": "-o= --output=",
    "curl": "-o= -O -T= -X= -d= -F= -K= --output= --remote-name= --upload-file= --request= --data= --form= --config=",
    "date": "-s= --set=",
    "dmesg": "-C -c -D -E -n= -w --clear --read-clear --console= --follow",
    "hostname": "-F -b --file= --boot",
    "ip": "add del delete set flush change replace append exec netns -b= -batch= monitor",
    "tc": "add del delete change replace",
    "bridge": "add del delete set monitor",
    "sysctl": "-w -p= --write --load= --system",
    "ethtool": "-s -K -G -C -L -A -X -N -U -f -E -r -t -p -P --change --features --offload --set= --reset --flash "
    "--coalesce --pause --test --identify --negotiate",
    "iptables": "-A -D -I -R -F -Z -N -X -P -E --append --delete --insert --replace --flush --zero --policy --new=",
    "conntrack": "-D -F -I -U -E --delete --flush --create --update --event",
    "journalctl": "--vacuum= --rotate --flush --sync --relinquish-var --setup-keys --update-catalog -f --follow",
    "nvidia-smi": "-r --gpu-reset -pm= -pl= -lgc= -rgc -ac= -rac -c= -e= -mig= -l= --loop= dmon pmon daemon",
    "smartctl": "-t= -X -s= -o= -S= --test= --abort --set= --smart= --offlineauto= --saveauto=",
    "tail": "-f -F --follow= --retry",
    "chronyc": "makestep burst add delete online offline settime",
    "ss": "-K --kill",
}


def writing_fault(command: Sequence[str]) -> str | None:
    """Return why a command is refused, None if it is allowed.

    Example:
    >>> writing_fault(["df", "-P", "/"]) is None
    True
    >>> writing_fault(["/bin/rm", "-rf", "/"])
    'rm writes; a probe only reads'
    """
    program = PurePosixPath(command[0]).name
    # python3.11, vim.tiny and mkfs.ext4 are python, vim and mkfs
    for name in (program, program.split(".")[0].rstrip("0123456789"), program.rstrip("0123456789.-")):
        if name in _DENIED:
            return f"{program} {_DENIED[name]}"
    if program in _READING_VERBS:
        return _verb_fault(program, command[1:])
    if program == "sysctl" and any("=" in word for word in command[1:]):
        return "sysctl NAME=VALUE sets it; a probe only reads"
    for word in command[1:]:
        for writing in _WRITING_WORDS.get(program, "").split():
            if word == writing or (writing.endswith("=") and word.startswith(writing[:-1])):
                return f"{program} {word[:20]} writes or never ends; a probe only reads"
    return None


def _verb_fault(program: str, words: Sequence[str]) -> str | None:
    """Check the verb: the first word that is neither an option nor right after one."""
    reading = _READING_VERBS[program].split()
    behind_option = False
    for word in words:
        if word in reading:
            return None
        if not word.startswith("-") and not behind_option:
            return f"{program} {word[:40]} is not one of the read-only verbs: {', '.join(reading)}"
        behind_option = word.startswith("-") and "=" not in word
    return f"{program} needs a read-only verb: {', '.join(reading)}"
