# The certificate that the kubelet serves ended yesterday. The server is a stand-in; path and port are the kubelet's. The
# file may be read by all, which a kubelet's own may not: kept waiting, an emulated node shows none at the port in time.
at=/var/lib/kubelet
pem=$at/pki/kubelet-server-current.pem
make() {
    mkdir -p $at/pki $lab/ca
    : >$lab/ca/index
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=kubernetes -days 30 \
        -keyout $lab/ca/key -out $lab/ca/crt 2>/dev/null
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/O=system:nodes/CN=system:node:$(hostname)" \
        -keyout $lab/ca/server.key -out $lab/ca/server.csr 2>/dev/null
    printf '%s\n' '[ca]' 'default_ca = a' '[a]' "database = $lab/ca/index" "new_certs_dir = $lab/ca" 'rand_serial = yes' \
        'default_md = sha256' 'policy = p' '[p]' 'organizationName = optional' 'commonName = supplied' >$lab/ca/conf
    openssl ca -batch -notext -config $lab/ca/conf -cert $lab/ca/crt -keyfile $lab/ca/key -in $lab/ca/server.csr \
        -startdate "$(date -u -d '366 days ago' +%Y%m%d%H%M%SZ)" -enddate "$(date -u -d '1 day ago' +%Y%m%d%H%M%SZ)" \
        -out $lab/ca/server.crt 2>/dev/null
    cat $lab/ca/server.crt $lab/ca/server.key >$pem
    systemd-run -q --collect --unit kubelet-stand-in openssl s_server -www -accept 127.0.0.1:10250 -cert $pem -key $pem
}
undo() {
    systemctl stop kubelet-stand-in.service
    rm -rf $at $lab/ca
}
look() {
    timeout 10 openssl s_client -connect 127.0.0.1:10250 </dev/null >$lab/served 2>/dev/null
    echo "port 10250 serves: $(openssl x509 -noout -enddate -in $lab/served 2>/dev/null || echo no certificate)"
    openssl x509 -noout -in $lab/served 2>/dev/null && ! openssl x509 -noout -checkend 0 -in $lab/served >/dev/null
}
