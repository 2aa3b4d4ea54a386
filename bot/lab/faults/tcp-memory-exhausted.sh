# The kernel may give TCP little memory, and a service reads nothing of what it is sent.
unit=/etc/systemd/system/slow-consumer.service
pages() { sed -n 's/^TCP: .* mem \([0-9]*\).*/\1/p' /proc/net/sockstat; }
make() {
    sysctl -n net.ipv4.tcp_mem >$lab/tcp-mem
    sysctl -q -w net.ipv4.tcp_mem='300 400 100000' # pages: from 400 the kernel shrinks windows, at 100000 it cuts
    cat >$unit <<END
[Unit]
Description=Service that reads nothing of what it is sent
[Service]
ExecStart=/usr/bin/perl $lab/unread-connections.pl
END
    systemctl daemon-reload
    systemctl start slow-consumer.service
}
undo() {
    systemctl stop slow-consumer.service
    rm -f $unit
    systemctl daemon-reload
    sysctl -q -w net.ipv4.tcp_mem="$(cat $lab/tcp-mem)"
}
look() {
    set -- $(sysctl -n net.ipv4.tcp_mem)
    echo "TCP holds $(pages) pages; from $2 on the kernel shrinks windows"
    [ "$(pages)" -ge "$2" ]
}
