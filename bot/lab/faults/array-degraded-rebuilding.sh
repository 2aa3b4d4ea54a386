# The mirror's lost disk was replaced, and the new one is being filled: as slowly as a large disk would be.
. "$lab/array-degraded.sh"
make() {
    lose_disk
    until echo remove >$md/dev-$disk/state; do sleep 0.1; done
    pace 1 10
    add_disk 2 1
    echo recover >$md/sync_action
}
pace() { # KiB a second, at least and at most
    echo $1 >/proc/sys/dev/raid/speed_limit_min
    echo $2 >/proc/sys/dev/raid/speed_limit_max
}
undo() {
    clear_mirror
    pace 1000 200000
}
look() {
    missing=$(cat $md/degraded 2>/dev/null) does=$(cat $md/sync_action 2>/dev/null)
    echo "${missing:-0} of the mirror's 2 disks are missing, and md does: ${does:-nothing}"
    [ "${missing:-0}" -gt 0 ] && [ "$does" = recover ]
}
