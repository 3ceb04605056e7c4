/* SPDX-License-Identifier: BSD-3-Clause */
/* See layout.h. */
#include "simulate/layout.h"

#include <linux/perf_event.h>
#include <stdint.h>

#include "pmu/encode.h"
#include "pmu/ibs.h"
#include "pmu/perf_sample.h"
#include "pmu/spe.h"

enum {
    RECORD_BYTES = 512,
    /* Of a processor with every register that the payload can have. */
    CAPABILITIES =
        IBS_AVAILABLE | IBS_OP_SAMPLING | IBS_OP_COUNT | IBS_RIP_INVALID | IBS_ZEN4 | IBS_OP_DATA4,
};

static const struct perf_layout perf_layout = {
    .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
                   PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_DATA_SRC,
};
static const struct perf_layout ibs_layout = {
    .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW,
};

/* A PERF_RECORD_SAMPLE of the bytes; false if they are none. */
static bool read_sample(const struct perf_layout *layout, const uint8_t *bytes, size_t size,
                        struct perf_record_header *header, struct perf_sample *sample)
{
    return perf_record_header(bytes, size, header) && header->type == PERF_RECORD_SAMPLE &&
           perf_sample_decode(layout, bytes, header->size, sample);
}

static bool pass_pebs(const struct access_record *made, uint8_t *bytes, struct access_record *told)
{
    size_t size = encode_pebs(&perf_layout, made, bytes, RECORD_BYTES);
    struct perf_record_header header;
    struct perf_sample sample;

    if (!read_sample(&perf_layout, bytes, size, &header, &sample))
        return false;
    perf_sample_to_record(&perf_layout, &sample, header.misc, UNIT_PEBS, made->kinds, told);
    return true;
}

static bool pass_ibs(const struct access_record *made, uint8_t *bytes, struct access_record *told)
{
    static const struct ibs_processor processor = {0};
    size_t size = encode_ibs(&ibs_layout, CAPABILITIES, made, bytes, RECORD_BYTES);
    struct perf_record_header header;
    struct ibs_registers registers;
    struct perf_sample sample;

    return read_sample(&ibs_layout, bytes, size, &header, &sample) &&
           ibs_decode(sample.raw, sample.raw_size, &registers) &&
           ibs_to_record(&registers, &processor, told);
}

static bool pass_spe(const struct access_record *made, uint8_t *bytes, struct access_record *told)
{
    size_t size = encode_spe(SPE_SOURCE_NONE, made, bytes, RECORD_BYTES);
    struct spe_stream stream;
    struct spe_record record;

    spe_begin(&stream);
    spe_feed(&stream, bytes, size);
    if (!spe_next(&stream, &record))
        return false;
    spe_to_record(&record, SPE_SOURCE_NONE, told);
    return true;
}

bool layout_pass(enum simulated_layout layout, const struct access *made, uint64_t time_ns,
                 struct access *told)
{
    struct access_record record = {
        .ip = made->ip,
        .address = made->address,
        .time = time_ns,
        .flags = PMU_HAS_IP | PMU_HAS_ADDRESS | PMU_HAS_TIME | PMU_EXACT_IP |
                 (made->read_modify_write ? PMU_ATOMIC : 0),
        .kinds = made->kind,
        .width = made->width,
        .privilege = PRIVILEGE_USER,
    };
    struct access_record decoded = {0};
    uint8_t bytes[RECORD_BYTES];
    bool read = layout == LAYOUT_IBS   ? pass_ibs(&record, bytes, &decoded)
                : layout == LAYOUT_SPE ? pass_spe(&record, bytes, &decoded)
                                       : pass_pebs(&record, bytes, &decoded);

    if (!read || (decoded.flags & (PMU_HAS_IP | PMU_HAS_ADDRESS)) != (PMU_HAS_IP | PMU_HAS_ADDRESS))
        return false;
    *told = (struct access){
        .ip = decoded.ip,
        .address = decoded.address,
        .width = decoded.width ? decoded.width : made->width,
        /* Of an atomic instruction units tell both halves: which of them it is, does not matter to
         * its line. */
        .kind = decoded.kinds == ACCESS_LOAD || decoded.kinds == ACCESS_STORE ? decoded.kinds
                                                                              : made->kind,
        .read_modify_write = made->read_modify_write,
    };
    return decoded.kinds != 0;
}
