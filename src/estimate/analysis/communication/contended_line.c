/* SPDX-License-Identifier: BSD-3-Clause */
#include "analysis/communication/contended_line.h"

#include <math.h>
#include <stdlib.h>

#include "support/memory.h"

void contended_line_create(struct contended_line *line, size_t n)
{
    *line = (struct contended_line){
        .threads = allocate(n + 1, sizeof *line->threads),
        .average = allocate(n + 1, sizeof *line->average),
        .active = allocate(n + 1, sizeof *line->active),
    };
}

void contended_line_free(struct contended_line *line)
{
    free(line->threads);
    free(line->average);
    free(line->active);
    *line = (struct contended_line){0};
}

bool contended_stores_again(const struct record_sample *sample)
{
    return sample->flags & SAMPLE_LINE_VISIT && sample->next_store != REUSE_TIME_NONE;
}

double contended_gap_ns(const struct analysis *analysis, const struct line_uses *uses,
                        const struct analysed_sample *sample, double accesses)
{
    const struct line_uses_span *span = &uses->spans[sample->profile];
    double rate = analysis->rates.loops[sample->loop].per_ns.value;

    /* Where application time counts accesses, ns are known of the whole thread alone. */
    if (profile_counts_accesses(analysis->profiles[sample->profile]) && span->last > span->first)
        rate = analysis->threads[sample->thread].accesses / (double)(span->last - span->first);
    return rate > 0 ? accesses / rate : 0;
}

/* Accesses to the thread's next use of the kind, where its window saw one; else 0. */
static double next_use(const struct analysis *analysis, const struct record_sample *sample)
{
    uint32_t reuse = sample->reuse_time[line_size_index(analysis->run_line_size)];

    if (sample->kind == ACCESS_STORE)
        return contended_stores_again(sample) ? sample->next_store : 0;
    return reuse != REUSE_TIME_NONE ? reuse : 0;
}

struct pace {
    double all, squares; /* weights of the uses, and their squares */
    double weight, gaps; /* of uses whose next is known; and times the gap, ns */
};

static double active_rate(const struct pace *pace, double average)
{
    return pace->gaps > 0 ? fmax(average, pace->weight / pace->gaps) : average;
}

/* x++ loads as often as it stores; that few samples say so only about would look like loads of
 * their own. */
static bool are_as_many(const struct pace *loads, const struct pace *stores)
{
    double apart = loads->all - stores->all;

    return loads->all > 0 && stores->all > 0 &&
           apart * apart < 4 * (loads->squares + stores->squares);
}

static void describe_thread(const struct analysis *analysis, const struct line_uses *uses,
                            const struct contended_line *line, size_t index, double width)
{
    struct contended_thread *thread = &line->threads[index];
    struct line_user *average = &line->average[index], *active = &line->active[index];
    struct pace loads = {0}, stores = {0};

    for (size_t i = thread->first; i < thread->first + thread->count; i++) {
        const struct analysed_sample *sample = &analysis->samples[line->uses[i].sample];
        double gap = contended_gap_ns(analysis, uses, sample, next_use(analysis, sample->record));
        struct pace *pace = line->uses[i].store ? &stores : &loads;

        pace->all += sample->weight;
        pace->squares += sample->weight * sample->weight;
        pace->weight += gap > 0 ? sample->weight : 0;
        pace->gaps += sample->weight * gap;
    }
    thread->loads = loads.all;
    thread->stores = stores.all;
    *average = (struct line_user){loads.all / width, stores.all / width};
    *active = (struct line_user){active_rate(&loads, average->loads),
                                 active_rate(&stores, average->stores)};
    if (are_as_many(&loads, &stores)) {
        average->loads = average->stores = (average->loads + average->stores) / 2;
        active->loads = active->stores = (active->loads + active->stores) / 2;
    }
}

void contended_line_describe(const struct analysis *analysis, const struct line_uses *uses,
                             const struct line_use *first, size_t n, struct contended_line *line)
{
    line->uses = first;
    line->count = n;
    line->thread_count = 0;
    line->stores = false;
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || first[i].thread_id != first[i - 1].thread_id)
            line->threads[line->thread_count++] =
                (struct contended_thread){.thread_id = first[i].thread_id, .first = i};
        line->threads[line->thread_count - 1].count++;
        line->stores |= first[i].store;
    }
    for (size_t i = 0; i < line->thread_count; i++)
        describe_thread(analysis, uses, line, i, line_uses_bin_width(uses, first));
}
