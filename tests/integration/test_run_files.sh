#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# Files that a run creates: for their owner alone, and never in the place or by the way of something else.
# Messages that cannot be written, and libraries that lie about.
. "$(dirname "$0")/tap.bash"
reuse_run=$REUSE_BUILDDIR/postproc/reuse-run
report=$REUSE_BUILDDIR/postproc/reuse-report
plain=$REUSE_BUILDDIR/tests/integration/programs/target_plain
cd "$work" || exit 1

is_profile() { "$report" --summary "$1" >/dev/null 2>&1; }
mode_of() { stat -c %a "$1"; }

umask 0
run "$reuse_run" -o fresh.rprof "$plain" words
check "a profile is its owner's alone" test "$(mode_of fresh.rprof)" = 600
run "$reuse_run" --record-raw fresh.tape -o with_tape.rprof "$plain" words
check "a recording is its owner's alone" test "$(mode_of fresh.tape)" = 600
chmod 644 fresh.rprof
touch -d '1 hour ago' fresh.rprof
run "$reuse_run" -o fresh.rprof "$plain" words
check "an old profile is replaced" is_profile fresh.rprof
check "... and is its owner's alone" test "$(mode_of fresh.rprof)" = 600
check "... under the same name" test ! -e fresh.2.rprof

# taken NAME: what was there is as it was, and the profile, if any, has another name.
taken() {
    run timeout -k 1 30 "$reuse_run" -o "$1" "$plain" words
}
echo "a text of mine" >text.rprof
taken text.rprof
check "a file that is no profile stays" grep -q mine text.rprof
check "... and the profile gets another name" is_profile text.2.rprof
check "... which is said" err_has 'text\.2\.rprof'
ln -s text.rprof link.rprof
taken link.rprof
check "a link is not followed" grep -q mine text.rprof
check "... and the profile gets another name" is_profile link.2.rprof
cp fresh.rprof linked.rprof
ln linked.rprof twice.rprof
touch -d '1 hour ago' linked.rprof
cp -p linked.rprof before
taken twice.rprof
check "a file with another name is not overwritten" cmp before linked.rprof
ln -s nowhere dangling.rprof
taken dangling.rprof
check "nothing is created through a link" test ! -e nowhere
mkfifo pipe.rprof
taken pipe.rprof
check "a pipe is not waited for" status_is 3
check "... and the profile gets another name" is_profile pipe.2.rprof
run timeout -k 1 30 "$reuse_run" --record-raw pipe.rprof -o p.rprof "$plain" words
check "a pipe is no recording" err_has 'no recording: cannot create pipe.rprof'
check "... and the program runs" status_is 3
run "$reuse_run" --record-raw text.rprof -o p.rprof "$plain" words
check "a file that is no recording stays" grep -q mine text.rprof

# What a profile names, and what is named by mistake, is not waited for and not read whole.
cp "$plain" program
run "$reuse_run" -q -o program.rprof ./program
rm program
mkfifo program
run timeout -k 1 30 "$report" --lines --objects program.rprof
check "a module that has become a pipe: the report comes" status_is 0
(
    ulimit -v 4000000
    timeout -k 1 30 "$report" /dev/zero >endless.out 2>endless.err
    echo $?
) >status
check "a file without end: one line" test "$(cat status) $(wc -l <endless.err)" = "1 1"
check "... that says why" grep -q 'is not a libreuse profile' endless.err

# Where nothing can be written, no file is left that the report would take for the newest profile.
mkdir limits
(
    cd limits || exit
    ulimit -f 2
    "$reuse_run" -q "$plain" words >/dev/null 2>&1
)
(
    cd limits || exit
    ulimit -n 4
    "$reuse_run" -q "$plain" words >/dev/null 2>&1
)
check "limits: no file that is no profile" test "$(find limits -name '*.rprof' -size -2 | wc -l)" = 0
if [ "$(id -u)" -eq 0 ] && command -v perl >/dev/null; then
    mkdir jail
    run "$reuse_run" -q -o '%e.%p.rprof' perl -e \
        'chroot("jail") && chdir("/"); my $p = fork; if (!$p) { $x += $_ for 1 .. 6e6; exit } waitpid $p, 0'
    check "after chroot the program keeps its name" test -n "$(find jail -name 'perl*.rprof')"
else
    skip "after chroot the program keeps its name" "needs root and perl"
fi

# Merged profiles.
"$report" --merge -o merged.rprof fresh.rprof fresh.rprof
check "a merged profile is its owner's alone" test "$(mode_of merged.rprof)" = 600
run "$report" --merge -o text.rprof fresh.rprof
check "... and replaces nothing that is no profile" grep -q mine text.rprof
check "... which is said" err_has 'it is no profile'

# The exact engine's.
if command -v qemu-x86_64 >/dev/null && [ -e "$REUSE_BUILDDIR/exact/.libs/libreuse-exact.so" ]; then
    run "$reuse_run" -e exact -o exact.rprof "$plain" words
    check "an exact profile is its owner's alone" test "$(mode_of exact.rprof)" = 600
    run "$reuse_run" -e exact -o text.rprof "$plain" words
    check "... and replaces nothing that is no profile" grep -q mine text.rprof
else
    skip "an exact profile is its owner's alone" "the engine is not there"
fi

# Messages.
bash -c "('$reuse_run' -o p.rprof '$plain' words >out; echo \$? >status) 2>&1 | true"
check "nobody reads the messages: the program lives" test "$(cat status)" = 3
run "$reuse_run" -q -o '%e.rprof' sh -c "cd /proc && exec '$plain'"
check "-q: what the program that was named cannot do is told" err_has 'no profile: cannot create /proc/'
run "$reuse_run" -q -o '%e.rprof' sh -c "cd /proc && '$plain'; true"
check "-q: what a program that it starts cannot do is not" err_is_empty
head -c 1024 /dev/zero >full
(
    ulimit -f 1
    "$reuse_run" -o /dev/null "$plain" words >/dev/null 2>>full
    echo $?
) >status
check "the messages' file is full: the program lives" test "$(cat status)" = 3

# A copy of reuse-run does not take the library of whoever has a folder beside it.
if [ "$(id -u)" -eq 0 ] && id nobody >/dev/null 2>&1; then
    mkdir -p copy/bin copy/runtime/.libs copy/postproc copy/lib
    cp "$reuse_run" copy/bin
    cp "$reuse_run" copy/postproc
    for folder in runtime/.libs lib; do
        cp "$REUSE_BUILDDIR/tests/integration/programs/.libs/loaded_library.so" copy/$folder/libreuse.so
        chown -R nobody copy/$folder
    done
    for folder in bin postproc; do
        run "$PWD/copy/$folder/reuse-run" -v env
        check "a library of another user's is not loaded ($folder)" \
            test "$(grep -c "LD_PRELOAD=$PWD/copy" out)" = 0
    done
else
    skip "a library of another user's is not loaded" "needs root"
fi
finish
