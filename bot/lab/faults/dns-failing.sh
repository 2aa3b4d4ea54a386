# The only name server takes every question and answers none.
make() {
    cp /etc/resolv.conf $lab/resolv.conf
    systemd-run -q --collect --unit silent-resolver /usr/bin/perl $lab/silent-resolver.pl
    echo 'nameserver 127.0.0.1' >/etc/resolv.conf
}
undo() {
    systemctl stop silent-resolver.service
    cp $lab/resolv.conf /etc/resolv.conf
}
look() {
    said=$(host -W 1 -R 1 -t NS . 2>&1 | grep . | tail -n 1) # of bullseye's host the last line is empty
    echo "$(grep -c ^nameserver /etc/resolv.conf) name servers; one says: $said"
    grep -q ^nameserver /etc/resolv.conf && case $said in *'timed out'* | *'no servers could be reached'*) ;; *) false ;; esac
}
