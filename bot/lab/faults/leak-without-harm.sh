# The same leak on a node with memory enough for it: nothing is short yet.
. "$lab/leaked-memory-cgroups.sh"
