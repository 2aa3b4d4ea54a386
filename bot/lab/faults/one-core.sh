# What both floods share: core 1 is full of packets, and the way in for whoever looks leads past it.
flood() { # NEAR FAR MANY: as many echo requests under way as keep whoever answers them busy
    bind 1 4
    ip netns add far
    ip link set $2 netns far
    ip address add 10.99.0.1/24 dev $1
    ip link set $1 up
    ip netns exec far ip address add 10.99.0.2/24 dev $2
    ip netns exec far ip link set $2 up
    # Rules that no packet meets make each of them dear: a few thousand a second fill a core, and sending them does not.
    # A sender that needed a core of the machine that emulates the node would leave the full one half of its time.
    {
        echo "table netdev lab { chain taken { type filter hook ingress device \"$2\" priority 0; policy accept;"
        seq -f 'udp dport %g drop' 10001 13000
        printf '}\n}\n'
    } | ip netns exec far nft -f - || exit 1
    cat >/etc/systemd/system/packet-sender.service <<END
[Unit]
Description=Sends packets
[Service]
CPUAffinity=0
ExecStart=/usr/bin/perl $lab/echo-flood.pl 10.99.0.2 $3
END
    systemctl daemon-reload
    systemctl start packet-sender.service
}
ebb() {
    systemctl stop packet-sender.service
    rm -f /etc/systemd/system/packet-sender.service
    systemctl daemon-reload
    ip netns delete far
    unbind
}
queues() { grep -E " virtio[$1]-(in|out)put\.[0-9]+\$" /proc/interrupts; } # virtio1 is eth0, 2 and 3 are eth1 and eth2
bind() { # CARDS MASK
    queues $1 | sed 's/:.*//' | while read -r number; do
        cat /proc/irq/$number/smp_affinity >$lab/irq-$number
        echo $2 >/proc/irq/$number/smp_affinity
    done
}
unbind() {
    for kept in $lab/irq-*; do
        cat $kept >/proc/irq/${kept##*-}/smp_affinity
        rm $kept
    done
}
