/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random bytes as hardware records and as perf.data files: the decoders must neither crash nor look
 * outside of what they were given, results must keep to their ranges, and an SPE stream must
 * give the same records however it is cut.
 *
 * Built with -fsanitize=fuzzer and -DREUSE_LIBFUZZER it is a libFuzzer target. Otherwise a program:
 * fuzz_pmu [FILE...] runs these inputs, without arguments as many random ones as FUZZ_PMU_COUNT
 * says (seed: FUZZ_PMU_SEED). Speaks TAP.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pmu/data_source.h"
#include "pmu/ibs.h"
#include "pmu/perf_file.h"
#include "pmu/spe.h"
#include "sampling/random.h"

enum { INPUT_MAX = 4096, RECORDS_MAX = INPUT_MAX };

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void check_record(const struct access_record *record)
{
    require(record->level < LEVEL_COUNT && record->translation < TRANSLATION_COUNT);
    require(record->width <= 64 && (record->width & (record->width - 1)) == 0);
    require((record->kinds & ~(ACCESS_LOAD | ACCESS_STORE)) == 0);
    require(record->privilege <= PRIVILEGE_HYPERVISOR);
    require(record->flags & PMU_HAS_ADDRESS || record->address == 0);
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
            require(++count < RECORDS_MAX);
        free(copy);
        at += piece;
    }
    require(stream.records == count);
    *bad_bytes = stream.bad_bytes;
    return count;
}

static void check_spe(const uint8_t *bytes, size_t size, uint64_t cut)
{
    static struct spe_record whole[RECORDS_MAX], pieces[RECORDS_MAX];
    uint64_t bad_whole, bad_pieces;
    size_t count = read_stream(bytes, size, 0, whole, &bad_whole);

    require(read_stream(bytes, size, cut | 1, pieces, &bad_pieces) == count);
    require(memcmp(whole, pieces, count * sizeof whole[0]) == 0 && bad_whole == bad_pieces);
    for (size_t i = 0; i < count; i++) {
        struct access_record record;

        spe_to_record(&whole[i], (enum spe_source_table)(cut % 5), &record);
        check_record(&record);
    }
}

/* ---- perf samples and IBS ---- */

static bool points_inside(const uint8_t *pointer, uint64_t length, const uint8_t *bytes,
                          size_t size)
{
    return !pointer || (pointer >= bytes && length <= size &&
                        (size_t)(pointer - bytes) <= size - (size_t)length);
}

static void check_sample(const struct perf_layout *layout, const uint8_t *bytes, size_t size)
{
    struct perf_sample sample;
    struct access_record record;
    struct ibs_registers registers;
    static const struct ibs_processor zen3 = {0x19, 1};

    if (!perf_sample_decode(layout, bytes, size, &sample))
        return;
    require(points_inside(sample.read, sample.read_size, bytes, size));
    require(points_inside(sample.callchain, 8 * sample.callchain_count, bytes, size));
    require(points_inside(sample.raw, sample.raw_size, bytes, size));
    require(points_inside(sample.branches, 24 * sample.branch_count, bytes, size));
    require(points_inside(sample.stack, sample.stack_size, bytes, size));
    require(points_inside(sample.aux, sample.aux_size, bytes, size));
    perf_sample_to_record(layout, &sample, (uint16_t)size, UNIT_PEBS, 0, &record);
    check_record(&record);
    if (sample.raw && ibs_decode(sample.raw, sample.raw_size, &registers) &&
        ibs_to_record(&registers, size & 1 ? &zen3 : NULL, &record))
        check_record(&record);
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
    perf_stream_decode(bytes, size, &stream);
    perf_record_identity(&layout, bytes, size, &identity);
    if (perf_record_header(bytes, size, &header))
        require(header.size <= size && header.size >= PERF_RECORD_HEADER);
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
            require(points_inside(event.ids, 8 * event.id_count, bytes, size));
    while (perf_file_next(&file, &at, &record)) {
        require(at > before && at <= size);
        before = at;
        require(points_inside(record.bytes, record.header.size, bytes, size));
        require(points_inside(record.data, record.data_size, bytes, size));
        perf_file_aux(&record, &aux);
        if (perf_file_event(&file, 0, &event) && !perf_layout_unknown(&event.layout))
            check_sample(&event.layout, record.bytes, record.header.size);
    }
    perf_file_string(&file, PERF_FEATURE_CPUID, text, sizeof text);
    perf_file_pmu_type(&file, "ibs_op");
    perf_file_event_by_id(&file, size);
}

/* The first byte chooses. */
static void check(const uint8_t *input, size_t size)
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

#ifdef REUSE_LIBFUZZER
int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    if (size <= INPUT_MAX)
        check(input, size);
    return 0;
}
#else
static void run_file(const char *name)
{
    static uint8_t input[INPUT_MAX];
    FILE *file = fopen(name, "rb");

    if (!file) {
        perror(name);
        exit(1);
    }
    check(input, fread(input, 1, sizeof input, file));
    fclose(file);
}

/* Headers of SPE packets more often than by chance, and many zeros. */
static uint8_t random_byte(struct random *random)
{
    static const uint8_t frequent[] = {0,    0,    0,    0,    0x01, 0x20, 0x42,
                                       0x43, 0x49, 8,    0x4a, 0x52, 0x62, 0x64,
                                       0x71, 0x98, 0x99, 0xb0, 1,    0xb2, 0xb3};
    uint64_t value = random_next(random) >> 20;

    return value % 2 ? frequent[(value >> 8) % sizeof frequent] : (uint8_t)(value >> 8);
}

/* A header of a file that is nearly right, so that more than the first check is reached. */
static void file_header(struct random *random, uint8_t *input, size_t size)
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

int main(int argc, char **argv)
{
    static uint8_t input[INPUT_MAX];

    printf("1..1\n");
    for (int i = 1; i < argc; i++)
        run_file(argv[i]);
    if (argc == 1) {
        const char *given = getenv("FUZZ_PMU_SEED"), *count = getenv("FUZZ_PMU_COUNT");
        uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
        unsigned long inputs = count ? strtoul(count, NULL, 0) : 20000;
        struct random random;

        fprintf(stderr, "# FUZZ_PMU_SEED=%llu\n", (unsigned long long)seed);
        random_seed(&random, seed);
        for (unsigned long i = 0; i < inputs; i++) {
            size_t size = 9 + random_below(&random, i % 16 ? 500 : INPUT_MAX - 9);

            for (size_t at = 0; at < size; at++)
                input[at] = random_byte(&random);
            if ((input[0] & 3) == 3)
                file_header(&random, input, size);
            check(input, size);
        }
    }
    printf("ok 1 - random bytes as hardware records\n");
    return 0;
}
#endif
