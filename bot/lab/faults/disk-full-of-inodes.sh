# The file system of the container images has room, but no inode left for another file.
disk=/var/lib/lab-images.img
at=/var/lib/containerd
make() {
    truncate -s 64M $disk
    mkfs.ext4 -q -N 1024 $disk
    mkdir -p $at
    mount -o loop $disk $at
    number=0
    while true 2>/dev/null >$at/layer-$number; do number=$((number + 1)); done
}
undo() {
    umount $at
    rm -rf $disk $at
}
look() {
    used=$(df -Pk $at 2>/dev/null | awk 'NR == 2 { print $5 }') inodes=$(df -Pi $at 2>/dev/null | awk 'NR == 2 { print $5 }')
    echo "$at: ${used:-none} of the blocks are used, and ${inodes:-none} of the inodes"
    mountpoint -q $at && [ "$inodes" = 100% ]
}
