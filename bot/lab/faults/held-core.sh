# A stand-in, labelled as one: a process that calls itself kubelet and keeps one core in the kernel.
unit=/etc/systemd/system/kubelet-stand-in.service
make() {
    cat >$unit <<END
[Unit]
Description=Stand-in for a statistics walker: burns kernel time on one core
[Service]
CPUAffinity=1
ExecStart=/usr/bin/perl $lab/kernel-time.pl
END
    systemctl daemon-reload
    systemctl start kubelet-stand-in.service
}
undo() {
    systemctl stop kubelet-stand-in.service
    rm -f $unit
    systemctl daemon-reload
}
look() {
    awk_stat() { awk '$1 == "cpu1" { print $4 }' /proc/stat; }
    before=$(awk_stat)
    sleep 2
    held=$((($(awk_stat) - before) / 2))
    echo "core 1 spends $held % of its time in the kernel"
    [ $held -ge 80 ]
}
