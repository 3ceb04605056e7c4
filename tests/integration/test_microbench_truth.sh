#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# What each microbenchmark claims of its locality against the accesses that it really makes: valgrind's
# lackey traces the compiled program, truth_oracle replays the trace through a plain LRU list.
set -u
programs=${REUSE_BUILDDIR:?}/microbench
oracle=$REUSE_BUILDDIR/tests/integration/programs/truth_oracle
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

if ! command -v valgrind >/dev/null; then
    printf "1..1\nok 1 - truth # SKIP valgrind is not installed\n"
    exit 0
fi
if nm "$programs/sweep" | grep -q __asan_init; then
    printf "1..1\nok 1 - truth # SKIP valgrind cannot run a sanitized program\n"
    exit 0
fi

tests=0
# check TOLERANCE WARMUP SMALLEST PROGRAM ARGUMENTS...: see truth_oracle.c
check() {
    local tolerance=$1 warmup=$2 smallest=$3
    shift 3
    tests=$((tests + 1))
    rm -f "$scratch/truth"
    # The truth comes from a run of its own, so that finding it is not in the trace: valgrind puts
    # everything at the same addresses in both, whatever its tool.
    if (cd "$programs" && exec valgrind --tool=none -q ./"$@" --truth "$scratch/truth") \
        >"$scratch/out" 2>"$scratch/err" &&
        (cd "$programs" && exec valgrind --tool=lackey --trace-mem=yes --log-fd=9 ./"$@" 9>&1 \
            >>"$scratch/out" 2>>"$scratch/err") |
        "$oracle" "$scratch/truth" "$tolerance" "$warmup" "$smallest" >"$scratch/verdict" &&
        [ "$(sort -u "$scratch/out" | grep -c '^iterations=')" -eq 1 ]; then
        echo "ok $tests - $*"
    else
        echo "not ok $tests - $*"
        cat "$scratch/err"
    fi
    head -n 30 "$scratch/verdict"
}

for kind in banded uniform power-law laplacian; do
    "$programs/matrix-generate" --kind $kind --rows 120 --per-row 6 --bandwidth 40 \
        --output "$scratch/$kind.mtx" || exit 1
done

echo "1..25"
exact=0.00001
check $exact 1 0 sweep --bytes 8K --iterations 3
check $exact 1 0 sweep --bytes 8000 --stride 24 --access store --iterations 3
check $exact 1 0 sweep --bytes 64K --stride 512 --iterations 3
check $exact 1 0 dmtvm --rows 20 --columns 96 --iterations 3
check $exact 1 0 dmtvm --rows 37 --columns 64 --iterations 3
check $exact 1 0 dmtvm --rows 13 --columns 101 --iterations 3
check $exact 1 0 dmtvm-vector --rows 13 --columns 128 --iterations 3
check $exact 1 0 chase --bytes 32K --iterations 3
check $exact 1 0 chase --bytes 32K --node 256 --iterations 3
check $exact 1 0 chase --bytes 12K --node 24 --iterations 3
check $exact 1 0 stream --threads 1 --bytes 8008 --iterations 3
check $exact 1 0 phases --sweep-bytes 3000 --chase-bytes 16K --node 256 --sweeps 5 --laps 3 --iterations 3
check $exact 1 0 phases --sweep-bytes 3000 --chase-bytes 16K --sweeps 5 --laps 3 --iterations 3
check $exact 1 0 mixture --sizes 16,32,64,128,256 --repetitions 9,7,5,3,2 --invalidate 13 --iterations 3
check $exact 1 0 mixture --sizes 16,32,64,128,256 --repetitions 1,2,5,3,1 --stride 24 --iterations 3
check $exact 1 0 matmul --size 33 --block 8 --iterations 2
check $exact 1 0 matmul --size 32 --naive --iterations 2
# Compilers order the loads of one element as they like, which moves short distances by one.
check 1 1 0 stencil --rows 40 --columns 50 --iterations 3
check 1 1 0 spmv "$scratch/banded.mtx" --iterations 3
check 1 1 0 spmv "$scratch/uniform.mtx" --iterations 3
check 1 1 0 spmv "$scratch/power-law.mtx" --iterations 3
# Random draws: a sample of 40000 against the expectation. The model is meant for caches of 16 lines
# and more.
check 1.5 2 0 probes --bytes 32K --probes 20000 --iterations 4
check 1.5 2 16 zipf --elements 1024 --probes 20000 --iterations 4
check 1.5 2 16 zipf --elements 4096 --scatter --probes 20000 --iterations 4
check 1.5 2 16 zipf --elements 1024 --index float --power 4 --probes 20000 --iterations 4
