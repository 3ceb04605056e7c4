#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# Programs that many people use, profiled and not.
# Rests on samples: see tests/run. The shortest of them runs for a few expiries.
. "$REUSE_SRCDIR/tests/integration/transparency.bash"

cat >"$input/threads.py" <<'PYTHON'
import collections, hashlib, re, subprocess, sys, threading
results = {}
def work(k):
    counts = collections.Counter(str(i * k % 1009) for i in range(40000))
    results[k] = hashlib.sha256(repr(sorted(counts.items())).encode()).hexdigest()
threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 9)]
for t in threads: t.start()
for t in threads: t.join()
for k in sorted(results): print(k, results[k])
print(subprocess.run(["sort", "-r"], input=b"a\nc\nb\n", capture_output=True).stdout)
print(subprocess.run([sys.executable, "-c", "import sys; print('inner'); sys.exit(7)"]).returncode)
print(len(re.findall(r"(\d{3})\1", "".join(str(i) for i in range(200000)))))
def recurse(n): return recurse(n + 1)
try: recurse(0)
except RecursionError as error: print(error)
try: [0] * 10**15
except MemoryError: print("MemoryError")
with open("left", "w") as left: left.write("by python\n")
sys.exit(3)
PYTHON
target "python3 with threads and subprocesses" --at-least 1 -- python3 "$input/threads.py"

cat >"$input/query.sql" <<'SQL'
create table t(a integer, b integer, c text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 60000)
    insert into t select (i * 7919) % 100003, i, 'text' || (i % 97) from n;
create index i on t(c, a);
select c, count(*), min(a), max(b) from t group by c order by c;
select count(*) from t x join t y on x.a = y.b;
delete from t where a % 3 = 0;
vacuum;
select count(*), sum(a) from t;
SQL
target "sqlite3" -- sqlite3 -init /dev/null -batch base.db ".read $input/query.sql"

awk 'BEGIN {
    print "#include <stdio.h>\n#include <string.h>"
    for (i = 0; i < 150; i++)
        printf "int f%d(int *a, int n) { int s = %d; for (int i = 0; i < n; i++) { a[i] += i * %d; s ^= a[i] << (i & 3); " \
               "switch (s %% 5) { case 0: s += n; break; case 1: s -= a[0]; break; default: s *= 3; } } " \
               "char t[32]; snprintf(t, sizeof t, \"%%d\", s); return s + (int)strlen(t); }\n", i, i, i + 1
    print "int main(void) { int a[64] = {0}, s = 0;"
    for (i = 0; i < 150; i++) printf "s += f%d(a, 64);\n", i
    print "printf(\"%d\\n\", s); return 0; }"
}' >"$input/program.c"
cat >"$input/compile.sh" <<'SH'
gcc -O2 -g -c "$1" -o program.o && gcc program.o -o program && ./program && gcc -c missing.c
SH
target "gcc compiles, links, and fails" --at-least 1 -- sh "$input/compile.sh" "$input/program.c"

awk 'BEGIN { srand(7); for (i = 0; i < 120000; i++) print int(rand() * 1e6), "line", i % 211 }' \
    >"$input/data"
cat >"$input/roundtrip.sh" <<'SH'
set -e
"$1" "$2" -c "$3" >packed
"$1" -dc packed | cmp - "$3"
ls -s packed >/dev/null
sha256sum <packed
SH
target "xz -T2 round trip" --at-least 1 -- sh "$input/roundtrip.sh" xz -T2 "$input/data"
# At its usual level it is done in 16 ms: one run in 25 has no burst.
target "zstd -12T2 round trip" --at-least 1 -- sh "$input/roundtrip.sh" zstd -12T2 "$input/data"
target "sort in threads" -- sort --parallel=2 -k 3n -k 1n "$input/data"
target "awk" -- awk '{ sum[$3] += $1 } END { for (k = 0; k < 211; k++) print k, sum[k] }' "$input/data"
target "a shell script with a pipe" --at-least 0 -- \
    sh -c 'for i in 1 2 3; do seq 20000 | sort -R --random-source=/dev/zero | tail -n 1; done'
target "perl" -- perl -e 'my %h; $h{$_ % 9973} .= chr(65 + $_ % 26) for 1 .. 600000; print length(join "", sort values %h), "\n"; exit 9'
finish
