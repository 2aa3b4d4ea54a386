#!/usr/bin/perl
# A file server of one empty folder: NFS 3 over TCP and its mount protocol, on one port.
# RFC 1813 (NFS 3, MOUNT 3), RFC 5531 (RPC and its record marking).
use strict;
use Socket;
my ($NFS, $MOUNT, $CANNOT) = (100003, 100005, 3);
my $handle = pack 'N', 1;
# A folder: its type, mode, links, owner, size, device, inode and times.
my $about = pack 'N5 Q> Q> N2 Q> Q> N6', 2, 0755, 2, 0, 0, 4096, 4096, 0, 0, 1, 1, (1_700_000_000, 0) x 3;
my $with = pack('N', 1) . $about;
my %answers = (
    "$NFS 1" => pack('N', 0) . $about,
    "$NFS 3" => pack('N', 2) . $with,    # no file of any name
    "$NFS 4" => pack('N', 0) . $with . pack('N', 31),
    "$NFS 16" => pack('N', 0) . $with . pack('Q> N2', 0, 0, 1),
    "$NFS 17" => pack('N', 0) . $with . pack('Q> N2', 0, 0, 1),
    "$NFS 18" => pack('N', 0) . $with . pack('Q>6 N', (1 << 30) x 3, (1 << 20) x 3, 0),
    "$NFS 19" => pack('N', 0) . $with . pack('N7 Q> N3', (65536, 65536, 4096) x 2, 4096, 1 << 40, 1, 0, 27),
    "$NFS 20" => pack('N', 0) . $with . pack('N6', 32, 255, 1, 1, 0, 1),
    "$MOUNT 1" => pack('N', 0) . pack('N/a*', $handle) . pack('N2', 1, 1),
);
socket(my $listener, PF_INET, SOCK_STREAM, 0) or die $!;
setsockopt $listener, SOL_SOCKET, SO_REUSEADDR, 1;
bind $listener, pack_sockaddr_in(2049, INADDR_LOOPBACK) or die $!;
listen $listener, 16 or die $!;
$SIG{CHLD} = 'IGNORE';
while (accept my $client, $listener) {
    next if fork;
    while (my $mark = take($client, 4)) {
        my ($id, undef, undef, $program, undef, $procedure) = unpack 'N6', take($client, unpack('N', $mark) & 0x7fffffff);
        my $answer = $procedure ? $answers{"$program $procedure"} : '';
        my $reply = pack('N6', $id, 1, 0, 0, 0, defined $answer ? 0 : $CANNOT) . ($answer // '');
        syswrite $client, pack('N', 0x80000000 | length $reply) . $reply;
    }
    exit;
}

sub take {
    my ($client, $many) = @_;
    my $taken = '';
    while (length $taken < $many) {
        sysread $client, $taken, $many - length $taken, length $taken or return '';
    }
    return $taken;
}
