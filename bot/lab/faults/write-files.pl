#!/usr/bin/perl
# Eight processes, each of which writes a file of its own in a folder and has it on the disk, ten times a second.
use strict;
use IO::Handle;
my $folder = shift;
for (1 .. 7) { last unless fork }
for (;;) {
    open my $file, '>', "$folder/$$" or die $!;
    print $file 'x';
    $file->flush; $file->sync;
    close $file;
    select undef, undef, undef, 0.1;
}
