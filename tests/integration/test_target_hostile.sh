#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# Rests on samples: see tests/run. Beside others a program of a tenth of a second may have none.
# Programs that do in odd corners what real ones do: whatever it is, they come out of it as without us.
. "$REUSE_SRCDIR/tests/integration/transparency.bash"
hostile=$programs/target_hostile tight=$programs/target_tight
loaded=$programs/.libs/loaded_library.so

target "functions called like the C library's and the decoder's" -- "$programs/target_replacing"
target "a deferred cancellation stays deferred" -- "$hostile" cancel
target "allocations inside dl_iterate_phdr() beside dlopen and dlclose" --at-least 1 -- "$hostile" callback "$loaded"
target "forks beside dlopen and dlclose" --at-least 1 -- "$hostile" fork-while-loading "$loaded"
target "_exit() in a handler while another thread has the loader's lock" -- "$hostile" exit-in-handler "$loaded"
target "forks while threads come and go" --at-least 1 --open-files 1024 -- "$hostile" fork-storm
if [ "$(ulimit -Hn)" = unlimited ] || [ "$(ulimit -Hn)" -ge 8192 ]; then
    target "numbers of descriptors that are taken meanwhile" --open-files 8192 -- "$hostile" dup-storm
else
    skip "numbers of descriptors that are taken meanwhile" "the limit of descriptors is too low"
fi
target "forks while threads map memory" --at-least 1 -- "$hostile" fork-while-mapping
export REUSE_FOLLOW=none
target "the same, children not followed" --at-least 1 -- "$hostile" fork-while-mapping
unset REUSE_FOLLOW
target "a handler that jumps out of mmap and munmap" -- "$hostile" jump-while-mapping
target "a child of vfork that changes its signals" -- "$hostile" vfork

target "page faults that the program serves itself" -- "$hostile" paged

target "memory that is mapped again where it was unmapped" -- "$hostile" map-again

target "a sandbox that forbids what a wrapper could call" -- "$hostile" sandbox

target "system calls that the program serves itself" -- "$hostile" dispatch

target "an alternate stack that is too small" -- "$tight" small-alternate
target "an alternate stack that has been freed" -- "$tight" freed-alternate
target "handlers of ours that the program moves to alternate stacks" -- "$tight" moved-handlers
target "_exit() on a small alternate stack" -- "$tight" crash-exit
target "fork() on a small alternate stack" -- "$tight" crash-fork
target "exit() on a small coroutine" -- "$tight" coroutine-exit
target "fork() on a small coroutine" -- "$tight" coroutine-fork
target "stacks of two sizes at one address" -- "$tight" stale
target "stacks as those of Go" -- "$programs/target_go_stack"
finish
