#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# reuse-run: which programs can be preloaded, and what is said about those that cannot. Whatever it
# says, the program runs and its status is passed on.
. "$REUSE_SRCDIR/tests/integration/tap.bash"
mkdir "$work/bin" "$work/lib"
cp "$REUSE_BUILDDIR/postproc/reuse-run" "$work/bin"
cp "$REUSE_BUILDDIR/tests/support/.libs/libstandin.so" "$work/lib/libreuse.so"
reuse_run=$work/bin/reuse-run
export STAND_IN_LOG=$work/log
cd "$work" || exit 1

compile() { # OUTPUT FLAGS...: a program that prints "ran" and exits with 42
    local output=$1
    shift
    printf '#include <stdio.h>\nint main(void) { puts("ran"); return 42; }\n' |
        ${CC:-cc} -x c - -o "$output" "$@" 2>"$work/compile"
}
was_preloaded() { [ -s log ]; }
start() {
    rm -f log
    run "$reuse_run" "$@"
}
# The program ran to its end; $1 matches the one line on stderr; the library was not in it.
ran_unprofiled() {
    status_is 42 && out_has '^ran$' && err_is_one_line && err_has "$1" &&
        err_has 'it runs unprofiled' && ! was_preloaded
}

compile dynamic
start ./dynamic
check "a dynamic program is preloaded" was_preloaded
check "... and nothing is said" err_is_empty
check "... and its status is passed on" status_is 42

if compile static -static; then
    start ./static
    check "static program" ran_unprofiled \
        'static is statically linked, LD_PRELOAD cannot reach it.*--engine exact'
else
    skip "static program" "this compiler cannot link statically"
fi
if compile static_pie -static-pie; then
    start ./static_pie
    check "static position-independent program" ran_unprofiled 'is statically linked'
else
    skip "static position-independent program" "this compiler cannot link so"
fi

# The same loader under the name of another C library's: the program must start all the same.
loader=$(readelf -l dynamic | sed -n 's/.*interpreter: \(.*\)\].*/\1/p')
start "$loader" ./dynamic
check "a dynamic program by way of the loader: nothing is said" eval 'was_preloaded && err_is_empty && status_is 42'
cp "$loader" "$work/ld-musl-test.so.1"
compile other_loader "-Wl,--dynamic-linker=$work/ld-musl-test.so.1"
start ./other_loader
check "a program of another C library" ran_unprofiled 'works with the GNU C library only'

if [ "$(id -u)" -eq 0 ] && getent group nogroup >/dev/null && id nobody >/dev/null 2>&1 && command -v setpriv >/dev/null; then
    as_nobody() {
        : >log
        chmod 666 log
        run setpriv --reuid=nobody --regid=nogroup --clear-groups "$reuse_run" "$@"
    }
    if findmnt -no OPTIONS -T "$work" | grep -qw nosuid; then
        skip "setuid program" "the scratch folder is mounted nosuid"
        skip "setgid program" "the scratch folder is mounted nosuid"
        skip "program with file capabilities" "the scratch folder is mounted nosuid"
    else
        cp dynamic setuid
        chmod 4755 setuid
        as_nobody ./setuid
        check "setuid program" ran_unprofiled 'is setuid, and the loader ignores LD_PRELOAD'
        cp dynamic setgid
        chmod 2755 setgid
        as_nobody ./setgid
        check "setgid program" ran_unprofiled 'is setgid, and the loader ignores LD_PRELOAD'
        cp dynamic capable
        if setcap cap_net_raw=ep capable 2>/dev/null; then
            as_nobody ./capable
            check "program with file capabilities" ran_unprofiled 'is given capabilities by its file'
        else
            skip "program with file capabilities" "setcap is missing or does not work here"
        fi
    fi
    start ./setuid
    check "a setuid program of one's own gains nothing: preloaded" was_preloaded
else
    for kind in "setuid program" "setgid program" "program with file capabilities" \
        "a setuid program of one's own gains nothing: preloaded"; do
        skip "$kind" "needs root, nobody and setpriv"
    done
fi

# A 32-bit x86 program made by hand: exit(42). One loadable segment, no loader.
{
    printf '\177ELF\001\001\001\000\000\000\000\000\000\000\000\000\002\000\003\000\001\000\000\000'
    printf '\124\200\004\010\064\000\000\000\000\000\000\000\000\000\000\000\064\000\040\000\001\000\000\000\000\000\000\000'
    printf '\001\000\000\000\000\000\000\000\000\200\004\010\000\200\004\010\140\000\000\000\140\000\000\000\005\000\000\000\000\020\000\000'
    printf '\270\001\000\000\000\273\052\000\000\000\315\200'
} >small
chmod +x small
./small
native=$?
start ./small
if [ "$native" -eq 42 ]; then
    check "32-bit program runs unprofiled" status_is 42
else
    skip "32-bit program runs unprofiled" "this kernel does not run 32-bit programs"
fi
check "32-bit program is named as such" err_has 'small is a program for (32-bit x86|x86).*it runs unprofiled'

# The header of a program for a processor that nobody has at hand.
{
    head -c 18 dynamic
    printf '\026\000'
    tail -c +21 dynamic
} >foreign
chmod +x foreign
start ./foreign
check "program for another processor is named as such" \
    err_has 'foreign is a program for s390, libreuse.so is for 64-bit'
check "... and status 126 when the kernel refuses it" status_is 126

head -c 40 dynamic >damaged
chmod +x damaged
start ./damaged
check "damaged program" fails_with 126 'damaged cannot start'

printf '#!/bin/sh\necho ran "$1"\nexit 42\n' >script
chmod +x script
start ./script argument
check "a script runs, preloaded, with its arguments" out_has '^ran argument$'
check "... the library is in its interpreter" was_preloaded
printf '#!/usr/bin/env bash\necho ran\nexit 42\n' >env_script
chmod +x env_script
start ./env_script
check "#!/usr/bin/env works through" grep -q ' bash$' log
printf 'echo ran "$1"\nexit 42\n' >bare
chmod +x bare
start ./bare argument
check "a script without #! is handed to the shell" out_has '^ran argument$'
check "... with its status" status_is 42
if [ -x static ]; then
    printf '#!%s/static\n' "$work" >static_script
    chmod +x static_script
    start ./static_script
    check "a script with a static interpreter" ran_unprofiled \
        'static_script is run by .*/static, which is statically linked'
else
    skip "a script with a static interpreter" "this compiler cannot link statically"
fi
printf '#!/nonexistent/interpreter\n' >orphan
chmod +x orphan
start ./orphan
check "missing interpreter" fails_with 127 'its interpreter /nonexistent/interpreter was not found'
printf '#!%s/loop\n' "$work" >loop
chmod +x loop
start ./loop
check "a script that interprets itself ends" fails_with 126 'loop cannot start'

start ./nonexistent
check "no such file" fails_with 127 './nonexistent was not found$'
start nonexistent-program
check "no such program" fails_with 127 'nonexistent-program was not found in PATH'
start ""
check "empty name" fails_with 127 'was not found'
start ./dynamic/below
check "a path through a file" fails_with 127 'dynamic/below: Not a directory'
start "$work"
check "a directory" fails_with 126 'is a directory'
: >plain
start ./plain
check "not executable" fails_with 126 'plain is not executable'
mkdir first second
: >first/tool
cp dynamic second/tool
run env PATH="$work/first:$work/second" "$reuse_run" tool
check "PATH: what cannot be executed is passed over" status_is 42
run env PATH="$work/first" "$reuse_run" tool
check "PATH: only one that cannot be executed" fails_with 126 'first/tool is not executable'
run env PATH= "$reuse_run" dynamic
check "PATH: an empty element is the current directory" status_is 42

mkdir -p "a b/bin" "a b/lib" alone/bin
cp bin/reuse-run "a b/bin"
cp lib/libreuse.so "a b/lib"
run "a b/bin/reuse-run" true
check "a path that LD_PRELOAD cannot hold" fails_with 125 'LD_PRELOAD cannot hold the path'
finish
