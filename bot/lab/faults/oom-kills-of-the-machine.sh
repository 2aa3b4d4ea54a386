# A job takes all memory that the machine has, until the kernel kills it for want of any.
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
    systemctl daemon-reload
    systemctl start --no-block training-job.service
}
undo() {
    systemctl stop training-job.service
    rm -f $unit
    systemctl daemon-reload
    systemctl reset-failed training-job.service 2>/dev/null
}
look() {
    killed=$(dmesg | grep -c '\] Out of memory: Killed process')
    echo "$killed processes were killed because the machine had no memory left"
    [ "$killed" -ge 1 ] && [ -e $unit ]
}
