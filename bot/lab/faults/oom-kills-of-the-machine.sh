# A job takes all memory that the machine has, until the kernel kills it for want of any. A kernel that sorts pages by
# generations (6.12 and later) would rather read programs anew for minutes, and is told to give up after a second.
patience=/sys/kernel/mm/lru_gen/min_ttl_ms
unit=/etc/systemd/system/training-job.service
make() {
    cat >$unit <<END
[Unit]
Description=Training job that takes all memory
[Service]
Type=oneshot
OOMScoreAdjust=1000
ExecStart=/usr/bin/perl -e 'push @held, "x" x 16777216 while 1'
SuccessExitStatus=SIGKILL
END
    [ ! -e $patience ] || echo 1000 >$patience
    systemctl daemon-reload
    systemctl start --no-block training-job.service
}
undo() {
    systemctl stop training-job.service
    [ ! -e $patience ] || echo 0 >$patience
    rm -f $unit
    systemctl daemon-reload
    systemctl reset-failed training-job.service 2>/dev/null
}
look() {
    killed=$(dmesg | grep -c '\] Out of memory: Killed process')
    echo "$killed processes were killed because the machine had no memory left"
    [ "$killed" -ge 1 ] && [ -e $unit ]
}
