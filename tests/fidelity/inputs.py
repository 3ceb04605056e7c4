# SPDX-License-Identifier: BSD-3-Clause
"""What the workloads read, made the same in every run: text, tables, scripts, sources."""
import os
import random

WORK_PY = """
import collections, threading
def work(k):
    counts = collections.Counter()
    for i in range(600000):
        counts[i * k % 50021] += 1
    return sum(counts.values())
threads = [threading.Thread(target=work, args=(k,)) for k in (3, 7, 11)]
for t in threads: t.start()
for t in threads: t.join()
print(sum(len(str(i)) for i in range(1500000)))
"""

THREADS_PY = """
import heapq, json, threading
def work(k):
    rows = [{"id": i * k % 30011, "name": "row%d" % (i % 977)} for i in range(60000)]
    text = json.dumps(rows)
    groups = {}
    for row in json.loads(text):
        groups.setdefault(row["name"], []).append(row["id"])
    return sum(heapq.nlargest(3, ids)[0] for ids in groups.values())
totals = []
threads = [threading.Thread(target=lambda k=k: totals.append(work(k))) for k in (3, 7, 11, 13)]
for t in threads: t.start()
for t in threads: t.join()
print(sum(totals))
"""

PROCESSES_PY = """
import multiprocessing
def work(k):
    primes, n = [], 2
    while len(primes) < 2500:
        if all(n % p for p in primes if p * p <= n):
            primes.append(n)
        n += 1
    words = {}
    for i in range(300000):
        word = "w%d" % (i * k % 9973)
        words[word] = words.get(word, 0) + 1
    return primes[-1] + len(words)
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(sum(pool.map(work, (3, 7, 11, 13), 1)))
"""

WORK_SQL = """
create table t(a integer, b integer, c text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 600000)
    insert into t select (i * 7919) % 1000003, i, 'text' || (i % 97) from n;
create index i on t(c, a);
select c, count(*), min(a), max(b) from t group by c order by c;
select count(*) from t x join t y on x.b = y.a;
"""

# A small page cache, so that sorting goes on in threads of its own.
THREADS_SQL = """
pragma threads = 2;
pragma cache_size = 400;
create table t(a integer, b integer, c text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 400000)
    insert into t select (i * 7919) % 1000003, i, 'text' || (i % 97) from n;
create index i on t(c, a);
create index j on t(a, b);
select c, count(*), min(a), max(b) from t group by c order by c;
select count(*) from t x join t y on x.b = y.a;
"""

WORK_PL = """
use strict; use warnings; use threads;
sub work {
    my ($k) = @_;
    my (%count, @lines);
    open(my $in, '<', $ARGV[0]) or die;
    while (my $line = <$in>) {
        last if $. > 90000;
        for my $word (split ' ', $line) { $count{$word}++ if length($word) % $k }
        push @lines, $line if $line =~ /a.*b.*c/;
    }
    my @top = (sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count)[0 .. 9];
    return join(' ', @top) . scalar(@lines);
}
print join("\\n", map { $_->join } map { my $k = $_; threads->create(sub { work($k) }) } 2, 3, 5), "\\n";
"""

MAKEFILE = """
CC = gcc
all: a.o b.o c.o d.o
%.o: {source}/%.c
\t$(CC) -O2 -c $< -o $@
"""


def write(scratch, name, text):
    path = os.path.join(scratch, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def c_source(functions, salt):
    text = "#include <stdio.h>\n#include <string.h>\n"
    for i in range(functions):
        text += (f"int f{i}(int *a, int n) {{ int s = {i * salt}; for (int k = 0; k < n; k++) {{ "
                 f"a[k] += k * {i}; s ^= a[k] << (k & 3); switch (s % 5) {{ case 0: s += n; "
                 f"break; case 1: s -= a[0]; break; default: s *= 3; }} }} char t[32]; "
                 f"snprintf(t, sizeof t, \"%d\", s); return s + (int)strlen(t); }}\n")
    return text


def table(lines):
    state, text = 12345, []
    for i in range(lines):
        state = (state * 1103515245 + 12345) & 0x7fffffff
        text.append(f"{state} line {i % 211}\n")
    return "".join(text)


def prose(words):
    """Lines of made-up words, some of them frequent, with phrases that repeat: compressible as text is."""
    draw = random.Random(7)
    vocabulary = ["".join(draw.choices("etaoinshrdlucmfwypvbgkjqxz", range(26, 0, -1),
                                       k=draw.randint(2, 9))) for _ in range(12000)]
    chosen = draw.choices(vocabulary, [1 / (i + 3) for i in range(12000)], k=words)
    for start in range(1000, words - 1000, 97):
        if draw.random() < 0.3:
            back = start - draw.randint(20, 900)
            chosen[start:start + 12] = chosen[back:back + 12]
    lines = [" ".join(chosen[i:i + 11]) for i in range(0, words, 11)]
    return "\n".join(lines) + "\n"


def prepare(scratch):
    """Makes all files except matrices, which take a program of the build."""
    write(scratch, "work.py", WORK_PY)
    write(scratch, "threads.py", THREADS_PY)
    write(scratch, "processes.py", PROCESSES_PY)
    write(scratch, "work.sql", WORK_SQL)
    write(scratch, "threads.sql", THREADS_SQL)
    write(scratch, "work.pl", WORK_PL)
    write(scratch, "work.c", c_source(700, 1))
    write(scratch, "data", table(400000))
    write(scratch, "long-data", table(1000000))
    text = prose(3000000)
    write(scratch, "text", text)
    write(scratch, "short-text", text[:len(text) // 2])
    source = os.path.join(scratch, "source")
    write(scratch, "source/Makefile", MAKEFILE.format(source=source))
    for salt, name in enumerate("abcd", 1):
        write(scratch, f"source/{name}.c", c_source(30, salt))
