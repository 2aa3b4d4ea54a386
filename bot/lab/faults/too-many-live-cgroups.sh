# A job runner makes a cgroup for each job and removes none.
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then top=/sys/fs/cgroup; else top=/sys/fs/cgroup/memory; fi
made() { seq -f "$top/job-runner/job-%g" 4500; }
make() {
    mkdir $top/job-runner
    [ $top = /sys/fs/cgroup/memory ] || echo +memory >$top/job-runner/cgroup.subtree_control
    made | xargs mkdir
}
undo() {
    made | xargs rmdir
    rmdir $top/job-runner
}
look() {
    alive=$(find $top -type d | wc -l)
    echo "$alive memory cgroups are alive"
    [ "$alive" -gt 4500 ]
}
