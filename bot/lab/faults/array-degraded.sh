# A mirror of two disks (RAID 1) loses one of them. The kernel's own files make and break it: no mdadm is needed. The
# disks are the device mapper's: what a loop device reports is no disk's.
at=/srv/data
md=/sys/block/md127/md
make() {
    modprobe -a dm-mod raid1
    echo md127 >/sys/module/md_mod/parameters/new_array
    echo raid1 >$md/level
    echo 2 >$md/raid_disks
    echo 65536 >$md/component_size # KiB
    for n in 0 1; do
        truncate -s 64M /var/lib/lab-disk-$n.img
        dmsetup create lab-disk-$n --table "0 131072 linear $(losetup -f --show /var/lib/lab-disk-$n.img) 0"
        disk=$(readlink /dev/mapper/lab-disk-$n)
        cat /sys/block/${disk##*/}/dev >$md/new_dev
        echo $n >$md/dev-${disk##*/}/slot
    done
    echo active >$md/array_state
    mkfs.ext4 -q /dev/md127
    mkdir -p $at
    mount /dev/md127 $at
    echo faulty >$md/dev-${disk##*/}/state
}
undo() {
    umount $at
    echo clear >$md/array_state
    for n in 0 1; do
        dmsetup remove --retry lab-disk-$n
        losetup -j /var/lib/lab-disk-$n.img -O NAME -n | xargs -r losetup -d
    done
    rm -rf /var/lib/lab-disk-?.img $at
}
look() {
    missing=$(cat $md/degraded 2>/dev/null)
    echo "${missing:-0} of the mirror's 2 disks are missing"
    [ "${missing:-0}" -gt 0 ]
}
