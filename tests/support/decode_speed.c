/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many hardware records a second one core decodes, from bytes to accesses. Prints a line for
 * each unit: name, records per second of CPU time; of SPE also with adding them up as a run does.
 * decode_speed [SECONDS] (default 1 for each).
 */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "pmu/encode.h"
#include "pmu/perf_plan.h"
#include "sampling/random.h"
#include "sampling/served.h"

enum { RECORDS = 1 << 14, BYTES_MAX = RECORDS * SPE_RECORD_LARGEST };

static uint8_t bytes[BYTES_MAX];
static size_t size;

/* What is decoded is added up, so that no compiler can leave it out. */
static volatile uint64_t result;

static const struct perf_layout pebs_layout = {
    .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
                   PERF_SAMPLE_CPU | PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_DATA_SRC};
static const struct perf_layout ibs_layout = {.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                                                             PERF_SAMPLE_TIME | PERF_SAMPLE_RAW};

static struct access_record random_record(struct random *random)
{
    return (struct access_record){
        .ip = 0x400000 + random_below(random, 1 << 20),
        .address = 0x7f0000000000 + (random_next(random) >> 30),
        .time = random_next(random) >> 8,
        .flags = PMU_HAS_IP | PMU_EXACT_IP | PMU_HAS_ADDRESS | PMU_HAS_TIME | PMU_HAS_LATENCY |
                 PMU_HAS_THREAD,
        .tid = 1000,
        .latency = random_below(random, 400),
        .latency_issue = 5,
        .kinds = (uint8_t)(ACCESS_LOAD + random_below(random, 2)),
        .width = 8,
        .level = (uint8_t)(LEVEL_L1 + random_below(random, 4)),
        .translation = TRANSLATION_CACHED,
        .privilege = PRIVILEGE_USER,
    };
}

static unsigned long decode_spe(void)
{
    struct spe_stream stream;
    struct spe_record spe;
    struct access_record record;
    unsigned long count = 0;
    uint64_t sum = 0;

    spe_begin(&stream);
    spe_feed(&stream, bytes, size);
    while (spe_next(&stream, &spe)) {
        spe_to_record(&spe, SPE_SOURCE_NEOVERSE, &record);
        sum += record.address + record.flags;
        count++;
    }
    result = sum;
    return count;
}

/* As a run does with SPE's records: some instructions, adding up what is alike. */
static unsigned long add_up_spe(void)
{
    static struct served_table table;
    struct spe_stream stream;
    struct spe_record spe;
    struct access_record record;
    unsigned long count = 0;

    spe_begin(&stream);
    spe_feed(&stream, bytes, size);
    while (spe_next(&stream, &spe)) {
        struct served_object object = {.kind = OBJECT_HEAP, .reference = 1};

        spe_to_record(&spe, SPE_SOURCE_NEOVERSE, &record);
        record.ip &= ~(uint64_t)0xfffe0;
        record.latency >>= 4;
        if (!served_add(&table, &record, object, 1000)) {
            served_clear(&table);
            served_add(&table, &record, object, 1000);
        }
        count++;
    }
    result = table.used;
    return count;
}

static unsigned long decode_pebs(void)
{
    unsigned long count = 0;
    struct perf_plan plan;
    uint64_t sum = 0;

    if (!perf_plan_make(&pebs_layout, UNIT_PEBS, 0, &plan))
        exit(1);
    for (size_t at = 0; at < size; count++) {
        struct perf_record_header header;
        struct access_record record;

        if (!perf_record_header(bytes + at, size - at, &header) ||
            !perf_plan_record(&plan, bytes + at, &header, &record))
            exit(1);
        sum += record.address + record.flags;
        at += header.size;
    }
    result = sum;
    return count;
}

static unsigned long decode_ibs(void)
{
    unsigned long count = 0;
    struct perf_plan plan;
    uint64_t sum = 0;

    if (!perf_plan_make(&ibs_layout, UNIT_IBS, 0, &plan))
        exit(1);
    for (size_t at = 0; at < size; count++) {
        struct perf_record_header header;
        struct access_record record;
        struct ibs_registers registers;
        const uint8_t *raw;
        size_t raw_size;

        if (!perf_record_header(bytes + at, size - at, &header) ||
            !(raw = perf_plan_raw(&plan, bytes + at, &header, &raw_size)) ||
            !ibs_decode(raw, raw_size, &registers) || !ibs_to_record(&registers, NULL, &record))
            exit(1);
        sum += record.address + record.flags;
        at += header.size;
    }
    result = sum;
    return count;
}

static double cpu_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void measure(const char *name, unsigned long (*decode)(void), double seconds)
{
    double start = cpu_seconds(), now;
    unsigned long records = 0;

    do {
        records += decode();
        now = cpu_seconds();
    } while (now - start < seconds);
    printf("%-5s %.1f million records/s\n", name, (double)records / (now - start) * 1e-6);
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 1;
    struct random random;
    struct access_record record;

    random_seed(&random, 1);
    for (int i = 0; i < RECORDS; i++) {
        record = random_record(&random);
        size += encode_spe(SPE_SOURCE_NEOVERSE, &record, bytes + size, sizeof bytes - size);
    }
    measure("spe", decode_spe, seconds);
    measure("spe, added up", add_up_spe, seconds);
    size = 0;
    for (int i = 0; i < RECORDS; i++) {
        record = random_record(&random);
        size += encode_pebs(&pebs_layout, &record, bytes + size, sizeof bytes - size);
    }
    measure("pebs", decode_pebs, seconds);
    size = 0;
    for (int i = 0; i < RECORDS; i++) {
        record = random_record(&random);
        size += encode_ibs(&ibs_layout, IBS_ZEN4 | IBS_BRANCH_TARGET | IBS_OP_COUNT_EXTENDED,
                           &record, bytes + size, sizeof bytes - size);
    }
    measure("ibs", decode_ibs, seconds);
    return 0;
}
