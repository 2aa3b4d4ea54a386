#!/bin/sh
# Runs once inside the image while it is made: logins, network, what is not needed, and what boots.
set -eu

echo '/dev/vda / ext4 rw,noatime 0 1' >/etc/fstab
echo labnode >/etc/hostname
echo '127.0.0.1 localhost labnode' >/etc/hosts
: >/etc/resolv.conf
: >/etc/machine-id # empty: every node makes its own at its first boot

# The bot's login reads as an ordinary user; the lab's own is root, to make faults and take them away.
useradd --create-home --shell /bin/bash zombie
for login in zombie root; do
    home=$(getent passwd "$login" | cut -d: -f6)
    install -d -m 700 -o "$login" -g "$login" "$home/.ssh"
    install -m 600 -o "$login" -g "$login" "/lab/$login.pub" "$home/.ssh/authorized_keys"
done
install -m 440 -o root -g root /lab/sudoers /etc/sudoers.d/zombie
visudo -cq

systemctl -q enable systemd-networkd ssh
# Nothing here runs by the clock: a lab whose figures move by themselves proves nothing.
systemctl -q mask systemd-networkd-wait-online.service systemd-timesyncd.service systemd-pstore.service \
    apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer \
    chrony.service sysstat.service sysstat-collect.timer sysstat-summary.timer systemd-binfmt.service systemd-rfkill.socket \
    sys-kernel-debug.mount sys-kernel-tracing.mount dev-hugepages.mount dev-mqueue.mount getty@tty1.service \
    2>/dev/null || true

# Debian's cloud kernel has virtio as modules, ext4 is built in.
printf '%s\n' virtio_pci virtio_blk ext4 crc32c_generic >/etc/initramfs-tools/modules
update-initramfs -u -k all
cp /boot/vmlinuz-* /lab/vmlinuz
cp /boot/initrd.img-* /lab/initrd.img
cp /etc/ssh/ssh_host_ed25519_key.pub /lab/host_key.pub
rm -rf /var/cache/apt/*.bin /var/lib/apt/lists/*
