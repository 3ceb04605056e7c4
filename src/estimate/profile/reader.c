/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bytes -> struct profile. Two passes over the records: the first checks and counts them, the
 * second copies them into arrays of exactly the right size. Records with a tail go to one arena,
 * each followed by zeros, so that text always ends.
 *
 * The file's bytes may lie at any alignment: headers and fixed parts are copied, never cast.
 */
#include "profile/reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/checksum.h"
#include "profile/explain.h"
#include "profile/probes.h"
#include "profile/reader_internal.h"
#include "support/memory.h"

struct record {
    struct record_header header;
    const unsigned char *payload;
};

/* How much of each type there is. */
struct census {
    size_t counts[RECORD_TYPE_COUNT];
    size_t arena_bytes;
};

static const struct record_layout *layout_of(uint16_t type)
{
    for (size_t i = 0; i < record_layout_count; i++) {
        if (record_layouts[i].type == type)
            return &record_layouts[i];
    }
    return NULL;
}

/* The record at *offset, if a whole one with a right checksum is there; moves *offset past it. */
static bool next_record(const unsigned char *data, size_t size, size_t *offset,
                        struct record *record)
{
    size_t left = size - *offset;
    if (left < sizeof(record->header))
        return false;
    memcpy(&record->header, data + *offset, sizeof(record->header));
    left -= sizeof(record->header);
    uint32_t length = record->header.length;
    if (length > PROFILE_RECORD_MAX || length % 8 != 0 || length > left)
        return false;
    record->payload = data + *offset + sizeof(record->header);
    struct record_header blank = record->header;
    blank.checksum = 0;
    uint32_t checksum = checksum_crc32c(0, &blank, sizeof(blank));
    if (checksum_crc32c(checksum, record->payload, length) != record->header.checksum)
        return false;
    *offset += sizeof(record->header) + length;
    return true;
}

static bool bins_are_sound(const unsigned char *payload, size_t length)
{
    struct record_histogram histogram;
    struct histogram_bin bin;
    memcpy(&histogram, payload, sizeof(histogram));
    if (histogram.bin_count > (length - sizeof(histogram)) / sizeof(bin))
        return false;
    int64_t previous = -1;
    for (uint32_t i = 0; i < histogram.bin_count; i++) {
        memcpy(&bin, payload + sizeof(histogram) + i * sizeof(bin), sizeof(bin));
        if (bin.bin <= previous || bin.bin >= HISTOGRAM_BIN_COUNT ||
            bin.more >= HISTOGRAM_BIN_COUNT - bin.bin)
            return false;
        previous = bin.bin;
    }
    return true;
}

static bool counts_are_sound(const unsigned char *payload, size_t length)
{
    struct record_transfer transfer = {0};
    memcpy(&transfer, payload, length < sizeof(transfer) ? length : sizeof(transfer));
    return isfinite(transfer.transfers) && transfer.transfers >= 0 && isfinite(transfer.variance) &&
           transfer.variance >= 0;
}

static bool probability_is_sound(const unsigned char *payload, size_t length)
{
    struct record_line_watch watch = {0};
    memcpy(&watch, payload, length < sizeof(watch) ? length : sizeof(watch));
    return watch.probability > 0 && watch.probability <= 1;
}

static bool process_counts_are_sound(const unsigned char *payload, size_t length)
{
    struct record_process_transfer transfer = {0};
    memcpy(&transfer, payload, length < sizeof(transfer) ? length : sizeof(transfer));
    return isfinite(transfer.transfers) && transfer.transfers >= 0;
}

static bool share_is_sound(const unsigned char *payload, size_t length)
{
    struct record_shared_use use = {0};
    memcpy(&use, payload, length < sizeof(use) ? length : sizeof(use));
    return use.share > 0 && use.share <= 1;
}

/* Every group can be read, and they have as many probes, and open ones, as the burst says. */
static bool probes_are_sound(const unsigned char *payload, size_t length)
{
    struct record_burst burst;
    struct probe_decoder decoder;
    struct probe_group group;
    struct probe_count counts[PROBE_COUNTS_MAX];
    size_t sizes[PROBE_LINE_SIZES];
    uint64_t touches = 0, open = 0;
    memcpy(&burst, payload, sizeof(burst));
    if (burst.probe_size > length - sizeof(burst))
        return false;
    probe_decoder_begin_at(&decoder, &burst, payload + sizeof(burst));
    while (probe_decode(&decoder, &group, counts, PROBE_COUNTS_MAX, sizes)) {
        for (size_t i = 0; i < sizes[0]; i++) {
            touches += counts[i].count;
            open += probe_code_open(counts[i].code) ? counts[i].count : 0;
        }
    }
    return !decoder.damaged && touches == burst.touches && open == burst.open;
}

static bool variables_are_sound(const unsigned char *payload, size_t length)
{
    struct record_progress progress;
    struct progress_variable variable;
    memcpy(&progress, payload, sizeof(progress));
    if (progress.count > (length - sizeof(progress)) / sizeof(variable))
        return false;
    for (uint32_t i = 0; i < progress.count; i++) {
        memcpy(&variable, payload + sizeof(progress) + i * sizeof(variable), sizeof(variable));
        if (!isfinite(variable.within) || !isfinite(variable.before) || !isfinite(variable.since))
            return false;
    }
    return true;
}

/* All of them are there, and parts are not more than their whole. */
static bool steps_are_sound(const unsigned char *payload, size_t length)
{
    struct record_steps record;
    struct address_steps steps;
    memcpy(&record, payload, sizeof(record));
    if (record.count > (length - sizeof(record)) / sizeof(steps))
        return false;
    for (uint32_t i = 0; i < record.count; i++) {
        memcpy(&steps, payload + sizeof(record) + i * sizeof(steps), sizeof(steps));
        if (steps.far >= steps.accesses || steps.even > steps.far || steps.loaded > steps.traced ||
            steps.crowded > steps.judged)
            return false;
    }
    return true;
}

static bool timed_loads_are_sound(const unsigned char *payload, size_t length)
{
    struct record_timed_loads record;
    struct timed_loads loads;
    memcpy(&record, payload, sizeof(record));
    if (record.count > (length - sizeof(record)) / sizeof(loads))
        return false;
    for (uint32_t i = 0; i < record.count; i++) {
        memcpy(&loads, payload + sizeof(record) + i * sizeof(loads), sizeof(loads));
        if (loads.from_memory > loads.timed)
            return false;
    }
    return true;
}

/* Fixed parts may be shorter (an older minor version) or longer (a newer one), but not absent. */
static bool record_is_sound(const struct record_layout *layout, const struct record *record)
{
    size_t length = record->header.length;
    if (layout->tail && length < layout->fixed_size)
        return false;
    if (!layout->tail && length == 0)
        return false;
    if (layout->id_size) {
        uint64_t id = 0;
        memcpy(&id, record->payload, layout->id_size);
        if (id == 0)
            return false;
    }
    if (layout->tail == TAIL_BINS)
        return bins_are_sound(record->payload, length);
    if (layout->tail == TAIL_VARIABLES)
        return variables_are_sound(record->payload, length);
    if (layout->tail == TAIL_STEPS)
        return steps_are_sound(record->payload, length);
    if (layout->tail == TAIL_TIMED_LOADS)
        return timed_loads_are_sound(record->payload, length);
    if (layout->tail == TAIL_PROBES)
        return probes_are_sound(record->payload, length);
    if (layout->type == RECORD_TRANSFER)
        return counts_are_sound(record->payload, length);
    if (layout->type == RECORD_PROCESS_TRANSFER)
        return process_counts_are_sound(record->payload, length);
    if (layout->type == RECORD_SHARED_USE)
        return share_is_sound(record->payload, length);
    if (layout->type == RECORD_LINE_WATCH)
        return probability_is_sound(record->payload, length);
    return true;
}

/* Bytes that a record with a tail takes in the arena: itself and a zero word. */
static size_t arena_size(const struct record *record)
{
    return (size_t)record->header.length + 8;
}

/* Walks key NUL value NUL ... in text that zeros follow; ends at an empty key. */
static const char *next_pair(const char *text, const char *end, const char **key,
                             const char **value)
{
    if (text >= end || *text == '\0')
        return NULL;
    *key = text;
    *value = text + strlen(text) + 1;
    if (*value > end) /* the key ran up to the end: the zero word is its value */
        *value = end;
    return *value + strlen(*value) + 1;
}

static size_t count_pairs(const char *text, size_t length)
{
    const char *key;
    const char *value;
    size_t count = 0;
    const char *end = text + length;
    while ((text = next_pair(text, end, &key, &value)))
        count++;
    return count;
}

static size_t take_census(struct profile *profile, const unsigned char *data, size_t offset,
                          struct census *census)
{
    uint32_t expected = 0;
    struct record record;
    while (next_record(data, profile->size, &offset, &record)) {
        const struct record_layout *layout = layout_of(record.header.type);
        profile->lost_records += (uint32_t)(record.header.sequence - expected);
        expected = record.header.sequence + 1;
        if (record.header.type == RECORD_SCHEMA || record.header.type == RECORD_END) {
            profile->complete |= record.header.type == RECORD_END;
        } else if (!layout || record.header.flags != 0) {
            profile->unknown_records++;
        } else if (!record_is_sound(layout, &record)) {
            profile->invalid_records++;
        } else {
            census->counts[record.header.type]++;
            if (layout->tail)
                census->arena_bytes += arena_size(&record);
        }
    }
    return offset;
}

static void allocate_arrays(struct profile *profile, const struct census *census)
{
    profile->index = allocate_zeroed(1, sizeof(*profile->index));
    profile->index->arena = allocate(census->arena_bytes, 1);
    for (size_t i = 0; i < record_layout_count; i++) {
        const struct record_layout *layout = &record_layouts[i];
        size_t count = census->counts[layout->type];
        /* Pairs go to an array whose size shows only when they are split. */
        if (count == 0 || layout->type == RECORD_RUN)
            continue;
        struct record_array *array = layout_array(profile, layout);
        array->items = allocate(count, layout->tail ? sizeof(void *) : layout->fixed_size);
    }
}

static void add_run_pairs(struct profile *profile, const char *text, size_t length)
{
    size_t pairs = count_pairs(text, length);
    const char **items =
        reallocate(profile->run.items, profile->run.count + 2 * pairs, sizeof(*items));
    profile->run.items = items;
    const char *key;
    const char *value;
    const char *end = text + length;
    while ((text = next_pair(text, end, &key, &value))) {
        items[profile->run.count++] = key;
        items[profile->run.count++] = value;
    }
}

static void store_record(struct profile *profile, const struct record_layout *layout,
                         const struct record *record, unsigned char **arena)
{
    size_t length = record->header.length;
    struct record_array *array = layout_array(profile, layout);
    if (!layout->tail) {
        unsigned char *item = (unsigned char *)array->items + array->count * layout->fixed_size;
        size_t known = length < layout->fixed_size ? length : layout->fixed_size;
        memcpy(item, record->payload, known);
        memset(item + known, 0, layout->fixed_size - known);
        array->count++;
        return;
    }
    unsigned char *copy = *arena;
    memcpy(copy, record->payload, length);
    memset(copy + length, 0, 8);
    *arena += arena_size(record);
    if (layout->type == RECORD_RUN)
        add_run_pairs(profile, (const char *)copy, length);
    else
        ((const void **)array->items)[array->count++] = copy;
}

static void store_records(struct profile *profile, const unsigned char *data, size_t offset,
                          size_t end)
{
    unsigned char *arena = profile->index->arena;
    while (offset < end) {
        struct record record;
        memcpy(&record.header, data + offset, sizeof(record.header));
        record.payload = data + offset + sizeof(record.header);
        offset += sizeof(record.header) + record.header.length;
        const struct record_layout *layout = layout_of(record.header.type);
        if (record.header.type == RECORD_END) {
            size_t known = record.header.length < sizeof(profile->end) ? record.header.length
                                                                       : sizeof(profile->end);
            memcpy(&profile->end, record.payload, known);
        } else if (layout && record.header.flags == 0 && record_is_sound(layout, &record)) {
            store_record(profile, layout, &record, &arena);
        }
    }
}

/* Reads the file header; false and a message when this is nothing that the reader can read. */
static bool check_file_header(const unsigned char *data, size_t size, const char *name,
                              size_t *first_record, char *message, size_t message_size)
{
    struct profile_file_header header = {0};
    memcpy(&header, data, size < sizeof(header) ? size : sizeof(header));
    size_t signature = size < sizeof(header.magic) ? size : sizeof(header.magic);
    if (size == 0) {
        (void)profile_explain(
            message, message_size,
            "'%s' is empty: the profiled program was stopped before it wrote anything, or the "
            "disk was full; profile it again",
            name);
    } else if (size > 6 && memcmp(header.magic, PROFILE_MAGIC, 6) == 0 &&
               memcmp(header.magic, PROFILE_MAGIC, signature) != 0) {
        (void)profile_explain(
            message, message_size,
            "'%s' was changed by a transfer in text mode: copy the original again as binary", name);
    } else if (memcmp(header.magic, PROFILE_MAGIC, signature) != 0) {
        (void)profile_explain(
            message, message_size,
            "'%s' is not a libreuse profile (no RPROF signature): name a file that reuse-run "
            "or libreuse.so wrote (*.rprof)",
            name);
    } else if (size < sizeof(header)) {
        (void)profile_explain(
            message, message_size,
            "'%s' is cut short within its header (%zu bytes): nothing can be read; profile "
            "the program again",
            name, size);
    } else if (header.byte_order == __builtin_bswap32(PROFILE_BYTE_ORDER)) {
        (void)profile_explain(
            message, message_size,
            "'%s' was written on a machine of the other byte order: run reuse-report on a "
            "machine like that one",
            name);
    } else if (header.byte_order == PROFILE_BYTE_ORDER &&
               header.version_major > PROFILE_VERSION_MAJOR) {
        (void)profile_explain(
            message, message_size,
            "'%s' was written by a newer libreuse (format %u, this one reads %d): update "
            "reuse-report",
            name, header.version_major, PROFILE_VERSION_MAJOR);
    } else if (header.byte_order == PROFILE_BYTE_ORDER && header.version_major > 0 &&
               header.version_major < PROFILE_VERSION_MAJOR) {
        (void)profile_explain(
            message, message_size,
            "'%s' was written by an older libreuse (format %u, this one reads %d): profile the "
            "program again, or use the reuse-report of that version",
            name, header.version_major, PROFILE_VERSION_MAJOR);
    } else if (header.byte_order != PROFILE_BYTE_ORDER ||
               header.version_major != PROFILE_VERSION_MAJOR ||
               header.header_size < sizeof(header) || header.header_size > size) {
        (void)profile_explain(
            message, message_size,
            "'%s' has a damaged header: nothing can be read; copy the original again or "
            "profile the program again",
            name);
    } else {
        *first_record = header.header_size;
        return true;
    }
    return false;
}

struct profile *profile_parse(const void *bytes, size_t size, const char *name, char *message,
                              size_t message_size)
{
    const unsigned char *data = bytes;
    size_t first;
    if (!check_file_header(data, size, name, &first, message, message_size))
        return NULL;
    struct census census = {0};
    struct profile *profile = allocate_zeroed(1, sizeof(*profile));
    profile->size = size;
    profile->path = copy_string(name);
    size_t end = take_census(profile, data, first, &census);
    profile->dropped_bytes = size - end;
    allocate_arrays(profile, &census);
    store_records(profile, data, first, end);
    profile_build_index(profile);
    return profile;
}

void profile_free(struct profile *profile)
{
    if (!profile)
        return;
    for (size_t i = 0; i < record_layout_count; i++)
        free(layout_array(profile, &record_layouts[i])->items);
    free(profile->instruction_contexts.items);
    free(profile->index->arena);
    free(profile->index->modules.items);
    free(profile->index->mappings.items);
    free(profile->index->unloaded_ns);
    free(profile->index->watch_ends);
    free(profile->index->frames);
    free(profile->index);
    free(profile->path);
    free(profile);
}
