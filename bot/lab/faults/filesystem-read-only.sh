# The disk under a file system fails every request, and ext4 shuts the file system: errors=remount-ro.
. "$lab/one-disk.sh"
make() {
    plug errors=remount-ro
    dmsetup suspend --nolockfs lab-disk
    dmsetup reload lab-disk --table '0 131072 error'
    dmsetup resume lab-disk
    touch $at/database
    sync -f $at
}
undo() {
    pull
}
look() { # since 6.12, and in kernels that took it over, the options stay `rw`: the log and the refused write tell
    mountpoint -q $at && ! touch $at/database 2>/dev/null && writes='takes no' || writes='is not there or takes'
    echo "$at $writes writes; its options: $(findmnt -n -o OPTIONS $at)"
    [ "$writes" = 'takes no' ]
}
