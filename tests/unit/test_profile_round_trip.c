/* SPDX-License-Identifier: BSD-3-Clause */
/* What the writer wrote is what the reader gives, for every type of record; and the lookups. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/profile_builder.h"
#include "support/scratch_file.h"

/* Bytes that differ from field to field, so that a shifted or swapped field shows. */
static void fill(void *record, size_t size, uint8_t seed)
{
    uint8_t *bytes = record;
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(seed + 31 * i);
}

#define ROUND_TRIP_FIXED(type, tag, member, id_field)                                              \
    do {                                                                                           \
        struct tag records[3];                                                                     \
        struct profile_builder builder;                                                            \
        profile_builder_begin(&builder, scratch_path);                                             \
        for (uint8_t i = 0; i < 3; i++) {                                                          \
            fill(&records[i], sizeof(records[i]), (uint8_t)(1 + i));                               \
            id_field;                                                                              \
            profile_builder_record(&builder, type, &records[i], sizeof(records[i]));               \
        }                                                                                          \
        profile_builder_finish(&builder);                                                          \
        struct profile *profile = profile_builder_load(scratch_path);                              \
        assert_int_equal(profile->member.count, 3);                                                \
        assert_memory_equal(profile->member.items, records, sizeof(records));                      \
        assert_true(profile->complete);                                                            \
        assert_int_equal(profile->dropped_bytes, 0);                                               \
        assert_int_equal(profile->lost_records, 0);                                                \
        assert_int_equal(profile->invalid_records, 0);                                             \
        assert_int_equal(profile->unknown_records, 0);                                             \
        profile_free(profile);                                                                     \
    } while (0)

static void test_fixed_records(void **state)
{
    (void)state;
    ROUND_TRIP_FIXED(RECORD_CACHE, record_cache, caches, (void)0);
    ROUND_TRIP_FIXED(RECORD_MODULE_END, record_module_end, module_ends, (void)0);
    ROUND_TRIP_FIXED(RECORD_THREAD, record_thread, threads, records[i].thread_id = i + 1u);
    ROUND_TRIP_FIXED(RECORD_THREAD_END, record_thread_end, thread_ends,
                     records[i].thread_id = i + 1u);
    ROUND_TRIP_FIXED(RECORD_CONTEXT, record_context, contexts,
                     (records[i].context_id = i + 1u, records[i].parent_id = i));
    ROUND_TRIP_FIXED(RECORD_SITE_TOTALS, record_site_totals, site_totals,
                     records[i].site_id = i + 1u);
    ROUND_TRIP_FIXED(RECORD_SAMPLE, record_sample, samples, records[i].sample_id = i + 1u);
    ROUND_TRIP_FIXED(RECORD_WATCH_END, record_watch_end, watch_ends, records[i].sample_id = i + 1u);
    ROUND_TRIP_FIXED(RECORD_INVALIDATION, record_invalidation, invalidations,
                     records[i].sample_id = i + 1u);
    ROUND_TRIP_FIXED(RECORD_LINE_WATCH, record_line_watch, line_watches,
                     (records[i].sample_id = i + 1u, records[i].probability = 1. / (i + 1)));
    ROUND_TRIP_FIXED(RECORD_LINE_EVENT, record_line_event, line_events, (void)0);
    ROUND_TRIP_FIXED(RECORD_LINE_END, record_line_end, line_ends, records[i].sample_id = i + 1u);
    ROUND_TRIP_FIXED(RECORD_TURN, record_turn, turns, (void)0);
    ROUND_TRIP_FIXED(RECORD_SHARED_USE, record_shared_use, shared_uses,
                     records[i].share = 1. / (i + 1));
    ROUND_TRIP_FIXED(RECORD_PROCESS_TRANSFER, record_process_transfer, process_transfers,
                     (records[i].source_pid = i, records[i].transfers = i + 0.5));
    ROUND_TRIP_FIXED(RECORD_SERVED, record_served, served, (void)0);
    ROUND_TRIP_FIXED(RECORD_TOTALS, record_totals, totals, records[i].thread_id = i + 1u);
    ROUND_TRIP_FIXED(
        RECORD_TRANSFER, record_transfer, transfers,
        (records[i].source_thread = i, records[i].transfers = i + 0.5, records[i].variance = i));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixed_records),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
