/* SPDX-License-Identifier: BSD-3-Clause */
/* See burst_code.h. */
#include "analysis/rates/burst_code.h"

#include <stdlib.h>

#include "profile/key_map.h"
#include "profile/probes.h"
#include "support/memory.h"

struct builder {
    struct burst_code code;
    size_t ip_capacity, execution_capacity;
    struct key_map numbers; /* of instructions, from 1 */
};

static uint32_t number_of(struct builder *builder, uint64_t ip)
{
    struct burst_code *code = &builder->code;
    bool added;
    uint32_t number = key_map_intern(&builder->numbers, &ip, sizeof ip, &added) - 1;

    if (added && number == builder->ip_capacity) {
        builder->ip_capacity = 2 * builder->ip_capacity + 64;
        code->ips = reallocate(code->ips, builder->ip_capacity, sizeof *code->ips);
    }
    if (added) {
        code->ips[number] = ip;
        code->ip_count = number + 1;
    }
    return number;
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
    key_map_clear(&builder.numbers);
    *out = builder.code;
}

void burst_code_free(struct burst_code *code)
{
    free(code->ips);
    free(code->executions);
    free(code->spans);
    *code = (struct burst_code){0};
}
