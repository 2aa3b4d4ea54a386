# A stand-in, labelled as one: a process that calls itself kubelet and keeps core 1 in functions that profiles know.
unit=/etc/systemd/system/compaction-stand-in.service
make() {
    cat >$unit <<END
[Unit]
Description=Stand-in: has the kernel compact memory without end, on one core
[Service]
CPUAffinity=1
ExecStart=/usr/bin/perl $lab/compact-memory.pl
END
    systemctl daemon-reload
    systemctl start compaction-stand-in.service
}
undo() {
    systemctl stop compaction-stand-in.service
    rm -f $unit
    systemctl daemon-reload
}
look() {
    in_kernel() { awk '$1 == "cpu1" { print $4 }' /proc/stat; }
    before=$(in_kernel)
    sleep 2
    held=$((($(in_kernel) - before) / 2))
    echo "core 1 spends $held % of its time in the kernel"
    [ $held -ge 70 ]
}
