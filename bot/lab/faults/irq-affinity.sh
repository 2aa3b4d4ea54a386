# Two cards with a cable between them, packets from one to the other, and every card's interrupts on core 1. Whoever
# looks at the node needs a third core, beside that one and the sender's.
unit=/etc/systemd/system/packet-sender.service
pg=/proc/net/pktgen
lines() { grep -E ' virtio[0-9]+-(in|out)put\.[0-9]+$' /proc/interrupts; }
make() {
    modprobe pktgen
    lines | sed 's/:.*//' | while read -r number; do
        cat /proc/irq/$number/smp_affinity >$lab/irq-$number
        echo 2 >/proc/irq/$number/smp_affinity
    done
    ip link set eth1 up
    ip link set eth2 up
    echo 'add_device eth1' >$pg/kpktgend_0
    for word in 'count 0' 'delay 0' 'pkt_size 64' 'dst 10.99.0.2' "dst_mac $(cat /sys/class/net/eth2/address)"; do
        echo "$word" >$pg/eth1
    done
    # Rules that no packet meets make each of them dear, so that the core is full at any rate that core 0 can send.
    nft -f - <<END
table netdev lab { chain in { type filter hook ingress device eth2 priority 0; } }
$(seq -f 'add rule netdev lab in udp dport %g drop' 10001 10300)
END
    cat >$unit <<END
[Unit]
Description=Sends packets from eth1 to eth2
[Service]
ExecStart=/bin/sh -c 'echo start >$pg/pgctrl'
END
    systemctl daemon-reload
    systemctl start packet-sender.service
}
undo() {
    echo stop >$pg/pgctrl
    systemctl stop packet-sender.service
    rm -f $unit
    systemctl daemon-reload
    nft delete table netdev lab
    ip link set eth1 down
    ip link set eth2 down
    for kept in $lab/irq-*; do
        cat $kept >/proc/irq/${kept##*-}/smp_affinity
        rm $kept
    done
    modprobe -r pktgen
}
look() {
    core() { lines | awk -v at=$1 '{ n += $(at + 2) } END { print n + 0 }'; }
    soft() { awk '$1 == "cpu1" { print $7 + $8 }' /proc/stat; }
    zero=$(core 0) one=$(core 1) before=$(soft)
    sleep 2
    zero=$(($(core 0) - zero)) one=$(($(core 1) - one)) held=$((($(soft) - before) / 2))
    echo "core 1 took $one of $((one + zero)) interrupts of the cards in 2 s, and spends $held % of its time on them"
    [ $held -ge 80 ] && [ $one -ge 2 ] && [ $((one * 100)) -ge $(((one + zero) * 80)) ]
}
