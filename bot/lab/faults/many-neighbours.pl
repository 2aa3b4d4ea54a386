#!/usr/bin/perl
# Sends a word to five hundred addresses of one network, again and again: each wants an entry in the table of neighbours.
use strict;
use Socket;
socket(my $socket, PF_INET, SOCK_DGRAM, 0) or die $!;
for (;;) {
    for my $host (2 .. 501) { send $socket, 'q', 0, pack_sockaddr_in(9, pack 'CCCC', 10, 96, $host >> 8, $host & 255) }
    sleep 1;
}
