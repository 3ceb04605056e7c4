#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# reuse-report and input that is not what it should be: one line that names the file and the cause,
# the right exit status, nothing on standard output.
. "$(dirname "$0")/tap.bash"
report=$REUSE_BUILDDIR/postproc/reuse-report
script=$REUSE_BUILDDIR/tests/support/profile_script
cd "$work" || exit 1

printf 'defaults\nthread 1 main\nprobes 1 0:3=2048\nburst 1 0\nfinish\n' | "$script" good.rprof || exit 1
run "$report" good.rprof
check "the profile that the others are made from is good" status_is 0

bad_profile() { # NAME FILE CAUSE
    run "$report" "$2"
    check "$1" fails_with 1 "^reuse-report: .*$2.*$3"
    run "$report" --format json "$2"
    check "$1: as json too" fails_with 1 "$2"
}

bad_profile "no such file" missing.rprof 'No such file'
mkdir folder.rprof
bad_profile "a directory" folder.rprof '[Dd]irectory'
: >empty.rprof
bad_profile "an empty file" empty.rprof ''
head -c 13 good.rprof >header.rprof
bad_profile "a file cut within its header" header.rprof ''
head -c 4096 /dev/zero >zeros.rprof
bad_profile "zeros" zeros.rprof ''
head -c 100000 /dev/urandom >noise.rprof
bad_profile "noise" noise.rprof ''
cp /bin/true foreign.rprof
bad_profile "another kind of file" foreign.rprof ''
cp good.rprof newer.rprof
printf '\377' | dd of=newer.rprof bs=1 seek=12 conv=notrunc status=none
bad_profile "a newer version" newer.rprof 'newer libreuse'
cp good.rprof older.rprof
printf '\001' | dd of=older.rprof bs=1 seek=12 conv=notrunc status=none
bad_profile "an older version" older.rprof 'older libreuse .*: profile the program again'
cp good.rprof order.rprof
printf '\001\002\003\004' | dd of=order.rprof bs=1 seek=8 conv=notrunc status=none
bad_profile "the other byte order" order.rprof ''
if [ "$(id -u)" -ne 0 ]; then
    cp good.rprof secret.rprof
    chmod 0 secret.rprof
    bad_profile "no permission" secret.rprof 'Permission denied'
else
    skip "no permission" "root may read everything"
fi

# A profile that holds nothing is a profile.
printf 'defaults\nfinish\n' | "$script" nothing.rprof
for format in text json csv; do
    run "$report" --format $format nothing.rprof
    check "no burst at all, as $format" test "$status" -eq 0 -a -s out -a ! -s err
done
printf 'cut\n' | "$script" bare.rprof
run "$report" bare.rprof
check "not even a run record" test "$status" -eq 0 -a ! -s err

# Every length that a full disk or SIGKILL can leave: read up to there, never a crash.
size=$(stat -c %s good.rprof) survived=0
for length in $(seq 24 37 "$size"); do
    head -c "$length" good.rprof >cut.rprof
    run "$report" --summary cut.rprof
    [ "$status" -le 1 ] && survived=$((survived + 1))
done
check "cut anywhere" test "$survived" -eq "$(seq 24 37 "$size" | wc -l)"

wrong_usage() { # NAME CAUSE ARGUMENT...
    local name=$1 cause=$2
    shift 2
    run "$report" "$@"
    check "$name" fails_with 2 "$cause"
}

wrong_usage "unknown option" "unknown .*'--nonsense'" --nonsense good.rprof
wrong_usage "unknown letter" "unknown .*'-x'" -x good.rprof
wrong_usage "ambiguous option" "'--s'" --s good.rprof
wrong_usage "a value that is missing" "'--top' needs a value" --top
wrong_usage "a value where none belongs" "'--mrc=3'" --mrc=3 good.rprof
wrong_usage "unknown format" "unknown format 'xml'" --format xml good.rprof
wrong_usage "line size that is no power of two" "line size '100'" --line-size 100 good.rprof
wrong_usage "line size that is too large" "line size '8192'" --line-size 8192 good.rprof
wrong_usage "thread that is no number" "'x' is not a thread" --thread x good.rprof
wrong_usage "CPUs that share two caches" "none of them twice" --group 0-3:3 good.rprof
wrong_usage "CPUs that are no numbers" "sets of CPUs like 0-3,8:4-7" --group 0-x good.rprof
wrong_usage "no rows" "from 1 to 1000000" --top 0 good.rprof
wrong_usage "rows that are no number" "from 1 to 1000000" --top 1x good.rprof
wrong_usage "a thread of several profiles" "wants one profile" --thread 1 good.rprof cut.rprof
wrong_usage "--merge without an output" "needs -o" --merge good.rprof
wrong_usage "--merge without profiles" "needs the profiles" --merge -o all.rprof
wrong_usage "--merge with a section" "takes no section" --merge -o all.rprof --mrc good.rprof

failure() { # NAME CAUSE ARGUMENT...
    local name=$1 cause=$2
    shift 2
    run "$report" "$@"
    check "$name" fails_with 1 "$cause"
}

failure "unknown machine" 'cray' --machine cray good.rprof
printf 'cache = 1 nonsense\n' >bad.machine
failure "bad machine file" 'bad.machine' --machine bad.machine good.rprof
failure "thread that is not there" 'no thread 99' --thread 99 good.rprof
failure "region that is not there" "'nowhere'" --region nowhere good.rprof
failure "merging what is no profile" 'zeros.rprof' --merge -o all.rprof zeros.rprof
check "a failed merge leaves nothing" test ! -e all.rprof
printf 'defaults\nrun engine exact\nthread 1 main\nhistogram 1 1 64 0 0 10 1 3=9\nfinish\n' |
    "$script" exact.rprof
failure "exact and sampled together" 'exact' good.rprof exact.rprof
failure "a line size that was not counted" '128-byte' --line-size 128 exact.rprof
failure "a line size that bursts do not tell" 'lines of 64 bytes, and half, twice and four times' \
    --line-size 512 good.rprof

# Of several files the good ones are shown, and each bad one is named.
run "$report" --summary good.rprof
cp out alone
run "$report" --summary missing.rprof good.rprof empty.rprof
check "one good file of three: status 1" status_is 1
check "the bad ones are named" eval '[ "$(grep -c "^reuse-report: left out: " err)" -eq 2 ] &&
    grep -q "missing.rprof.*No such file" err && grep -q "empty.rprof" err'
check "the good one is shown as alone" cmp -s alone out
run "$report" missing.rprof empty.rprof
check "no good file at all" eval 'status_is 1 && [ ! -s out ] && grep -q "none of the files" err'

# Names in the profile come from the target: what a terminal obeys does not get there.
printf 'defaults\nrun command evil \033[31mred\007\nthread 1 ma\033in\nprobes 1 0:3=2048\nburst 1 0\nfinish\n' |
    "$script" evil.rprof
run "$report" --summary --threads evil.rprof
check "no control characters reach the terminal" bash -c "! grep -qP '[\\x00-\\x08\\x0b-\\x1f]' out"
printf 'defaults\nrun command bad \377 utf-8\nprobes 1 0:3=2048\nburst 1 0\nfinish\n' | "$script" latin.rprof
run "$report" --format json latin.rprof
check "json stays UTF-8" python3 -c 'import json; json.load(open("out", encoding="utf-8"))'

run "$report" --help
check "--help" test "$status" -eq 0 -a -s out -a ! -s err
check "--help names every section" bash -c 'for s in summary histogram mrc threads objects lines contexts
    do grep -q -- "--$s " out || exit 1; done'
check "the manual has every option" bash -c '"$0" --help | grep -oE -- "--[a-z-]+" | sort -u |
    while read -r option; do
        sed "s/\\\\-/-/g" "$1" | grep -q -- "$option" || { echo "$option"; exit 1; }
    done' "$report" "$REUSE_SRCDIR/man/reuse-report.1"
run "$report" --version
check "--version" out_has '^reuse-report .*[0-9]'
finish
