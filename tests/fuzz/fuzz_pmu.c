/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random bytes as hardware records and as perf.data files: the decoders must neither crash nor look
 * outside of what they were given, results must keep to their ranges, an SPE stream must
 * give the same records however it is cut, and the quick way through samples what the other one
 * gives.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz/driver.h"
#include "pmu/aux_area.h"
#include "pmu/data_source.h"
#include "pmu/ibs.h"
#include "pmu/perf_file.h"
#include "pmu/perf_plan.h"
#include "pmu/spe.h"

enum { RECORDS_MAX = FUZZ_INPUT_MAX / 2 }; /* a packet and an end make a record */

static void check_record(const struct access_record *record)
{
    fuzz_require(record->level < LEVEL_COUNT && record->translation < TRANSLATION_COUNT);
    fuzz_require(record->width <= 64 && (record->width & (record->width - 1)) == 0);
    fuzz_require((record->kinds & ~(ACCESS_LOAD | ACCESS_STORE)) == 0);
    fuzz_require(record->privilege <= PRIVILEGE_HYPERVISOR);
    fuzz_require(record->flags & PMU_HAS_ADDRESS || record->address == 0);
}

/* ---- SPE ---- */

/* Reads the stream in pieces, each in memory of its own; sizes come from `cut`, 0: one piece. */
static size_t read_stream(const uint8_t *bytes, size_t size, uint64_t cut,
                          struct spe_record *records, uint64_t *bad_bytes)
{
    struct random random;
    struct spe_stream stream;
    size_t count = 0;

    random_seed(&random, cut);
    spe_begin(&stream);
    for (size_t at = 0; at < size;) {
        size_t piece = cut ? 1 + random_below(&random, 40) : size;
        uint8_t *copy;

        if (piece > size - at)
            piece = size - at;
        copy = malloc(piece);
        memcpy(copy, bytes + at, piece);
        spe_feed(&stream, copy, piece);
        while (spe_next(&stream, &records[count]))
            fuzz_require(++count < RECORDS_MAX);
        free(copy);
        at += piece;
    }
    fuzz_require(stream.records == count);
    *bad_bytes = stream.bad_bytes;
    return count;
}

static void check_spe(const uint8_t *bytes, size_t size, uint64_t cut)
{
    static struct spe_record whole[RECORDS_MAX], pieces[RECORDS_MAX];
    uint64_t bad_whole, bad_pieces;
    size_t count = read_stream(bytes, size, 0, whole, &bad_whole);

    fuzz_require(read_stream(bytes, size, cut | 1, pieces, &bad_pieces) == count);
    fuzz_require(memcmp(whole, pieces, count * sizeof whole[0]) == 0 && bad_whole == bad_pieces);
    for (size_t i = 0; i < count; i++) {
        struct access_record record;

        spe_to_record(&whole[i], (enum spe_source_table)(cut % 5), &record);
        check_record(&record);
    }
}

static void count_record(void *context, const struct spe_record *record)
{
    fuzz_require(!(record->fields & (SPE_CUT | SPE_REPEATED)));
    ++*(size_t *)context;
}

/* The same bytes in an AUX area, anywhere in it and in pieces; then with faults and positions that
 * mean nothing. */
static void check_area(const uint8_t *bytes, size_t size, uint64_t cut)
{
    static struct spe_record whole[RECORDS_MAX];
    uint8_t *memory = malloc(FUZZ_INPUT_MAX);
    size_t expected = 0, count = 0, all;
    struct aux_area area;
    struct random random;
    uint64_t bad, start;

    random_seed(&random, cut);
    all = read_stream(bytes, size, 0, whole, &bad);
    for (size_t i = 0; i < all; i++)
        expected += !(whole[i].fields & SPE_REPEATED);
    aux_begin(&area, memory, FUZZ_INPUT_MAX);
    start = area.tail = random_next(&random);
    for (size_t i = 0; i < size; i++)
        memory[(start + i) % FUZZ_INPUT_MAX] = bytes[i];
    while (area.tail - start < size) {
        uint64_t piece = 1 + random_below(&random, (unsigned)(size - (area.tail - start)));

        aux_take(&area, area.tail, piece, 0, count_record, &count);
    }
    fuzz_require(count == expected && area.faults.gaps == 0 && area.faults.bad_bytes == bad);
    for (unsigned i = 0; i < 8; i++)
        aux_take(&area, area.tail + random_next(&random) % 8192 - 4096, random_next(&random) % 8192,
                 cut >> i, count_record, &count);
    free(memory);
}

/* ---- perf samples and IBS ---- */

static void check_sample(const struct perf_layout *layout, const uint8_t *bytes, size_t size)
{
    struct perf_sample sample;
    struct access_record record;
    struct ibs_registers registers;
    static const struct ibs_processor zen3 = {0x19, 1};

    if (!perf_sample_decode(layout, bytes, size, &sample))
        return;
    fuzz_require(fuzz_points_inside(sample.read, sample.read_size, bytes, size));
    fuzz_require(fuzz_points_inside(sample.callchain, 8 * sample.callchain_count, bytes, size));
    fuzz_require(fuzz_points_inside(sample.raw, sample.raw_size, bytes, size));
    fuzz_require(fuzz_points_inside(sample.branches, 24 * sample.branch_count, bytes, size));
    fuzz_require(fuzz_points_inside(sample.stack, sample.stack_size, bytes, size));
    fuzz_require(fuzz_points_inside(sample.aux, sample.aux_size, bytes, size));
    perf_sample_to_record(layout, &sample, (uint16_t)size, UNIT_PEBS, 0, &record);
    check_record(&record);
    if (sample.raw && ibs_decode(sample.raw, sample.raw_size, &registers) &&
        ibs_to_record(&registers, size & 1 ? &zen3 : NULL, &record))
        check_record(&record);
}

static void check_plan(const struct perf_layout *layout, const uint8_t *bytes, size_t size)
{
    struct perf_record_header header = {.misc = (uint16_t)size, .size = (uint16_t)size};
    struct access_record quick, slow;
    struct perf_sample sample;
    struct perf_plan plan;
    size_t raw_size = 0;
    const uint8_t *raw;

    if (size > UINT16_MAX || !perf_plan_make(layout, UNIT_PEBS, 0, &plan))
        return;
    raw = perf_plan_raw(&plan, bytes, &header, &raw_size);
    fuzz_require(fuzz_points_inside(raw, raw_size, bytes, size));
    if (!perf_plan_record(&plan, bytes, &header, &quick))
        return;
    check_record(&quick);
    fuzz_require(perf_sample_decode(layout, bytes, size, &sample) && sample.raw == raw);
    perf_sample_to_record(layout, &sample, header.misc, UNIT_PEBS, 0, &slow);
    fuzz_require(memcmp(&quick, &slow, offsetof(struct access_record, hops) + 1) == 0);
}

static void check_perf(const uint8_t *bytes, size_t size)
{
    struct perf_layout layout;
    struct perf_stream_record stream;
    struct perf_record_header header;
    struct perf_sample identity;
    uint64_t words[5];

    if (size < sizeof words)
        return;
    memcpy(words, bytes, sizeof words);
    bytes += sizeof words;
    size -= sizeof words;
    layout = (struct perf_layout){.sample_type = words[0] & ((1 << PERF_SAMPLE_BITS_KNOWN) - 1),
                                  .read_format = words[1] & 0x1f,
                                  .branch_sample_type = words[2],
                                  .registers_user = words[3],
                                  .registers_interrupted = words[4],
                                  .sample_id_all = words[1] >> 60 & 1};
    check_sample(&layout, bytes, size);
    check_plan(&layout, bytes, size);
    perf_stream_decode(bytes, size, &stream);
    perf_record_identity(&layout, bytes, size, &identity);
    if (perf_record_header(bytes, size, &header))
        fuzz_require(header.size <= size && header.size >= PERF_RECORD_HEADER);
}

static void check_ibs(const uint8_t *bytes, size_t size)
{
    struct ibs_registers registers;
    struct access_record record;

    if (ibs_decode(bytes, size, &registers) && ibs_to_record(&registers, NULL, &record))
        check_record(&record);
}

/* ---- files ---- */

static void check_file(const uint8_t *bytes, size_t size)
{
    struct perf_file file;
    struct perf_file_event event;
    struct perf_file_record record;
    struct perf_file_aux aux;
    char text[64];
    size_t at = 0, before = 0;

    if (perf_file_open(&file, bytes, size) != PERF_FILE_GOOD)
        return;
    for (size_t i = 0; i <= file.events && i < 16; i++)
        if (perf_file_event(&file, i, &event))
            fuzz_require(fuzz_points_inside(event.ids, 8 * event.id_count, bytes, size));
    while (perf_file_next(&file, &at, &record)) {
        fuzz_require(at > before && at <= size);
        before = at;
        fuzz_require(fuzz_points_inside(record.bytes, record.header.size, bytes, size));
        fuzz_require(fuzz_points_inside(record.data, record.data_size, bytes, size));
        perf_file_aux(&record, &aux);
        if (perf_file_event(&file, 0, &event) && !perf_layout_unknown(&event.layout))
            check_sample(&event.layout, record.bytes, record.header.size);
    }
    perf_file_string(&file, PERF_FEATURE_CPUID, text, sizeof text);
    perf_file_pmu_type(&file, "ibs_op");
    perf_file_event_by_id(&file, size);
}

/* The first byte chooses. */
void fuzz_check(const uint8_t *input, size_t size)
{
    uint8_t *exact;

    if (size < 9)
        return;
    /* Of the very size, so that a sanitizer sees one byte too many. */
    exact = malloc(size - 1);
    memcpy(exact, input + 1, size - 1);
    switch (input[0] & 3) {
    case 0:
        check_spe(exact, size - 1, input[1]);
        check_area(exact, size - 1, input[1]);
        break;
    case 1:
        check_perf(exact, size - 1);
        break;
    case 2:
        check_ibs(exact, size - 1);
        break;
    default:
        check_file(exact, size - 1);
    }
    free(exact);
}

/* ---- random inputs ---- */

const char fuzz_target[] = "random bytes as hardware records";

/* Headers of SPE packets more often than by chance, and many zeros. */
static uint8_t random_byte(struct random *random)
{
    static const uint8_t frequent[] = {0,    0,    0,    0,    0x01, 0x20, 0x42,
                                       0x43, 0x49, 8,    0x4a, 0x52, 0x62, 0x64,
                                       0x71, 0x98, 0x99, 0xb0, 1,    0xb2, 0xb3};
    uint64_t value = random_next(random) >> 20;

    return value % 2 ? frequent[(value >> 8) % sizeof frequent] : (uint8_t)(value >> 8);
}

/* Packets that are whole, but for one in thirty that is any byte. */
static void make_packets(struct random *random, uint8_t *bytes, size_t size)
{
    static const uint8_t headers[] = {0x00, 0x00, 0x01, 0x20, 0x21, 0x42, 0x52, 0x62, 0x72,
                                      0x43, 0x53, 0x48, 0x49, 0x49, 0x4a, 0x64, 0x65, 0x71,
                                      0x98, 0x99, 0x9a, 0x9b, 0xb0, 0xb1, 0xb2, 0xb3, 0xb4};

    for (size_t at = 0; at < size;) {
        uint8_t header = headers[random_below(random, sizeof headers)];
        unsigned payload = header >= 0x40 ? 1u << (header >> 4 & 3) : 0;

        bytes[at++] = random_below(random, 30) ? header : (uint8_t)random_next(random);
        while (payload-- && at < size)
            bytes[at++] = (uint8_t)random_next(random);
    }
}

/* A header of a file that is nearly right, so that more than the first check is reached. */
static void make_file_header(struct random *random, uint8_t *input, size_t size)
{
    uint64_t words[13] = {0, 104, 136, 104, 136, 240, size - 1 - 240};

    memcpy(words, "PERFILE2", 8);
    if (size < sizeof words + 1)
        return;
    words[9] = random_next(random);
    memcpy(input + 1, words, sizeof words);
    if (random_below(random, 4) == 0)
        input[1 + 8 + random_below(random, 96)] ^= (uint8_t)(1 << random_below(random, 8));
}

size_t fuzz_make(struct random *random, uint8_t *input)
{
    size_t size = 9 + random_below(random, random_below(random, 16) ? 500 : 4096);

    for (size_t at = 0; at < size; at++)
        input[at] = random_byte(random);
    if ((input[0] & 3) == 0 && random_below(random, 2))
        make_packets(random, input + 1, size - 1);
    if ((input[0] & 3) == 3)
        make_file_header(random, input, size);
    return size;
}
