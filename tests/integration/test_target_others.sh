#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# Programs of another C library, loader or run-time system than ours, that a profiled one starts.
. "$REUSE_SRCDIR/tests/integration/transparency.bash"

musl=$input/musl
if command -v musl-gcc >/dev/null &&
    musl-gcc -O1 -o "$musl" "$REUSE_SRCDIR/tests/integration/programs/target_musl.c" 2>"$work/err"; then
    target "a program of musl that a shell starts" --at-least 0 -- sh -c "$musl; echo \$?"
    target "a program of musl" --at-least 0 -- "$musl"
    library="$library:$REUSE_BUILDDIR/runtime/.libs/libreuse-try.so:$REUSE_BUILDDIR/runtime/.libs/libreuse-place.so" \
        target "... beside our other libraries" --at-least 0 -- "$musl"
else
    skip "programs of musl" "musl-gcc is not installed"
fi

# Go hands on the environment that was on the stack at the start.
first=$programs/target_first_environment
run "$REUSE_BUILDDIR/postproc/reuse-run" -o "$work/%p.rprof" -- "$first"
check "a child with the first environment writes nothing" out_has '^0 bytes, status 3$'
REUSE_OUTPUT=$work/%p.rprof LD_PRELOAD=$library run "$first"
check "... nor where the library is preloaded by hand" out_has '^0 bytes, status 3$'

pointer=$programs/target_thread_pointer
target "a thread pointer of the program's own" -- "$pointer"
if [ "$(uname -m)" = x86_64 ]; then
    run "$REUSE_BUILDDIR/postproc/reuse-run" -q -o "$work/pointer.rprof" -- "$pointer"
    run "$report" "$work/pointer.rprof"
    check "... and the report says so" out_has 'had a thread pointer of its own'
fi

# Its loader would complain on standard error about a library that is not there.
if [ "$(id -u)" -eq 0 ]; then
    root=$input/root echo=$(command -v -- /bin/echo)
    mkdir "$root"
    for path in "$echo" $(ldd "$echo" | grep -o '/[^ ]*'); do
        mkdir -p "$root$(dirname "$path")"
        cp -L "$path" "$root$path"
    done
    target "a program behind chroot" --at-least 0 -- chroot "$root" "$echo" hello
else
    skip "a program behind chroot" "needs root"
fi
finish
