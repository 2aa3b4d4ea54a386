# A bond of two ports, and what one of them is plugged into goes down.
make() {
    modprobe bonding max_bonds=0
    modprobe veth
    ip link add bond0 type bond mode active-backup miimon 100
    for port in 0 1; do
        ip link add port$port type veth peer name switch$port
        ip link set switch$port up
        ip link set port$port master bond0
    done
    ip link set bond0 up
    tries=0
    until [ "$(linked)" = 2 ] || [ $((tries += 1)) -gt 50 ]; do sleep 0.2; done
    ip link set switch1 down
}
undo() {
    ip link delete bond0
    for port in 0 1; do ip link delete port$port; done
    modprobe -r bonding
}
ports() { sed -n '/^Slave Interface/,$p' /proc/net/bonding/bond0 2>/dev/null; }
linked() { ports | grep -c '^MII Status: up'; }
look() {
    many=$(ports | grep -c '^Slave Interface')
    echo "$(linked) of $many ports of bond0 have a link"
    [ "$many" = 2 ] && [ "$(linked)" = 1 ]
}
