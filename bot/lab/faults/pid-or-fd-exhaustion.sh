# A pool of workers forks until few threads are left to all others; then its own cgroup's limit refuses it more.
unit=/etc/systemd/system/worker-pool.service
most=1000 left=80
make() {
    cat /proc/sys/kernel/threads-max >$lab/threads-max
    sysctl -q -w kernel.threads-max=$most
    used=$(cut -d' ' -f4 /proc/loadavg | cut -d/ -f2)
    cat >$unit <<END
[Unit]
Description=Worker pool that forks for each request and waits for none
[Service]
TasksMax=$((most - left - used))
KillMode=control-group
ExecStart=/usr/bin/perl -e 'for (;;) { defined(\$p = fork) or sleep 5; last if defined \$p && !\$p } sleep'
END
    systemctl daemon-reload
    systemctl start worker-pool.service
}
undo() {
    systemctl stop worker-pool.service
    rm -f $unit
    systemctl daemon-reload
    sysctl -q -w kernel.threads-max=$(cat $lab/threads-max)
}
look() {
    set -- $(cut -d' ' -f4 /proc/loadavg | tr / ' ') $(cat /proc/sys/kernel/threads-max)
    told=$(dmesg | grep -c 'fork rejected by pids controller')
    echo "$2 threads of $3; the kernel told of $told rejected forks"
    [ $((100 * $2)) -ge $((90 * $3)) ] && [ "$told" -ge 1 ]
}
