/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What no capture covers, written by hand after the manuals: SPE operations and headers, AMD's
 * errata and generations, data sources of several kernels, records about the stream, files that are
 * refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <linux/perf_event.h>

#include "pmu/data_source.h"
#include "pmu/encode.h"
#include "pmu/perf_file.h"

/* ---- SPE ---- */

/* One record from these packets and an end packet. */
static struct access_record spe_access(const uint8_t *packets, size_t size)
{
    struct access_record access;
    struct spe_stream stream;
    struct spe_record record;
    uint8_t bytes[256];

    memcpy(bytes, packets, size);
    bytes[size] = 0x01;
    spe_begin(&stream);
    spe_feed(&stream, bytes, size + 1);
    assert_true(spe_next(&stream, &record));
    spe_to_record(&record, SPE_SOURCE_NONE, &access);
    assert_false(spe_next(&stream, &record));
    return access;
}

static void test_spe_operations(void **state)
{
    static const struct {
        uint8_t class, payload, kinds, width;
        uint32_t flags;
    } cases[] = {
        {0x49, 0x00, ACCESS_LOAD, 0, 0}, /* general register */
        {0x49, 0x01, ACCESS_STORE, 0, 0},
        {0x49, 0x04, ACCESS_LOAD, 0, PMU_VECTOR}, /* SIMD and floating point */
        {0x49, 0x05, ACCESS_STORE, 0, PMU_VECTOR},
        {0x49, 0x10, ACCESS_LOAD, 0, 0}, /* unspecified register */
        {0x49, 0x0a, ACCESS_LOAD, 0, 0}, /* extended: exclusive load */
        {0x49, 0x0b, ACCESS_STORE, 0, 0},
        {0x49, 0x12, ACCESS_LOAD, 0, 0}, /* extended: acquire */
        {0x49, 0x06, ACCESS_LOAD | ACCESS_STORE, 0, PMU_ATOMIC},
        {0x49, 0x17, ACCESS_LOAD | ACCESS_STORE, 0, PMU_ATOMIC}, /* with release */
        {0x49, 0x08, ACCESS_LOAD, 4, PMU_VECTOR},                /* SVE, 32 bits in effect */
        {0x49, 0x48, ACCESS_LOAD, 64, PMU_VECTOR},               /* SVE, 512 bits */
        {0x49, 0x49, ACCESS_STORE, 64, PMU_VECTOR},
        {0x49, 0x58, ACCESS_LOAD, 0, PMU_VECTOR}, /* 1024 bits: longer than an access */
        {0x49, 0xc9, ACCESS_STORE, 0, PMU_VECTOR | PMU_GATHER_SCATTER},
        {0x49, 0x20, ACCESS_LOAD, 0, PMU_BLOCK_OPERATION}, /* copy, its two sides */
        {0x49, 0x21, ACCESS_STORE, 0, PMU_BLOCK_OPERATION},
        {0x49, 0x25, ACCESS_STORE, 0, PMU_BLOCK_OPERATION}, /* set */
        {0x48, 0x00, 0, 0, 0},                              /* no memory */
        {0x4a, 0x01, 0, 0, PMU_BRANCH},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const uint8_t packets[] = {cases[i].class, cases[i].payload, 0x52, 0x02, 0x00};
        struct access_record access = spe_access(packets, sizeof packets);

        assert_int_equal(access.kinds, cases[i].kinds);
        assert_int_equal(access.width, cases[i].width);
        assert_int_equal(access.flags, cases[i].flags);
    }
}

static void test_spe_headers(void **state)
{
    /* Extended headers of an address with index 2, of one and of a counter with indexes that nobody
     * knows; alignment; a counter of Kunpeng 930. */
    static const uint8_t packets[] = {
        0x20, 0xb2, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x00, 0x5a, /* tag 5a */
        0x21, 0xb1, 1,    2,    3,    4,    5,    6,    7,    8,    /* address 9 */
        0x23, 0x9f, 1,    2,                                        /* counter 31 */
        0x22, 0x00, 0,    0,                                        /* to a multiple of 8 */
        0x9e, 0x34, 0x12, 0x49, 0x00,                               /* counter 6, load */
        0x62, 0x02, 0x00, 0x60, 0x00, /* retired, recently fetched, modified elsewhere */
    };
    struct access_record access = spe_access(packets, sizeof packets);
    struct spe_packet packet;

    (void)state;
    assert_int_equal(access.address, 0x00003344556677 << 8 | 0x88);
    assert_int_equal(access.kinds, ACCESS_LOAD);
    assert_int_equal(access.flags, PMU_HAS_ADDRESS | PMU_L1_MISSED | PMU_MODIFIED_ELSEWHERE |
                                       PMU_FROM_OTHER_CACHE);
    assert_int_equal(access.level, LEVEL_FILL_BUFFER);
    /* A packet that the data ends in is none yet. */
    for (size_t available = 0; available < 10; available++)
        assert_false(spe_packet_decode(packets, available, &packet));
    assert_true(spe_packet_decode(packets, 10, &packet));
    assert_int_equal(packet.index, 2);
    assert_int_equal(packet.length, 10);
    assert_true(spe_packet_decode(packets + 10, 10, &packet));
    assert_int_equal(packet.index, 9);
    assert_true(spe_packet_decode(packets + 20, 4, &packet));
    assert_int_equal(packet.index, 31);
}

static void test_spe_addresses(void **state)
{
    (void)state;
    /* Kernel addresses get back what the tag or the exception level replaced. */
    assert_int_equal(spe_virtual_address(0x00ffe5aead80b0f0), 0xffffe5aead80b0f0);
    assert_int_equal(spe_virtual_address(0xb400007fb1234560), 0x7fb1234560);
    assert_int_equal(spe_instruction_address(0xa0ffc08420e06800), 0xffffc08420e06800);
    assert_int_equal(spe_instruction_address(0x80000059f2b9270c), 0x59f2b9270c);
    assert_int_equal(spe_exception_level(0xc0ffb7ee2a20e100), 2);
    assert_int_equal(spe_exception_level(0x80000059f2b9270c), 0);
}

static void test_spe_sources(void **state)
{
    /* MIDR_EL1 of a Neoverse N1, an AmpereOne, a HIP12, an A64FX. */
    static const struct {
        uint64_t midr;
        uint8_t source, level;
        uint32_t flags;
    } cases[] = {
        {0x413fd0c1, 0x0, LEVEL_L1, 0},
        {0x413fd0c1, 0x8, LEVEL_L2, PMU_L1_MISSED},
        {0x413fd0c1, 0xa, LEVEL_L3, PMU_L1_MISSED | PMU_L2_MISSED},
        {0x413fd0c1, 0xb, LEVEL_L3, PMU_L1_MISSED | PMU_L2_MISSED},
        {0x413fd0c1, 0xd, LEVEL_REMOTE_CACHE,
         PMU_L1_MISSED | PMU_L2_MISSED | PMU_L3_MISSED | PMU_REMOTE | PMU_FROM_OTHER_CACHE},
        {0x413fd0c1, 0xe, LEVEL_DRAM, PMU_L1_MISSED | PMU_L2_MISSED | PMU_L3_MISSED},
        {0xc00fac30, 0x8, LEVEL_L1, 0},
        {0xc00fac30, 0x3, LEVEL_L3, PMU_L1_MISSED | PMU_L2_MISSED},
        {0xc00fac30, 0x7, LEVEL_DRAM, PMU_L1_MISSED | PMU_L2_MISSED | PMU_L3_MISSED},
        {0x480fd060, 0x3, LEVEL_L3,
         PMU_L1_MISSED | PMU_L2_MISSED | PMU_MODIFIED_ELSEWHERE | PMU_FROM_OTHER_CACHE},
        {0x480fd060, 18, LEVEL_L1, 0},
        {0x460f0010, 0x8, LEVEL_UNKNOWN, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct spe_record record = {.fields = SPE_HAS_OPERATION | SPE_HAS_DATA_SOURCE,
                                    .operation_class = SPE_MEMORY,
                                    .data_source = cases[i].source};
        struct access_record access;

        spe_to_record(&record, spe_source_table_for(cases[i].midr), &access);
        assert_int_equal(access.level, cases[i].level);
        assert_int_equal(access.flags, cases[i].flags);
        /* A store's is not told, whatever the packet says. */
        record.operation = 1;
        spe_to_record(&record, spe_source_table_for(cases[i].midr), &access);
        assert_int_equal(access.level, LEVEL_UNKNOWN);
    }
}

static void test_spe_events_without_source(void **state)
{
    static const struct {
        uint32_t events;
        uint8_t level, translation;
    } cases[] = {
        {SPE_L1D_ACCESS | SPE_TLB_ACCESS, LEVEL_L1, TRANSLATION_CACHED},
        {SPE_L1D_ACCESS | SPE_L1D_REFILL, LEVEL_UNKNOWN, TRANSLATION_UNKNOWN},
        {SPE_L1D_ACCESS | SPE_L1D_REFILL | SPE_L2D_ACCESS, LEVEL_L2, TRANSLATION_UNKNOWN},
        {SPE_L1D_REFILL | SPE_L2D_ACCESS | SPE_L2D_MISS | SPE_LLC_ACCESS | SPE_TLB_WALK, LEVEL_L3,
         TRANSLATION_WALK},
        {SPE_L1D_REFILL | SPE_LLC_ACCESS | SPE_LLC_MISS, LEVEL_UNKNOWN, TRANSLATION_UNKNOWN},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct spe_record record = {.fields = SPE_HAS_OPERATION | SPE_HAS_EVENTS,
                                    .operation_class = SPE_MEMORY,
                                    .events = cases[i].events};
        struct access_record access;

        spe_to_record(&record, SPE_SOURCE_NEOVERSE, &access);
        assert_int_equal(access.level, cases[i].level);
        assert_int_equal(access.translation, cases[i].translation);
        assert_true(access.flags & PMU_SPECULATIVE); /* no retired bit */
    }
}

/* Two records of which the first one's end is missing are not taken for one. */
static void test_spe_lost_end(void **state)
{
    static const uint8_t packets[] = {0xb0, 1, 0, 0, 0, 0, 0, 0, 0x80, 0x49, 0x00,
                                      0xb0, 2, 0, 0, 0, 0, 0, 0, 0x80, 0x49, 0x01};
    struct access_record access = spe_access(packets, sizeof packets);

    (void)state;
    assert_true(access.flags & PMU_DAMAGED);
}

/* ---- IBS ---- */

static struct access_record ibs_access(const struct ibs_op *op, uint32_t capabilities,
                                       const struct ibs_processor *processor)
{
    struct ibs_registers registers = {.capabilities = capabilities, .linear = 0x7f0000001000};
    struct access_record access;

    ibs_set_fields(op, &registers);
    assert_int_equal(ibs_to_record(&registers, processor, &access), op->valid);
    return access;
}

static void test_ibs_sources(void **state)
{
    static const struct {
        uint32_t capabilities;
        uint8_t source;
        bool remote;
        uint8_t level;
    } cases[] = {
        {0x3ff, 2, false, LEVEL_L3},           {0x3ff, 3, false, LEVEL_DRAM},
        {0x3ff, 3, true, LEVEL_REMOTE_DRAM},   {0x3ff, 4, true, LEVEL_REMOTE_CACHE},
        {0x3ff, 7, false, LEVEL_IO},           {0x3ff, 1, false, LEVEL_UNKNOWN},
        {0xbff, 1, false, LEVEL_L3},           {0xbff, 2, false, LEVEL_PEER_CACHE},
        {0xbff, 3, true, LEVEL_REMOTE_DRAM},   {0xbff, 5, true, LEVEL_REMOTE_CACHE},
        {0xbff, 6, false, LEVEL_PERSISTENT},   {0xbff, 8, false, LEVEL_CXL},
        {0xbff, 12, false, LEVEL_REMOTE_DRAM}, {0xbff, 31, false, LEVEL_UNKNOWN},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ibs_op op = {.valid = true,
                            .load = true,
                            .cache_miss = true,
                            .l2_miss = true,
                            .data_source = cases[i].source,
                            .remote_node = cases[i].remote,
                            .cache_hit_owned = true,
                            .linear_valid = true,
                            .miss_latency = 77};
        struct access_record access = ibs_access(&op, cases[i].capabilities, NULL);

        assert_int_equal(access.level, cases[i].level);
        assert_int_equal(access.latency, 77);
        assert_int_equal(access.address, 0x7f0000001000);
        /* A hit in the second cache does not ask the source. */
        op.l2_miss = false;
        assert_int_equal(ibs_access(&op, cases[i].capabilities, NULL).level, LEVEL_L2);
        op.cache_miss = false;
        access = ibs_access(&op, cases[i].capabilities, NULL);
        assert_int_equal(access.level, LEVEL_L1);
        assert_false(access.flags & PMU_HAS_LATENCY);
        /* A store never tells it, nor a latency. */
        op.load = false;
        op.store = op.cache_miss = op.l2_miss = true;
        access = ibs_access(&op, cases[i].capabilities, NULL);
        assert_int_equal(access.level, LEVEL_UNKNOWN);
        assert_int_equal(access.latency, 0);
    }
}

static void test_ibs_errata(void **state)
{
    static const struct ibs_processor zen3 = {0x19, 0x01}, zen4 = {0x19, 0x11};
    struct ibs_op op = {.valid = true,
                        .load = true,
                        .cache_miss = true,
                        .l2_miss = true,
                        .data_source = 3,
                        .miss_no_mab = true};

    (void)state;
    /* 1293: no source and no L2 miss are to be read where no miss buffer was allocated. */
    assert_int_equal(ibs_access(&op, 0x3ff, NULL).level, LEVEL_DRAM);
    assert_int_equal(ibs_access(&op, 0x3ff, &zen4).level, LEVEL_DRAM);
    assert_int_equal(ibs_access(&op, 0x3ff, &zen3).level, LEVEL_FILL_BUFFER);
    assert_false(ibs_access(&op, 0x3ff, &zen3).flags & PMU_L2_MISSED);
    /* Modified elsewhere: not on those that do not have the bit. */
    op.miss_no_mab = false;
    op.data_source = 2;
    assert_true(ibs_access(&op, 0x3ff, NULL).flags & PMU_MODIFIED_ELSEWHERE);
    assert_false(ibs_access(&op, 0x3ff, &zen3).flags & PMU_MODIFIED_ELSEWHERE);
    /* Uncacheable: nothing about caches is valid. */
    op.uncacheable = true;
    assert_int_equal(ibs_access(&op, 0x3ff, NULL).level, LEVEL_IO);
    assert_int_equal(ibs_access(&op, 0x3ff, NULL).latency, 0);
    op.valid = false;
    assert_int_equal(ibs_access(&op, 0x3ff, NULL).kinds, 0);
}

static void test_ibs_generations(void **state)
{
    struct ibs_registers registers = {.control = UINT64_C(1) << 63 | UINT64_C(3) << 59 | 0x7f10000 |
                                                 0x1000,
                                      .data3 = UINT64_C(1) << 18 | 1 << 4 | 5 << 22};
    struct ibs_op op;

    (void)state;
    ibs_fields(&registers, &op); /* the oldest */
    assert_int_equal(op.period, 0x10000);
    assert_int_equal(op.latency_threshold, 0);
    assert_true(op.l1_tlb_hit_2m);
    assert_int_equal(op.page_size, 0);
    assert_int_equal(op.width, 16);
    assert_false(op.l3_miss_only);
    registers.capabilities =
        IBS_OP_COUNT_EXTENDED | IBS_ZEN4 | IBS_LOAD_LATENCY_FILTER | IBS_TLB_PAGE_SIZE;
    ibs_fields(&registers, &op); /* Zen 5 */
    assert_int_equal(op.period, 0x7f10000);
    assert_int_equal(op.latency_threshold, 512);
    assert_false(op.l1_tlb_hit_2m);
    assert_int_equal(op.page_size, 1 << 21);
    assert_true(op.l3_miss_only);
    registers.data3 |= UINT64_C(15) << 22;
    ibs_fields(&registers, &op);
    assert_int_equal(op.width, 0); /* no such width */
}

/* ---- data sources of different kernels ---- */

static void test_data_sources(void **state)
{
    static const struct {
        uint64_t value;
        uint8_t kinds, level, translation;
        uint32_t flags;
    } cases[] = {
        /* Intel, kernel 4.4: no level number */
        {0x68100142, ACCESS_LOAD, LEVEL_L1, TRANSLATION_CACHED, 0},
        {0x6a100142, ACCESS_LOAD, LEVEL_L1, TRANSLATION_CACHED, PMU_LOCKED},
        {0x68100242, ACCESS_LOAD, LEVEL_FILL_BUFFER, TRANSLATION_CACHED, PMU_L1_MISSED},
        /* and with it */
        {0x10650100842, ACCESS_LOAD, LEVEL_L3, TRANSLATION_WALK, PMU_L1_MISSED | PMU_L2_MISSED},
        /* AMD */
        {0x229080144, ACCESS_STORE, LEVEL_L1, TRANSLATION_L1, 0},
        {0x1e29080024, ACCESS_STORE, LEVEL_UNKNOWN, TRANSLATION_L1, 0},
        {0x1a49081042, ACCESS_LOAD, LEVEL_DRAM, TRANSLATION_L2,
         PMU_L1_MISSED | PMU_L2_MISSED | PMU_L3_MISSED},
        {0x629800842, ACCESS_LOAD, LEVEL_L3, TRANSLATION_L1,
         PMU_L1_MISSED | PMU_L2_MISSED | PMU_MODIFIED_ELSEWHERE | PMU_FROM_OTHER_CACHE},
        /* the same before Zen 4 under Linux 6.1 to 6.5, which leave the level number 0: L3 or a
         * cache beside it, and a cache beyond, one hop and two */
        {0x51088842, ACCESS_LOAD, LEVEL_L3, TRANSLATION_WALK, PMU_L1_MISSED | PMU_L2_MISSED},
        {0x51088042, ACCESS_LOAD, LEVEL_REMOTE_CACHE, TRANSLATION_WALK,
         PMU_L1_MISSED | PMU_L2_MISSED | PMU_L3_MISSED | PMU_REMOTE | PMU_FROM_OTHER_CACHE},
        {0x51090042, ACCESS_LOAD, LEVEL_REMOTE_CACHE, TRANSLATION_WALK,
         PMU_L1_MISSED | PMU_L2_MISSED | PMU_L3_MISSED | PMU_REMOTE | PMU_FROM_OTHER_CACHE},
        {0x1e05080021, 0, LEVEL_UNKNOWN, TRANSLATION_UNKNOWN, 0},
        {0x5080021, 0, LEVEL_UNKNOWN, TRANSLATION_UNKNOWN, 0},
        /* Arm */
        {0x8688000842, ACCESS_LOAD, LEVEL_L3, TRANSLATION_WALK,
         PMU_L1_MISSED | PMU_L2_MISSED | PMU_FROM_OTHER_CACHE},
        {0x88000182, ACCESS_LOAD, LEVEL_UNKNOWN, TRANSLATION_WALK, PMU_L1_MISSED},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct access_record access = {0};

        data_source_to_record(cases[i].value, &access);
        assert_int_equal(access.kinds, cases[i].kinds);
        assert_int_equal(access.level, cases[i].level);
        assert_int_equal(access.translation, cases[i].translation);
        assert_int_equal(access.flags, cases[i].flags);
    }
}

/* The remote bit with hops: another core of the same node is not remote. */
static void test_data_source_distance(void **state)
{
    static const struct {
        uint8_t hops, level;
        uint32_t remote;
    } cases[] = {
        {0, LEVEL_REMOTE_CACHE, PMU_REMOTE},
        {MEM_HOPS_SAME_NODE, LEVEL_PEER_CACHE, 0},
        {MEM_HOPS_SAME_SOCKET, LEVEL_REMOTE_CACHE, PMU_REMOTE},
        {MEM_HOPS_OTHER_BOARD, LEVEL_REMOTE_CACHE, PMU_REMOTE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct data_source source = {.operation = MEM_OP_LOAD,
                                     .level_number = MEM_NUMBER_ANY_CACHE,
                                     .remote = 1,
                                     .hops = cases[i].hops};
        struct access_record access = {0};

        data_source_to_record(data_source_pack(&source), &access);
        assert_int_equal(access.level, cases[i].level);
        assert_int_equal(access.flags & PMU_REMOTE, cases[i].remote);
        assert_int_equal(access.hops, cases[i].hops);
    }
}

/* ---- samples ---- */

/* A record with everything of variable length that perf can ask for, word by word. */
static void test_variable_fields(void **state)
{
    static const uint64_t words[] = {
        PERF_RECORD_SAMPLE | UINT64_C(2) << 32, /* size is filled in */
        0x401000,                               /* IP */
        2,
        10,
        20,
        30,
        40, /* READ: group of 2, enabled, value and id each */
        50,
        2,
        0x401000,
        0x402000,                     /* CALLCHAIN */
        UINT64_C(0xabcdef) << 32 | 4, /* RAW, 4 bytes */
        1,
        7,
        100,
        200,
        0, /* BRANCH_STACK with index */
        1,
        11,
        12,
        13, /* REGS_USER: abi, three */
        16,
        1,
        2,
        9,                                         /* STACK_USER, 9 bytes valid */
        UINT64_C(3) << 48 | UINT64_C(2) << 32 | 1, /* WEIGHT_STRUCT */
        0,                                         /* REGS_INTR: none */
        8,
        99, /* AUX */
    };
    struct perf_layout layout = {
        .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW |
                       PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER |
                       PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_AUX,
        .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_ID,
        .branch_sample_type = PERF_SAMPLE_BRANCH_HW_INDEX,
        .registers_user = 0x10101,
        .registers_interrupted = 0xff,
    };
    uint8_t record[sizeof words];
    struct perf_sample sample;

    (void)state;
    memcpy(record, words, sizeof words);
    record[6] = sizeof words;
    assert_true(perf_sample_decode(&layout, record, sizeof words, &sample));
    assert_int_equal(sample.ip, 0x401000);
    assert_int_equal(sample.read_size, 6 * 8);
    assert_int_equal(sample.callchain_count, 2);
    assert_ptr_equal(sample.callchain, record + 9 * 8);
    assert_int_equal(sample.raw_size, 4);
    assert_int_equal(sample.raw[0], 0xef);
    assert_int_equal(sample.branch_count, 1);
    assert_ptr_equal(sample.branches, record + 14 * 8);
    assert_int_equal(sample.user_abi, 1);
    assert_ptr_equal(sample.user_registers, record + 18 * 8);
    assert_int_equal(sample.stack_size, 9);
    assert_int_equal(sample.weight, 1);
    assert_int_equal(sample.weight_2, 2);
    assert_int_equal(sample.weight_3, 3);
    assert_int_equal(sample.interrupted_abi, 0);
    assert_null(sample.interrupted_registers);
    assert_int_equal(sample.aux_size, 8);
    assert_int_equal(sample.aux[0], 99);
    /* A count that would reach beyond the record. */
    record[8 * 8] = 200;
    assert_false(perf_sample_decode(&layout, record, sizeof words, &sample));
}

static void test_stream_records(void **state)
{
    static const uint64_t lost[] = {PERF_RECORD_LOST | UINT64_C(24) << 48, 5, 17};
    static const uint64_t aux[] = {PERF_RECORD_AUX | UINT64_C(32) << 48, 4096, 512,
                                   PERF_AUX_FLAG_TRUNCATED};
    static const uint64_t throttle[] = {PERF_RECORD_THROTTLE | UINT64_C(32) << 48, 1234, 5, 6};
    static const uint64_t samples[] = {PERF_RECORD_LOST_SAMPLES | UINT64_C(16) << 48, 3};
    static const uint64_t other[] = {PERF_RECORD_EXIT | UINT64_C(8) << 48};
    struct perf_stream_record record;

    (void)state;
    assert_true(perf_stream_decode((const uint8_t *)lost, sizeof lost, &record));
    assert_int_equal(record.event, STREAM_LOST);
    assert_int_equal(record.count, 17);
    assert_true(perf_stream_decode((const uint8_t *)samples, sizeof samples, &record));
    assert_int_equal(record.event, STREAM_LOST);
    assert_int_equal(record.count, 3);
    assert_true(perf_stream_decode((const uint8_t *)aux, sizeof aux, &record));
    assert_int_equal(record.event, STREAM_AUX);
    assert_int_equal(record.offset, 4096);
    assert_int_equal(record.count, 512);
    assert_int_equal(record.flags, PERF_AUX_FLAG_TRUNCATED);
    assert_true(perf_stream_decode((const uint8_t *)throttle, sizeof throttle, &record));
    assert_int_equal(record.event, STREAM_THROTTLED);
    assert_true(perf_stream_decode((const uint8_t *)other, sizeof other, &record));
    assert_int_equal(record.event, STREAM_OTHER);
    assert_false(perf_stream_decode((const uint8_t *)aux, 24, &record));
}

/* ---- files ---- */

static void test_files_that_are_refused(void **state)
{
    uint64_t header[40] = {0, 104, 136, 104, 136, 240, 80};
    struct perf_file file;
    struct perf_file_record record;
    size_t at = 0;

    (void)state;
    assert_int_equal(perf_file_open(&file, (const uint8_t *)header, sizeof header),
                     PERF_FILE_FOREIGN);
    assert_int_equal(perf_file_open(&file, (const uint8_t *)"PERF", 4), PERF_FILE_FOREIGN);
    memcpy(header, "2ELIFREP", 8);
    assert_int_equal(perf_file_open(&file, (const uint8_t *)header, sizeof header),
                     PERF_FILE_BYTE_ORDER);
    memcpy(header, "PERFFILE", 8);
    assert_int_equal(perf_file_open(&file, (const uint8_t *)header, sizeof header), PERF_FILE_OLD);
    memcpy(header, "PERFILE2", 8);
    header[1] = 16;
    assert_int_equal(perf_file_open(&file, (const uint8_t *)header, sizeof header), PERF_FILE_PIPE);
    header[1] = 104;
    assert_int_equal(perf_file_open(&file, (const uint8_t *)header, 100), PERF_FILE_DAMAGED);
    header[4] = 1000;
    assert_int_equal(perf_file_open(&file, (const uint8_t *)header, sizeof header),
                     PERF_FILE_DAMAGED);
    header[4] = 100;
    assert_int_equal(perf_file_open(&file, (const uint8_t *)header, sizeof header),
                     PERF_FILE_EMPTY);
    header[4] = 136;
    assert_int_equal(perf_file_open(&file, (const uint8_t *)header, sizeof header), PERF_FILE_GOOD);
    assert_int_equal(file.events, 1);
    assert_false(file.cut);
    /* Two records, the second cut off; then also what perf leaves when it is killed. */
    header[30] = PERF_RECORD_EXIT | UINT64_C(16) << 48;
    header[32] = PERF_RECORD_EXIT | UINT64_C(160) << 48;
    for (int killed = 0; killed < 2; killed++) {
        at = 0;
        header[6] = killed ? 0 : 80;
        assert_int_equal(perf_file_open(&file, (const uint8_t *)header, sizeof header),
                         PERF_FILE_GOOD);
        assert_int_equal(file.cut, killed);
        assert_true(perf_file_next(&file, &at, &record));
        assert_int_equal(record.header.type, PERF_RECORD_EXIT);
        assert_false(perf_file_next(&file, &at, &record));
        assert_true(file.cut);
    }
    for (int status = PERF_FILE_GOOD; status <= PERF_FILE_EMPTY; status++)
        assert_true(strlen(perf_file_explain((enum perf_file_status)status)) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spe_operations),
        cmocka_unit_test(test_spe_headers),
        cmocka_unit_test(test_spe_addresses),
        cmocka_unit_test(test_spe_sources),
        cmocka_unit_test(test_spe_events_without_source),
        cmocka_unit_test(test_spe_lost_end),
        cmocka_unit_test(test_ibs_sources),
        cmocka_unit_test(test_ibs_errata),
        cmocka_unit_test(test_ibs_generations),
        cmocka_unit_test(test_data_sources),
        cmocka_unit_test(test_data_source_distance),
        cmocka_unit_test(test_variable_fields),
        cmocka_unit_test(test_stream_records),
        cmocka_unit_test(test_files_that_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
