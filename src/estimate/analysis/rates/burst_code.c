/* SPDX-License-Identifier: BSD-3-Clause */
/* See burst_code.h. */
#include "analysis/rates/burst_code.h"

#include <stdlib.h>

#include "profile/probes.h"
#include "support/memory.h"

/* Numbers of instructions by address: open addressing, a power of two of slots. */
struct numbers {
    uint32_t *slots; /* number + 1; 0: free */
    size_t capacity;
};

struct builder {
    struct burst_code code;
    size_t ip_capacity, execution_capacity;
    struct numbers numbers;
};

static size_t slot_of(const struct numbers *numbers, const uint64_t *ips, uint64_t ip)
{
    size_t at = (ip * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (numbers->capacity - 1);

    while (numbers->slots[at] != 0 && ips[numbers->slots[at] - 1] != ip)
        at = (at + 1) & (numbers->capacity - 1);
    return at;
}

static void grow(struct numbers *numbers, const uint64_t *ips, size_t count)
{
    free(numbers->slots);
    numbers->capacity = numbers->capacity > 0 ? 2 * numbers->capacity : 1024;
    numbers->slots = allocate_zeroed(numbers->capacity, sizeof *numbers->slots);
    for (size_t i = 0; i < count; i++)
        numbers->slots[slot_of(numbers, ips, ips[i])] = (uint32_t)i + 1;
}

static uint32_t number_of(struct builder *builder, uint64_t ip)
{
    struct burst_code *code = &builder->code;
    size_t at;

    if (2 * code->ip_count >= builder->numbers.capacity)
        grow(&builder->numbers, code->ips, code->ip_count);
    at = slot_of(&builder->numbers, code->ips, ip);
    if (builder->numbers.slots[at] == 0) {
        if (code->ip_count == builder->ip_capacity) {
            builder->ip_capacity = 2 * builder->ip_capacity + 64;
            code->ips = reallocate(code->ips, builder->ip_capacity, sizeof *code->ips);
        }
        code->ips[code->ip_count++] = ip;
        builder->numbers.slots[at] = (uint32_t)code->ip_count;
    }
    return builder->numbers.slots[at] - 1;
}

/* Groups of a burst come by instruction, so that those of one are added up as they come. */
static void add(struct builder *builder, uint64_t ip, size_t burst, double probes)
{
    struct burst_code *code = &builder->code;
    const uint32_t instruction = number_of(builder, ip);
    struct execution *last =
        code->execution_count > 0 ? &code->executions[code->execution_count - 1] : NULL;

    if (last && last->instruction == instruction && last->burst == burst) {
        last->probes += (float)probes;
        return;
    }
    if (code->execution_count == builder->execution_capacity) {
        builder->execution_capacity = 2 * builder->execution_capacity + 64;
        code->executions =
            reallocate(code->executions, builder->execution_capacity, sizeof *code->executions);
    }
    code->executions[code->execution_count++] =
        (struct execution){instruction, (uint32_t)burst, (float)probes};
}

static void add_probes(struct builder *builder, const struct record_burst *burst, size_t index)
{
    struct code_span *span = &builder->code.spans[index];
    struct probe_count counts[PROBE_COUNTS_MAX];
    size_t sizes[PROBE_LINE_SIZES];
    struct probe_decoder decoder;
    struct probe_group group;

    *span = (struct code_span){UINT64_MAX, 0};
    probe_decoder_begin(&decoder, burst);
    while (probe_decode(&decoder, &group, counts, PROBE_COUNTS_MAX, sizes)) {
        double probes = 0;

        span->first = group.ip < span->first ? group.ip : span->first;
        span->last = group.ip > span->last ? group.ip : span->last;
        for (size_t i = 0; i < sizes[0]; i++)
            probes += counts[i].count;
        if (probes > 0)
            add(builder, group.ip, index, probes);
    }
}

void burst_code_create(const struct profile *profile, struct burst_code *out)
{
    struct builder builder = {.code.spans =
                                  allocate(profile->bursts.count, sizeof *builder.code.spans)};

    for (size_t i = 0; i < profile->progress.count; i++) {
        const struct record_progress *record = profile->progress.items[i];
        size_t index = profile_burst_index(profile, record->burst_id);

        if (record->ip != 0 && index < profile->bursts.count)
            add(&builder, record->ip, index, 1);
    }
    for (size_t i = 0; i < profile->bursts.count; i++)
        add_probes(&builder, profile->bursts.items[i], i);
    free(builder.numbers.slots);
    *out = builder.code;
}

void burst_code_free(struct burst_code *code)
{
    free(code->ips);
    free(code->executions);
    free(code->spans);
    *code = (struct burst_code){0};
}
