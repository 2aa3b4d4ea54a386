# A disk of its own behind the device mapper, with a file system on it: what is below it can be taken away.
disk=/var/lib/lab-disk.img
at=/srv/data
plug() { # OPTIONS
    modprobe dm-mod
    truncate -s 64M $disk
    loop=$(losetup -f --show $disk)
    dmsetup create lab-disk --table "0 131072 linear $loop 0"
    mkfs.ext4 -q /dev/mapper/lab-disk
    mkdir -p $at
    mount -o "$1" /dev/mapper/lab-disk $at
}
pull() {
    umount $at
    dmsetup remove --retry lab-disk
    losetup -j $disk -O NAME -n | xargs -r losetup -d
    rm -rf $disk $at
}
