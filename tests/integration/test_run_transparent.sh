#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# reuse-run changes nothing that the program or whoever started it can see, but the environment.
. "$REUSE_SRCDIR/tests/integration/tap.bash"
mkdir "$work/bin" "$work/lib"
cp "$REUSE_BUILDDIR/postproc/reuse-run" "$work/bin"
cp "$REUSE_BUILDDIR/tests/support/.libs/libstandin.so" "$work/lib/libreuse.so"
reuse_run=$work/bin/reuse-run
# A reuse-run built with sanitizers must start where LD_PRELOAD is set, too.
export ASAN_OPTIONS=verify_asan_link_order=0
library=$(realpath "$work/lib/libreuse.so")

for expected in 0 1 77 125 255; do
    run "$reuse_run" sh -c "exit $expected"
    check "exit status $expected" status_is "$expected"
done
for signal in INT TERM HUP KILL SEGV ABRT; do
    ( run "$reuse_run" sh -c "kill -$signal \$\$"; exit "$status" ) 2>/dev/null
    status=$?
    check "killed by SIG$signal: 128 + signal" status_is $((128 + $(kill -l "$signal")))
done

"$reuse_run" sleep 60 &
process=$!
for _ in $(seq 100); do
    name=$(cat "/proc/$process/comm" 2>/dev/null)
    [ "$name" = sleep ] && break
    sleep 0.05
done
check "the program has the process number of reuse-run" [ "$name" = sleep ]
kill -TERM "$process"
wait "$process" 2>/dev/null
status=$?
check "a signal sent to it reaches the program" status_is 143

run "$reuse_run" sh -c 'trap "echo caught; exit 3" USR1; kill -USR1 $$; sleep 1'
check "the program's own signal handlers work" out_has '^caught$'
run "$reuse_run" ls /proc/self/fd
with=$(wc -l <"$work/out")
run ls /proc/self/fd
check "no descriptor is left open" [ "$with" -eq "$(wc -l <"$work/out")" ]
printf 'one\ntwo\n' | "$reuse_run" cat >"$work/copy"
check "standard input and output pass through" [ "$(cat "$work/copy")" = $'one\ntwo' ]

run "$reuse_run" printenv LD_PRELOAD
check "LD_PRELOAD holds the library" out_has "^$library\$"
run env LD_PRELOAD="$library" "$reuse_run" printenv LD_PRELOAD
check "... once" out_has "^$library\$"
cp "$work/lib/libreuse.so" "$work/other.so"
run env LD_PRELOAD="$work/other.so" "$reuse_run" printenv LD_PRELOAD
check "... before what was there already" out_has "^$library:$work/other.so\$"
env -i A=1 "B=two words" PATH="$PATH" env | sort >"$work/expected"
env -i A=1 "B=two words" PATH="$PATH" "$reuse_run" env | grep -v '^LD_PRELOAD=' | sort >"$work/seen"
check "the rest of the environment is the caller's" cmp -s "$work/expected" "$work/seen"
run "$reuse_run" "$reuse_run" --seed 5 sh -c 'echo $LD_PRELOAD $REUSE_SEED'
check "nested use" out_has "^$library 5\$"
finish
