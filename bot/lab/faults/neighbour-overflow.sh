# The table of neighbours has room for few, and a service talks to many on one cable.
unit=/etc/systemd/system/service-mesh.service
make() {
    modprobe veth
    way=$(ip -4 neigh show dev eth0 | awk '/lladdr/ { print $1, $3; exit }')
    ip neigh replace ${way% *} lladdr ${way#* } dev eth0 nud permanent # so that whoever looks still comes in
    for level in 1 2 3; do sysctl -n net.ipv4.neigh.default.gc_thresh$level; done >$lab/thresholds
    sysctl -q -w net.ipv4.neigh.default.gc_thresh1=16 net.ipv4.neigh.default.gc_thresh2=32 net.ipv4.neigh.default.gc_thresh3=64
    ip link add mesh0 type veth peer name mesh1
    ip address add 10.96.0.1/20 dev mesh0
    ip link set mesh1 up
    ip link set mesh0 up
    cat >$unit <<END
[Unit]
Description=Service mesh that talks to every neighbour
[Service]
ExecStart=/usr/bin/perl $lab/many-neighbours.pl
END
    systemctl daemon-reload
    systemctl start service-mesh.service
}
undo() {
    systemctl stop service-mesh.service
    rm -f $unit
    systemctl daemon-reload
    ip link delete mesh0
    set -- $(cat $lab/thresholds)
    sysctl -q -w net.ipv4.neigh.default.gc_thresh1=$1 net.ipv4.neigh.default.gc_thresh2=$2 net.ipv4.neigh.default.gc_thresh3=$3
    ip -4 neigh show dev eth0 nud permanent | while read -r address _ mac _; do
        ip neigh replace $address lladdr $mac dev eth0 nud stale
    done
}
look() {
    fulls() { perl -lane '$. == 1 ? (@n = @F) : map { $n[$_] eq "table_fulls" and $s += hex $F[$_] } 0 .. $#n; END { print $s }' /proc/net/stat/arp_cache; }
    before=$(fulls)
    sleep 2
    rise=$(($(fulls) - before))
    echo "$rise neighbours found no room in the table within 2 s"
    [ $rise -ge 10 ]
}
