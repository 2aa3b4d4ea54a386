# A small table of tracked connections, and more of them than it holds. SSH is not tracked, so the node stays in reach.
unit=/etc/systemd/system/resolver.service
value() { cat "/proc/sys/net/netfilter/nf_conntrack_$1" 2>/dev/null || echo 0; }
make() {
    modprobe nf_conntrack
    nft -f - <<END
table inet lab {
    chain raw_in { type filter hook prerouting priority raw; tcp dport 22 notrack; }
    chain raw_out { type filter hook output priority raw; tcp sport 22 notrack; }
    chain tracked_in { type filter hook input priority 0; ct state established accept; }
    chain tracked_out { type filter hook output priority 0; ct state established accept; }
}
END
    value max >$lab/conntrack-max
    sysctl -q -w net.netfilter.nf_conntrack_max=2000
    cat >$unit <<END
[Unit]
Description=Resolver that opens a connection a question
[Service]
ExecStart=/usr/bin/perl $lab/open-connections.pl
END
    systemctl daemon-reload
    systemctl start resolver.service
}
undo() {
    systemctl stop resolver.service
    rm -f $unit
    systemctl daemon-reload
    nft delete table inet lab
    sysctl -q -w "net.netfilter.nf_conntrack_max=$(cat $lab/conntrack-max)"
    rm -f $lab/conntrack-max
    modprobe -r nft_ct nf_conntrack 2>/dev/null || true # what the kernel tracked goes with it
}
look() {
    echo "$(value count) of $(value max) connections are tracked"
    [ "$(value max)" -gt 0 ] && [ $(($(value count) * 100 / $(value max))) -ge 98 ]
}
