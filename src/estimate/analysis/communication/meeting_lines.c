/* SPDX-License-Identifier: BSD-3-Clause */
#include "analysis/communication/meeting_lines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/memory.h"

/* A thread that was seen at a line in more bursts than that is there in every window. */
enum { SELDOM_BURSTS = 3 };

/* Lines of one object that a thread seldom uses. */
struct pool {
    uint32_t profile, thread_id, object_reference;
    uint8_t object_kind;
    double parties, bursts; /* at lines; those at which one burst met others count once together */
    struct scenarios mean;  /* bursts per window at one of them, whether it is met or not */
};

struct pools {
    struct pool *items; /* sorted */
    size_t count;
};

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

/* ---- uses ---- */

/* False: it is of a mapping, or its burst is not there. */
static bool describe(const struct analysis *analysis, uint32_t profile, uint32_t line_size,
                     const struct record_shared_use *record, struct burst_use *use)
{
    if (record->mapping_id != 0 || !burst_use_describe(analysis, profile, line_size, record, use))
        return false;
    use->weight *= 1 + record->earlier;
    use->app_ns *= 1 + record->earlier;
    return true;
}

static int compare_lines(const struct burst_use *x, const struct burst_use *y)
{
    int order = compare(x->profile, y->profile);

    order = order ? order : compare(x->process, y->process);
    return order ? order : compare(x->line, y->line);
}

static int compare_uses(const void *a, const void *b)
{
    const struct burst_use *x = a, *y = b;
    int order = compare_lines(x, y);

    return order ? order : burst_use_compare_times(x, y);
}

static void list_uses(const struct analysis *analysis, uint32_t line_size,
                      struct meeting_lines *lines)
{
    size_t n = 0;

    for (size_t p = 0; p < analysis->profile_count; p++)
        n += analysis->profiles[p]->shared_uses.count;
    lines->uses = allocate(n, sizeof *lines->uses);
    for (size_t p = 0; p < analysis->profile_count; p++) {
        const struct profile *profile = analysis->profiles[p];

        for (size_t i = 0; i < profile->shared_uses.count; i++)
            lines->use_count +=
                describe(analysis, (uint32_t)p, line_size, &profile->shared_uses.items[i],
                         &lines->uses[lines->use_count]);
    }
    qsort(lines->uses, lines->use_count, sizeof *lines->uses, compare_uses);
}

/* ---- lines and who is at them ---- */

static uint32_t thread_of(const struct analysis *analysis, const struct burst_use *use)
{
    return analysis->bursts[use->burst].record->thread_id;
}

static void add_line(const struct analysis *analysis, struct meeting_lines *lines, size_t first,
                     size_t count, bool windowed)
{
    struct meeting_line *line = &lines->lines[lines->line_count++];

    *line = (struct meeting_line){.first = first,
                                  .count = count,
                                  .first_party = lines->party_count,
                                  .share = 1,
                                  .windowed = windowed};
    for (size_t i = first; i < first + count; i++) {
        const struct burst_use *use = &lines->uses[i];
        uint32_t thread = thread_of(analysis, use);
        size_t party = line->first_party;

        line->share = fmin(line->share, use->record->share);
        lines->met[use->burst]++;
        while (party < lines->party_count && lines->parties[party].thread_id != thread)
            party++;
        if (party == lines->party_count)
            lines->parties[lines->party_count++] = (struct meeting_party){
                .thread_id = thread, .burst = use->burst, .stands_for = {{1, 1, 1}}};
        lines->parties[party].bursts += 1 + use->record->earlier;
    }
    line->party_count = lines->party_count - line->first_party;
}

/* Those that may not be told of in another window count anew in each. */
static void list_lines(const struct analysis *analysis, struct meeting_lines *lines)
{
    lines->lines = allocate(lines->use_count, sizeof *lines->lines);
    lines->parties = allocate(lines->use_count, sizeof *lines->parties);
    lines->met = allocate_zeroed(analysis->burst_count + 1, sizeof *lines->met);
    for (size_t i = 0, end; i < lines->use_count; i = end) {
        bool certain = true;

        for (end = i;
             end < lines->use_count && compare_lines(&lines->uses[end], &lines->uses[i]) == 0;
             end++)
            certain &= lines->uses[end].record->share >= 1;
        for (size_t from = i, to; from < end; from = to) {
            for (to = from + 1; to < end; to++)
                if (!certain && shared_use_window(lines->uses[to].time) !=
                                    shared_use_window(lines->uses[from].time))
                    break;
            add_line(analysis, lines, from, to - from, !certain);
        }
    }
}

/* ---- pools ---- */

static int compare_pools(const void *a, const void *b)
{
    const struct pool *x = a, *y = b;
    int order = compare(x->profile, y->profile);

    order = order ? order : compare(x->thread_id, y->thread_id);
    order = order ? order : compare(x->object_kind, y->object_kind);
    return order ? order : compare(x->object_reference, y->object_reference);
}

static struct pool pool_of(const struct meeting_lines *lines, const struct meeting_line *line,
                           const struct meeting_party *party)
{
    const struct burst_use *use = &lines->uses[line->first];
    double alone = 1.0 / lines->met[party->burst];

    return (struct pool){.profile = use->profile,
                         .thread_id = party->thread_id,
                         .object_kind = use->record->object_kind,
                         .object_reference = use->record->object_reference,
                         .parties = alone,
                         .bursts = alone * party->bursts};
}

/*
 * The mean of a Poisson distribution of which only the values 1 .. SELDOM_BURSTS are seen, from
 * their mean: (1 + x + x^2 / 2) / (1 + x / 2 + x^2 / 6), which grows with x.
 */
static double mean_of_all(double mean_seen)
{
    double low = 1e-4, high = 10;

    for (unsigned i = 0; i < 50; i++) {
        double x = (low + high) / 2;

        if ((1 + x + x * x / 2) / (1 + x / 2 + x * x / 6) < mean_seen)
            low = x;
        else
            high = x;
    }
    return low;
}

/* Half a use more than was seen, as a prior; its logarithm has the interval of a Poisson count. */
static void estimate_mean(struct pool *pool)
{
    double again = pool->bursts - pool->parties + 0.5;
    double factor = exp(1.96 / sqrt(again + 0.5));

    pool->mean.of[USUAL] = mean_of_all(1 + again / pool->parties);
    pool->mean.of[LEAST] = mean_of_all(1 + again * factor / pool->parties);
    pool->mean.of[MOST] = mean_of_all(1 + again / factor / pool->parties);
}

static void make_pools(const struct meeting_lines *lines, struct pools *pools)
{
    size_t n = 0;

    pools->items = allocate(lines->party_count, sizeof *pools->items);
    for (size_t i = 0; i < lines->line_count; i++)
        for (size_t p = 0; p < lines->lines[i].party_count; p++) {
            const struct meeting_party *party = &lines->parties[lines->lines[i].first_party + p];

            if (party->bursts <= SELDOM_BURSTS)
                pools->items[n++] = pool_of(lines, &lines->lines[i], party);
        }
    qsort(pools->items, n, sizeof *pools->items, compare_pools);
    pools->count = 0;
    for (size_t i = 0; i < n; i++) {
        struct pool *last = pools->count ? &pools->items[pools->count - 1] : NULL;

        if (last && compare_pools(last, &pools->items[i]) == 0) {
            last->parties += pools->items[i].parties;
            last->bursts += pools->items[i].bursts;
        } else {
            pools->items[pools->count++] = pools->items[i];
        }
    }
    for (size_t i = 0; i < pools->count; i++)
        estimate_mean(&pools->items[i]);
}

/*
 * One over the probability that a thread that comes to the line m times in a window, on average, is
 * seen there. It is so many bursts' visits that are counted as the thread's: in the other scenarios
 * there are more or fewer of them, which is shared between the two threads of a flow.
 */
static void weigh_party(const struct pool *pool, struct meeting_party *party)
{
    for (unsigned s = 0; s < SCENARIOS; s++) {
        double mean = pool->mean.of[s];

        party->stands_for.of[s] = sqrt(mean / pool->mean.of[USUAL]) / -expm1(-mean);
    }
}

/* Of a line that is seldom used, what was seen is more than usual: it was met. */
static void weigh_line(const struct analysis *analysis, struct meeting_lines *lines,
                       const struct pools *pools, const struct meeting_line *line)
{
    for (size_t p = line->first_party; p < line->first_party + line->party_count; p++) {
        struct meeting_party *party = &lines->parties[p];
        struct pool key = pool_of(lines, line, party);
        const struct pool *pool;
        double factor;

        if (party->bursts > SELDOM_BURSTS)
            continue;
        pool = bsearch(&key, pools->items, pools->count, sizeof key, compare_pools);
        factor = pool->mean.of[USUAL] / party->bursts;
        weigh_party(pool, party);
        for (size_t i = line->first; i < line->first + line->count; i++)
            if (thread_of(analysis, &lines->uses[i]) == party->thread_id) {
                lines->uses[i].weight *= factor;
                lines->uses[i].app_ns *= factor;
            }
    }
}

/* ---- turns ---- */

struct object_turns {
    uint32_t profile, process, object_reference, one, other; /* threads: one < other */
    uint8_t object_kind;
    uint64_t window; /* + 1; 0: all */
    double turns;
};

/* A burst at an object. */
struct object_use {
    struct object_turns key;
    uint32_t burst, thread_id;
    uint64_t time;
};

static int compare_objects(const struct object_turns *x, const struct object_turns *y)
{
    int order = compare(x->profile, y->profile);

    order = order ? order : compare(x->process, y->process);
    order = order ? order : compare(x->object_kind, y->object_kind);
    order = order ? order : compare(x->object_reference, y->object_reference);
    return order ? order : compare(x->window, y->window);
}

static int compare_object_uses(const void *a, const void *b)
{
    const struct object_use *x = a, *y = b;
    int order = compare_objects(&x->key, &y->key);

    order = order ? order : compare(x->time, y->time);
    return order ? order : compare(x->burst, y->burst);
}

static int compare_turns(const void *a, const void *b)
{
    const struct object_turns *x = a, *y = b;
    int order = compare_objects(x, y);

    order = order ? order : compare(x->one, y->one);
    return order ? order : compare(x->other, y->other);
}

static struct object_turns object_of(const struct burst_use *use, bool windowed)
{
    return (struct object_turns){.profile = use->profile,
                                 .process = use->process,
                                 .object_kind = use->record->object_kind,
                                 .object_reference = use->record->object_reference,
                                 .window = windowed ? shared_use_window(use->time) + 1 : 0};
}

static void set_threads(struct object_turns *turns, uint32_t x, uint32_t y)
{
    turns->one = x < y ? x : y;
    turns->other = x < y ? y : x;
}

static void count_turns(const struct analysis *analysis, struct meeting_lines *lines)
{
    size_t n = 2 * lines->use_count, count = 0;
    struct object_use *uses = allocate(n, sizeof *uses);

    for (size_t i = 0; i < n; i++) {
        const struct burst_use *use = &lines->uses[i / 2];

        uses[i] = (struct object_use){.key = object_of(use, i % 2),
                                      .burst = use->burst,
                                      .thread_id = thread_of(analysis, use),
                                      .time = use->time};
    }
    qsort(uses, n, sizeof *uses, compare_object_uses);
    lines->turns = allocate(n, sizeof *lines->turns);
    for (size_t i = 1; i < n; i++) {
        if (compare_objects(&uses[i - 1].key, &uses[i].key) != 0 ||
            uses[i - 1].thread_id == uses[i].thread_id)
            continue;
        lines->turns[count] = uses[i].key;
        lines->turns[count].turns = 1;
        set_threads(&lines->turns[count++], uses[i - 1].thread_id, uses[i].thread_id);
    }
    qsort(lines->turns, count, sizeof *lines->turns, compare_turns);
    for (size_t i = 0; i < count; i++) {
        struct object_turns *last = lines->turn_count ? &lines->turns[lines->turn_count - 1] : NULL;

        if (last && compare_turns(last, &lines->turns[i]) == 0)
            last->turns++;
        else
            lines->turns[lines->turn_count++] = lines->turns[i];
    }
    free(uses);
}

double meeting_lines_turns(const struct meeting_lines *lines, const struct meeting_line *line,
                           uint32_t one_thread, uint32_t other_thread)
{
    struct object_turns key = object_of(&lines->uses[line->first], line->windowed);
    const struct object_turns *found;

    set_threads(&key, one_thread, other_thread);
    found = bsearch(&key, lines->turns, lines->turn_count, sizeof key, compare_turns);
    return found ? found->turns : 0;
}

void meeting_lines_create(const struct analysis *analysis, uint32_t line_size,
                          struct meeting_lines *lines)
{
    struct pools pools;

    *lines = (struct meeting_lines){0};
    list_uses(analysis, line_size, lines);
    list_lines(analysis, lines);
    count_turns(analysis, lines);
    make_pools(lines, &pools);
    for (size_t i = 0; i < lines->line_count; i++)
        weigh_line(analysis, lines, &pools, &lines->lines[i]);
    free(pools.items);
}

void meeting_lines_free(struct meeting_lines *lines)
{
    free(lines->uses);
    free(lines->lines);
    free(lines->parties);
    free(lines->met);
    free(lines->turns);
    *lines = (struct meeting_lines){0};
}

static const struct meeting_party *party_of(const struct meeting_lines *lines,
                                            const struct meeting_line *line, uint32_t thread_id)
{
    size_t party = line->first_party;

    while (lines->parties[party].thread_id != thread_id)
        party++;
    return &lines->parties[party];
}

bool meeting_lines_seldom(const struct meeting_lines *lines, const struct meeting_line *line,
                          uint32_t thread_id)
{
    return party_of(lines, line, thread_id)->bursts <= SELDOM_BURSTS;
}

struct scenarios meeting_lines_stand_for(const struct meeting_lines *lines,
                                         const struct meeting_line *line, uint32_t source_thread,
                                         uint32_t destination_thread)
{
    const struct scenarios *source = &party_of(lines, line, source_thread)->stands_for;
    const struct scenarios *destination = &party_of(lines, line, destination_thread)->stands_for;
    struct scenarios both;

    for (unsigned s = 0; s < SCENARIOS; s++)
        both.of[s] = source->of[s] * destination->of[s] / line->share;
    return both;
}
