#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# A program that allocates in every way asks the tracking what it knows of each block; also with other
# allocators behind us, and with hardly any memory for the tracking.
set -u
support=$REUSE_BUILDDIR/tests/support
library=$support/.libs/liballocation_preload.so
program=$support/allocation_program

if nm -D "$library" | grep -qE '__(asan|ubsan|tsan)_'; then
    echo "1..1"
    echo "ok 1 - tracking of objects # SKIP a library with sanitizers cannot be preloaded"
    exit 0
fi

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
n=0

# Runs a program, which speaks TAP, and passes its results on under our own numbers.
run_program() {
    run_tests 13 "$program" "$@"
}

run_tests() {
    local count=$1 program=$2 name=$3
    shift 3
    env "$@" "$program" >"$work/out" 2>"$work/err"
    local status=$?
    grep -E '^#' "$work/out"
    cat "$work/err" >&2
    if [ "$status" -gt 1 ] || [ "$(grep -cE '^(not )?ok ' "$work/out")" -ne "$count" ]; then
        echo "not ok $((++n)) - $name: exit status $status"
        return
    fi
    while IFS= read -r line; do
        echo "${line%% [0-9]*} $((++n)) - $name: ${line#* - }"
    done < <(grep -E '^(not )?ok ' "$work/out")
}

find_library() {
    ldconfig -p | awk -v name="$1" '$1 == name { print $NF; exit }'
}

run_program "C library" LD_PRELOAD="$library"
run_program "lazy binding off" LD_PRELOAD="$library" LD_BIND_NOW=1
run_tests 14 "$support/allocation_sample" "every block" LD_PRELOAD="$library"
run_tests 14 "$support/allocation_sample" "a sample" LD_PRELOAD="$library" ALLOCATION_SAMPLE=1
# 2 us a block: small ones are dear after some 250, large ones after some 250 of their own.
run_tests 8 "$support/allocation_large" "large blocks" LD_PRELOAD="$library" ALLOCATION_SAMPLE=1 \
    ALLOCATION_TICK_NS=2000
for allocator in libjemalloc.so.2 libtcmalloc_minimal.so.4; do
    path=$(find_library "$allocator")
    if [ -z "$path" ]; then
        echo "ok $((++n)) - $allocator # SKIP not installed"
        continue
    fi
    run_program "$allocator" LD_PRELOAD="$library $path" NO_PVALLOC=1
done

# With a budget of one node chunk nearly everything goes untracked, is counted, and nothing breaks.
seq -f 'line %g of the input' 2000 >"$work/lines"
ALLOCATION_BUDGET=65536 ALLOCATION_LOG=$work/log LD_PRELOAD=$library sort -R "$work/lines" \
    >"$work/out" 2>"$work/err"
status=$?
if [ "$status" -eq 0 ] && cmp -s <(sort "$work/out") <(sort "$work/lines"); then
    echo "ok $((++n)) - small budget changes nothing"
else
    echo "not ok $((++n)) - small budget changes nothing"
fi
if awk '{ for (i = 1; i < NF; i++) f[$i] = $(i + 1) } END { exit !(f["node_bytes"] <= 65536) }' \
    "$work/log"; then
    echo "ok $((++n)) - budget is kept"
else
    echo "not ok $((++n)) - budget is kept"
fi
echo "1..$n"
