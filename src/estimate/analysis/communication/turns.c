/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many turns polling threads had, and what the sampled stores of turns stand for
 * (docs/communication.md, "Communication").
 */
#include <stdlib.h>

#include "analysis/communication/communication_internal.h"
#include "support/memory.h"

enum {
    PLACES = 64, /* numbers of places lie below */
    TURNS_MIN = 4,
};

/* A counter is believed where it has moved in the same direction for most of the time. */
static const double BELIEVED = .9;

static int compare_turns(const void *a, const void *b)
{
    const struct seen_turn *x = a, *y = b;

    if (x->profile != y->profile)
        return x->profile < y->profile ? -1 : 1;
    if (x->record->thread_id != y->record->thread_id)
        return x->record->thread_id < y->record->thread_id ? -1 : 1;
    if (x->record->wait_ip != y->record->wait_ip)
        return x->record->wait_ip < y->record->wait_ip ? -1 : 1;
    if (x->record->app_ns != y->record->app_ns)
        return x->record->app_ns < y->record->app_ns ? -1 : 1;
    return x->record < y->record ? -1 : x->record > y->record;
}

static bool same_group(const struct seen_turn *a, const struct seen_turn *b)
{
    return a->profile == b->profile && a->record->thread_id == b->record->thread_id &&
           a->record->wait_ip == b->record->wait_ip;
}

/* What a place of the state says, from turn to turn. */
struct counter {
    double moved;         /* in the direction of its steps */
    double inverse_steps; /* sum of 1 / step */
    double time, in_time; /* between turns; of these, in which it moved that way */
    size_t turns, forward;
    uint64_t value;
    double at;
};

/* TURN_COUNTERS: it did not move in that turn. */
static unsigned find_place(const struct record_turn *turn, uint32_t place)
{
    unsigned i = 0;

    while (i < TURN_COUNTERS && turn->places[i] != place)
        i++;
    return i;
}

static void follow_counter(struct counter *counter, const struct record_turn *turn, uint32_t place,
                           int64_t sign)
{
    unsigned i = find_place(turn, place);

    if (i == TURN_COUNTERS)
        return;
    int64_t added = (int64_t)turn->steps[i] * sign;
    int64_t moved = (int64_t)(turn->values[i] - counter->value) * sign;

    if (counter->turns++ > 0) {
        double time = (double)turn->app_ns - counter->at;

        counter->time += time;
        if (moved >= 0) {
            counter->in_time += time;
            counter->moved += (double)moved;
        }
    }
    if (added > 0) {
        counter->forward++;
        counter->inverse_steps += 1 / (double)added;
    }
    counter->value = turn->values[i];
    counter->at = (double)turn->app_ns;
}

/*
 * Turns counted by a place, from the first of the sampled ones to the last and a mean interval
 * more; negative: it is no counter. A turn is sampled by its time, so if its step differs from turn
 * to turn, that is by how far the count moves meanwhile: 1 / step has the mean of turns per move.
 */
static double count_turns(const struct seen_turn *turns, size_t n, uint32_t place)
{
    for (int64_t sign = 1; sign >= -1; sign -= 2) {
        struct counter counter = {0};
        double share, turns_in_all;

        for (size_t i = 0; i < n; i++)
            follow_counter(&counter, turns[i].record, place, sign);
        if ((double)counter.forward < BELIEVED * (double)n || counter.time <= 0)
            continue;
        share = counter.in_time / counter.time;
        if (share < BELIEVED)
            continue;
        turns_in_all = counter.moved / share * counter.inverse_steps / (double)counter.forward;
        return turns_in_all * (double)(n + 1) / (double)(n - 1);
    }
    return -1;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* The middle one of all counters. 0: there is none. */
static double count_of_group(const struct seen_turn *turns, size_t n)
{
    double counts[PLACES];
    size_t found = 0;

    if (n < TURNS_MIN)
        return 0;
    for (uint32_t place = 1; place < PLACES; place++) {
        double count = count_turns(turns, n, place);

        if (count > 0)
            counts[found++] = count;
    }
    qsort(counts, found, sizeof *counts, compare_doubles);
    return found ? counts[found / 2] : 0;
}

static void weigh_group(struct turns *turns, size_t first, size_t end)
{
    size_t complete, k = first;
    double count;

    /* Counters are known of turns that were seen to their end. */
    for (size_t i = first; i < end; i++) {
        if (turns->items[i].record->complete) {
            struct seen_turn turn = turns->items[i];

            turns->items[i] = turns->items[k];
            turns->items[k++] = turn;
        }
    }
    complete = k - first;
    count = count_of_group(turns->items + first, complete);
    for (size_t i = first; i < first + complete; i++)
        turns->items[i].stands_for = count / (double)(end - first);
    if (count > 0)
        turns->groups[turns->group_count++] =
            (struct turn_group){turns->items[first].profile, turns->items[first].record->thread_id,
                                turns->items[first].record->loop};
}

static int compare_samples(const void *a, const void *b)
{
    const struct seen_turn *x = a, *y = b;

    if (x->profile != y->profile)
        return x->profile < y->profile ? -1 : 1;
    if (x->record->sample_id != y->record->sample_id)
        return x->record->sample_id < y->record->sample_id ? -1 : 1;
    return 0;
}

void turns_create(const struct analysis *analysis, struct turns *turns)
{
    size_t capacity = 1, n = 0;

    for (size_t p = 0; p < analysis->profile_count; p++)
        capacity += analysis->profiles[p]->turns.count;
    *turns = (struct turns){
        .items = allocate(capacity, sizeof *turns->items),
        .groups = allocate(capacity, sizeof *turns->groups),
    };
    for (size_t p = 0; p < analysis->profile_count; p++)
        for (size_t i = 0; i < analysis->profiles[p]->turns.count; i++)
            turns->items[n++] = (struct seen_turn){.record = &analysis->profiles[p]->turns.items[i],
                                                   .profile = (uint32_t)p};
    turns->count = n;
    qsort(turns->items, n, sizeof *turns->items, compare_turns);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && same_group(&turns->items[i], &turns->items[end]); end++)
            ;
        weigh_group(turns, i, end);
    }
    qsort(turns->items, n, sizeof *turns->items, compare_samples);
}

void turns_free(struct turns *turns)
{
    free(turns->items);
    free(turns->groups);
    *turns = (struct turns){0};
}

double turns_weight(const struct turns *turns, const struct analysed_sample *sample)
{
    struct record_turn record = {.sample_id = sample->record->sample_id};
    struct seen_turn key = {.record = &record, .profile = sample->profile};
    const struct seen_turn *turn =
        bsearch(&key, turns->items, turns->count, sizeof key, compare_samples);

    return turn ? turn->stands_for * (double)turn->record->stores : 0;
}

bool turns_cover(const struct turns *turns, uint32_t profile, uint32_t thread_id)
{
    for (size_t i = 0; i < turns->group_count; i++)
        if (turns->groups[i].profile == profile && turns->groups[i].thread_id == thread_id)
            return true;
    return false;
}

bool turns_cover_sample(const struct turns *turns, const struct analysed_sample *sample)
{
    for (size_t i = 0; i < turns->group_count; i++)
        if (turns->groups[i].profile == sample->profile &&
            turns->groups[i].thread_id == sample->record->thread_id &&
            turns->groups[i].loop == sample->record->loop)
            return true;
    return false;
}
