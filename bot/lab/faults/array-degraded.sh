# A mirror of two disks (RAID 1) loses one of them. The kernel's own files make and break it: no mdadm is needed. The
# disks are the device mapper's: what a loop device reports is no disk's.
at=/srv/data
md=/sys/block/md127/md
add_disk() { # NUMBER SLOT
    truncate -s 64M /var/lib/lab-disk-$1.img
    dmsetup create lab-disk-$1 --table "0 131072 linear $(losetup -f --show /var/lib/lab-disk-$1.img) 0"
    disk=$(readlink /dev/mapper/lab-disk-$1)
    disk=${disk##*/}
    cat /sys/block/$disk/dev >$md/new_dev
    echo $2 >$md/dev-$disk/slot
}
lose_disk() {
    modprobe -a dm-mod raid1
    echo md127 >/sys/module/md_mod/parameters/new_array
    echo raid1 >$md/level
    echo 2 >$md/raid_disks
    echo 65536 >$md/component_size # KiB
    add_disk 0 0
    add_disk 1 1
    echo active >$md/array_state
    mkfs.ext4 -q /dev/md127
    mkdir -p $at
    mount /dev/md127 $at
    echo faulty >$md/dev-$disk/state
}
clear_mirror() {
    umount $at
    echo clear >$md/array_state
    for image in /var/lib/lab-disk-?.img; do
        name=${image##*/}
        dmsetup remove --retry ${name%.img}
        losetup -j $image -O NAME -n | xargs -r losetup -d
        rm $image
    done
    rmdir $at
}
make() { lose_disk; }
undo() { clear_mirror; }
look() {
    missing=$(cat $md/degraded 2>/dev/null)
    echo "${missing:-0} of the mirror's 2 disks are missing"
    [ "${missing:-0}" -gt 0 ]
}
