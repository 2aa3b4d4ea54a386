# A file system that stopped answering: frozen under eight writers, which wait in state D.
unit=/etc/systemd/system/database.service
disk=/var/lib/lab.img
at=/srv/data
make() {
    truncate -s 64M $disk
    mkfs.ext4 -q $disk
    mkdir -p $at
    mount -o loop $disk $at
    cat >$unit <<END
[Unit]
Description=Database
[Service]
ExecStart=/usr/bin/perl $lab/write-files.pl $at
END
    systemctl daemon-reload
    systemctl start database.service
    sleep 1
    sysctl -q -w kernel.hung_task_timeout_secs=10 # the kernel would tell after two minutes
    fsfreeze -f $at
}
undo() {
    fsfreeze -u $at 2>/dev/null
    sysctl -q -w kernel.hung_task_timeout_secs=120
    systemctl stop database.service
    rm -f $unit
    systemctl daemon-reload
    umount $at
    rm -rf $disk $at
}
look() {
    waiting=$(cat /proc/[0-9]*/stat 2>/dev/null | sed 's/^.*) //' | grep -c '^D')
    told=$(dmesg | grep -c 'blocked for more than')
    echo "$waiting tasks wait in state D; the kernel told of $told that hang"
    [ "$waiting" -ge 6 ] && [ "$told" -gt 0 ]
}
