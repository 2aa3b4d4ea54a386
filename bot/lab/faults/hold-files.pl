#!/usr/bin/perl
# Opens files until the kernel refuses another, then lets go of a few: the others on the node must be able to answer.
use strict;
my ($leave) = @ARGV;
my @held;
while (open my $file, '<', '/dev/null') { push @held, $file }
splice @held, -$leave;
sleep;
