/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Captures from real hardware, field by field against an independent decoder: what ours made of
 * each capture is written in the format of perf's dumps and compared with what perf 6.1 printed,
 * line by line.
 *
 * The captures are not part of the project: they lie in the folder that REUSE_CAPTURES names, or in
 * shared/captures beside it; without them the tests are skipped.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>
#include <linux/perf_event.h>

#include "pmu/data_source.h"
#include "pmu/ibs.h"
#include "pmu/perf_file.h"
#include "pmu/spe.h"

enum { LINE = 1024 };

/* The folder, or NULL. */
static const char *captures(void)
{
    static const char *const places[] = {"../shared/captures", "../../shared/captures"};
    static char folder[4096];
    const char *given = getenv("REUSE_CAPTURES"), *source = getenv("REUSE_SRCDIR");
    struct stat status;

    if (given)
        return given;
    for (size_t i = 0; source && i < sizeof places / sizeof places[0]; i++) {
        snprintf(folder, sizeof folder, "%s/%s", source, places[i]);
        if (stat(folder, &status) == 0)
            return folder;
    }
    return NULL;
}

/* Without the captures this ends the test as skipped. Free the result. */
static uint8_t *read_capture(const char *name, size_t *size)
{
    char path[8192];
    uint8_t *bytes;
    long length;
    FILE *file;

    if (!captures()) {
        print_message("# no captures: REUSE_CAPTURES names their folder\n");
        skip();
    }
    snprintf(path, sizeof path, "%s/%s", captures(), name);
    file = fopen(path, "rb");
    if (!file)
        fail_msg("%s cannot be opened", path);
    fseek(file, 0, SEEK_END);
    length = ftell(file);
    rewind(file);
    bytes = malloc((size_t)length + 1);
    assert_int_equal(fread(bytes, 1, (size_t)length, file), length);
    bytes[length] = '\0';
    fclose(file);
    *size = (size_t)length;
    return bytes;
}

/* Lines of an expected text, one after the other. */
struct expected {
    char *text, *next;
};

static struct expected expect(const char *name)
{
    size_t size;
    struct expected expected = {.text = (char *)read_capture(name, &size)};

    expected.next = expected.text;
    return expected;
}

/* NULL at the end. Without the newline. */
static char *expected_line(struct expected *expected)
{
    char *line = expected->next, *end;

    if (*line == '\0')
        return NULL;
    end = strchr(line, '\n');
    expected->next = end ? end + 1 : line + strlen(line);
    if (end)
        *end = '\0';
    return line;
}

/* Appends to a line of LINE bytes. */
static void add(char *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(char *line, const char *format, ...)
{
    size_t used = strlen(line);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line + used, LINE - used, format, arguments);
    va_end(arguments);
}

/* ---- SPE ---- */

static void describe_events(uint64_t events, char *line)
{
    static const char *const names[19] = {"EXCEPTION-GEN",
                                          "RETIRED",
                                          "L1D-ACCESS",
                                          "L1D-REFILL",
                                          "TLB-ACCESS",
                                          "TLB-REFILL",
                                          "NOT-TAKEN",
                                          "MISPRED",
                                          "LLC-ACCESS",
                                          "LLC-REFILL",
                                          "REMOTE-ACCESS",
                                          "ALIGNMENT",
                                          [17] = "SVE-PARTIAL-PRED",
                                          [18] = "SVE-EMPTY-PRED"};

    add(line, "EV");
    for (int i = 0; i < 19; i++)
        if (events >> i & 1 && names[i])
            add(line, " %s", names[i]);
}

static void describe_operation(unsigned class, uint64_t payload, char *line)
{
    switch (class) {
    case SPE_MEMORY:
        add(line, payload & 1 ? "ST" : "LD");
        if (payload >> 1 == 0)
            add(line, " GP-REG");
        break;
    case SPE_BRANCH:
        add(line, "B%s%s", payload & 1 ? " COND" : "", payload >> 1 == 1 ? " IND" : "");
        break;
    default:
        add(line, "OTHER %s", payload & 1 ? "COND-SELECT" : "INSN-OTHER");
    }
}

static void describe_address(unsigned index, uint64_t payload, char *line)
{
    uint64_t address = payload & ((UINT64_C(1) << 56) - 1);

    switch (index) {
    case SPE_VIRTUAL:
        add(line, "VA 0x%" PRIx64, payload);
        break;
    case SPE_PHYSICAL:
        add(line, "PA 0x%" PRIx64 " ns=%d ch=%d pat=%x", address, (int)(payload >> 63),
            (int)(payload >> 62 & 1), (unsigned)(payload >> 56 & 15));
        break;
    default:
        add(line, "%s 0x%" PRIx64 " el%u ns=%d",
            index == SPE_PC       ? "PC"
            : index == SPE_TARGET ? "TGT"
                                  : "PBT",
            address, spe_exception_level(payload), (int)(payload >> 63));
    }
}

static void describe_packet(const struct spe_packet *packet, char *line)
{
    static const char *const counters[] = {"TOT", "ISSUE", "XLAT"};

    switch (packet->type) {
    case SPE_BAD:
        add(line, "Bad packet!");
        break;
    case SPE_PAD:
        add(line, "PAD");
        break;
    case SPE_END:
        add(line, "END");
        break;
    case SPE_TIMESTAMP:
        add(line, "TS %" PRIu64, packet->payload);
        break;
    case SPE_EVENTS:
        describe_events(packet->payload, line);
        break;
    case SPE_DATA_SOURCE:
        add(line, "DATA-SOURCE %" PRIu64, packet->payload);
        break;
    case SPE_CONTEXT:
        add(line, "CONTEXT 0x%" PRIx64 " el%d", packet->payload, packet->index + 1);
        break;
    case SPE_OPERATION:
        describe_operation(packet->index, packet->payload, line);
        break;
    case SPE_ADDRESS:
        describe_address(packet->index, packet->payload, line);
        break;
    case SPE_COUNTER:
        add(line, "LAT %u %s", (unsigned)packet->payload, counters[packet->index]);
        break;
    }
}

/* Every packet of the capture, as `perf script -D` prints it. */
static void check_spe_packets(const char *name)
{
    char path[256], line[LINE];
    size_t size, lines = 0;
    uint8_t *bytes;
    struct expected expected;

    snprintf(path, sizeof path, "spe/%s.bin", name);
    bytes = read_capture(path, &size);
    /* A file holds it padded with zeros to a multiple of 8. */
    bytes = realloc(bytes, size + 8);
    memset(bytes + size, 0, 8);
    size = (size + 7) / 8 * 8;
    snprintf(path, sizeof path, "spe/%s.perf-D.txt", name);
    expected = expect(path);

    snprintf(line, sizeof line, ". ... ARM SPE data: size 0x%zx bytes", size);
    assert_string_equal(line, expected_line(&expected));
    for (size_t at = 0; at < size;) {
        struct spe_packet packet;
        size_t length;

        assert_true(spe_packet_decode(bytes + at, size - at, &packet));
        length = packet.length;
        /* perf puts as much padding on a line as it has room for. */
        while (packet.type == SPE_PAD && length < 16 && at + length < size && !bytes[at + length])
            length++;
        line[0] = '\0';
        add(line, ".  %08zx: ", at);
        for (size_t i = 0; i < 16; i++)
            if (i < length)
                add(line, " %02x", bytes[at + i]);
            else
                add(line, "   ");
        add(line, " ");
        describe_packet(&packet, line);
        assert_string_equal(line, expected_line(&expected));
        at += length;
        lines++;
    }
    assert_true(lines > 5);
    free(bytes);
    free(expected.text);
}

static void test_spe_packets(void **state)
{
    static const char *const names[] = {
        "kunpeng_branch_2021",
        "ohos_hiperf_TestSpeDecoder_0",
        "ohos_hiperf_TestSpeDumpRawData1_1",
        "ohos_hiperf_TestSpeDumpRawData2_2",
        "spe_parser_load_frame_ts_first",
        "spe_parser_wperf_branch_end",
        "spe_parser_wperf_branch_ts",
    };

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        check_spe_packets(names[i]);
}

/* The whole capture as records. */
static size_t read_spe(const char *name, struct spe_record *records, size_t capacity,
                       struct spe_stream *stream)
{
    size_t size, count = 0;
    uint8_t *bytes = read_capture(name, &size);

    spe_begin(stream);
    spe_feed(stream, bytes, size);
    while (count < capacity && spe_next(stream, &records[count]))
        count++;
    free(bytes);
    return count;
}

static void test_spe_records(void **state)
{
    struct spe_record records[64];
    struct access_record access;
    struct spe_stream stream;

    (void)state;
    assert_int_equal(read_spe("spe/ohos_hiperf_TestSpeDecoder_0.bin", records, 64, &stream), 4);
    assert_int_equal(stream.bad_bytes, 0);

    spe_to_record(&records[0], SPE_SOURCE_NONE, &access);
    assert_int_equal(access.ip, 0xffffffc08420e068);
    assert_int_equal(access.address, 0xffffffe5aead80b0);
    assert_int_equal(access.kinds, ACCESS_LOAD);
    assert_int_equal(access.privilege, PRIVILEGE_KERNEL);
    assert_int_equal(access.latency, 8);
    assert_int_equal(access.latency_issue, 6);
    assert_int_equal(access.latency_translation, 1);
    assert_int_equal(access.level, LEVEL_L1);
    assert_int_equal(access.translation, TRANSLATION_CACHED);
    assert_int_equal(access.time, 389297091246406);
    assert_int_equal(access.width, 0);
    assert_int_equal(access.flags,
                     PMU_HAS_IP | PMU_EXACT_IP | PMU_HAS_ADDRESS | PMU_HAS_TIME | PMU_HAS_LATENCY);

    spe_to_record(&records[1], SPE_SOURCE_NONE, &access);
    assert_int_equal(access.ip, 0x59f2b9270c);
    assert_int_equal(access.address, 0x5a812b7360);
    assert_int_equal(access.kinds, ACCESS_STORE);
    assert_int_equal(access.privilege, PRIVILEGE_USER);
    assert_int_equal(access.level, LEVEL_UNKNOWN);

    for (int i = 2; i < 4; i++) {
        spe_to_record(&records[i], SPE_SOURCE_NONE, &access);
        assert_int_equal(access.kinds, 0);
        assert_true(access.flags & PMU_BRANCH);
        assert_false(access.flags & PMU_HAS_ADDRESS);
    }
}

/* 29 records, two of them with a byte that is no packet: they are marked, the rest is found. */
static void test_spe_resynchronisation(void **state)
{
    struct spe_record records[64];
    struct access_record access;
    struct spe_stream stream;
    int damaged = 0, contexts = 0;

    (void)state;
    assert_int_equal(read_spe("spe/ohos_hiperf_TestSpeDumpRawData1_1.bin", records, 64, &stream),
                     29);
    assert_int_equal(stream.bad_bytes, 2);
    for (int i = 0; i < 29; i++) {
        spe_to_record(&records[i], SPE_SOURCE_NONE, &access);
        damaged += !!(access.flags & PMU_DAMAGED);
        contexts += access.flags & PMU_HAS_THREAD && access.tid == 0x5bb;
    }
    assert_int_equal(damaged, 2);
    assert_int_equal(contexts, 10);

    /* Begins with what another record ended with; one record, without its PC, is marked. */
    assert_int_equal(read_spe("spe/ohos_hiperf_TestSpeDumpRawData2_2.bin", records, 64, &stream),
                     1);
    spe_to_record(&records[0], SPE_SOURCE_NONE, &access);
    assert_true(access.flags & PMU_DAMAGED);
    assert_false(access.flags & PMU_HAS_IP);
}

static void test_spe_closing_packets(void **state)
{
    struct spe_record record;
    struct spe_stream stream;
    static const uint8_t end = 0x01;
    struct access_record access;
    size_t size;
    uint8_t *bytes;

    (void)state;
    assert_int_equal(read_spe("spe/spe_parser_wperf_branch_end.bin", &record, 1, &stream), 1);
    assert_false(record.fields & SPE_HAS_TIME);
    assert_int_equal(read_spe("spe/spe_parser_wperf_branch_ts.bin", &record, 1, &stream), 1);
    assert_int_equal(record.time, 3913207673451);

    /* Its record comes after the time stamp of another, and is still open where the capture ends.
     */
    bytes = read_capture("spe/spe_parser_load_frame_ts_first.bin", &size);
    spe_begin(&stream);
    spe_feed(&stream, bytes, size);
    assert_false(spe_next(&stream, &record));
    spe_feed(&stream, &end, 1);
    assert_true(spe_next(&stream, &record));
    free(bytes);
    spe_to_record(&record, SPE_SOURCE_NEOVERSE, &access);
    assert_int_equal(access.ip, 0xaaaae4a9b600);
    assert_int_equal(access.address, 0xaaaae65dda43);
    assert_int_equal(access.physical, 0x8032c955a43);
    assert_int_equal(access.kinds, ACCESS_LOAD);
    assert_int_equal(access.level, LEVEL_L1);
    assert_int_equal(access.latency, 8);
    assert_int_equal(access.flags, PMU_HAS_IP | PMU_EXACT_IP | PMU_HAS_ADDRESS | PMU_HAS_PHYSICAL |
                                       PMU_HAS_LATENCY);
}

/* ---- IBS ---- */

static void check_line(struct expected *expected, const char *line)
{
    char *wanted = expected_line(expected);

    assert_non_null(wanted);
    /* One line of the dumps was cut off at a fixed column. */
    if (strncmp(wanted, "ibs_op_data3:", 13) == 0)
        assert_memory_equal(line, wanted, strlen(wanted));
    else
        assert_string_equal(line, wanted);
}

static void check_ibs_source(struct expected *expected, const struct ibs_registers *registers,
                             const struct ibs_op *op)
{
    static const char *const zen4_sources[] = {
        "",
        " DataSrc 1=Local L3 or other L1/L2 in CCX",
        " DataSrc 2=A peer cache in a near CCX",
        " DataSrc 3=Data returned from DRAM",
    };
    static const char *const sources[] = {"", "", " DataSrc 2=Local node cache"};
    bool zen4 = registers->capabilities & IBS_ZEN4;
    bool has_state = zen4 ? op->data_source == 2 : op->data_source == 2;
    char line[LINE] = "";

    add(line, "ibs_op_data2:\t%016" PRIx64 " %sRmtNode %d%s", registers->data2,
        !has_state            ? ""
        : op->cache_hit_owned ? "CacheHitSt 1=O-State "
                              : "CacheHitSt 0=M-state ",
        op->remote_node, zen4 ? zen4_sources[op->data_source] : sources[op->data_source]);
    check_line(expected, line);
}

static void check_ibs_memory(struct expected *expected, const struct ibs_registers *registers,
                             const struct ibs_op *op)
{
    char line[LINE] = "";

    add(line, "ibs_op_data3:\t%016" PRIx64, registers->data3);
    add(line, " LdOp %d StOp %d DcL1TlbMiss %d DcL2TlbMiss %d DcL1TlbHit2M %d DcL1TlbHit1G %d",
        op->load, op->store, op->l1_tlb_miss, op->l2_tlb_miss, op->l1_tlb_hit_2m,
        op->l1_tlb_hit_1g);
    add(line, " DcL2TlbHit2M %d DcMiss %d DcMisAcc %d DcWcMemAcc %d DcUcMemAcc %d DcLockedOp %d",
        op->l2_tlb_hit_2m, op->cache_miss, op->misaligned, op->write_combining, op->uncacheable,
        op->locked);
    add(line, " DcMissNoMabAlloc %d DcLinAddrValid %d DcPhyAddrValid %d DcL2TlbHit1G %d L2Miss %d",
        op->miss_no_mab, op->linear_valid, op->physical_valid, op->l2_tlb_hit_1g, op->l2_miss);
    add(line,
        " SwPf %d OpMemWidth %2d bytes OpDcMissOpenMemReqs %2d DcMissLat %5d TlbRefillLat %5d",
        op->software_prefetch, op->width, op->open_requests, op->miss_latency,
        op->tlb_refill_latency);
    check_line(expected, line);
}

static void check_ibs(const char *name, struct access_record *access)
{
    char path[256], line[LINE] = "";
    struct ibs_registers registers;
    struct expected expected;
    struct ibs_op op;
    size_t size;
    uint8_t *bytes;

    snprintf(path, sizeof path, "ibs/%s.raw_payload.bin", name);
    bytes = read_capture(path, &size);
    assert_true(ibs_decode(bytes, size, &registers));
    free(bytes);
    snprintf(path, sizeof path, "ibs/%s.perf-D.txt", name);
    expected = expect(path);
    ibs_fields(&registers, &op);

    add(line, "ibs_op_ctl:\t%016" PRIx64 " MaxCnt %9u", registers.control, op.period);
    if (registers.capabilities & IBS_ZEN4)
        add(line, " L3MissOnly %d", op.l3_miss_only);
    add(line, " En %d Val %d CntCtl %d=%s CurCnt %9u", op.enabled, op.valid, op.counts_operations,
        op.counts_operations ? "uOps" : "cycles", op.current_count);
    check_line(&expected, line);
    line[0] = '\0';
    if (!op.rip_invalid) {
        add(line, "IbsOpRip:\t%016" PRIx64, registers.rip);
        check_line(&expected, line);
        line[0] = '\0';
    }
    add(line, "ibs_op_data:\t%016" PRIx64 " CompToRetCtr %5d TagToRetCtr %5d BrnRet %d ",
        registers.data, op.completion_to_return, op.tag_to_return, op.branch_retired);
    add(line, " RipInvalid %d BrnFuse %d Microcode %d", op.rip_invalid, op.branch_fused,
        op.microcode);
    check_line(&expected, line);
    check_ibs_source(&expected, &registers, &op);
    check_ibs_memory(&expected, &registers, &op);
    line[0] = '\0';
    if (op.linear_valid) {
        add(line, "IbsDCLinAd:\t%016" PRIx64, registers.linear);
        check_line(&expected, line);
        line[0] = '\0';
    }
    if (op.physical_valid) {
        add(line, "IbsDCPhysAd:\t%016" PRIx64, registers.physical);
        check_line(&expected, line);
    }
    free(expected.text);
    assert_true(ibs_to_record(&registers, NULL, access));
}

static void test_ibs(void **state)
{
    struct access_record access;

    (void)state;
    check_ibs("store_pre_zen4", &access);
    assert_int_equal(access.kinds, ACCESS_STORE);
    assert_int_equal(access.address, 0x7f133c319ce0);
    assert_int_equal(access.physical, 0x270485ce0);
    assert_int_equal(access.width, 4);
    assert_int_equal(access.level, LEVEL_L1);
    assert_int_equal(access.latency, 0);
    assert_int_equal(access.period, 10000000);
    assert_int_equal(access.privilege, PRIVILEGE_USER);

    check_ibs("store_zen4_rmtnode", &access);
    assert_int_equal(access.kinds, ACCESS_STORE);
    assert_int_equal(access.width, 32);
    assert_int_equal(access.level, LEVEL_UNKNOWN); /* DataSrc is for loads only */
    assert_true(access.flags & PMU_L2_MISSED);
    assert_int_equal(access.privilege, PRIVILEGE_KERNEL);
    assert_int_equal(access.address, 0xff110008a5398920);

    check_ibs("load_zen4_l3missonly", &access);
    assert_int_equal(access.kinds, ACCESS_LOAD);
    assert_int_equal(access.level, LEVEL_PEER_CACHE);
    assert_int_equal(access.latency, 104);
    assert_true(access.flags & PMU_MODIFIED_ELSEWHERE);

    /* An address is there, and the valid bit says that it is none. */
    check_ibs("store_linaddr_invalid", &access);
    assert_false(access.flags & PMU_HAS_ADDRESS);
    assert_int_equal(access.address, 0);
    assert_true(access.flags & PMU_HAS_PHYSICAL);
    assert_int_equal(access.translation, TRANSLATION_UNKNOWN);
}

/* ---- perf.data with PEBS loads; data sources ---- */

/* Appends the names of the bits that are set, joined by " or ". Returns how many. */
static int add_names(char *line, unsigned set, const char *const names[], int count)
{
    int found = 0;

    for (int i = 0; i < count; i++)
        if (set >> i & 1 && names[i])
            add(line, "%s%s", found++ ? " or " : "", names[i]);
    return found;
}

/* In the words of `perf script`; short_form: in those of the table of vectors. */
static void describe_data_source(uint64_t value, bool short_form, char *line)
{
    static const char *const operations[] = {"N/A", "LOAD", "STORE", "PFETCH", "EXEC"};
    static const char *const levels[] = {"N/A",     NULL, NULL, "L1",
                                         "LFB/MAB", "L2", "L3", "Local RAM"};
    static const char *const short_levels[] = {"N/A", NULL, NULL, "L1", "LFB", "L2", "L3", "RAM"};
    static const char *const numbers[16] = {
        NULL, "L1", "L2", "L3", "L4", [12] = "LFB/MAB", [13] = "RAM"};
    static const char *const snoops[] = {"N/A", "None", "Hit", "Miss", "HitM"};
    static const char *const tlbs[] = {"N/A", NULL, NULL, "L1", "L2", "Walker", "Fault"};
    struct data_source source;

    data_source_unpack(value, &source);
    add(line, "|OP ");
    add_names(line, source.operation, operations, 5);
    add(line, "|LVL ");
    if (short_form)
        add_names(line, source.level, short_levels, 8);
    else if (add_names(line, source.level, levels, 8) && numbers[source.level_number])
        add(line, " or %s", numbers[source.level_number]);
    add(line, "%s%s", source.level & MEM_LEVEL_HIT ? " hit" : "",
        source.level & MEM_LEVEL_MISS ? " miss" : "");
    add(line, "|SNP ");
    if (!add_names(line, source.snoop, snoops, 5))
        add(line, "N/A");
    add(line, "|TLB ");
    add_names(line, source.tlb, tlbs, 7);
    add(line, "%s%s", source.tlb & MEM_TLB_HIT ? " hit" : "",
        source.tlb & MEM_TLB_MISS ? " miss" : "");
    add(line, "|LCK %s",
        source.lock & MEM_LOCK_NA       ? "N/A"
        : source.lock & MEM_LOCK_LOCKED ? "Yes"
                                        : "No");
    add(line, short_form ? "|BLK N/A" : "|BLK  N/A");
    assert_true(source.blocked == 0 || source.blocked == MEM_BLOCK_NA);
}

static void collapse_spaces(char *text)
{
    char *out = text;

    for (const char *in = text; *in; in++)
        if (*in != ' ' || (out > text && out[-1] != ' '))
            *out++ = *in;
    *out = '\0';
}

struct timed_sample {
    struct perf_sample sample;
    uint16_t misc;
};

static int by_time(const void *left, const void *right)
{
    const struct timed_sample *a = left, *b = right;

    return a->sample.time < b->sample.time ? -1 : a->sample.time > b->sample.time;
}

/* The line of `perf script` after the name of the program. */
static void describe_sample(const struct perf_sample *sample, char *line)
{
    uint64_t microseconds = sample->time / 1000;

    add(line, " %u/%u [%03u] %" PRIu64 ".%06" PRIu64 ": %" PRIx64 " %" PRIx64 " ", sample->pid,
        sample->tid, sample->cpu, microseconds / 1000000, microseconds % 1000000, sample->address,
        sample->data_source);
    describe_data_source(sample->data_source, false, line);
    add(line, " %" PRIu64 " %" PRIx64, sample->weight, sample->ip);
    collapse_spaces(line);
}

static void check_pebs_record(const struct perf_layout *layout, const struct timed_sample *timed)
{
    struct access_record access;

    perf_sample_to_record(layout, &timed->sample, timed->misc, UNIT_PEBS, 0, &access);
    assert_int_equal(access.kinds, ACCESS_LOAD);
    assert_int_equal(access.privilege, timed->sample.ip >> 63 ? PRIVILEGE_KERNEL : PRIVILEGE_USER);
    assert_true(access.flags & PMU_EXACT_IP);
    assert_true(access.flags & PMU_HAS_ADDRESS);
    assert_in_range(access.latency, 64, 65535); /* the event's threshold */
    assert_int_equal(access.width, 0);
}

static void test_pebs_file(void **state)
{
    enum { SAMPLES = 14 };
    size_t size, at = 0, samples = 0;
    uint8_t *bytes = read_capture("pebs/skx_ldlat64_weight_struct.perf.data", &size);
    struct expected expected = expect("pebs/skx_ldlat64_weight_struct.perf-script.txt");
    struct timed_sample timed[SAMPLES];
    struct perf_file file;
    struct perf_file_event event;
    struct perf_file_record record;
    char text[64];

    (void)state;
    assert_int_equal(perf_file_open(&file, bytes, size), PERF_FILE_GOOD);
    assert_true(perf_file_event(&file, 0, &event));
    assert_int_equal(event.type, 4);
    assert_int_equal(event.config, 0x1cd);
    assert_int_equal(event.config1, 0x40);
    assert_int_equal(event.precise, 2);
    assert_int_equal(event.layout.sample_type, PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                                                   PERF_SAMPLE_ADDR | PERF_SAMPLE_ID |
                                                   PERF_SAMPLE_CPU | PERF_SAMPLE_DATA_SRC |
                                                   PERF_SAMPLE_WEIGHT_STRUCT);
    while (perf_file_next(&file, &at, &record)) {
        if (record.header.type != PERF_RECORD_SAMPLE)
            continue;
        assert_in_range(samples, 0, SAMPLES - 1);
        timed[samples].misc = record.header.misc;
        assert_true(perf_sample_decode(&event.layout, record.bytes, record.header.size,
                                       &timed[samples].sample));
        assert_int_equal(perf_file_event_by_id(&file, timed[samples].sample.id), 0);
        samples++;
    }
    assert_int_equal(samples, SAMPLES);
    assert_false(file.cut);
    qsort(timed, samples, sizeof timed[0], by_time);
    for (size_t i = 0; i < samples; i++) {
        char line[LINE] = "", *wanted = expected_line(&expected);

        assert_non_null(wanted);
        collapse_spaces(wanted);
        describe_sample(&timed[i].sample, line);
        assert_true(strlen(wanted) > strlen(line));
        assert_string_equal(wanted + strlen(wanted) - strlen(line), line);
        check_pebs_record(&event.layout, &timed[i]);
    }
    assert_null(expected_line(&expected));
    perf_file_string(&file, PERF_FEATURE_CPU_DESCRIPTION, text, sizeof text);
    assert_non_null(strstr(text, "8173M"));
    free(bytes);
    free(expected.text);
}

static void test_data_source_vectors(void **state)
{
    struct expected expected = expect("vectors/data_src_vectors.csv");
    char *row;
    int rows = 0;

    (void)state;
    while ((row = expected_line(&expected)) != NULL) {
        char line[LINE] = "", *text = strchr(row, ','), *origin;

        if (*row == '#')
            continue;
        *text++ = '\0';
        origin = strchr(text, ',');
        *origin = '\0';
        describe_data_source(strtoull(row, NULL, 16), true, line);
        /* Older perfs print no column of blocks. */
        if (!strstr(text, "|BLK"))
            *strstr(line, "|BLK") = '\0';
        /* One row has a remark behind its text. */
        if (strchr(text, '('))
            strchr(text, '(')[-1] = '\0';
        assert_string_equal(line, text);
        rows++;
    }
    assert_int_equal(rows, 21);
    free(expected.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spe_packets),
        cmocka_unit_test(test_spe_records),
        cmocka_unit_test(test_spe_resynchronisation),
        cmocka_unit_test(test_spe_closing_packets),
        cmocka_unit_test(test_ibs),
        cmocka_unit_test(test_pebs_file),
        cmocka_unit_test(test_data_source_vectors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
