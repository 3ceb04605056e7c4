/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flows between the processes of a merged profile, over memory that they share: from what their
 * bursts touched (burst_contention.h).
 */
#include <math.h>
#include <stdlib.h>

#include "analysis/communication/burst_contention.h"
#include "analysis/communication/communication_internal.h"
#include "analysis/communication/process_lines.h"

static void add_flow(struct communication *communication, const struct process_lines *lines,
                     const struct burst_use *use, const struct burst_contention *contention,
                     size_t source, size_t destination, unsigned kind)
{
    const struct scenarios *transfers = burst_contention_of(contention, source, destination, kind);
    struct flow *flow;
    float *values;

    if (!(transfers->of[MOST] > 0))
        return;
    flow = communication_add(communication);
    values = communication_more_values(communication);
    *flow = (struct flow){
        .profile_index = use->profile,
        .kind = (uint8_t)kind,
        .true_sharing = burst_contention_is_true(contention, source, destination, kind),
        .modelled = true,
        .object_kind = OBJECT_SHARED,
        .object_reference = lines->files[use->file].mapping_id,
        .object_base = shared_file_address(use->file, 0),
        .object_size = lines->files[use->file].bytes,
        .line_address = shared_file_address(use->file, use->line),
        .source =
            burst_contention_end(communication->analysis, contention, &contention->acts[source]),
        .destination = burst_contention_end(communication->analysis, contention,
                                            &contention->acts[destination]),
        .transfers = transfers->of[USUAL],
    };
    for (uint32_t r = 1; r <= communication->replicates; r++)
        values[r - 1] = (float)scenarios_between(transfers, communication_doubt(r));
}

static void add_line(struct communication *communication, const struct process_lines *lines,
                     size_t first, size_t end)
{
    struct burst_contention contention;
    const struct burst_use *use = &lines->items[first];

    burst_contention_find(communication->analysis, BETWEEN_PROCESSES, use, end - first,
                          &contention);
    for (size_t a = 0; a < contention.act_count; a++)
        for (size_t b = 0; b < contention.act_count; b++)
            for (unsigned kind = TRANSFER_RAW; kind < TRANSFER_RAW + BURST_KINDS; kind++)
                add_flow(communication, lines, use, &contention, a, b, kind);
    burst_contention_free(&contention);
}

void communication_add_processes(struct communication *communication)
{
    struct process_lines lines;

    process_lines_create(communication->analysis, communication->line_size, &lines);
    for (size_t i = 0, end; i < lines.count; i = end) {
        bool several;

        end = process_lines_end(&lines, i, &several);
        if (several)
            add_line(communication, &lines, i, end);
    }
    process_lines_free(&lines);
}
