/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is encoded is decoded again: random accesses through every layout of perf samples, through
 * IBS registers of every set of capabilities, and through SPE streams cut anywhere.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <linux/perf_event.h>

#include "pmu/bytes.h"
#include "pmu/data_source.h"
#include "pmu/encode.h"
#include "pmu/perf_plan.h"
#include "sampling/random.h"
#include "support/test_seed.h"

static struct random random_state;

static int seed(void **state)
{
    (void)state;
    random_seed(&random_state, test_seed());
    return 0;
}

static uint32_t below(uint32_t bound)
{
    return random_below(&random_state, bound);
}

static bool coin(void)
{
    return random_next(&random_state) >> 63;
}

/* User-space address, as all of the program's own are. */
static uint64_t user_address(void)
{
    return (random_next(&random_state) >> 17 | 1) & ((UINT64_C(1) << 47) - 1);
}

/* The flags that a level implies in every decoder. */
static uint32_t implied_by_level(unsigned level)
{
    return (level > LEVEL_L1 ? PMU_L1_MISSED : 0) | (level > LEVEL_L2 ? PMU_L2_MISSED : 0) |
           (level > LEVEL_L3 && level != LEVEL_PEER_CACHE ? PMU_L3_MISSED : 0) |
           (level == LEVEL_REMOTE_CACHE || level == LEVEL_REMOTE_DRAM ? PMU_REMOTE : 0) |
           (level == LEVEL_PEER_CACHE || level == LEVEL_REMOTE_CACHE ? PMU_FROM_OTHER_CACHE : 0);
}

/* An access that every unit can describe; the tests take away what theirs does not tell. */
static struct access_record random_record(void)
{
    struct access_record record = {
        .ip = user_address(),
        .address = user_address(),
        .physical = user_address() >> 8 | 1,
        .time = random_next(&random_state) >> 8,
        .period = (uint64_t)(1 + below(1 << 20)) << 4,
        .flags = PMU_HAS_IP | PMU_EXACT_IP | PMU_HAS_ADDRESS | PMU_HAS_PHYSICAL | PMU_HAS_TIME |
                 PMU_HAS_THREAD | PMU_HAS_CPU,
        .pid = below(1 << 22),
        .tid = below(1 << 22),
        .cpu = below(1024),
        .latency_instruction = (uint16_t)below(3000),
        .latency_retire = (uint16_t)below(3000),
        .kinds = coin() ? ACCESS_LOAD : ACCESS_STORE,
        .width = (uint8_t)(1 << below(7)),
        .level = (uint8_t)below(LEVEL_COUNT),
        .privilege = PRIVILEGE_USER,
    };

    record.flags |= implied_by_level(record.level);
    if (record.kinds == ACCESS_LOAD && record.level > LEVEL_L1) {
        record.latency = 1 + below(4000);
        record.flags |= PMU_HAS_LATENCY;
    }
    if (coin())
        record.flags |= PMU_LOCKED;
    return record;
}

static void assert_same_record(const struct access_record *expected,
                               const struct access_record *actual)
{
    assert_int_equal(actual->ip, expected->ip);
    assert_int_equal(actual->address, expected->address);
    assert_int_equal(actual->physical, expected->physical);
    assert_int_equal(actual->time, expected->time);
    assert_int_equal(actual->period, expected->period);
    assert_int_equal(actual->flags, expected->flags);
    assert_int_equal(actual->pid, expected->pid);
    assert_int_equal(actual->tid, expected->tid);
    assert_int_equal(actual->cpu, expected->cpu);
    assert_int_equal(actual->latency, expected->latency);
    assert_int_equal(actual->latency_instruction, expected->latency_instruction);
    assert_int_equal(actual->latency_retire, expected->latency_retire);
    assert_int_equal(actual->latency_issue, expected->latency_issue);
    assert_int_equal(actual->latency_translation, expected->latency_translation);
    assert_int_equal(actual->kinds, expected->kinds);
    assert_int_equal(actual->width, expected->width);
    assert_int_equal(actual->level, expected->level);
    assert_int_equal(actual->translation, expected->translation);
    assert_int_equal(actual->privilege, expected->privilege);
    assert_int_equal(actual->hops, expected->hops);
}

/* ---- perf samples ---- */

/* Every known bit but READ, which the encoder refuses. */
static uint64_t random_sample_type(void)
{
    uint64_t type = random_next(&random_state) >> 20 & ((1 << PERF_SAMPLE_BITS_KNOWN) - 1);

    type &= ~(uint64_t)PERF_SAMPLE_READ;
    if (type & PERF_SAMPLE_WEIGHT) /* the kernel refuses both */
        type &= ~(uint64_t)PERF_SAMPLE_WEIGHT_STRUCT;
    return type;
}

static void test_samples_of_any_type(void **state)
{
    static const uint8_t raw[60] = {1, 2, 3};

    (void)state;
    for (int round = 0; round < 20000; round++) {
        struct perf_layout layout = {.sample_type = random_sample_type(),
                                     .sample_id_all = true,
                                     .branch_sample_type = coin() ? PERF_SAMPLE_BRANCH_HW_INDEX : 0,
                                     .registers_user = random_next(&random_state)};
        struct perf_sample sample = {0}, decoded;
        uint64_t type = layout.sample_type, *words = &sample.identifier;
        uint8_t record[512];
        uint16_t misc = (uint16_t)below(1 << 15);
        struct perf_record_header header;
        size_t size;

        for (int i = 0; i < 7; i++)
            words[i] = random_next(&random_state);
        sample.pid = below(1 << 30);
        sample.tid = below(1 << 30);
        sample.cpu = below(1 << 30);
        sample.weight = random_next(&random_state);
        if (type & PERF_SAMPLE_WEIGHT_STRUCT) {
            sample.weight = (uint32_t)sample.weight;
            sample.weight_2 = (uint16_t)below(65536);
            sample.weight_3 = (uint16_t)below(65536);
        }
        sample.data_source = random_next(&random_state);
        sample.transaction = random_next(&random_state);
        sample.physical = random_next(&random_state);
        sample.cgroup = random_next(&random_state);
        sample.data_page_size = random_next(&random_state);
        sample.code_page_size = random_next(&random_state);
        sample.raw = raw;
        sample.raw_size = below(sizeof raw + 1);

        size = encode_perf_sample(&layout, &sample, misc, record, sizeof record);
        assert_true(size >= PERF_RECORD_HEADER && size % 8 == 0);
        assert_true(perf_record_header(record, size, &header));
        assert_int_equal(header.type, PERF_RECORD_SAMPLE);
        assert_int_equal(header.misc, misc);
        assert_int_equal(header.size, size);
        assert_true(perf_sample_decode(&layout, record, size, &decoded));
#define SAME(bit, field) assert_int_equal(decoded.field, type &(bit) ? sample.field : 0)
        SAME(PERF_SAMPLE_IDENTIFIER, identifier);
        SAME(PERF_SAMPLE_IP, ip);
        SAME(PERF_SAMPLE_TID, pid);
        SAME(PERF_SAMPLE_TID, tid);
        SAME(PERF_SAMPLE_TIME, time);
        SAME(PERF_SAMPLE_ADDR, address);
        SAME(PERF_SAMPLE_ID, id);
        SAME(PERF_SAMPLE_STREAM_ID, stream_id);
        SAME(PERF_SAMPLE_CPU, cpu);
        SAME(PERF_SAMPLE_PERIOD, period);
        SAME(PERF_SAMPLE_WEIGHT_TYPE, weight);
        SAME(PERF_SAMPLE_WEIGHT_STRUCT, weight_2);
        SAME(PERF_SAMPLE_WEIGHT_STRUCT, weight_3);
        SAME(PERF_SAMPLE_DATA_SRC, data_source);
        SAME(PERF_SAMPLE_TRANSACTION, transaction);
        SAME(PERF_SAMPLE_PHYS_ADDR, physical);
        SAME(PERF_SAMPLE_CGROUP, cgroup);
        SAME(PERF_SAMPLE_DATA_PAGE_SIZE, data_page_size);
        SAME(PERF_SAMPLE_CODE_PAGE_SIZE, code_page_size);
#undef SAME
        if (type & PERF_SAMPLE_RAW) {
            assert_in_range(decoded.raw_size, sample.raw_size, sample.raw_size + 7);
            assert_memory_equal(decoded.raw, raw, sample.raw_size);
        }
        /* One word less, and it no longer fits; the header alone still tells so. */
        if (size > PERF_RECORD_HEADER)
            assert_false(perf_sample_decode(&layout, record, size - 8, &decoded));
        assert_int_equal(encode_perf_sample(&layout, &sample, misc, record, size - 1), 0);
    }
}

/* The quick way gives what the other one gives, whatever the layout and the bytes are. */
static void test_plans(void **state)
{
    static const uint64_t ibs_fields_asked = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |
                                             PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR;
    int planned = 0, payloads = 0;

    (void)state;
    for (int round = 0; round < 50000; round++) {
        struct perf_layout layout = {.sample_type = random_sample_type()};
        struct perf_record_header header = {.misc = (uint16_t)below(1 << 15)};
        enum perf_sample_unit unit = (enum perf_sample_unit)below(3);
        struct access_record quick, slow;
        struct perf_sample sample;
        struct perf_plan plan;
        uint8_t record[256];
        const uint8_t *raw;
        size_t raw_size;

        if (coin())
            layout.sample_type &= PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_ADDR |
                                  PERF_SAMPLE_WEIGHT_TYPE | PERF_SAMPLE_DATA_SRC;
        else if (coin())
            layout.sample_type = (layout.sample_type & ibs_fields_asked) | PERF_SAMPLE_RAW;
        if (!perf_plan_make(&layout, unit, ACCESS_LOAD, &plan))
            continue;
        planned++;
        for (size_t i = 0; i < sizeof record; i++)
            record[i] = coin() ? 0 : (uint8_t)random_next(&random_state);
        header.size = (uint16_t)below(sizeof record);
        if (header.size < PERF_RECORD_HEADER)
            header.size = plan.size;
        if (plan.raw && coin())
            store32(record + plan.raw, below(100));
        raw = perf_plan_raw(&plan, record, &header, &raw_size);
        if (!perf_sample_decode(&layout, record, header.size, &sample)) {
            assert_false(perf_plan_record(&plan, record, &header, &quick));
            assert_null(raw);
            continue;
        }
        assert_ptr_equal(raw, sample.raw);
        assert_true(!raw || raw_size == sample.raw_size);
        payloads += raw != NULL;
        assert_true(perf_plan_record(&plan, record, &header, &quick));
        perf_sample_to_record(&layout, &sample, header.misc, unit, ACCESS_LOAD, &slow);
        assert_same_record(&slow, &quick);
    }
    assert_true(planned > 5000 && payloads > 1000);
}

/* Tool-side lookup of the identifier that tells whose layout a record has. */
static void test_identifier_offsets(void **state)
{
    (void)state;
    for (int round = 0; round < 2000; round++) {
        struct perf_layout layout = {.sample_type = random_sample_type(), .sample_id_all = coin()};
        uint64_t mark = random_next(&random_state);
        struct perf_sample sample = {.identifier = mark, .id = mark}, identity;
        uint8_t record[512];
        size_t size = encode_perf_sample(&layout, &sample, 0, record, sizeof record);
        int at = perf_sample_identifier_offset(&layout);

        if (layout.sample_type & (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_ID))
            assert_memory_equal(record + at, &mark, sizeof mark);
        else
            assert_int_equal(at, -1);
        size = encode_perf_lost(&layout, &sample, 17, record, sizeof record);
        at = perf_record_identifier_from_end(&layout);
        if (layout.sample_id_all &&
            layout.sample_type & (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_ID)) {
            assert_memory_equal(record + size - at, &mark, sizeof mark);
            assert_true(perf_record_identity(&layout, record, size, &identity));
            assert_int_equal(identity.id | identity.identifier, mark);
        } else {
            assert_int_equal(at, -1);
        }
    }
}

static void test_unknown_layout_is_refused(void **state)
{
    struct perf_layout layout = {.sample_type = UINT64_C(1) << 25 | PERF_SAMPLE_IP};
    uint8_t record[64] = {PERF_RECORD_SAMPLE, 0, 0, 0, 0, 0, 64};
    struct perf_sample sample;

    (void)state;
    assert_int_equal(perf_layout_unknown(&layout), UINT64_C(1) << 25);
    assert_false(perf_sample_decode(&layout, record, sizeof record, &sample));
    layout.sample_type = PERF_SAMPLE_READ;
    layout.read_format = 1 << 7;
    assert_int_equal(perf_layout_unknown(&layout), 1 << 7);
    layout.read_format = PERF_FORMAT_ID;
    assert_int_equal(perf_layout_unknown(&layout), 0);
}

static void test_data_source_bits(void **state)
{
    (void)state;
    for (int round = 0; round < 100000; round++) {
        uint64_t value = random_next(&random_state);
        struct data_source source;

        data_source_unpack(value, &source);
        assert_int_equal(data_source_pack(&source), value);
    }
}

static const struct perf_layout pebs_layout = {
    .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
                   PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_WEIGHT_STRUCT |
                   PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_PHYS_ADDR,
};

static void test_pebs(void **state)
{
    static const uint8_t translations[] = {TRANSLATION_UNKNOWN, TRANSLATION_L1,
                                           TRANSLATION_L2,      TRANSLATION_CACHED,
                                           TRANSLATION_WALK,    TRANSLATION_FAULT};

    (void)state;
    for (int round = 0; round < 20000; round++) {
        struct access_record record = random_record(), decoded;
        struct perf_sample sample;
        uint8_t bytes[256];
        size_t size;

        record.translation = translations[below(sizeof translations)];
        record.hops = record.level == LEVEL_PEER_CACHE ? MEM_HOPS_SAME_NODE : 0;
        if (record.level == LEVEL_L3 && coin())
            record.flags |= PMU_MODIFIED_ELSEWHERE | PMU_FROM_OTHER_CACHE;
        size = encode_pebs(&pebs_layout, &record, bytes, sizeof bytes);
        assert_true(size > 0);
        assert_true(perf_sample_decode(&pebs_layout, bytes, size, &sample));
        perf_sample_to_record(&pebs_layout, &sample, (uint16_t)(bytes[4] | bytes[5] << 8),
                              UNIT_PEBS, 0, &decoded);
        record.width = 0; /* not recorded */
        assert_same_record(&record, &decoded);
    }
}

/* A store event of older processors: the sample itself does not say that it is one. */
static void test_event_tells_the_kind(void **state)
{
    struct perf_layout layout = {.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_ADDR};
    struct perf_sample sample = {.ip = 0x401000, .address = 0x7f0000001000};
    struct access_record record;

    (void)state;
    perf_sample_to_record(&layout, &sample, PERF_RECORD_MISC_USER, UNIT_PEBS, ACCESS_STORE,
                          &record);
    assert_int_equal(record.kinds, ACCESS_STORE);
    assert_int_equal(record.flags, PMU_HAS_IP | PMU_HAS_ADDRESS);
    layout.sample_type |= PERF_SAMPLE_DATA_SRC;
    sample.data_source = 0x68100142; /* the kernel says load */
    perf_sample_to_record(&layout, &sample, PERF_RECORD_MISC_USER, UNIT_PEBS, ACCESS_STORE,
                          &record);
    assert_int_equal(record.kinds, ACCESS_LOAD);
}

/* ---- IBS ---- */

/* All sets of capabilities that make a difference to the payload. */
static uint32_t random_capabilities(void)
{
    return (uint32_t)random_next(&random_state) & 0x9ffff;
}

static void test_ibs_registers(void **state)
{
    (void)state;
    for (int round = 0; round < 20000; round++) {
        struct ibs_registers registers, decoded, packed;
        struct ibs_op op, again;
        uint8_t payload[IBS_RAW_LARGEST + 4];
        size_t size;

        for (size_t i = 0; i < sizeof registers / 8; i++)
            ((uint64_t *)&registers)[i] = random_next(&random_state);
        registers.capabilities = random_capabilities();
        /* Page size 3 is reserved: it is told as none. */
        registers.data3 &= ~(uint64_t)(1 << 5);
        if (!(registers.capabilities & IBS_BRANCH_TARGET))
            registers.target = 0;
        if (!(registers.capabilities & IBS_OP_DATA4))
            registers.data4 = 0;
        size = ibs_encode(&registers, payload, sizeof payload);
        assert_int_equal(size, ibs_payload_size(registers.capabilities));
        memset(&decoded, 0, sizeof decoded);
        assert_true(ibs_decode(payload, size, &decoded));
        assert_int_equal(decoded.capabilities, registers.capabilities);
        assert_memory_equal(&decoded.control, &registers.control, 9 * sizeof(uint64_t));
        assert_true(ibs_decode(payload, size + 4, &decoded));
        assert_false(ibs_decode(payload, size - 1, &decoded));
        assert_false(ibs_decode(payload, 3, &decoded));

        ibs_fields(&registers, &op);
        packed = registers;
        ibs_set_fields(&op, &packed);
        ibs_fields(&packed, &again);
        assert_memory_equal(&again, &op, sizeof op);
    }
}

static void test_ibs_accesses(void **state)
{
    static const uint8_t translations[] = {TRANSLATION_L1, TRANSLATION_L2, TRANSLATION_WALK};
    struct perf_layout layout = {.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                                                PERF_SAMPLE_CPU | PERF_SAMPLE_RAW};

    (void)state;
    for (int round = 0; round < 20000; round++) {
        struct access_record record = random_record(), decoded;
        struct ibs_registers registers;
        struct perf_sample sample;
        uint32_t capabilities =
            random_capabilities() | IBS_ZEN4 | IBS_RIP_INVALID | IBS_OP_COUNT_EXTENDED;
        uint8_t bytes[256];
        size_t size;

        if (record.level == LEVEL_UNKNOWN || record.level == LEVEL_L4)
            record.level = LEVEL_L1;
        if (record.kinds == ACCESS_STORE && record.level > LEVEL_L2)
            record.level = LEVEL_L2; /* a store's source beyond is never told */
        if (record.level == LEVEL_L1)
            record.latency = 0;
        record.flags &= (uint32_t) ~(PMU_L1_MISSED | PMU_L2_MISSED | PMU_L3_MISSED | PMU_REMOTE |
                                     PMU_FROM_OTHER_CACHE | (record.latency ? 0 : PMU_HAS_LATENCY));
        record.flags |= implied_by_level(record.level);
        /* Allocated no buffer: whether the second cache missed is decided. */
        if (record.level == LEVEL_FILL_BUFFER)
            record.flags |= PMU_L2_MISSED;
        record.translation = translations[below(sizeof translations)];
        record.latency_translation =
            record.translation == TRANSLATION_L1 ? 0 : (uint16_t)below(500);
        size = encode_ibs(&layout, capabilities, &record, bytes, sizeof bytes);
        assert_true(size > 0);
        assert_true(perf_sample_decode(&layout, bytes, size, &sample));
        assert_true(ibs_decode(sample.raw, sample.raw_size, &registers));
        assert_true(ibs_to_record(&registers, NULL, &decoded));
        /* What the sample around the payload tells. */
        record.flags &= (uint32_t) ~(PMU_HAS_TIME | PMU_HAS_THREAD | PMU_HAS_CPU);
        record.time = record.pid = record.tid = record.cpu = 0;
        assert_same_record(&record, &decoded);
    }
}

/* ---- SPE ---- */

static struct access_record random_spe_record(void)
{
    struct access_record record = random_record();

    record.flags &= (uint32_t) ~(PMU_HAS_CPU | PMU_LOCKED);
    record.period = record.cpu = record.pid = 0;
    record.latency_instruction = record.latency_retire = 0;
    record.latency_issue = (uint16_t)below(100);
    record.latency_translation = (uint16_t)below(100);
    record.width = 0;
    record.kinds = ACCESS_LOAD;
    /* Told by the data source of every table that is tried. */
    record.level = coin() ? LEVEL_L2 : coin() ? LEVEL_PEER_CACHE : LEVEL_REMOTE_CACHE;
    record.flags &= (uint32_t) ~(PMU_L1_MISSED | PMU_L2_MISSED | PMU_L3_MISSED | PMU_REMOTE |
                                 PMU_FROM_OTHER_CACHE);
    record.flags |= implied_by_level(record.level) | PMU_HAS_LATENCY;
    record.latency = below(65536);
    record.translation = coin() ? TRANSLATION_CACHED : TRANSLATION_WALK;
    if (coin()) {
        record.kinds = ACCESS_LOAD | ACCESS_STORE;
        record.flags |= PMU_ATOMIC;
    } else if (coin()) {
        record.flags |= PMU_VECTOR;
        record.width = (uint8_t)(4 << below(5));
    }
    if (coin()) {
        record.flags &= (uint32_t)~PMU_HAS_TIME;
        record.time = 0;
    }
    return record;
}

static void test_spe_streams_cut_anywhere(void **state)
{
    enum { RECORDS = 40 };
    static const enum spe_source_table tables[] = {SPE_SOURCE_NEOVERSE, SPE_SOURCE_AMPERE,
                                                   SPE_SOURCE_HISI};

    (void)state;
    for (int round = 0; round < 600; round++) {
        struct access_record records[RECORDS], decoded;
        uint8_t bytes[RECORDS * SPE_RECORD_LARGEST];
        enum spe_source_table table = tables[below(3)];
        struct spe_record spe;
        struct spe_stream stream;
        size_t size = 0, at = 0;
        int found = 0;

        for (int i = 0; i < RECORDS; i++) {
            records[i] = random_spe_record();
            size += encode_spe(table, &records[i], bytes + size, sizeof bytes - size);
        }
        spe_begin(&stream);
        while (at < size) {
            size_t piece = 1 + below(200);
            uint8_t *copy;

            if (piece > size - at)
                piece = size - at;
            /* In memory of its own, so that a read beyond it would be seen. */
            copy = malloc(piece);
            memcpy(copy, bytes + at, piece);
            spe_feed(&stream, copy, piece);
            while (spe_next(&stream, &spe)) {
                assert_true(found < RECORDS);
                spe_to_record(&spe, table, &decoded);
                assert_same_record(&records[found], &decoded);
                found++;
            }
            free(copy);
            at += piece;
        }
        assert_int_equal(found, RECORDS);
        assert_int_equal(stream.bad_bytes, 0);
        assert_int_equal(stream.records, RECORDS);
    }
}

/* Bytes lost in the middle: no record is made of two, and all later ones are found. */
static void test_spe_gaps(void **state)
{
    enum { RECORDS = 20 };

    (void)state;
    for (int round = 0; round < 600; round++) {
        struct access_record records[RECORDS], decoded;
        uint8_t bytes[RECORDS * SPE_RECORD_LARGEST];
        struct spe_stream stream;
        struct spe_record spe;
        size_t size = 0, from, to, each;
        int found = 0, first_after;

        for (int i = 0; i < RECORDS; i++) {
            records[i] = random_spe_record();
            size += encode_spe(SPE_SOURCE_NEOVERSE, &records[i], bytes + size, sizeof bytes - size);
        }
        each = size / RECORDS;
        from = 1 + below((uint32_t)size / 2);
        /* The kernel begins again with a record. */
        to = (from / each + 1 + below(5)) * each;
        first_after = (int)(to / each);
        spe_begin(&stream);
        spe_feed(&stream, bytes, from);
        while (spe_next(&stream, &spe)) {
            spe_to_record(&spe, SPE_SOURCE_NEOVERSE, &decoded);
            assert_same_record(&records[found++], &decoded);
        }
        assert_int_equal(found, from / each);
        spe_gap(&stream);
        spe_feed(&stream, bytes + to, size - to);
        for (int i = first_after; i < RECORDS; i++) {
            assert_true(spe_next(&stream, &spe));
            spe_to_record(&spe, SPE_SOURCE_NEOVERSE, &decoded);
            if (i == first_after)
                records[i].flags |= PMU_AFTER_GAP;
            assert_same_record(&records[i], &decoded);
        }
        assert_false(spe_next(&stream, &spe));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples_of_any_type),
        cmocka_unit_test(test_plans),
        cmocka_unit_test(test_identifier_offsets),
        cmocka_unit_test(test_unknown_layout_is_refused),
        cmocka_unit_test(test_data_source_bits),
        cmocka_unit_test(test_pebs),
        cmocka_unit_test(test_event_tells_the_kind),
        cmocka_unit_test(test_ibs_registers),
        cmocka_unit_test(test_ibs_accesses),
        cmocka_unit_test(test_spe_streams_cut_anywhere),
        cmocka_unit_test(test_spe_gaps),
    };

    return cmocka_run_group_tests(tests, seed, NULL);
}
