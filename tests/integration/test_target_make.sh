#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# A project of a few files that is built by make -j2, plainly and profiled: the same objects to the byte, the
# same output, the same status; all that make starts is followed, and one line is said for all of it.
. "$REUSE_SRCDIR/tests/integration/tap.bash"
reuse_run=$REUSE_BUILDDIR/postproc/reuse-run
report=$REUSE_BUILDDIR/postproc/reuse-report
for tool in make gcc ar; do
    if ! command -v $tool >/dev/null; then
        skip "a project built by make" "$tool is not installed"
        finish
        exit
    fi
done
unset MAKEFLAGS MFLAGS MAKELEVEL # of the make that runs the tests
mkdir "$work/project" "$work/profiles"
cd "$work/project" || exit 1

for part in sort hash list; do
    cat >$part.c <<C
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "numbers.h"
struct ${part}_node { struct ${part}_node *next; long key; char name[16]; };
static int compare(const void *a, const void *b) { return memcmp(a, b, sizeof(long)); }
long ${part}_run(long n)
{
    struct ${part}_node *first = NULL, *node;
    long *keys = calloc(n, sizeof *keys), sum = 0;
    for (long i = 0; i < n; i++) {
        node = malloc(sizeof *node);
        node->next = first, node->key = keys[i] = i * FACTOR % n;
        snprintf(node->name, sizeof node->name, "$part%ld", i);
        first = node;
    }
    qsort(keys, n, sizeof *keys, compare);
    for (; (node = first) != NULL; free(node))
        sum += keys[node->key] + (long)strlen(node->name), first = node->next;
    free(keys);
    return sum;
}
C
done
cat >main.c <<'C'
#include <stdio.h>
long sort_run(long), hash_run(long), list_run(long);
int main(void)
{
    printf("%ld\n", sort_run(9) + hash_run(99) + list_run(999));
    return 0;
}
C
# Numbers made by a program that the project builds first; one more make inside; a rule that fails.
cat >generate.c <<'C'
#include <stdio.h>
int main(void) { return printf("#define FACTOR %d\n", 7919) < 0; }
C
cat >Makefile <<'M'
parts = sort.o hash.o list.o
program: main.o libparts.a
	gcc -o $@ main.o -L. -lparts
	./program > answer
libparts.a: $(parts)
	$(MAKE) --no-print-directory index
index: $(parts)
	ar rcD libparts.a $(parts)
$(parts): numbers.h
%.o: %.c
	gcc -O2 -g -pipe -c -o $@ $<
numbers.h: generate.c
	gcc -o generate generate.c
	./generate > $@
bad: $(parts)
	@echo about to fail
	sh -c 'kill -TERM $$$$'
.PHONY: index bad
M
built() { find . -type f ! -name '*.c' ! -name Makefile -exec sha256sum {} + | sort -k 2; }

# side NAME COMMAND...: a build from nothing, one with nothing to do, and one that fails.
side() {
    local name=$1
    shift
    find . -type f ! -name '*.c' ! -name Makefile -delete
    "$@" make -j2 >"$work/$name.out" 2>"$work/$name.err" </dev/null
    echo "built: $?" >"$work/$name.status"
    built >"$work/$name.files"
    "$@" make -j2 >"$work/$name.again" 2>&1 </dev/null
    echo "again: $?" >>"$work/$name.status"
    "$@" make -j2 bad >"$work/$name.bad" 2>&1 </dev/null
    echo "failed: $?" >>"$work/$name.status"
}
same() { cmp "$work/plain.$1" "$work/profiled.$1"; }
side plain env
side profiled "$reuse_run" -q -o "$work/profiles/%e.%p.rprof" --
check "the plain build builds" grep -q '^built: 0$' "$work/plain.status"
check "the same statuses" same status
check "the same files to the byte" same files
# Two at a time: their order is not fixed.
check "the same commands" cmp <(sort "$work/plain.out") <(sort "$work/profiled.out")
check "nothing on standard error" same err
check "nothing to do the second time" same again
check "a rule that is killed is told in the same words" same bad
mkdir "$work/loud"
run env REUSE_PERIOD=2000000 REUSE_OUTPUT="$work/loud/%e.%p.rprof" \
    LD_PRELOAD="$REUSE_BUILDDIR/runtime/.libs/libreuse.so" make -s -B -j2
check "one line for all processes" sh -c "test $(told "$work/err" | grep -c .) = 1 && \
    grep -qE '^libreuse: clock engine, [0-9]+ samples of [0-9]+ processes in [0-9]+ profiles?, ' '$work/err'"
refused=0
for profile in "$work"/loud/*.rprof; do
    "$report" --summary "$profile" >/dev/null 2>&1 || refused=$((refused + 1))
done
check "every profile is one" test "$refused" = 0
check "... and the compiler has some" test -n "$(ls "$work"/loud/cc1.*.rprof)"
finish
