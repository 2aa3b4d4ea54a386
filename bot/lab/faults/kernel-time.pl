#!/usr/bin/perl
# Calls itself kubelet and does nothing but kernel time: zeroes are copied out of the kernel for ever.
$0 = 'kubelet';
open my $zeroes, '<:raw', '/dev/zero' or die $!;
my $into;
1 while sysread $zeroes, $into, 4194304;
