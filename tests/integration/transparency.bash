# SPDX-License-Identifier: BSD-3-Clause
# For integration tests that run a program plainly and then profiled, and compare what can be seen of
# it from outside: standard output, standard error, how it ended, the files that it left behind.
#
#     target NAME [OPTIONS] -- COMMAND...       one result
#         --profiles N     that many processes must have a profile with samples (default 1)
#         --at-least N     ... or more
#         --messages N     lines of ours on stderr that may appear: "libreuse: ..." (default 0)
#         --loud           not quiet: exactly one line of ours must appear
#         --seconds N      time that each of the two runs may take (default 60)
#         --open-files N, --file-size BYTES, --signal N --after MS       see programs/run_target.c
#
# Every profile must be readable by reuse-report. COMMAND runs in an empty folder of its own; what it
# needs is prepared in $input. $library is what is preloaded; more libraries may follow it behind colons.
. "$REUSE_SRCDIR/tests/integration/tap.bash"
programs=$REUSE_BUILDDIR/tests/integration/programs
library=${library:-$REUSE_BUILDDIR/runtime/.libs/libreuse.so}
report=$REUSE_BUILDDIR/postproc/reuse-report
input=$work/input
mkdir "$input"

# whole_script_skips WHY: for what makes all of a script pointless.
whole_script_skips() {
    skip "$(basename "$0" .sh)" "$1"
    finish
    exit 0
}

[ -e "${library%%:*}" ] || whole_script_skips "runtime not built"
if nm -D "${library%%:*}" 2>/dev/null | grep -qE '__(asan|ubsan|tsan)_'; then
    whole_script_skips "a library with sanitizers cannot be preloaded"
fi

# run_side plain|profiled RUN_TARGET_OPTIONS... -- COMMAND...: one run, seen from outside.
run_side() {
    local side=$1 options=()
    shift
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    rm -rf "$work/place" "$work/profiles"
    mkdir -m 777 "$work/place"
    mkdir -m 1777 "$work/profiles"
    chmod 1777 "$work/profiles"
    (
        cd "$work/place" || exit 125
        if [ "$side" = profiled ]; then
            export REUSE_OUTPUT="$work/profiles/%e.%p.rprof"
            [ -n "$loud" ] || export REUSE_QUIET=1
            options+=(--preload "$library")
        fi
        exec "$programs/run_target" ${options[@]+"${options[@]}"} "$work/$side.result" "$seconds" "$@"
    ) >"$work/$side.out" 2>"$work/$side.all" </dev/null || echo "run_target failed" >"$work/$side.result"
    grep -v '^libreuse: ' "$work/$side.all" >"$work/$side.err"
    (cd "$work/place" && find . -type f -exec sha256sum {} + | sort -k 2) >"$work/$side.files"
}

# Prints one line for each way in which the two runs differ.
differences() {
    local what
    for what in result out err files; do
        cmp -s "$work/plain.$what" "$work/profiled.$what" && continue
        echo "$what differs (<: plain, >: profiled)"
        diff "$work/plain.$what" "$work/profiled.$what" | head -n 12
    done
    if grep -q timeout "$work/plain.result"; then
        echo "the plain run took more than $seconds s"
    fi
}

# Prints one line for each thing wrong with the profiles and messages of the profiled run.
profile_faults() {
    local profile sampled=0 lines
    for profile in "$work"/profiles/*; do
        [ -e "$profile" ] || continue
        if ! "$report" --format json --summary "$profile" >"$work/report.out" 2>"$work/report.err"; then
            echo "reuse-report rejects $(basename "$profile"): $(cat "$work/report.err")"
        elif grep -qE '^ *"samples": [1-9]' "$work/report.out"; then
            sampled=$((sampled + 1))
        fi
    done
    if [ "$sampled" -lt "$profiles" ] || { [ -z "$more" ] && [ "$sampled" -gt "$profiles" ]; }; then
        echo "$sampled profiles with samples instead of $profiles${more:+ or more}:"
        ls -l "$work/profiles"
    fi
    lines=$(told "$work/profiled.all" | grep -c '^libreuse: ')
    if [ "$lines" -gt "$messages" ] || { [ -n "$loud" ] && [ "$lines" -ne 1 ]; }; then
        echo "$lines lines of ours on stderr instead of $messages:"
        grep '^libreuse: ' "$work/profiled.all" | head -n 5
    fi
}

target() {
    local name=$1 profiles=1 more='' messages=0 loud='' seconds=60 options=()
    shift
    while [ "$1" != -- ]; do
        case $1 in
        --profiles) profiles=$2 && shift ;;
        --at-least) profiles=$2 more=yes && shift ;;
        --messages) messages=$2 && shift ;;
        --loud) loud=yes messages=1 ;;
        --seconds) seconds=$2 && shift ;;
        *) options+=("$1" "$2") && shift ;;
        esac
        shift
    done
    shift
    if ! command -v "$1" >/dev/null; then
        skip "$name" "$1 is not installed"
        return
    fi
    run_side plain ${options[@]+"${options[@]}"} -- "$@"
    run_side profiled ${options[@]+"${options[@]}"} -- "$@"
    { differences; profile_faults; } >"$work/faults"
    tests=$((tests + 1))
    if [ -s "$work/faults" ]; then
        echo "not ok $tests - $name"
        sed 's/^/#   /' "$work/faults"
    else
        echo "ok $tests - $name"
    fi
}
