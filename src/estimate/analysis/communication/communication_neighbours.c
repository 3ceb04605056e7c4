/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * False sharing that only a larger line brings: threads that use different lines of the run's size,
 * which lie on one of the larger size. No watch saw how they alternate. Samples tell who uses what
 * how often, and the model takes these uses to come in random order (docs/communication.md,
 * "Communication at larger lines").
 */
#include <math.h>
#include <stdlib.h>

#include "analysis/communication/communication_internal.h"
#include "sampling/line_mask.h"
#include "support/memory.h"

/* A sample at a line of the larger size. */
struct visit {
    uint64_t line, address, ip;
    uint32_t profile, origin, thread_id, sample;
    bool store;
    bool part_of_write; /* the load of a read-modify-write instruction */
};

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_lines(const struct visit *x, const struct visit *y)
{
    int order = compare(x->profile, y->profile);

    order = order ? order : compare(x->origin, y->origin);
    return order ? order : compare(x->line, y->line);
}

/* Lines, then threads, then what they do there. */
static int compare_visits(const void *a, const void *b)
{
    const struct visit *x = a, *y = b;
    int order = compare_lines(x, y);

    order = order ? order : compare(x->thread_id, y->thread_id);
    order = order ? order : compare(x->address, y->address);
    order = order ? order : compare(x->ip, y->ip);
    order = order ? order : compare(x->store, y->store);
    return order ? order : compare(x->sample, y->sample);
}

static bool same_use(const struct visit *x, const struct visit *y)
{
    return compare_lines(x, y) == 0 && x->thread_id == y->thread_id && x->address == y->address &&
           x->ip == y->ip && x->store == y->store;
}

static struct visit *list_visits(const struct communication *communication)
{
    const struct analysis *analysis = communication->analysis;
    struct visit *visits = allocate(analysis->count + 1, sizeof *visits);

    for (size_t i = 0; i < analysis->count; i++) {
        const struct analysed_sample *sample = &analysis->samples[i];
        const struct record_sample *record = sample->record;
        const struct record_thread *thread =
            profile_thread(analysis->profiles[sample->profile], record->thread_id);

        visits[i] = (struct visit){
            .line = line_start(record->address, communication->line_size),
            .address = record->address,
            .ip = record->ip,
            .profile = sample->profile,
            .origin = thread ? thread->origin_id : 0,
            .thread_id = record->thread_id,
            .sample = (uint32_t)i,
            .store = record->kind == ACCESS_STORE,
        };
    }
    if (analysis->count)
        qsort(visits, analysis->count, sizeof *visits, compare_visits);
    return visits;
}

/* One larger line. */
struct user {
    size_t first, count;     /* visits */
    uint64_t began, ended;   /* first and last sample */
    size_t heaviest;         /* visit that stands for what it does there: a store, if it stores */
    double accesses, stores; /* in the replicate under way */
};

struct block {
    struct visit *visits;
    size_t count;
    struct user *users;
    size_t user_count;
};

static uint64_t time_of(const struct analysis *analysis, const struct visit *visit)
{
    return analysis->samples[visit->sample].record->monotonic_ns;
}

static double weight_of(const struct analysis *analysis, const struct visit *visit)
{
    return analysis->samples[visit->sample].weight;
}

static void describe_user(const struct analysis *analysis, const struct block *block,
                          struct user *user)
{
    const struct visit *visits = block->visits;

    user->began = UINT64_MAX;
    user->ended = 0;
    user->heaviest = user->first;
    for (size_t i = user->first; i < user->first + user->count; i++) {
        uint64_t at = time_of(analysis, &visits[i]);
        const struct visit *heaviest = &visits[user->heaviest];

        if (at < user->began)
            user->began = at;
        if (at > user->ended)
            user->ended = at;
        if (visits[i].store != heaviest->store
                ? visits[i].store
                : weight_of(analysis, &visits[i]) > weight_of(analysis, heaviest))
            user->heaviest = i;
    }
}

/* Loads come before the stores of the same instruction at the same place. */
static void mark_parts(struct block *block)
{
    struct visit *visits = block->visits;

    for (size_t i = block->count - 1; i-- > 0;)
        visits[i].part_of_write =
            !visits[i].store && (visits[i + 1].store || visits[i + 1].part_of_write) &&
            visits[i].thread_id == visits[i + 1].thread_id &&
            visits[i].address == visits[i + 1].address && visits[i].ip == visits[i + 1].ip;
}

/* False when the line is of no interest: one thread, one line of the run's size, or no store. */
static bool describe_block(const struct analysis *analysis, struct block *block)
{
    const struct visit *visits = block->visits;
    uint64_t line = line_start(visits[0].address, analysis->run_line_size);
    bool stores = false, lines = false;

    block->user_count = 0;
    for (size_t i = 0; i < block->count; i++) {
        stores |= visits[i].store;
        lines |= line_start(visits[i].address, analysis->run_line_size) != line;
        if (i == 0 || visits[i].thread_id != visits[i - 1].thread_id)
            block->users[block->user_count++] = (struct user){.first = i};
        block->users[block->user_count - 1].count++;
    }
    if (!stores || !lines || block->user_count < 2)
        return false;
    mark_parts(block);
    for (size_t u = 0; u < block->user_count; u++)
        describe_user(analysis, block, &block->users[u]);
    return true;
}

/* At the same time, and never seen in one line of the run's size: what they do there was watched.
 */
static bool are_neighbours(const struct analysis *analysis, const struct block *block,
                           const struct user *a, const struct user *b)
{
    size_t i = a->first, k = b->first;

    if (a->ended <= b->began || b->ended <= a->began)
        return false;
    /* Both are sorted by address. */
    while (i < a->first + a->count && k < b->first + b->count) {
        uint64_t x = line_start(block->visits[i].address, analysis->run_line_size);
        uint64_t y = line_start(block->visits[k].address, analysis->run_line_size);

        if (x == y)
            return false;
        if (x < y)
            i++;
        else
            k++;
    }
    return true;
}

/* A flow to be: what one thread does at one place, after another thread. */
struct neighbour_flow {
    size_t first, end;          /* visits of the destination */
    size_t source, destination; /* users */
    size_t flow;
};

struct neighbours {
    struct communication *communication;
    struct neighbour_flow *flows; /* of one block */
    size_t count, capacity;
};

static struct flow_end end_of(const struct communication *communication, const struct visit *visit)
{
    return communication_sample_end(communication->analysis->samples[visit->sample].record,
                                    communication->line_size);
}

static void add_flow(struct neighbours *neighbours, const struct block *block,
                     struct neighbour_flow one)
{
    struct communication *communication = neighbours->communication;
    const struct visit *destination = &block->visits[one.first];
    const struct user *source = &block->users[one.source];
    struct flow *flow;

    if (neighbours->count == neighbours->capacity) {
        neighbours->capacity = neighbours->capacity ? 2 * neighbours->capacity : 64;
        neighbours->flows =
            reallocate(neighbours->flows, neighbours->capacity, sizeof *neighbours->flows);
    }
    flow = communication_add(communication);
    communication_more_values(communication);
    communication_describe_flow(communication->analysis, destination->sample, flow);
    flow->line_address = destination->line;
    flow->source = end_of(communication, &block->visits[source->heaviest]);
    flow->destination = end_of(communication, destination);
    flow->kind = !destination->store                     ? TRANSFER_RAW
                 : block->visits[source->heaviest].store ? TRANSFER_WAW
                                                         : TRANSFER_WAR;
    one.flow = communication->count - 1;
    neighbours->flows[neighbours->count++] = one;
}

static void add_flows_to(struct neighbours *neighbours, const struct block *block, size_t user)
{
    const struct analysis *analysis = neighbours->communication->analysis;
    const struct user *to = &block->users[user];
    size_t last = to->first + to->count;

    for (size_t source = 0; source < block->user_count; source++) {
        const struct user *from = &block->users[source];

        if (source == user || !are_neighbours(analysis, block, from, to))
            continue;
        for (size_t i = to->first, end; i < last; i = end) {
            for (end = i; end < last && same_use(&block->visits[end], &block->visits[i]); end++)
                ;
            if (block->visits[i].part_of_write ||
                (!block->visits[i].store && !block->visits[from->heaviest].store))
                continue;
            add_flow(neighbours, block, (struct neighbour_flow){i, end, source, user, 0});
        }
    }
}

static double uses_of(const struct analysis *analysis, const struct block *block, size_t first,
                      size_t end, uint32_t replicate, bool stores)
{
    double sum = 0;

    for (size_t i = first; i < end; i++)
        if (stores ? block->visits[i].store : !block->visits[i].part_of_write)
            sum += replicate_weight(analysis, replicate, block->visits[i].sample);
    return sum;
}

/*
 * Uses in random order. A store takes the copy of a thread that has used the line since somebody
 * else stored to it; a load fetches the line if somebody else stored to it since the thread's own
 * last use, from the one who was last.
 */
static double transfers_of(const struct block *block, const struct neighbour_flow *flow,
                           double uses, double all_stores)
{
    const struct user *from = &block->users[flow->source], *to = &block->users[flow->destination];
    double both;

    if (block->visits[flow->first].store) {
        both = from->accesses + all_stores - from->stores;
        return both > 0 ? uses * from->accesses / both : 0;
    }
    both = to->accesses + all_stores - to->stores;
    return both > 0 ? uses * from->stores / both : 0;
}

static void estimate_block(struct neighbours *neighbours, struct block *block, uint32_t replicate)
{
    struct communication *communication = neighbours->communication;
    const struct analysis *analysis = communication->analysis;
    double stores = 0;

    for (size_t u = 0; u < block->user_count; u++) {
        struct user *user = &block->users[u];

        user->accesses =
            uses_of(analysis, block, user->first, user->first + user->count, replicate, false);
        user->stores =
            uses_of(analysis, block, user->first, user->first + user->count, replicate, true);
        stores += user->stores;
    }
    for (size_t i = 0; i < neighbours->count; i++) {
        const struct neighbour_flow *flow = &neighbours->flows[i];
        double value = transfers_of(
            block, flow, uses_of(analysis, block, flow->first, flow->end, replicate, false),
            stores);

        if (replicate == 0)
            communication->flows[flow->flow].transfers = value;
        else /* from one turn, as they were there at the same time, to turns all along: twice as
                many as in random order */
            communication->values[flow->flow * communication->replicates + replicate - 1] =
                (float)fmax(fmin(1, value), value * 2 * communication_doubt(replicate));
    }
}

static void add_block(struct neighbours *neighbours, struct block *block)
{
    struct communication *communication = neighbours->communication;

    neighbours->count = 0;
    for (size_t u = 0; u < block->user_count; u++)
        add_flows_to(neighbours, block, u);
    for (uint32_t r = 0; neighbours->count > 0 && r <= communication->replicates; r++)
        estimate_block(neighbours, block, r);
}

void communication_add_neighbours(struct communication *communication)
{
    const struct analysis *analysis = communication->analysis;
    struct neighbours neighbours = {.communication = communication};
    struct visit *visits = list_visits(communication);
    struct user *users = allocate(analysis->count + 1, sizeof *users);

    for (size_t i = 0, end; i < analysis->count; i = end) {
        for (end = i; end < analysis->count && compare_lines(&visits[end], &visits[i]) == 0; end++)
            ;
        struct block block = {.visits = visits + i, .count = end - i, .users = users};

        if (describe_block(analysis, &block))
            add_block(&neighbours, &block);
    }
    free(neighbours.flows);
    free(visits);
    free(users);
}
