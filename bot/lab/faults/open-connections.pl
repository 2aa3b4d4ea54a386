#!/usr/bin/perl
# Asks four thousand ports of this very node, again and again: each is a connection to the kernel's table.
use strict;
use Socket;
socket(my $socket, PF_INET, SOCK_DGRAM, 0) or die $!;
for (;;) {
    send $socket, 'q', 0, pack_sockaddr_in($_, INADDR_LOOPBACK) for 20000 .. 24000;
    sleep 2;
}
