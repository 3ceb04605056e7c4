/* SPDX-License-Identifier: BSD-3-Clause */
/* Coherence transfers against the definition, applied byte by byte to sets of copies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reuse/exact_coherence.h"
#include "sampling/random.h"
#include "support/test_seed.h"

enum { THREADS = 5, LINES = 3, BYTES_MAX = 256, EVENTS_MAX = 64 };

/* The definition. Threads are 0 .. THREADS-1 here. */
struct model_line {
    int last_writer; /* -1: nobody */
    bool holds[THREADS], had[THREADS];
    bool accessed[THREADS][BYTES_MAX];          /* since it got its copy */
    bool written_by_others[THREADS][BYTES_MAX]; /* since it lost it, or ever */
    struct exact_end last[THREADS], last_write[THREADS];
};

struct events {
    struct exact_transfer items[EVENTS_MAX];
    size_t count;
};

static void add_event(struct events *events, const struct exact_end *source,
                      const struct exact_end *destination, enum transfer_kind kind,
                      bool true_sharing, uint64_t line)
{
    assert_true(events->count < EVENTS_MAX);
    events->items[events->count++] = (struct exact_transfer){.source = *source,
                                                             .destination = *destination,
                                                             .kind = kind,
                                                             .true_sharing = true_sharing,
                                                             .line = line};
}

static void model_access(struct model_line *line, uint64_t number, int thread, unsigned first,
                         unsigned last, bool write, uint32_t instruction, struct events *events)
{
    const struct exact_end now = {(uint32_t)thread + 1, instruction, (uint16_t)first,
                                  (uint8_t)(last - first + 1)};
    if (write) {
        for (int other = 0; other < THREADS; other++) {
            if (other == thread || !line->holds[other])
                continue;
            bool meets = false;
            for (unsigned i = first; i <= last; i++)
                meets |= line->accessed[other][i];
            bool wrote = line->last_writer == other;
            add_event(events, wrote ? &line->last_write[other] : &line->last[other], &now,
                      wrote ? TRANSFER_WAW : TRANSFER_WAR, meets, number);
            line->holds[other] = false;
            memset(line->written_by_others[other], 0, sizeof line->written_by_others[other]);
        }
        for (int other = 0; other < THREADS; other++)
            for (unsigned i = first; i <= last && other != thread; i++)
                line->written_by_others[other][i] = true;
        line->last_writer = thread;
    } else if (!line->holds[thread] && line->last_writer >= 0 && line->last_writer != thread) {
        bool meets = false;
        for (unsigned i = first; i <= last; i++)
            meets |= line->written_by_others[thread][i];
        add_event(events, &line->last_write[line->last_writer], &now, TRANSFER_RAW, meets, number);
    }
    if (!line->holds[thread])
        memset(line->accessed[thread], 0, sizeof line->accessed[thread]);
    line->holds[thread] = line->had[thread] = true;
    for (unsigned i = first; i <= last; i++)
        line->accessed[thread][i] = true;
    line->last[thread] = now;
    if (write)
        line->last_write[thread] = now;
}

static void collect(void *context, const struct exact_transfer *transfer)
{
    struct events *events = context;
    assert_true(events->count < EVENTS_MAX);
    events->items[events->count++] = *transfer;
}

static int compare(const void *a, const void *b)
{
    const struct exact_transfer *x = a, *y = b;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return (x->source.thread > y->source.thread) - (x->source.thread < y->source.thread);
}

static void assert_same_end(const struct exact_end *got, const struct exact_end *want)
{
    assert_int_equal(got->thread, want->thread);
    assert_int_equal(got->instruction, want->instruction);
    assert_int_equal(got->offset, want->offset);
    assert_int_equal(got->width, want->width);
}

static void random_accesses_at(uint32_t line_size, uint64_t seed)
{
    struct random random;
    random_seed(&random, seed);
    struct exact_coherence *coherence = exact_coherence_create(line_size);
    struct exact_coherence_thread *threads = calloc(THREADS, sizeof *threads);
    static struct model_line model[LINES];
    static struct events want, got;
    memset(model, 0, sizeof model);
    for (int i = 0; i < LINES; i++)
        model[i].last_writer = -1;
    for (uint32_t i = 0; i < THREADS; i++)
        exact_coherence_thread_init(&threads[i], coherence, i + 1, collect, &got);
    size_t events = 0;
    for (int step = 0; step < 30000; step++) {
        int thread = (int)random_below(&random, THREADS);
        unsigned width = 1 + random_below(&random, random_below(&random, 4) ? 8 : 64);
        uint64_t address = random_below(&random, LINES * line_size - width + 1);
        bool write = random_below(&random, 3) == 0;
        uint32_t instruction = 1 + random_below(&random, 1000);
        want.count = got.count = 0;
        bool want_lost = false;
        for (uint64_t line = address / line_size; line <= (address + width - 1) / line_size;
             line++) {
            uint64_t low = line * line_size, high = low + line_size - 1, end = address + width - 1;
            unsigned first = (unsigned)((address > low ? address : low) - low);
            unsigned last = (unsigned)((end < high ? end : high) - low);
            want_lost |= model[line].had[thread] && !model[line].holds[thread];
            model_access(&model[line], line, thread, first, last, write, instruction, &want);
        }
        bool lost = exact_coherence_access(&threads[thread], address, width, write, instruction);
        assert_int_equal(lost, want_lost);
        assert_int_equal(got.count, want.count);
        qsort(got.items, got.count, sizeof got.items[0], compare);
        qsort(want.items, want.count, sizeof want.items[0], compare);
        for (size_t i = 0; i < want.count; i++) {
            assert_int_equal(got.items[i].line, want.items[i].line);
            assert_same_end(&got.items[i].source, &want.items[i].source);
            assert_same_end(&got.items[i].destination, &want.items[i].destination);
            assert_int_equal(got.items[i].kind, want.items[i].kind);
            assert_int_equal(got.items[i].true_sharing, want.items[i].true_sharing);
        }
        events += want.count;
    }
    assert_true(events > 10000);
    assert_int_equal(exact_coherence_shared_lines(coherence), LINES);
    free(threads);
    exact_coherence_destroy(coherence);
}

static void agrees_with_the_definition(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    for (uint32_t line_size = 32; line_size <= 256; line_size *= 2)
        random_accesses_at(line_size, seed + line_size);
}

/* One pass of known outcome: what each kind is, in the words of the definition. */
static void kinds(void **state)
{
    (void)state;
    struct exact_coherence *coherence = exact_coherence_create(64);
    struct exact_coherence_thread *threads = calloc(3, sizeof *threads);
    struct events got = {.count = 0};
    for (uint32_t i = 0; i < 3; i++)
        exact_coherence_thread_init(&threads[i], coherence, i + 1, collect, &got);
    exact_coherence_access(&threads[0], 0, 8, true, 1);   /* 1 writes */
    exact_coherence_access(&threads[1], 0, 8, false, 2);  /* RAW 1->2, true */
    exact_coherence_access(&threads[2], 32, 8, false, 3); /* RAW 1->3, false: other bytes */
    exact_coherence_access(&threads[1], 8, 8, true, 4);   /* WAW 1->2 false, WAR 3->2 false */
    exact_coherence_access(&threads[2], 8, 8, false, 5);  /* RAW 2->3 true */
    static const struct {
        uint32_t source, destination;
        enum transfer_kind kind;
        bool true_sharing;
    } want[] = {{1, 2, TRANSFER_RAW, true},
                {1, 3, TRANSFER_RAW, false},
                {1, 2, TRANSFER_WAW, false},
                {3, 2, TRANSFER_WAR, false},
                {2, 3, TRANSFER_RAW, true}};
    assert_int_equal(got.count, 5);
    if (got.items[2].source.thread == 3) { /* the order of holders is not defined */
        struct exact_transfer swap = got.items[2];
        got.items[2] = got.items[3];
        got.items[3] = swap;
    }
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(got.items[i].source.thread, want[i].source);
        assert_int_equal(got.items[i].destination.thread, want[i].destination);
        assert_int_equal(got.items[i].kind, want[i].kind);
        assert_int_equal(got.items[i].true_sharing, want[i].true_sharing);
    }
    assert_int_equal(got.items[1].source.instruction, 1);
    assert_int_equal(got.items[4].destination.instruction, 5);
    free(threads);
    exact_coherence_destroy(coherence);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_definition),
        cmocka_unit_test(kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
