#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# The microbenchmarks' command lines, their Matrix Market reader, and threads.
. "$REUSE_SRCDIR/tests/integration/tap.bash"
programs=$REUSE_BUILDDIR/microbench

said_result() { out_has '^iterations=[1-9][0-9]* checksum=[-+0-9.e]+$' && err_is_empty; }
ran() { status_is 0 && said_result; }

"$programs/matrix-generate" --rows 300 --bandwidth 20 --output "$work/m.mtx" || exit 1
for name in chase contention dmtvm dmtvm-vector handover matmul mixture object-kinds phases probes spmv stencil stream sweep zipf; do
    operand=()
    [ $name = spmv ] && operand=("$work/m.mtx")
    run "$programs/$name" --help
    check "$name --help" status_is 0
    check "... names its options" out_has '^  --truth FILE'
    run "$programs/$name" ${operand[@]+"${operand[@]}"} --seconds 0.05
    check "$name --seconds" ran
    run "$programs/$name" --iterations=2 --truth "$work/truth" ${operand[@]+"${operand[@]}"}
    check "$name --iterations --truth" ran
    check "... the truth says the same number" grep -q '"iterations": 2[,}]' "$work/truth"
    run "$programs/$name" --nonsense
    check "$name rejects an unknown option" fails_with 2 "^$name: unknown option '--nonsense'"
    run "$programs/$name" --iterations 1 --seconds 1 ${operand[@]+"${operand[@]}"}
    check "$name rejects two lengths" fails_with 2 'exclude each other'
done

usage() {
    local message=$1 name=$2
    shift
    run "$programs/$@"
    check "$*: $message" fails_with 2 "^$name: .*$message"
}
usage 'needs a value' sweep --bytes
usage "'1x' is not a size" sweep --bytes 1x
usage 'is outside' sweep --bytes 999G --iterations 1
usage 'is not a size' sweep --bytes 99999999999999999999G
usage "'-5' is not a whole number" sweep --iterations -5
usage "'0' is not a positive number" sweep --seconds 0
usage 'is not one of load' sweep --access loa --iterations 1
usage 'not a multiple of 8' sweep --stride 12
usage 'unexpected operand' sweep extra
usage 'MATRIX.mtx is missing' spmv --iterations 1
usage 'is not 5 whole numbers' mixture --sizes 2,4,6
usage 'is not even' mixture --sizes 2,4,7,8,10
usage 'power of two' zipf --scatter --elements 96
usage 'takes no value' matmul --naive=yes
usage 'more entries than' matrix-generate --rows 5 --per-row 6
run "$programs/sweep" --iterations 1 --truth /nonexistent/file
check "an unwritable truth" fails_with 1 '^sweep: cannot write /nonexistent/file: No such file'
run "$programs/sweep" --iterations 1 --truth /dev/full
check "a truth on a full disk" fails_with 1 '^sweep: cannot write /dev/full: No space left'
run "$programs/sweep" --iterations 3 --truth -
check "--truth - writes JSON on standard output" out_has '^\{"schema": "libreuse-truth/1"'
check "... and the result elsewhere" err_has '^iterations=3 checksum='

# matrix TEXT MESSAGE: a file that must be rejected with that message; %b in TEXT.
matrix() {
    printf '%b' "$1" >"$work/bad.mtx"
    run "$programs/spmv" --iterations 1 "$work/bad.mtx"
    check "matrix: $2" fails_with 1 "^spmv: $work/bad.mtx(:[0-9]+)?: $2"
}
banner='%%MatrixMarket matrix coordinate'
matrix '' 'empty file'
matrix 'hello world\n' 'not a Matrix Market file'
matrix '%%MatrixMarket matrix array real general\n' "'matrix array' is not supported"
matrix "$banner complex general\n" "field 'complex' is not supported"
matrix "$banner real hermitian\n" "symmetry 'hermitian' is not supported"
matrix "$banner real general\n% only this\n" 'ends before the line of sizes'
matrix "$banner real general\n2 2\n" 'the number of entries is missing'
matrix "$banner real general\n0 2 1\n" 'the number of rows is outside'
matrix "$banner real general\n2 2 1 7\n" 'more on the line'
matrix "$banner real general\n2 2 2\n1 1 3.5\n" 'ends after 1 of 2 entries'
matrix "$banner real general\n2 2 1\n1 1 3.5\n2 2 1\n" 'more than the 1 entries'
matrix "$banner real general\n2 2 1\n3 1 3.5\n" 'the row is outside 1..2'
matrix "$banner real general\n2 2 1\n1 0 3.5\n" 'the column is outside 1..2'
matrix "$banner real general\n2 2 1\n1 1.5 2\n" 'the column is not a whole number'
matrix "$banner real general\n2 2 1\n1 1\n" 'the value is missing'
matrix "$banner real general\n2 2 1\n1 1 nan\n" 'the value is not finite'
matrix "$banner pattern general\n2 2 1\n1 1 4\n" 'more on the line'
matrix "$banner real symmetric\n2 3 1\n1 1 4\n" 'a symmetric matrix cannot have 2 rows and 3 columns'
matrix "$banner real symmetric\n2 2 1\n1 2 4\n" 'an entry above the diagonal'
matrix "$banner real general\n2 2 1\n1 1 \\00003\n" 'a zero byte'
run "$programs/spmv" --iterations 1 "$work/none.mtx"
check "matrix: no such file" fails_with 1 'cannot read .*No such file'

# x is 1, 2, 3, 1 ...: the sums of y by hand.
accepted() {
    printf '%b' "$1" >"$work/good.mtx"
    run "$programs/spmv" --iterations 1 "$work/good.mtx"
    check "matrix: $3" out_has "^iterations=1 checksum=$2\$"
}
accepted "$banner real general\r\n% c\r\n\r\n2 3 2\r\n1 3 0.5\r\n2 1 -2e0\r\n" -0.5 'CRLF, comments, blanks'
accepted "$banner integer symmetric\n3 3 2\n2 1 4\n3 3 1\n" 15 'symmetric'
accepted "$banner PATTERN general\n3 3 3\n1 1\n1 1\n3 2\n" 4 'pattern, an entry twice'

for kind in banded uniform power-law laplacian; do
    run "$programs/matrix-generate" --kind $kind --rows 900 --per-row 5 --bandwidth 9 --output "$work/g.mtx"
    check "matrix-generate --kind $kind" status_is 0
    run "$programs/spmv" --iterations 1 "$work/g.mtx"
    check "... can be read" ran
done

# curve FILE LINE_SIZE: the miss ratios of a truth at that line size, one a line.
curve() {
    awk -v size="\"line_size\": $2," '/"line_size":/ { on = index($0, size) } /"mrc"/ { m = on } \
        /"objects"/ { m = 0 } m && /"miss_ratio"/ { print $NF }' "$1"
}
same_curves() {
    curve "$work/one" "$3" >"$work/curve1"
    curve "$work/many" "$3" >"$work/curve2"
    [ "$(grep -c . "$work/curve1")" -eq 48 ] && cmp -s "$work/curve1" "$work/curve2"
}
# A thread's part must look like a run on that part alone.
part() {
    local one=$1 many=$2 line
    run "$programs/"$one --iterations 2 --truth "$work/one"
    run "$programs/"$many --iterations 2 --truth "$work/many"
    check "$many" ran
    for line in 64 256; do
        check "... as $one, lines of $line" same_curves _ _ $line
    done
}
part 'sweep --bytes 64K' 'sweep --bytes 256K --threads 4'
part 'dmtvm --rows 50 --columns 256' 'dmtvm --rows 50 --columns 768 --threads 3'
part 'stream --threads 1 --bytes 32K' 'stream --threads 4 --bytes 128K'
part 'chase --bytes 64K --node 256' 'chase --bytes 192K --node 256 --threads 3'
part 'mixture --invalidate 100' 'mixture --invalidate 100 --threads 2'
part 'probes --bytes 1M' 'probes --bytes 1M --threads 2'
for program in 'stencil --rows 40 --columns 64' 'matmul --size 64' 'matmul --size 64 --naive' \
    "spmv $work/m.mtx" zipf; do
    run "$programs/"$program --iterations 3 --threads 3 --truth "$work/many"
    check "${program##*/} on three threads" ran
done
finish
