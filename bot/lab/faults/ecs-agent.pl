#!/usr/bin/perl
# An agent that leaks: each run makes memory cgroups, charges one page of a file in memory to each, and fails.
# The page outlives the cgroup and pins it: removed, not freed, until the file is deleted or the node reboots.
# Quick up to MOST cgroups; from there as slowly as an agent would, so that the node stays within its memory.
# IN_ONE_UNIT: runs follow one another inside one process, and systemd sees a unit that is well.
use strict;
use Fcntl qw(:DEFAULT SEEK_SET);

my $quick = $ENV{LEAK} // 200;
my $most = $ENV{MOST} // 10_500;
my ($log, $state) = ('/var/log/ecs/ecs-init.log', '/dev/shm/ecs-agent.state');

sub into { my ($path, $text) = @_; sysopen(my $file, $path, O_WRONLY) or die "$path: $!\n";
    defined syswrite($file, $text) or die "$path: $!\n" }

my ($v1, $v2);
open my $own, '<', '/proc/self/cgroup' or die $!;
while (<$own>) { chomp; my (undef, $controllers, $path) = split /:/, $_, 3;
    $v1 = "/sys/fs/cgroup/memory$path" if $controllers eq 'memory';
    $v2 = "/sys/fs/cgroup$path" if $controllers eq '' }
my $unit = $v1 || $v2;
my $home = $v1 ? $unit : "$unit/agent";
if (!$v1) { # v2: no processes beside sub-cgroups, and controllers are handed down one by one
    mkdir $home; into("$home/cgroup.procs", '0'); into("$unit/cgroup.subtree_control", '+memory') }

sub told {
    my ($s, $m, $h, $d, $mon, $y) = gmtime;
    open my $told, '>>', $log or die "$log: $!";
    printf $told "level=error time=%04d-%02d-%02dT%02d:%02d:%02dZ msg=\"Agent exited with code %d\"\n",
        $y + 1900, $mon + 1, $d, $h, $m, $s, $_[0];
}

sub leak {
    sysopen(my $file, $state, O_RDWR | O_CREAT) or die "$state: $!";
    my $at = ((stat $file)[7] + 4095) & ~4095;
    my $many = $at / 4096 < $most ? $quick : 6;
    my $before;
    for my $number (1 .. $many) {
        my $made = "$unit/task-$$-$number";
        mkdir $made or die "$made: $!\n";
        into("$made/cgroup.procs", '0');
        sysseek($file, $at, SEEK_SET); syswrite($file, 'z') or die "$state: $!\n"; $at += 4096;
        rmdir $before if $before;
        $before = $made;
        told(1); # each task is a run of its own, as the agent's own log tells it
    }
    into("$home/cgroup.procs", '0');
    rmdir $before if $before;
    sleep 3 if $many == 6;
    print STDERR "level=critical msg=\"Unable to register as a container instance with ECS: no such host\"\n";
    exit 1;
}

leak() unless $ENV{IN_ONE_UNIT};
for (;;) {
    my $run = fork // die $!;
    leak() if !$run;
    waitpid $run, 0;
}
