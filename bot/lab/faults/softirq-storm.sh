# One core sends packets as fast as it can, another does nothing but take them out of the backlog, and drops most. Whoever
# looks at the node needs a third one.
make() {
    modprobe veth
    modprobe pktgen
    ip link add storm0 type veth peer name storm1
    ip link set storm0 up
    ip link set storm1 up
    echo 2 >/sys/class/net/storm1/queues/rx-0/rps_cpus
    pg=/proc/net/pktgen
    echo 'add_device storm0' >$pg/kpktgend_0
    for word in 'count 0' 'delay 0' 'pkt_size 64' 'dst 10.99.0.2' "dst_mac $(cat /sys/class/net/storm1/address)"; do
        echo "$word" >$pg/storm0
    done
    # Rules that no packet meets make each of them dear, so that the core is full at any rate that core 0 can send.
    nft -f - <<END
table netdev lab { chain in { type filter hook ingress device storm1 priority 0; } }
$(seq -f 'add rule netdev lab in udp dport %g drop' 10001 10300)
END
    systemd-run -q --unit=packet-sender sh -c 'echo start >/proc/net/pktgen/pgctrl'
}
undo() {
    echo stop >/proc/net/pktgen/pgctrl
    systemctl stop packet-sender.service 2>/dev/null
    nft delete table netdev lab
    ip link delete storm0
    modprobe -r pktgen
}
look() {
    soft() { awk '$1 == "cpu1" { print $8 }' /proc/stat; }
    before=$(soft)
    sleep 2
    held=$((($(soft) - before) / 2))
    echo "core 1 spends $held % of its time in soft interrupts"
    [ $held -ge 80 ]
}
