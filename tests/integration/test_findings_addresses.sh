#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# Rests on samples: see tests/run.
# Findings by how addresses follow each other, in data whose reuses no burst sees: strides across planes, and
# cells that name the next, against the same data along its lines and in no order.
. "${REUSE_SRCDIR:?}/tests/integration/tap.bash"
. "$REUSE_SRCDIR/tests/integration/findings.bash"
source=$REUSE_SRCDIR/tests/integration/programs/address_orders.c
cd "$work" || exit 1
gcc -std=gnu11 -g -O2 -fno-tree-vectorize -o address_orders "$source" || exit 1
record() { # KIND TURNS
    "$reuse_run" -q -e clock --budget 10 -o "$1.rprof" ./address_orders "$@" >log 2>&1 || cat log
    run "$reuse_report" --summary --format json "$1.rprof"
}
# What a page fault costs, and whether it comes first, is the machine's.
first='f = next(f for f in findings if f["pattern"] != "page faults"); names = [thing["name"] for thing in f["objects"]]; lines = [at["line"] for at in f["lines"]]'
if [ "$(uname -m)" = x86_64 ]; then
    record planes 30
    check "from plane to plane: across lines, at its line and object" says "$first
assert f['pattern'] == 'across lines' and line('planes') in lines and 'field' in names and f['time_share_hi'] > 0.3"
    run "$reuse_report" --summary planes.rprof
    check "... with the length of the steps" out_has 'in even steps of +144 +KiB|in even steps of 144 KiB'
    record rows 150
    check "along its lines: no loop to interchange" says "assert not [f for f in findings if f['pattern'] == 'across lines']"
    record indexes 10
    check "a cell names the next: pointer chasing" says "$first
assert f['pattern'] == 'linked nodes' and 'cells' in names and {line('value'), line('next')} & set(lines)"
    "$reuse_report" --merge -o merged.rprof indexes.rprof >log 2>&1
    run "$reuse_report" --summary --format json merged.rprof
    check "... in a merged file as well" says "$first
assert f['pattern'] == 'linked nodes'"
    record crowded 20
    check "rows of a power of two: crowded sets, with the padding" says "$first
assert f['pattern'] == 'crowded sets' and line('grid') in lines and 'grid' in names[0] and '64 B more' in f['remedy']"
    record padded 200
    check "rows with a line more: none" says "assert not [f for f in findings if f['pattern'] == 'crowded sets']"
    record records 2000
    check "one member of each record: few members" says "$first
assert f['pattern'] == 'few members' and line('weight') in lines and 'records' in names and '8 of every 136 bytes' in f['remedy']"
    record narrow 2000
    check "columns of rows as short: across lines" says "$first
assert f['pattern'] == 'across lines' and line('narrow') in lines and 'matrix' in names"
    record counted 60
    check "to where counters say: buckets, not an order of the indexes" says "$first
assert f['pattern'] == 'indexed' and line('scatter') in lines and 'write combining' in f['remedy']"
    record copied 200
    check "memcpy is neither sparse nor strided" says "assert not [f for f in findings
    if f['pattern'] in ('few members', 'across lines', 'anywhere')]"
    check "... and its caller is named" says "assert not findings or 'address_orders.c' in findings[0]['where']"
    record shuffled 90
    check "in no order: neither" says "$first
assert f['pattern'] == 'anywhere' and 'cells' in names"
else
    skip "planes, indexes" "what addresses are made of is known on x86-64 alone"
fi
finish
