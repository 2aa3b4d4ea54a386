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
ExecStart=/usr/bin/perl -e 'for (1 .. 7) { fork or last } \
    for (;;) { open my \$f, ">", "$at/\$\$" or die; print \$f "x"; close \$f; select undef, undef, undef, 0.1 }'
END
    systemctl daemon-reload
    systemctl start database.service
    sleep 1
    fsfreeze -f $at
}
undo() {
    fsfreeze -u $at 2>/dev/null
    systemctl stop database.service
    rm -f $unit
    systemctl daemon-reload
    umount $at
    rm -rf $disk $at
}
look() {
    waiting=$(cat /proc/[0-9]*/stat 2>/dev/null | sed 's/^.*) //' | grep -c '^D')
    echo "$waiting tasks wait in state D"
    [ "$waiting" -ge 6 ]
}
