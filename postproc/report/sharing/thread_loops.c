/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/sharing/thread_loops.h"

#include <stdlib.h>

#include "report/model/model.h"
#include "sampling/line_mask.h"

struct loop_list {
    ARRAY(struct thread_loop) loops;
    const struct line_user_place *places; /* sorted */
    size_t place_count;
    uint32_t line_size;
};

static int compare_threads(size_t p, uint32_t s, size_t q, uint32_t t)
{
    if (p != q)
        return p < q ? -1 : 1;
    return s < t ? -1 : s > t;
}

static int compare_places(const void *a, const void *b)
{
    const struct line_user_place *x = a, *y = b;
    int order = compare_threads(x->profile, x->thread_id, y->profile, y->thread_id);

    return order != 0 ? order : (x->line > y->line) - (x->line < y->line);
}

int line_user_threads_compare(const void *a, const void *b)
{
    const struct line_user_place *x = a, *y = b;

    return compare_threads(x->profile, x->thread_id, y->profile, y->thread_id);
}

static int compare_loops(const void *a, const void *b)
{
    const struct thread_loop *x = a, *y = b;
    int order = compare_threads(x->profile, x->thread_id, y->profile, y->thread_id);

    return order != 0 ? order : (x->loop > y->loop) - (x->loop < y->loop);
}

bool thread_loops_contain(const struct thread_loop *loops, size_t count, struct thread_loop loop)
{
    return count > 0 && bsearch(&loop, loops, count, sizeof(loop), compare_loops) != NULL;
}

static void add_if_there(struct loop_list *list, struct thread_loop loop, uint64_t address)
{
    struct line_user_place key = {loop.profile, loop.thread_id,
                                  line_start(address, list->line_size)};

    if (bsearch(&key, list->places, list->place_count, sizeof(key), compare_places) != NULL)
        ARRAY_PUSH(&list->loops, loop);
}

static void add_sampled(const struct analysis *analysis, struct loop_list *list)
{
    for (size_t i = 0; i < analysis_sample_count(analysis); i++) {
        size_t profile;
        const struct record_sample *sample = analysis_sample(analysis, i, &profile);

        add_if_there(list, (struct thread_loop){profile, sample->thread_id, sample->loop},
                     sample->address);
    }
}

/* Bursts tell of lines that other threads use as well, wherever they began. */
static void add_bursts(const struct profile *profile, size_t number, struct loop_list *list)
{
    for (size_t i = 0; i < profile->shared_uses.count; i++) {
        const struct record_shared_use *use = &profile->shared_uses.items[i];
        size_t burst = profile_burst_index(profile, use->burst_id);
        const struct record_burst *record;

        if (use->mapping_id != 0 || burst >= profile->bursts.count)
            continue;
        record = profile->bursts.items[burst];
        add_if_there(list, (struct thread_loop){number, record->thread_id, record->loop},
                     use->line);
    }
}

size_t thread_loops_of(const struct model *model, struct line_user_place *places, size_t count,
                       struct thread_loop **loops)
{
    struct loop_list list = {
        .places = places, .place_count = count, .line_size = analysis_line_size(model->analysis)};

    *loops = NULL;
    if (count == 0)
        return 0;
    qsort(places, count, sizeof(*places), compare_places);
    add_sampled(model->analysis, &list);
    for (size_t p = 0; p < model->profile_count; p++)
        add_bursts(model->profiles[p], p, &list);
    if (list.loops.count > 0)
        qsort(list.loops.items, list.loops.count, sizeof(*list.loops.items), compare_loops);
    *loops = list.loops.items;
    return list.loops.count;
}
