/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* qsort_r */
#include "analysis/curves/arrivals.h"

#include <stdlib.h>

#include "support/memory.h"

/* Accesses of one instruction, on one calling path, to one object: `members` groups from `first` on
 * of the order. */
struct site {
    uint32_t first, members;
    int64_t accesses;  /* probes */
    int64_t arrivals;  /* of these, not known to come to a line that was used in the burst */
    int64_t not_dealt; /* arrivals that no open line was dealt to yet */
};

struct balance {
    const struct arrival_group *groups;
    uint32_t *order;    /* groups by object, instruction and path */
    struct site *sites; /* in that order */
    int64_t *not_met;   /* of each group, probes that it does not stand for yet, as what arrives */
    size_t site_count;
    struct arrival_piece *pieces;
    size_t count;
};

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_sites(const struct arrival_group *a, const struct arrival_group *b)
{
    int order = compare_numbers(a->object, b->object);

    order = order ? order : compare_numbers(a->ip, b->ip);
    return order ? order : compare_numbers(a->path, b->path);
}

static int compare_groups(const void *left, const void *right, void *groups)
{
    const struct arrival_group *all = groups;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    int order = compare_sites(&all[a], &all[b]);

    return order ? order : (a > b) - (a < b);
}

static void list_sites(struct balance *balance, size_t count)
{
    const struct arrival_group *groups = balance->groups;

    for (uint32_t i = 0; i < count; i++)
        balance->order[i] = i;
    qsort_r(balance->order, count, sizeof *balance->order, compare_groups, (void *)groups);
    for (uint32_t i = 0; i < count; i++) {
        const struct arrival_group *group = &groups[balance->order[i]];
        struct site *site;

        if (i == 0 || compare_sites(&groups[balance->order[i - 1]], group) != 0)
            balance->sites[balance->site_count++] = (struct site){.first = i};
        site = &balance->sites[balance->site_count - 1];
        site->members++;
        site->accesses += group->count;
    }
    for (size_t s = 0; s < balance->site_count; s++)
        balance->sites[s].arrivals = balance->sites[s].accesses;
}

static const struct arrival_group *group_at(const struct balance *balance, size_t site)
{
    return &balance->groups[balance->order[balance->sites[site].first]];
}

/* The first site that is not before the object and instruction. */
static size_t lower_bound(const struct balance *balance, uint64_t object, uint64_t ip)
{
    const struct arrival_group wanted = {.object = object, .ip = ip};
    size_t low = 0, high = balance->site_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare_sites(group_at(balance, middle), &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Where the next user of a group's lines is: on the same path if it is there, else where it is most
 * often. NULL: not among the probes. */
static struct site *next_site(const struct balance *balance, const struct arrival_group *group)
{
    struct site *found = NULL;

    for (size_t s = lower_bound(balance, group->object, group->next_ip); s < balance->site_count;
         s++) {
        const struct arrival_group *there = group_at(balance, s);

        if (there->object != group->object || there->ip != group->next_ip)
            break;
        if (there->path == group->path)
            return &balance->sites[s];
        if (!found || balance->sites[s].accesses > found->accesses)
            found = &balance->sites[s];
    }
    return found;
}

static void add_piece(struct balance *balance, uint32_t left_by, uint32_t arrives_at, int64_t count)
{
    if (count > 0)
        balance->pieces[balance->count++] =
            (struct arrival_piece){left_by, arrives_at, (uint32_t)count};
}

/*
 * Of a site's groups the one that stands for so many probes which arrive there. Groups of one
 * instruction differ: it may load and store (hits++), and was seen at several places of the object.
 * So that each is met as often as it has probes, it is who has most left.
 */
static uint32_t stand_for(struct balance *balance, const struct site *site, int64_t count)
{
    uint32_t found = balance->order[site->first];

    for (uint32_t k = site->first + 1; k < site->first + site->members; k++)
        if (balance->not_met[balance->order[k]] > balance->not_met[found])
            found = balance->order[k];
    balance->not_met[found] -= count;
    return found;
}

static void deal_told(struct balance *balance, size_t count)
{
    for (uint32_t g = 0; g < count; g++) {
        const struct arrival_group *group = &balance->groups[g];
        struct site *site;

        if (!group->next_ip)
            continue;
        site = next_site(balance, group);
        add_piece(balance, g, site ? stand_for(balance, site, group->count) : g, group->count);
        if (site)
            site->arrivals -= group->count;
    }
}

/* What arrives at the sites [from, to), less so much at each of them. */
static int64_t arrivals_above(const struct balance *balance, size_t from, size_t to, int64_t less)
{
    int64_t sum = 0;

    for (size_t s = from; s < to; s++)
        sum += balance->sites[s].arrivals > less ? balance->sites[s].arrivals - less : 0;
    return sum;
}

/*
 * The balance of a site is off by a few, for a burst has a beginning and an end, and what is off to
 * the other side does not show. So if more seems to arrive than is left open, as much as that takes
 * is chance at every site.
 */
static int64_t chance_of(const struct balance *balance, size_t from, size_t to, int64_t open)
{
    int64_t low = 0, high = 0;

    for (size_t s = from; s < to; s++)
        if (balance->sites[s].arrivals > high)
            high = balance->sites[s].arrivals;
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;

        if (arrivals_above(balance, from, to, middle) >= open)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Largest first: addresses and numbers of paths, which merging changes, decide among equals alone.
 */
static int compare_arrivals(const void *left, const void *right, void *of)
{
    const struct balance *balance = of;
    const struct site *a = &balance->sites[*(const uint32_t *)left];
    const struct site *b = &balance->sites[*(const uint32_t *)right];

    if (a->arrivals != b->arrivals)
        return a->arrivals < b->arrivals ? 1 : -1;
    if (a->accesses != b->accesses)
        return a->accesses < b->accesses ? 1 : -1;
    return (a > b) - (a < b);
}

/* Brings what arrives at the sites, count of them from `from` on, to the sum of what is left open
 * there. ranks: their numbers, largest first. */
static int64_t scale_arrivals(struct balance *balance, size_t from, const uint32_t *ranks,
                              size_t count, int64_t open)
{
    int64_t chance = chance_of(balance, from, from + count, open);
    int64_t all = arrivals_above(balance, from, from + count, chance), sum = 0, dealt = 0;

    for (size_t i = 0; i < count && all > 0; i++) {
        struct site *site = &balance->sites[ranks[i]];

        sum += site->arrivals > chance ? site->arrivals - chance : 0;
        site->not_dealt = (int64_t)((double)sum / (double)all * (double)open) - dealt;
        dealt += site->not_dealt;
    }
    return all;
}

/* An instruction that leaves lines open and comes to others goes on from line to line: its own
 * first. Then whoever is left. */
static void deal_open(struct balance *balance, const uint32_t *ranks, size_t count,
                      uint32_t *open_left)
{
    size_t next = 0;

    for (size_t i = 0; i < count; i++) {
        struct site *site = &balance->sites[ranks[i]];

        for (uint32_t k = site->first; k < site->first + site->members; k++) {
            uint32_t g = balance->order[k];
            int64_t own = open_left[g] < site->not_dealt ? open_left[g] : site->not_dealt;

            add_piece(balance, g, g, own);
            balance->not_met[g] -= own;
            open_left[g] -= (uint32_t)own;
            site->not_dealt -= own;
        }
    }
    for (size_t i = 0; i < count; i++) {
        const struct site *leaving = &balance->sites[ranks[i]];

        for (uint32_t k = leaving->first; k < leaving->first + leaving->members; k++) {
            uint32_t g = balance->order[k];

            while (open_left[g] > 0 && next < count) {
                struct site *site = &balance->sites[ranks[next]];
                int64_t part = open_left[g] < site->not_dealt ? open_left[g] : site->not_dealt;

                if (part > 0)
                    add_piece(balance, g, stand_for(balance, site, part), part);
                open_left[g] -= (uint32_t)part;
                site->not_dealt -= part;
                next += site->not_dealt == 0;
            }
        }
    }
}

static void deal_object(struct balance *balance, size_t from, size_t to, uint32_t *ranks,
                        uint32_t *open_left)
{
    uint32_t first = balance->sites[from].first;
    uint32_t end = balance->sites[to - 1].first + balance->sites[to - 1].members;
    size_t count = to - from;
    int64_t open = 0;

    for (uint32_t k = first; k < end; k++)
        open += open_left[balance->order[k]];
    for (size_t i = 0; i < count; i++)
        ranks[i] = (uint32_t)(from + i);
    if (open > 0)
        qsort_r(ranks, count, sizeof *ranks, compare_arrivals, balance);
    if (open > 0 && scale_arrivals(balance, from, ranks, count, open) > 0)
        deal_open(balance, ranks, count, open_left);
    for (uint32_t k = first; k < end; k++) {
        uint32_t g = balance->order[k];

        add_piece(balance, g, g, open_left[g]);
    }
}

static int compare_pieces(const void *left, const void *right)
{
    const struct arrival_piece *a = left, *b = right;
    int order = compare_numbers(a->left_by, b->left_by);

    return order ? order : compare_numbers(a->arrives_at, b->arrives_at);
}

size_t arrivals_find(const struct arrival_group *groups, size_t count, struct arrival_piece *pieces)
{
    uint32_t *numbers = allocate_zeroed(3 * count + 1, sizeof *numbers), *open_left;
    struct balance balance = {.groups = groups,
                              .order = numbers,
                              .not_met = allocate_zeroed(count + 1, sizeof *balance.not_met),
                              .sites = allocate_zeroed(count + 1, sizeof *balance.sites),
                              .pieces = pieces};

    open_left = numbers + count;
    list_sites(&balance, count);
    for (size_t g = 0; g < count; g++)
        balance.not_met[g] = groups[g].count;
    deal_told(&balance, count);
    for (size_t g = 0; g < count; g++)
        open_left[g] = groups[g].next_ip ? 0 : groups[g].count;
    for (size_t from = 0, to; from < balance.site_count; from = to) {
        for (to = from + 1; to < balance.site_count; to++)
            if (group_at(&balance, to)->object != group_at(&balance, from)->object)
                break;
        deal_object(&balance, from, to, numbers + 2 * count, open_left);
    }
    qsort(pieces, balance.count, sizeof *pieces, compare_pieces);
    free(balance.not_met);
    free(balance.sites);
    free(numbers);
    return balance.count;
}
