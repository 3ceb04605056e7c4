#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Threads, exceptions, libraries that come and go, and stacks near their end, profiled and not.
# Rests on timing: see tests/run.
. "$REUSE_SRCDIR/tests/integration/transparency.bash"

target "one closing line, and only one" --loud -- "$programs/target_plain"
target "an exit status of the program's own" -- "$programs/target_plain" argument
# Of 500 one run in four had no sample under the engine pmu.
target "2000 short threads" -- "$programs/target_threads" short
target "the main thread leaves first" -- "$programs/target_threads" exit
target "cancellation" -- "$programs/target_threads" cancel
target "threads with all signals blocked" -- "$programs/target_threads" masked
target "threads with the smallest stack" -- "$programs/target_threads" small
target "OpenMP" -- "$programs/target_openmp"
target "C++ exceptions in threads" -- "$programs/target_exceptions"
target "an exception that nobody catches" -- "$programs/target_exceptions" uncaught
target "dlopen and dlclose in a loop" -- "$programs/target_loader" "$programs/.libs/loaded_library.so"
target "recursion down to the last pages of a stack" -- "$programs/target_stack" deep
target "stack overflow, handled" -- "$programs/target_stack" overflow
target "stack overflow in a thread, handled" -- "$programs/target_stack" thread-overflow
finish
