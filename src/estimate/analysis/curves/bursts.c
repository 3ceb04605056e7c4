/* SPDX-License-Identifier: BSD-3-Clause */
/* From records to bursts, their groups of probes, and the threads that made them. */
#include <stdlib.h>

#include "analysis/curves/arrivals.h"
#include "analysis/internal.h"
#include "analysis/rates/burst_times.h"
#include "reuse/sort_keys.h"
#include "support/memory.h"

static bool wanted(const struct analysis *analysis, uint32_t thread_id)
{
    return !analysis->options.thread_id || thread_id == analysis->options.thread_id;
}

/* Room for groups and counts that grows as they come. */
struct probe_list {
    struct analysed_probe *probes;
    struct probe_count *counts;
    size_t probe_count, probe_room;
    size_t count, room;
};

static void make_room(void **items, size_t *room, size_t needed, size_t size)
{
    if (needed <= *room)
        return;
    *room = 2 * needed + 1024;
    *items = reallocate(*items, *room, size);
}

static void add_group(struct probe_list *list, struct analysed_burst *burst,
                      struct analysed_probe probe, const struct probe_count *counts, size_t n)
{
    make_room((void **)&list->probes, &list->probe_room, list->probe_count + 1,
              sizeof *list->probes);
    make_room((void **)&list->counts, &list->room, list->count + n, sizeof *list->counts);
    probe.first = (uint32_t)list->count;
    probe.entries = (uint32_t)n;
    for (size_t i = 0; i < n; i++) {
        list->counts[list->count++] = counts[i];
        probe.count += counts[i].count;
        probe.open += probe_code_open(counts[i].code) ? counts[i].count : 0;
    }
    burst->touches += probe.count;
    burst->open += probe.open;
    burst->probe_count++;
    list->probes[list->probe_count++] = probe;
}

/* Groups of one burst, as they are recorded. */
struct burst_groups {
    ARRAY(struct probe_group) groups;
    ARRAY(struct arrival_group) uses; /* likewise */
    ARRAY(struct probe_count) counts; /* at the analysed line size, group by group */
    ARRAY(size_t) first;              /* of each group's counts; at the end how many there are */
    struct arrival_piece *pieces;
};

static void groups_free(struct burst_groups *of)
{
    free(of->groups.items);
    free(of->uses.items);
    free(of->counts.items);
    free(of->first.items);
    free(of->pieces);
}

/* Where its line was left and where somebody comes back to it, of which the latter is the access
 * that misses. */
static struct analysed_probe probe_of(const struct profile *profile, const struct probe_group *left,
                                      const struct probe_group *arrives, uint32_t burst)
{
    return (struct analysed_probe){
        .ip = arrives->ip,
        .last_ip = left->ip,
        .last_context_id = profile_instruction_context(profile, left->path_id, left->ip),
        .late = left->reuse_ip == 0,
        .place = arrives->place,
        .context_id = profile_instruction_context(profile, arrives->path_id, arrives->ip),
        .object_reference = left->object_reference,
        .burst = burst,
        .object_kind = left->object_kind,
        .kind = arrives->kind,
        .last_kind = left->kind,
        .width = arrives->width,
        .tracked_log2 = left->tracked_log2,
    };
}

static void read_groups(const struct analysis *analysis, const struct analysed_burst *burst,
                        struct burst_groups *of)
{
    struct probe_decoder decoder;
    struct probe_group group;
    struct probe_count counts[PROBE_COUNTS_MAX];
    size_t sizes[PROBE_LINE_SIZES];

    of->groups.count = of->uses.count = of->counts.count = of->first.count = 0;
    probe_decoder_begin(&decoder, burst->record);
    while (probe_decode(&decoder, &group, counts, PROBE_COUNTS_MAX, sizes)) {
        struct arrival_group use = {group.ip, group.reuse_ip, group.path_id,
                                    (uint64_t)group.object_kind << 32 | group.object_reference, 0};
        size_t first = 0;

        for (size_t i = 0; i < sizes[0]; i++)
            use.count += counts[i].count;
        for (unsigned s = 0; s < analysis->size_index; s++)
            first += sizes[s];
        ARRAY_PUSH(&of->groups, group);
        ARRAY_PUSH(&of->uses, use);
        ARRAY_PUSH(&of->first, of->counts.count);
        for (size_t i = 0; i < sizes[analysis->size_index]; i++)
            ARRAY_PUSH(&of->counts, counts[first + i]);
    }
    ARRAY_PUSH(&of->first, of->counts.count);
}

/*
 * Takes `part` of the `whole` probes that a group still has, with their share of all distances:
 * what rounding leaves over goes on to the next entry. counts[n]: what the group still has; out has
 * room for n; returns how many it gets.
 */
static size_t take_part(struct probe_count *counts, size_t n, uint32_t part, uint32_t whole,
                        struct probe_count *out)
{
    double due = 0;
    size_t found = 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t taken;

        due += (double)counts[i].count * part / whole;
        taken = part == whole ? counts[i].count : (uint32_t)(due + 0.5);
        if (taken > counts[i].count)
            taken = counts[i].count;
        due -= taken;
        counts[i].count -= taken;
        if (taken > 0)
            out[found++] = (struct probe_count){counts[i].code, taken};
    }
    return found;
}

/* All groups, also those that tell nothing at the analysed line size: they are numbered alike at
 * all sizes. */
static void list_probes(const struct analysis *analysis, struct analysed_burst *burst,
                        uint32_t index, struct burst_groups *of, struct probe_list *list)
{
    const struct profile *profile = analysis->profiles[burst->profile];
    struct probe_count part[PROBE_COUNTS_MAX];
    size_t count;
    uint32_t left = 0;

    burst->first_probe = (uint32_t)list->probe_count;
    read_groups(analysis, burst, of);
    of->pieces = reallocate(of->pieces, 3 * of->groups.count + 1, sizeof *of->pieces);
    count = arrivals_find(of->uses.items, of->groups.count, of->pieces);
    for (size_t i = 0; i < count; i++) {
        const struct arrival_piece *piece = &of->pieces[i];
        uint32_t g = piece->left_by;
        struct probe_count *counts = of->counts.items + of->first.items[g];

        if (i == 0 || g != piece[-1].left_by)
            left = of->uses.items[g].count;
        add_group(
            list, burst,
            probe_of(profile, &of->groups.items[g], &of->groups.items[piece->arrives_at], index),
            part,
            take_part(counts, of->first.items[g + 1] - of->first.items[g], piece->count, left,
                      part));
        left -= piece->count;
    }
}

static uint64_t thread_key(uint32_t profile, uint32_t thread_id)
{
    return (uint64_t)profile << 32 | thread_id;
}

/* Of bursts, by index; and of threads that were seen in turns alone, with NO_BURST. */
static size_t list_thread_keys(const struct analysis *analysis, struct sort_key *keys)
{
    size_t n = 0;

    for (uint32_t i = 0; i < analysis->burst_count; i++)
        keys[n++] = (struct sort_key){
            thread_key(analysis->bursts[i].profile, analysis->bursts[i].record->thread_id), i};
    for (uint32_t p = 0; p < analysis->profile_count; p++)
        for (size_t i = 0; i < analysis->profiles[p]->samples.count; i++) {
            const struct record_sample *sample = &analysis->profiles[p]->samples.items[i];

            if (sample->burst_id == 0 && wanted(analysis, sample->thread_id))
                keys[n++] = (struct sort_key){thread_key(p, sample->thread_id), NO_BURST};
        }
    return n;
}

/* Lists the threads and tells each burst which one is its own. */
static void list_threads(struct analysis *analysis)
{
    size_t capacity = analysis->burst_count + 1, threads = 0;
    struct sort_key *keys;

    for (size_t p = 0; p < analysis->profile_count; p++)
        capacity += analysis->profiles[p]->samples.count;
    keys = allocate(2 * capacity, sizeof *keys);
    size_t n = list_thread_keys(analysis, keys);
    const struct sort_key *sorted = sort_keys(keys, keys + n, n);
    for (size_t i = 0; i < n; i++)
        threads += i == 0 || sorted[i].key != sorted[i - 1].key;
    analysis->threads = allocate_zeroed(threads + 1, sizeof *analysis->threads);
    for (size_t i = 0; i < n; i++) {
        uint32_t profile = (uint32_t)(sorted[i].key >> 32), id = (uint32_t)sorted[i].key;

        if (i == 0 || sorted[i].key != sorted[i - 1].key)
            analysis->threads[analysis->thread_count++] =
                (struct analysed_thread){.profile = profile,
                                         .thread_id = id,
                                         .scale = burst_expiries(analysis->profiles[profile], id)};
        if (sorted[i].index == NO_BURST)
            continue;
        analysis->bursts[sorted[i].index].thread = (uint32_t)analysis->thread_count - 1;
        analysis->threads[analysis->thread_count - 1].bursts++;
    }
    free(keys);
}

static void read_bursts(struct analysis *analysis)
{
    size_t capacity = 1;

    for (size_t p = 0; p < analysis->profile_count; p++)
        capacity += analysis->profiles[p]->bursts.count;
    analysis->bursts = allocate_zeroed(capacity, sizeof *analysis->bursts);
    for (size_t p = 0; p < analysis->profile_count; p++) {
        const struct profile *profile = analysis->profiles[p];

        for (size_t i = 0; i < profile->bursts.count; i++) {
            const struct record_burst *record = profile->bursts.items[i];
            struct analysed_burst *burst = &analysis->bursts[analysis->burst_count];

            if (!wanted(analysis, record->thread_id) || record->probes == 0)
                continue;
            *burst = (struct analysed_burst){
                .record = record,
                .profile = (uint32_t)p,
                .loop = (uint32_t)loop_rates_find(&analysis->rates, p, record->loop),
                .time_ns = analysis->rates.burst_times[p][i],
                .dilation = 1};
            analysis->burst_count++;
        }
    }
}

static void read_probes(struct analysis *analysis)
{
    struct probe_list list = {0};
    struct burst_groups groups = {0};

    for (size_t i = 0; i < analysis->burst_count; i++)
        if (analysis->bursts[i].left_out)
            analysis->bursts[i].first_probe = (uint32_t)list.probe_count;
        else
            list_probes(analysis, &analysis->bursts[i], (uint32_t)i, &groups, &list);
    groups_free(&groups);
    analysis->probes = reallocate(list.probes, list.probe_count + 1, sizeof *list.probes);
    analysis->counts = reallocate(list.counts, list.count + 1, sizeof *list.counts);
    analysis->probe_count = list.probe_count;
}

/* Whether it has listed what this one would. */
static bool lists_the_same(const struct analysis *analysis, const struct analysis *other)
{
    return other && !other->exact && other->line_size == analysis->line_size &&
           other->options.thread_id == analysis->options.thread_id &&
           other->options.all_bursts == analysis->options.all_bursts &&
           analysis_is_of(other, analysis->profiles, analysis->profile_count);
}

static void list_as(struct analysis *analysis, const struct analysis *other)
{
    analysis->rates = other->rates;
    analysis->probes = other->probes;
    analysis->counts = other->counts;
    analysis->probe_count = other->probe_count;
    analysis->listing = other->listing;
    analysis->listing->users++;
    analysis->burst_count = other->burst_count;
    analysis->bursts = allocate(other->burst_count + 1, sizeof *analysis->bursts);
    for (size_t i = 0; i < other->burst_count; i++) {
        const struct analysed_burst *burst = &other->bursts[i];

        analysis->bursts[i] = (struct analysed_burst){.record = burst->record,
                                                      .profile = burst->profile,
                                                      .loop = burst->loop,
                                                      .first_probe = burst->first_probe,
                                                      .probe_count = burst->probe_count,
                                                      .touches = burst->touches,
                                                      .open = burst->open,
                                                      .left_out = burst->left_out,
                                                      .time_ns = burst->time_ns,
                                                      .dilation = 1};
    }
}

void analysis_list_bursts(struct analysis *analysis)
{
    if (lists_the_same(analysis, analysis->options.like)) {
        list_as(analysis, analysis->options.like);
        list_threads(analysis);
        return;
    }
    loop_rates_create(analysis->profiles, analysis->profile_count, &analysis->line_sources,
                      &analysis->rates);
    read_bursts(analysis);
    list_threads(analysis);
    analysis_choose_bursts(analysis);
    read_probes(analysis);
    analysis->listing = allocate_zeroed(1, sizeof *analysis->listing);
    analysis->listing->users = 1;
}

void analysis_free_listing(struct analysis *analysis)
{
    if (!analysis->listing || --analysis->listing->users > 0)
        return;
    loop_rates_free(&analysis->rates);
    free(analysis->probes);
    free(analysis->counts);
    free(analysis->listing);
}

/* Bursts are in order of profile and identifier. */
uint32_t analysis_find_burst(const struct analysis *analysis, uint32_t profile, uint64_t burst_id)
{
    size_t low = 0, high = analysis->burst_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct analysed_burst *burst = &analysis->bursts[middle];

        if (burst->profile < profile ||
            (burst->profile == profile && burst->record->burst_id < burst_id))
            low = middle + 1;
        else
            high = middle;
    }
    return low < analysis->burst_count && analysis->bursts[low].profile == profile &&
                   analysis->bursts[low].record->burst_id == burst_id
               ? (uint32_t)low
               : NO_BURST;
}
