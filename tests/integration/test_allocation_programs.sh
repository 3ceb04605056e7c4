#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# Real programs with their allocations tracked: same output, same messages, same exit status.
set -u
support=$REUSE_BUILDDIR/tests/support
library=$support/.libs/liballocation_preload.so

if nm -D "$library" | grep -qE '__(asan|ubsan|tsan)_'; then
    echo "1..1"
    echo "ok 1 - programs # SKIP a library with sanitizers cannot be preloaded"
    exit 0
fi

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
n=0

# same NAME COMMAND...: compares a plain run and a tracked one; the latter must have tracked something,
# unless it dies before it could say so (same_death).
same() {
    compare ' blocks [1-9]' "$@"
}

same_death() {
    compare '' "$@"
}

compare() {
    local tracked=$1 name=$2 missing=
    shift
    shift
    command -v "$1" >/dev/null || missing=$1
    if [ -n "$missing" ]; then
        echo "ok $((++n)) - $name # SKIP $missing is not installed"
        return
    fi
    : >log
    "$@" >out1 2>err1 </dev/null
    local status1=$?
    ALLOCATION_LOG=$work/log LD_PRELOAD=$library "$@" >out2 2>err2 </dev/null
    local status2=$?
    # And with a sample of the blocks, as in profiles.
    ALLOCATION_SAMPLE=1 LD_PRELOAD=$library "$@" >out3 2>err3 </dev/null
    local status3=$?
    if [ "$status1" -eq "$status3" ] && cmp -s out1 out3 && cmp -s err1 err3 && [ "$status1" -eq "$status2" ] && cmp -s out1 out2 && cmp -s err1 err2 &&
        { [ -z "$tracked" ] || grep -q "$tracked" log; }; then
        echo "ok $((++n)) - $name"
    else
        echo "# status $status1, tracked $status2, a sample $status3"
        diff out1 out2 | head -n 5 | sed 's/^/# /'
        diff err1 err2 | head -n 5 | sed 's/^/# /'
        echo "not ok $((++n)) - $name"
    fi
}

awk 'BEGIN { srand(1); for (i = 0; i < 20000; i++) print int(rand() * 1e9), i, "text" i % 97 }' >data
cat >query.sql <<'SQL'
create table t(a integer, b integer, c text);
.mode list
.separator " "
.import data t
create index i on t(c, a);
select c, count(*), min(a), max(b) from t group by c order by c;
select count(*) from t x join t y on x.a = y.b;
SQL
cat >threads.py <<'PY'
import collections, json, subprocess, sys, threading
counts = collections.Counter()
lock = threading.Lock()
def work(k):
    words = [str(i * k % 1009) for i in range(20000)]
    with lock:
        counts.update(words)
threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 20)]
for t in threads: t.start()
for t in threads: t.join()
print(json.dumps(sorted(counts.items())[:50]))
print(subprocess.run(["sort", "-n", "data"], capture_output=True).stdout[:200])
print(subprocess.run([sys.executable, "-c", "import sys; sys.exit(7)"]).returncode)
try:
    [0] * 10**15
except MemoryError:
    print("no memory")
sys.exit(3)
PY
cat >unit.c <<'C'
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct s { double a[8]; char *b; };
double f(struct s *s, int n) { double x = 0; for (int i = 0; i < n; i++) for (int j = 0; j < 8; j++) x += sqrt(s[i].a[j]) * (double)strlen(s[i].b); return x; }
int main(int c, char **v) { struct s *s = calloc((size_t)c, sizeof *s); for (int i = 0; i < c; i++) s[i].b = v[i]; printf("%f\n", f(s, c)); unused(); }
C

same "ls" ls -la /usr/bin
same "ls of nothing" ls /nonexistent
same "sort" sort -k3,3 -k1,1n data
same "python3: threads, processes, no memory" "$(python3 -c 'import sys; print(sys.executable)')" threads.py
same "gcc with warnings" gcc -O2 -Wall -S -o - unit.c
same "gcc that fails" gcc -O2 -Werror=implicit -S -o - unit.c
same "sqlite3" sqlite3 :memory: ".read query.sql"
same "xz with threads" xz -T2 -3 -c data
same "tar and a pipe" bash -c 'tar cf - data | tar tvf -; exit 5'
same "perl" perl -e 'my %h; while (<>) { my @f = split; push @{$h{$f[2]}}, $f[0] } print "$_ @{$h{$_}}\n" for sort keys %h; die "end\n"' data
same "C++ exceptions and threads" "$support/allocation_exceptions"
same_death "killed by a signal" bash -c 'kill -TERM $$'
echo "1..$n"
