# Two cards with a cable between them, all their interrupts on core 1, and that core full of them: each request is
# answered before the next is sent, so that the cards go on interrupting and are not merely polled. Whoever looks at the
# node needs a third core, beside that one and the sender's.
. "$lab/one-core.sh"
make() {
    bind 23 2
    flood eth1 eth2 128
}
undo() {
    ebb
    until [ -e /sys/class/net/eth2 ]; do sleep 0.1; done
    ip address flush dev eth1
    ip link set eth1 down
}
look() {
    core() { queues 123 | awk -v at=$1 '{ n += $(at + 2) } END { print n + 0 }'; }
    soft() { awk '$1 == "cpu1" { print $7 + $8 }' /proc/stat; }
    zero=$(core 0) one=$(core 1) two=$(core 2) before=$(soft)
    sleep 2
    others=$(($(core 0) - zero + $(core 2) - two)) one=$(($(core 1) - one)) held=$((($(soft) - before) / 2))
    echo "core 1 took $one of $((one + others)) interrupts of the cards in 2 s, and spends $held % of its time on them"
    [ $held -ge 80 ] && [ $one -ge 100 ] && [ $((one * 100)) -ge $(((one + others) * 80)) ]
}
