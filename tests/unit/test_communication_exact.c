/* SPDX-License-Identifier: BSD-3-Clause */
/* Flows from counted transfers: values, totals by label, and what must be refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/communication/communication.h"
#include "support/profile_builder.h"

static void begin(struct profile_builder *builder, char *path, unsigned threads)
{
    struct record_histogram histogram = {.scope = SCOPE_PROCESS,
                                         .measure = MEASURE_STACK_DISTANCE,
                                         .line_size = 64,
                                         .accesses = 10,
                                         .cold = 10,
                                         .rate_denominator = 1};
    int descriptor = mkstemp(path);

    assert_true(descriptor >= 0);
    close(descriptor);
    profile_builder_begin(builder, path);
    profile_builder_defaults(builder);
    for (unsigned i = 0; i < threads; i++)
        profile_builder_thread(builder, (int32_t)(100 + i), "one");
    profile_builder_histogram(builder, &histogram, NULL);
}

static struct analysis *finish(struct profile_builder *builder, const char *path,
                               struct profile **profile)
{
    char message[256];
    struct analysis *analysis;

    profile_builder_finish(builder);
    *profile = profile_builder_load(path);
    unlink(path);
    analysis =
        analysis_create((const struct profile *const *)profile, 1, NULL, message, sizeof message);
    if (!analysis)
        fail_msg("%s", message);
    return analysis;
}

static void add(struct profile_builder *builder, uint32_t source, uint32_t destination,
                enum transfer_kind kind, uint64_t address, double count)
{
    struct record_transfer transfer = {.source_thread = source,
                                       .destination_thread = destination,
                                       .kind = (uint8_t)kind,
                                       .true_sharing = kind == TRANSFER_RAW,
                                       .line_size = 64,
                                       .object_address = address,
                                       .source_ip = address ? 0x401000 : 0,
                                       .destination_ip = address ? 0x402000 : 0,
                                       .transfers = count};

    profile_builder_record(builder, RECORD_TRANSFER, &transfer, sizeof transfer);
}

static void flows_and_totals(void **state)
{
    char path[] = "/tmp/reuse-communication-XXXXXX", message[256];
    struct profile_builder builder;
    struct profile *profile;
    uint32_t labels[8];
    struct estimate totals[3];

    (void)state;
    begin(&builder, path, 3);
    add(&builder, 1, 2, TRANSFER_RAW, 0x10040, 500);
    add(&builder, 1, 2, TRANSFER_RAW, 0, 20); /* what remains of the pair */
    add(&builder, 2, 1, TRANSFER_WAW, 0x10040, 70);
    add(&builder, 3, 1, TRANSFER_WAR, 0, 0); /* nothing remains: no flow */
    struct analysis *analysis = finish(&builder, path, &profile);
    struct communication *communication =
        communication_create(analysis, 0, message, sizeof message);

    assert_non_null(communication);
    assert_int_equal(communication_flow_count(communication), 3);
    for (size_t i = 0; i < 3; i++) {
        const struct flow *flow = communication_flow(communication, i);

        labels[i] = flow->source.thread_id - 1;
        assert_int_equal(flow->true_sharing, flow->kind == TRANSFER_RAW);
        assert_int_equal(flow->source.ip != 0, flow->line_address != 0);
        assert_false(flow->source.cpu_known || flow->destination.cpu_known);
    }
    communication_totals(communication, labels, 3, totals);
    assert_float_equal(totals[0].value, 520, 0);
    assert_float_equal(totals[1].lo, 70, 0);
    assert_float_equal(totals[1].hi, 70, 0);
    assert_float_equal(totals[2].value, 0, 0);
    assert_float_equal(communication_total(communication, NULL, 0).value, 590, 0);
    assert_float_equal(communication_total(communication, labels, 1).value, 70, 0);
    communication_free(communication);
    assert_null(communication_create(analysis, 128, message, sizeof message));
    assert_non_null(strstr(message, "128-byte"));
    assert_null(communication_create(analysis, 32, message, sizeof message));
    assert_null(communication_create(analysis, 100, message, sizeof message));
    analysis_free(analysis);
    profile_free(profile);
}

static void without_transfers(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads <= 2; threads++) {
        char path[] = "/tmp/reuse-communication-XXXXXX", message[256];
        struct profile_builder builder;
        struct profile *profile;

        begin(&builder, path, threads);
        struct analysis *analysis = finish(&builder, path, &profile);
        struct communication *communication =
            communication_create(analysis, 0, message, sizeof message);
        /* One thread has nobody to talk to; two without a transfer were not listened to. */
        if (threads == 1) {
            assert_non_null(communication);
            assert_int_equal(communication_flow_count(communication), 0);
            assert_float_equal(communication_total(communication, NULL, 0).hi, 0, 0);
        } else {
            assert_null(communication);
            assert_non_null(strstr(message, "--no-sharing"));
        }
        communication_free(communication);
        analysis_free(analysis);
        profile_free(profile);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flows_and_totals),
        cmocka_unit_test(without_transfers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
