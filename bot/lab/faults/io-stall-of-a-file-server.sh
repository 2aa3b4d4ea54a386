# A file server that stopped answering: its process is frozen, its connections stay, and eight readers wait in state D.
at=/srv/files
unit=/etc/systemd/system/web-server.service
make() {
    modprobe nfsv3
    systemd-run -q --collect --unit file-server /usr/bin/perl $lab/file-server.pl
    mkdir -p $at
    there=addr=127.0.0.1,port=2049,mountaddr=127.0.0.1,mountport=2049,mountvers=3,mountproto=tcp
    tries=0
    until mount -i -t nfs -o vers=3,proto=tcp,$there,nolock,noacl,noac,hard,timeo=10,retrans=1 127.0.0.1:/files $at; do
        [ $((tries += 1)) -lt 20 ] || return 1
        sleep 0.5
    done
    cat >$unit <<END
[Unit]
Description=Web server whose files are on a file server
[Service]
ExecStart=/usr/bin/perl -e 'for (1 .. 7) { last unless fork } for (;;) { stat "$at"; select undef, undef, undef, 0.2 }'
END
    systemctl daemon-reload
    systemctl start web-server.service
    sleep 1
    systemctl kill -s STOP file-server.service
}
undo() {
    systemctl kill -s CONT file-server.service
    systemctl stop web-server.service
    umount $at
    systemctl stop file-server.service
    rm -rf $unit $at
    systemctl daemon-reload
}
look() {
    waiting=$(cat /proc/[0-9]*/stat 2>/dev/null | sed 's/^.*) //' | grep -c '^D')
    told=$(dmesg | grep -c 'nfs: server .* not responding, still trying')
    echo "$waiting tasks wait in state D; the kernel told $told times of a file server that does not answer"
    [ "$waiting" -ge 4 ] && [ "$told" -gt 0 ]
}
