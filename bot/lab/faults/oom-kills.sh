# A service that grows past its cgroup's limit, is killed by the kernel, and is started again.
unit=/etc/systemd/system/image-resizer.service
make() {
    cat >$unit <<END
[Unit]
Description=Image resizer that wants more memory than it may have
StartLimitIntervalSec=0
[Service]
MemoryMax=24M
Restart=on-failure
RestartSec=20
OOMPolicy=kill
ExecStart=/usr/bin/perl -e 'push @held, "x" x 1048576 while 1'
END
    systemctl daemon-reload
    systemctl start image-resizer.service
}
undo() {
    systemctl stop image-resizer.service
    rm -f $unit
    systemctl daemon-reload
    systemctl reset-failed image-resizer.service 2>/dev/null
}
look() {
    # Its own kills alone: an earlier fault's stay in the log until a reboot.
    killed=$(dmesg | grep -c 'oom-kill:.*task_memcg=[^,]*/image-resizer\.service')
    echo "$killed processes were killed at its cgroup's limit; image-resizer.service is $(systemctl is-active image-resizer.service)"
    [ "$killed" -ge 3 ] && [ -e $unit ]
}
