# A disk that stopped answering: the device mapper keeps every request, and eight writers wait in state D.
. "$lab/one-disk.sh"
unit=/etc/systemd/system/database.service
make() {
    plug defaults
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
    dmsetup suspend --nolockfs --noflush lab-disk
}
undo() {
    dmsetup resume lab-disk
    sysctl -q -w kernel.hung_task_timeout_secs=120
    systemctl stop database.service
    rm -f $unit
    systemctl daemon-reload
    pull
}
look() {
    waiting=$(cat /proc/[0-9]*/stat 2>/dev/null | sed 's/^.*) //' | grep -c '^D')
    told=$(dmesg | grep -c 'blocked.* for more than')
    echo "$waiting tasks wait in state D; the kernel told of $told that hang"
    [ "$waiting" -ge 6 ] && [ "$told" -gt 0 ]
}
