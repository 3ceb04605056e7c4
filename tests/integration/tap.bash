# SPDX-License-Identifier: BSD-3-Clause
# For integration tests in bash, which source it: one line of TAP per check, and a scratch folder.
#
#     run COMMAND...            runs it; leaves $status, and the files $work/out and $work/err
#     run piped COMMAND...      the same with a pipe for standard output: text for a page of 80 columns
#     check NAME TEST...        one result: ok if the command TEST succeeds; else shows the last run
#     check_registers NAME TEST...   the same, skipped where debug registers do not trap
#     told FILE                 what a run said, but for the line that says that they do not
#     skip NAME WHY             one result that was not looked at
#     needs_qemu WHAT           skips the rest of the script where the exact engine cannot run
#     status_is N, out_has RE, err_has RE, err_is_one_line, err_is_empty     tests for check
#     use_seam                  leaves $bin and $library: the tools, and the library whose system calls a
#                               preloaded stand-in can answer (runtime/Makefile.am)
#     finish                    the plan; must be the last command
#
# $REUSE_SRCDIR and $REUSE_BUILDDIR say where sources and build are (tests/Makefile.am sets them).
set -u
: "${REUSE_SRCDIR:?}" "${REUSE_BUILDDIR:?}"
work=$(mktemp -d) || exit 1
chmod 755 "$work"
trap 'rm -rf "$work"' EXIT
# What reuse-doctor measured on this machine is not to change what reports say.
export XDG_CONFIG_HOME=$work/config
tests=0 status=0

run() {
    "$@" >"$work/out" 2>"$work/err" </dev/null
    status=$?
}

piped() (
    set -o pipefail
    "$@" | cat
)

check() {
    local name=$1
    shift
    tests=$((tests + 1))
    if "$@"; then
        echo "ok $tests - $name"
    else
        echo "not ok $tests - $name"
        echo "#   failed: $*; last run: status $status, output:"
        head -n 20 "$work/out" "$work/err" 2>/dev/null | sed 's/^/#   /'
    fi
}

skip() {
    tests=$((tests + 1))
    echo "ok $tests - $1 # SKIP $2"
}

# Virtual machines may keep the traps for themselves. Asked once, of a run that has nothing else to tell.
registers_trap() {
    local profile=$work/registers.rprof
    if [ -z "${registers_state:-}" ]; then
        REUSE_QUIET=1 REUSE_OUTPUT=$profile LD_PRELOAD=$REUSE_BUILDDIR/runtime/.libs/libreuse.so env true
        registers_state=$("$REUSE_BUILDDIR/postproc/reuse-report" --format json "$profile" 2>/dev/null |
            sed -n 's/.*"registers_state": *"\([a-z]*\)".*/\1/p')
        rm -f "$profile"
    fi
    [ "${registers_state:-trap}" = trap ]
}

check_registers() {
    if registers_trap; then
        check "$@"
    else
        skip "$1" "debug registers do not trap here"
    fi
}

told() {
    grep -v '^libreuse: debug registers can be armed, but never trap' "$1"
}

use_seam() {
    mkdir -p "$work/seam/bin" "$work/seam/lib"
    bin=$work/seam/bin library=$work/seam/lib/libreuse.so
    cp "$REUSE_BUILDDIR"/postproc/reuse-{run,report} "$bin"
    cp "$REUSE_BUILDDIR/runtime/.libs/libreuse-seam.so" "$library"
}

needs_qemu() {
    if ! command -v qemu-x86_64 >/dev/null; then
        skip "$1" "qemu-x86_64 is not installed"
        finish
        exit 0
    fi
}

status_is() { [ "$status" -eq "$1" ]; }
out_has() { grep -qE -- "$1" "$work/out"; }
err_has() { grep -qE -- "$1" "$work/err"; }
err_is_one_line() { [ "$(told "$work/err" | wc -l)" -eq 1 ]; }
err_is_empty() { [ ! -s "$work/err" ]; }
# fails_with STATUS RE: that status, nothing on stdout, one line on stderr that matches.
fails_with() { status_is "$1" && err_has "$2" && err_is_one_line && [ ! -s "$work/out" ]; }

finish() {
    echo "1..$tests"
}
