# A service with less CPU than it wants: a tenth of a core for two busy loops.
unit=/etc/systemd/system/batch-worker.service
stat() { cat /sys/fs/cgroup/system.slice/batch-worker.service/cpu.stat \
    /sys/fs/cgroup/cpu,cpuacct/system.slice/batch-worker.service/cpu.stat 2>/dev/null; }
throttled() { stat | awk '$1 == "nr_throttled" { n = $2 } END { print n + 0 }'; }
make() {
    cat >$unit <<END
[Unit]
Description=Batch worker
[Service]
CPUQuota=10%
ExecStart=/bin/sh -c 'while :; do :; done & while :; do :; done'
END
    systemctl daemon-reload
    systemctl start batch-worker.service
}
undo() {
    systemctl stop batch-worker.service
    rm -f $unit
    systemctl daemon-reload
}
look() {
    before=$(throttled)
    sleep 2
    rise=$(($(throttled) - before))
    echo "batch-worker.service was throttled in $rise of 20 periods within 2 s"
    [ $rise -ge 10 ]
}
