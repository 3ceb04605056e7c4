#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Where reuse-report writes to decides how: colours and the width of a terminal, nothing left out in a
# file, 80 columns in a pipe.
# Runs beside others
. "$(dirname "$0")/tap.bash"
here=$(cd "$(dirname "$0")" && pwd)
report=$REUSE_BUILDDIR/postproc/reuse-report
script=$REUSE_BUILDDIR/tests/support/profile_script
export LC_ALL=C TERM=xterm
unset NO_COLOR COLUMNS
escape=$'\033'

on_terminal() { python3 "$here/on_terminal.py" "$@"; } # COLUMNS COMMAND...
without_escapes() { sed "s/$escape\[[0-9;]*m//g" "$1"; }
# A word that is longer than a line of prose has one of its own, and is not cut.
widest() { awk 'NF > 1 && length($0) > most { most = length($0) } END { print most + 0 }' "$1"; }
has_escapes() { grep -q "$escape" "$work/out"; }

# A line that misses, in a file whose name takes more than a page.
long=$(printf 'a_long_name_%.0s' {1..10})
cp "$here/programs/report_program.c" "$work/$long.c"
gcc -g -O1 -o "$work/program" "$work/$long.c" || exit 1
cd "$work" || exit 1
python3 "$here/report_profile.py" "$work/program" 1 | "$script" p.rprof || exit 1
all=(--summary --objects --lines --contexts --mrc p.rprof)

run piped "$report" "${all[@]}"
cp out pipe.txt
check "a pipe: 80 columns, no escapes" eval 'status_is 0 && [ "$(widest out)" -le 80 ] && ! has_escapes'
check "a pipe: what is too long is shortened" out_has '^[a-zA-Z_./0-9]*\.\.\.[a-z_]*_name_\.c:[0-9]+ '
run "$report" -o file.txt "${all[@]}"
check "a file: nothing is shortened" grep -q "^[^ ]*/$long\.c:[0-9]* " file.txt
check "a file: no dots stand for what was left out" eval '! grep -q "[a-z_]\.\.\.[a-z_]" file.txt'
check "a file: no escapes" eval '! grep -q "$escape" file.txt'
run "$report" "${all[@]}"
check "standard output that is a file: the same" cmp out file.txt
run env COLUMNS=90 "$report" "${all[@]}"
check "a file has no width, whatever COLUMNS says" cmp out file.txt
run piped env COLUMNS=120 "$report" "${all[@]}"
check "a pipe is as wide as COLUMNS says" eval '[ "$(widest out)" -gt 80 ] && [ "$(widest out)" -le 120 ]'
for wrong in 0 17 -5 wide 120x 99999999999999999999; do
    run piped env COLUMNS="$wrong" "$report" "${all[@]}"
    check "COLUMNS=$wrong: 80 columns" cmp out pipe.txt
done

run on_terminal 80 "$report" "${all[@]}"
check "a terminal has colours" eval 'status_is 0 && has_escapes'
without_escapes out >plain
check "80 columns: without its escapes it is what a pipe gets" cmp plain pipe.txt
check "headings and titles are told by colour" eval \
    'grep -q "^$escape\[1;36m== Summary ==$escape\[0m\$" out && grep -q "^$escape\[1mMost misses" out'
check "hot misses are told by colour" eval 'grep -q "_name_\.c:.* $escape\[[0-9;]*m[0-9.]*" out'
for columns in 120 200; do
    run on_terminal "$columns" "$report" "${all[@]}"
    without_escapes out >plain
    check "$columns columns are used, and no more" eval \
        '[ "$(widest plain)" -gt $((columns - 40)) ] && [ "$(widest plain)" -le "$columns" ]'
    check "$columns columns: sentences stay as short as before" eval \
        '[ "$(grep -c . plain)" -gt 20 ] && [ "$(sed -n "1,/^== Summary/p" plain | widest -)" -le 80 ]'
    cp plain "terminal-$columns.txt"
done
check "200 columns: a long name is whole" grep -q "$long" terminal-200.txt
run on_terminal 40 "$report" "${all[@]}"
without_escapes out >plain
check "a terminal narrower than 80 columns has 80" cmp plain pipe.txt
run on_terminal 0 "$report" "${all[@]}"
without_escapes out >plain
check "a terminal that does not know its width has 80" cmp plain pipe.txt
run on_terminal 80 env COLUMNS=200 "$report" "${all[@]}"
without_escapes out >plain
check "COLUMNS stands for a terminal's width" cmp plain terminal-200.txt

run on_terminal 80 env NO_COLOR=1 "$report" "${all[@]}"
check "NO_COLOR: no escapes" cmp out pipe.txt
run on_terminal 80 env NO_COLOR= "$report" "${all[@]}"
check "an empty NO_COLOR is none" has_escapes
run on_terminal 80 env TERM=dumb "$report" "${all[@]}"
check "TERM=dumb: no escapes" cmp out pipe.txt
run on_terminal 80 env -u TERM "$report" "${all[@]}"
check "a terminal of no type: no escapes" cmp out pipe.txt
run on_terminal 80 "$report" --color=never "${all[@]}"
check "--color=never: no escapes" cmp out pipe.txt
run on_terminal 80 "$report" --color=auto "${all[@]}"
check "--color=auto: as without" has_escapes
run piped env NO_COLOR=1 TERM=dumb "$report" --color=always "${all[@]}"
without_escapes out >plain
check "--color=always: everywhere" eval 'has_escapes && cmp plain pipe.txt'
run piped "$report" --color "${all[@]}"
check "--color alone: the same" has_escapes
run "$report" --color=always -o colour.txt "${all[@]}"
check "--color=always: in a file, too" eval 'grep -q "$escape" colour.txt'
for form in json csv html; do
    run "$report" --color=always --format "$form" "${all[@]}"
    check "$form has no colours" eval 'status_is 0 && ! has_escapes'
done
run "$report" --color=green p.rprof
check "--color=green: refused" fails_with 2 "--color wants auto, always or never, not 'green'"
finish
