# A pair of cards without a driver of their own, whose packets are all steered to core 1: it does nothing but soft
# interrupts, and runs out of its budget for them again and again. Whoever looks at the node needs a third core.
. "$lab/one-core.sh"
make() {
    modprobe veth
    ip link add storm0 type veth peer name storm1
    for card in storm0 storm1; do
        echo 2 >/sys/class/net/$card/queues/rx-0/rps_cpus
    done
    flood storm0 storm1 700
}
undo() {
    ebb
    until [ ! -e /sys/class/net/storm0 ]; do sleep 0.1; done
}
look() {
    soft() { awk '$1 == "cpu1" { print $8 }' /proc/stat; }
    before=$(soft)
    sleep 2
    held=$((($(soft) - before) / 2))
    echo "core 1 spends $held % of its time in soft interrupts"
    [ $held -ge 80 ]
}
