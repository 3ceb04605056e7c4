#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# Rests on samples: see tests/run. Beside others a program of a tenth of a second may have none.
# Programs that start others, profiled and not.
. "$REUSE_SRCDIR/tests/integration/transparency.bash"
processes=$programs/target_processes

target "fork: each of three generations has a profile" --profiles 3 -- "$processes" fork
target "fork beside threads" --at-least 1 -- "$processes" threads-fork
target "exec: before and after" --profiles 2 -- "$processes" exec
target "exec that fails" -- "$processes" exec-fails
target "vfork and exec" --at-least 1 -- "$processes" vfork
target "posix_spawn" --at-least 1 -- "$processes" spawn
target "system and popen" --at-least 1 -- "$processes" system
target "a daemon" --at-least 1 -- "$processes" daemon
target "a change of directory" -- "$processes" directory
target "_exit" -- "$processes" quick-exit
finish
