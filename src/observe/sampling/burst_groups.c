/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. Probes of a burst that are alike, and how many of them have which distance. */
#include <string.h>

#include "sampling/burst_internal.h"

#include "signal_safe.h"

enum { PATH_SHIFT = 32 }; /* in a key's place */

/* Of the touch's access, the first byte in its line. */
static inline uint64_t first_byte(const struct burst_touches *touches, const struct access *access,
                                  uint32_t touch)
{
    uint64_t line = touches->line[touch] * touches->line_size;

    return access->address > line ? access->address : line;
}

static inline bool holds(const struct burst_object *object, uint64_t address)
{
    return address - object->low < object->high - object->low;
}

static inline struct burst_instruction *instruction_at(struct burst *burst, uint64_t ip)
{
    return &burst->instructions[burst_hash(ip, BURST_INSTRUCTIONS - 1)];
}

/* Not that of the instruction's last probe. Few objects are in use at a time. */
static __attribute__((noinline)) void find_other_object(struct burst *burst,
                                                        const struct burst_host *host,
                                                        uint64_t address,
                                                        struct burst_object *object)
{
    for (unsigned i = 0; i < BURST_OBJECTS; i++) {
        if (holds(&burst->objects[i], address)) {
            *object = burst->objects[i];
            return;
        }
    }
    *object = (struct burst_object){0};
    host->identify(host->user, address, object);
    burst->objects[burst->next_object++ % BURST_OBJECTS] = *object;
}

static inline const struct burst_object *find_object(struct burst *burst,
                                                     const struct burst_host *host,
                                                     struct burst_instruction *instruction,
                                                     uint64_t address)
{
    if (__builtin_expect(!holds(&instruction->object, address), 0))
        find_other_object(burst, host, address, &instruction->object);
    return &instruction->object;
}

static inline bool is_same(const struct burst_key *a, const struct burst_key *b)
{
    return ((a->ip ^ b->ip) | (a->reuse_ip ^ b->reuse_ip) | (a->where ^ b->where) |
            (a->what ^ b->what)) == 0;
}

static void begin_group(struct burst *burst, const struct burst_key *key, uint8_t kind,
                        const struct burst_object *object)
{
    struct burst_group *group = &burst->group[burst->groups++];

    group->key = *key;
    group->probe = (struct probe_group){
        .ip = key->ip,
        .reuse_ip = key->reuse_ip,
        .path_id = (uint32_t)(key->where >> PATH_SHIFT),
        .object_reference = object->reference,
        .object_kind = object->kind,
        .kind = kind,
        .tracked_log2 = object->tracked_log2,
    };
}

/* The place of the group in the table, or a free one for it. */
static inline uint16_t *find_group(struct burst *burst, const struct burst_key *key)
{
    const uint32_t mask = BURST_GROUP_PLACES - 1;
    uint64_t mixed = key->ip + key->what + key->reuse_ip * UINT64_C(0xc2b2ae3d27d4eb4f) +
                     key->where * UINT64_C(0x165667b19e3779f9);
    uint32_t place = burst_hash(mixed, mask);

    while (burst->group_table[place] != 0 &&
           !is_same(&burst->group[burst->group_table[place] - 1].key, key))
        place = (place + 1) & mask;
    return &burst->group_table[place];
}

static inline void group_probe(struct burst *burst, const struct burst_host *host, uint32_t touch,
                               uint32_t path)
{
    const struct burst_touches *run = &burst->run;
    const struct access *access = &burst->accesses[run->access[touch]];
    struct burst_instruction *instruction = instruction_at(burst, access->ip);
    const struct burst_object *object =
        find_object(burst, host, instruction, first_byte(run, access, touch));
    uint16_t next = run->next[touch], *place;
    const struct burst_key key = {
        .ip = access->ip,
        .reuse_ip = next == BURST_TOUCH_NONE ? 0 : burst->accesses[run->access[next]].ip,
        .where = object->reference | (uint64_t)path << PATH_SHIFT,
        .what = object->kind | (uint64_t)object->tracked_log2 << 8 | (uint64_t)access->kind << 16,
    };

    if (instruction->group == 0 || !is_same(&burst->group[instruction->group - 1].key, &key)) {
        place = find_group(burst, &key);
        if (*place == 0) {
            begin_group(burst, &key, access->kind, object);
            *place = (uint16_t)burst->groups;
        }
        instruction->group = *place;
    }
    burst->group_of[touch] = (uint16_t)(instruction->group - 1);
}

static void meet_groups(struct burst *burst, const struct burst_host *host)
{
    for (uint32_t g = 0; host->meet && g < burst->groups; g++)
        host->meet(host->user, burst->group[g].probe.path_id, burst->group[g].probe.ip);
}

/* One of the group's probes, all equally likely, tells the place. */
static void find_place(struct burst *burst, const struct burst_host *host,
                       struct probe_group *group, const uint16_t *touches, uint32_t n)
{
    struct burst_probe probe =
        burst_probe_at(burst, touches[n > 1 ? random_below(&burst->random, n) : 0]);

    group->width = probe.width;
    group->place = probe.address -
                   find_object(burst, host, instruction_at(burst, group->ip), probe.address)->base;
}

/* ---- counting ---- */

static uint16_t code_of(const struct burst *burst, const struct burst_touches *touches,
                        uint32_t touch)
{
    uint16_t next = touches->next[touch];
    bool open = next == BURST_TOUCH_NONE;
    uint32_t end = open ? burst->count - 1 : touches->access[next];

    return probe_code(open, probe_distance_bin(touches->distance[touch]),
                      probe_time_bin(end - touches->access[touch]));
}

/* Of the lines of the run's size that an access touches in a touch's line, the lowest decides. */
static void find_other_groups(struct burst *burst)
{
    const struct burst_touches *other = &burst->other;
    unsigned shift = (unsigned)__builtin_ctz(burst->line_size);

    for (uint32_t i = 0; i < other->probes; i++) {
        uint32_t index = other->access[i];
        const struct access *access = &burst->accesses[index];
        uint64_t lines = (first_byte(other, access, i) >> shift) - (access->address >> shift);

        burst->other_group_of[i] = burst->group_of[burst->first_touch[index] + lines];
    }
}

/* Appends the counts of n probes, by ascending code; returns how many different codes there are. */
static uint16_t count_codes(struct burst *burst, const struct burst_touches *touches,
                            const uint16_t *probes, uint32_t n)
{
    uint64_t words[BURST_CODES / 64 / 64] = {0};
    uint64_t bits[BURST_CODES / 64];
    uint32_t before = burst->counted;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t code = code_of(burst, touches, probes[i]), word = code / 64;
        uint64_t *used = &words[word / 64];

        if (burst->code_counts[code]++ != 0)
            continue;
        if (!(*used >> word % 64 & 1))
            bits[word] = 0;
        *used |= UINT64_C(1) << word % 64;
        bits[word] |= UINT64_C(1) << code % 64;
    }
    for (uint32_t i = 0; i < BURST_CODES / 64 / 64; i++) {
        for (uint64_t used = words[i]; used; used &= used - 1) {
            uint32_t word = i * 64 + (uint32_t)__builtin_ctzll(used);

            for (uint64_t left = bits[word]; left; left &= left - 1) {
                uint32_t code = word * 64 + (uint32_t)__builtin_ctzll(left);

                burst->counts[burst->counted++] =
                    (struct probe_count){.code = (uint16_t)code, .count = burst->code_counts[code]};
                burst->code_counts[code] = 0;
            }
        }
    }
    return (uint16_t)(burst->counted - before);
}

/* Brings the probes of each group together. */
static void sort_probes(struct burst *burst, const uint16_t *group_of, uint32_t probes)
{
    uint16_t at = 0;

    memset(burst->group_end, 0, burst->groups * sizeof *burst->group_end);
    for (uint32_t i = 0; i < probes; i++)
        burst->group_end[group_of[i]]++;
    for (uint32_t g = 0; g < burst->groups; g++) {
        uint16_t n = burst->group_end[g];

        burst->group_end[g] = at;
        at = (uint16_t)(at + n);
    }
    for (uint32_t i = 0; i < probes; i++)
        burst->by_group[burst->group_end[group_of[i]]++] = (uint16_t)i;
}

static void count_probes(struct burst *burst, const struct burst_touches *touches,
                         const uint16_t *group_of, unsigned size)
{
    uint32_t at = 0;

    sort_probes(burst, group_of, touches->probes);
    for (uint32_t g = 0; g < burst->groups; g++) {
        struct burst_group *group = &burst->group[g];

        group->first[size] = burst->counted;
        group->size[size] =
            count_codes(burst, touches, burst->by_group + at, burst->group_end[g] - at);
        at = burst->group_end[g];
    }
}

static void find_places(struct burst *burst, const struct burst_host *host)
{
    uint32_t at = 0;

    for (uint32_t g = 0; g < burst->groups; g++) {
        find_place(burst, host, &burst->group[g].probe, burst->by_group + at,
                   burst->group_end[g] - at);
        at = burst->group_end[g];
    }
}

static void begin_groups(struct burst *burst)
{
    const struct access *first = &burst->accesses[0];

    burst->groups = burst->counted = burst->next_object = 0;
    memset(burst->group_table, 0, sizeof burst->group_table);
    memset(burst->objects, 0, sizeof burst->objects);
    memset(burst->instructions, 0, sizeof burst->instructions);
    random_seed(&burst->random, burst->random.state ^ first->ip ^ first->address << 20);
}

void burst_group_probes(struct burst *burst, const struct burst_host *host)
{
    uint32_t touch = 0;

    begin_groups(burst);
    for (uint32_t i = 0; i < burst->probes; i++) {
        uint32_t path = host->path ? host->path(host->user, i) : 0;

        burst->first_touch[i] = (uint16_t)touch;
        for (; touch < burst->run.probes && burst->run.access[touch] == i; touch++)
            group_probe(burst, host, touch, path);
    }
    meet_groups(burst, host);
    count_probes(burst, &burst->run, burst->group_of, 0);
    find_places(burst, host);
    for (unsigned size = 1; size < burst->line_sizes; size++) {
        uint32_t line_size = probe_line_size(burst->line_size, size);

        burst->other.count = burst->other.probes = 0;
        if (line_size)
            burst_find_uses(burst, &burst->other, line_size);
        find_other_groups(burst);
        count_probes(burst, &burst->other, burst->other_group_of, size);
    }
}
