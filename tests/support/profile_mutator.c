/* SPDX-License-Identifier: BSD-3-Clause */
/* Material for tests and the fuzz driver of the profile reader. */
#include "support/profile_mutator.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/checksum.h"
#include "support/profile_builder.h"

static void write_attribution(struct profile_builder *builder, uint32_t thread, uint32_t context)
{
    struct record_module_end module_end = {.module_id = 2, .monotonic_ns = 5000000};
    struct record_mapping mapping = {.start = 0x7000, .end = 0x8000, .flags = MAPPING_ANONYMOUS};
    struct record_thread_end thread_end = {.thread_id = thread, .app_ns = 9000000};
    struct record_site_totals site_totals = {.site_id = 1, .blocks = 3, .bytes = 4096};
    struct record_totals totals = {.thread_id = thread, .samples = 3, .armed = 1, .reused = 1};
    profile_builder_module(builder, "/bin/test", 0x400000, 0x500000, 0x400000);
    profile_builder_module(builder, "/lib/libtest.so", 0x600000, 0x700000, 0x600000);
    profile_builder_record(builder, RECORD_MODULE_END, &module_end, sizeof(module_end));
    profile_builder_record(builder, RECORD_MAPPING, &mapping, sizeof(mapping));
    profile_builder_site(builder, context, ALLOCATOR_MALLOC, "matrix");
    profile_builder_record(builder, RECORD_SITE_TOTALS, &site_totals, sizeof(site_totals));
    profile_builder_record(builder, RECORD_TOTALS, &totals, sizeof(totals));
    profile_builder_record(builder, RECORD_THREAD_END, &thread_end, sizeof(thread_end));
    profile_builder_region(builder, 0x401000, "solve");
    profile_builder_note(builder, NOTE_INFORMATION, "a note");
}

static void write_exact_counts(struct profile_builder *builder, uint32_t thread)
{
    struct record_histogram histogram = {.scope = SCOPE_PROCESS,
                                         .measure = MEASURE_STACK_DISTANCE,
                                         .line_size = 64,
                                         .accesses = 30,
                                         .cold = 3,
                                         .bin_count = 2,
                                         .rate_denominator = 1};
    static const struct histogram_bin bins[] = {{.bin = 3, .count = 20}, {.bin = 500, .count = 7}};
    struct record_transfer transfer = {.source_thread = thread,
                                       .destination_thread = thread + 1,
                                       .kind = TRANSFER_RAW,
                                       .true_sharing = 1,
                                       .line_size = 64,
                                       .transfers = 12.5,
                                       .variance = 2};
    profile_builder_histogram(builder, &histogram, bins);
    profile_builder_record(builder, RECORD_TRANSFER, &transfer, sizeof(transfer));
}

static void write_line_watch(struct profile_builder *builder, const struct record_sample *sample,
                             uint32_t thread)
{
    struct record_line_watch watch = {.sample_id = sample->sample_id,
                                      .address = sample->address,
                                      .address2 = sample->address + 8,
                                      .proposed = 6,
                                      .probability = 0.5};
    struct record_line_event event = {.sample_id = sample->sample_id,
                                      .thread_id = thread,
                                      .elapsed_ns = 100,
                                      .ip = 0x401300,
                                      .visit_read = 0xff,
                                      .width = 8,
                                      .kind = ACCESS_LOAD,
                                      .flags = LINE_EVENT_KIND_KNOWN | LINE_EVENT_READ_ENDS};
    struct record_line_end end = {
        .sample_id = sample->sample_id, .elapsed_ns = 300, .traps = 2, .reason = LINE_END_EVICTED};
    profile_builder_record(builder, RECORD_LINE_WATCH, &watch, sizeof(watch));
    profile_builder_record(builder, RECORD_LINE_EVENT, &event, sizeof(event));
    profile_builder_record(builder, RECORD_LINE_END, &end, sizeof(end));
    struct record_turn turn = {.sample_id = sample->sample_id,
                               .thread_id = thread,
                               .wait_ip = 0x401200,
                               .stores = 3,
                               .complete = 1,
                               .places = {3},
                               .values = {70},
                               .steps = {2}};
    profile_builder_record(builder, RECORD_TURN, &turn, sizeof(turn));
}

static void write_steps(struct profile_builder *builder)
{
    struct record_steps record = {.burst_id = 1, .count = 2};
    const struct address_steps steps[] = {{.ip = 0x401234,
                                           .loaded_by = 0x401238,
                                           .stride = -4096,
                                           .accesses = 100,
                                           .far = 90,
                                           .even = 80,
                                           .traced = 20,
                                           .loaded = 18,
                                           .judged = 40,
                                           .crowded = 30},
                                          {.ip = 0x401238, .accesses = 8, .far = 7}};

    profile_builder_record_with_tail(builder, RECORD_STEPS, &record, sizeof(record), steps,
                                     sizeof(steps));
}

static void write_timed_loads(struct profile_builder *builder)
{
    struct record_timed_loads record = {.burst_id = 1, .count = 2};
    const struct timed_loads loads[] = {
        {.ip = 0x401234, .timed = 20, .from_memory = 12, .memory_ns = 1300},
        {.ip = 0x401238, .timed = 3}};

    profile_builder_record_with_tail(builder, RECORD_TIMED_LOADS, &record, sizeof(record), loads,
                                     sizeof(loads));
}

static void write_shared(struct profile_builder *builder, uint32_t thread)
{
    struct record_shared_mapping mapping = {.mapping_id = 1,
                                            .start = 0x7f0000000000,
                                            .end = 0x7f0000004000,
                                            .offset = 4096,
                                            .device = 5,
                                            .inode = 77};
    struct record_shared_use use = {.burst_id = 1,
                                    .line = 4160,
                                    .read = 255,
                                    .written = 65280,
                                    .load_ip = 0x401234,
                                    .store_ip = 0x401238,
                                    .share = 0.25,
                                    .mapping_id = 1,
                                    .loads = 3,
                                    .stores = 2,
                                    .store_offset = 8,
                                    .load_width = 8,
                                    .store_width = 8};
    static const char path[] = "/dev/shm/ring";
    profile_builder_record_with_tail(builder, RECORD_SHARED_MAPPING, &mapping,
                                     offsetof(struct record_shared_mapping, path), path,
                                     sizeof(path));
    profile_builder_record(builder, RECORD_SHARED_USE, &use, sizeof(use));
    struct record_process_transfer transfer = {.source_pid = 77,
                                               .source_tid = 78,
                                               .destination_thread = thread,
                                               .mapping_id = 1,
                                               .line = 4160,
                                               .destination_ip = 0x401234,
                                               .source_width = 8,
                                               .destination_width = 4,
                                               .kind = TRANSFER_WAW,
                                               .line_size = 64,
                                               .transfers = 3};
    profile_builder_record(builder, RECORD_PROCESS_TRANSFER, &transfer, sizeof(transfer));
}

static void write_served(struct profile_builder *builder, uint32_t thread)
{
    struct record_served served = {.thread_id = thread,
                                   .object_reference = 1,
                                   .ip = 0x401234,
                                   .address_low = 0x404040,
                                   .address_high = 0x404080,
                                   .object_kind = OBJECT_GLOBAL,
                                   .level = 7,
                                   .translation = 4,
                                   .kind = ACCESS_LOAD,
                                   .latency_class = 30,
                                   .flags = SERVED_LATENCY | SERVED_REMOTE,
                                   .samples = 3,
                                   .weight = 3000,
                                   .latency = 900};
    profile_builder_record(builder, RECORD_SERVED, &served, sizeof(served));
}

static void write_counter(struct profile_builder *builder)
{
    static const char name[] = "L2_LINES_IN:ALL";
    struct record_counter counter = {.type = 4,
                                     .kind = COUNTER_FILLS,
                                     .trust = COUNTER_TRUSTED,
                                     .config = 0x7f1,
                                     .levels = 1 << 2,
                                     .count = 500,
                                     .enabled_ns = 2000,
                                     .running_ns = 1000,
                                     .estimate = 1000,
                                     .processes = 1};

    profile_builder_record_with_tail(builder, RECORD_COUNTER, &counter, sizeof(counter), name,
                                     sizeof(name));
}

/* Groups that differ in everything that is told as a difference, at one line size or at all. */
static uint64_t write_burst(struct profile_builder *builder, uint32_t thread, uint32_t context,
                            bool wide)
{
    static const struct probe_count counts[] = {
        {.code = 5, .count = 300},         /* the run's line size */
        {.code = 4096 | 2000, .count = 2}, /* likewise: open */
        {.code = 3, .count = 1},           /* half */
        {.code = 4095 - 512, .count = 40}, /* twice */
        {.code = 8191 - 512, .count = 7},  /* four times */
    };
    const struct builder_group groups[] = {
        {.probe = {.ip = 0x401000,
                   .reuse_ip = 0x401000,
                   .path_id = context,
                   .object_reference = 1,
                   .object_kind = OBJECT_HEAP,
                   .kind = ACCESS_LOAD,
                   .width = 8,
                   .tracked_log2 = 3,
                   .place = 64},
         .counts = counts,
         .sizes = {1, 0, 0, 0}},
        {.probe = {.ip = 0x401010,
                   .reuse_ip = 0x401000,
                   .path_id = context,
                   .object_reference = 1,
                   .object_kind = OBJECT_HEAP,
                   .kind = ACCESS_STORE,
                   .width = 64,
                   .tracked_log2 = 3,
                   .place = 16},
         .counts = counts,
         .sizes = {2, 1, 1, 1}},
        {.probe = {.ip = 0x401234,
                   .path_id = context - 1,
                   .object_reference = 2,
                   .object_kind = OBJECT_GLOBAL,
                   .kind = ACCESS_LOAD,
                   .width = 4,
                   .place = 0x604000},
         .counts = counts + 1,
         .sizes = {1, 1, 1, 0}},
        {.probe = {.ip = 0x400100,
                   .reuse_ip = UINT64_MAX,
                   .object_reference = UINT32_MAX,
                   .object_kind = OBJECT_STACK,
                   .kind = ACCESS_LOAD,
                   .width = 1,
                   .place = UINT64_MAX},
         .counts = counts,
         .sizes = {1, 0, 0, 0}},
    };
    struct record_burst burst = profile_builder_default_burst(thread, context);
    burst.flags = wide ? BURST_WIDE : 0;
    burst.region_id = 1;
    return profile_builder_burst(builder, &burst, groups, sizeof(groups) / sizeof(groups[0]));
}

void write_every_record(const char *path)
{
    struct profile_builder builder;
    struct record_origin origin = {.origin_id = 1, .flags = ORIGIN_COMPLETE};
    static const char pairs[] = "host\0node1";
    profile_builder_begin(&builder, path);
    profile_builder_run(&builder, "engine", "clock");
    profile_builder_run(&builder, "line_size", "64");
    struct record_cache cache = {.level = 1, .type = CACHE_DATA, .line_size = 64, .bytes = 32768};
    profile_builder_record(&builder, RECORD_CACHE, &cache, sizeof(cache));
    profile_builder_record_with_tail(&builder, RECORD_ORIGIN, &origin, sizeof(origin), pairs,
                                     sizeof(pairs));
    uint32_t thread = profile_builder_thread(&builder, 4711, "main");
    uint32_t context = profile_builder_context(&builder, 0, 0x401000);
    context = profile_builder_context(&builder, context, 0x401234);
    write_attribution(&builder, thread, context);
    for (uint64_t i = 1; i <= 3; i++) {
        struct record_sample sample = profile_builder_default_sample(thread, context);
        sample.burst_id = write_burst(&builder, thread, context, i == 3);
        sample.watch_mode = WATCH_ACCESSED;
        sample.watch_address = sample.address;
        sample.app_ns = i * 1000000;
        profile_builder_sample(&builder, &sample);
        if (i > 1)
            profile_builder_invalidation(&builder, &sample, thread, i * 300);
        if (i != 2)
            profile_builder_watch_end(&builder, &sample, WATCH_REUSED, i * 500);
        write_line_watch(&builder, &sample, thread);
    }
    profile_builder_rate(&builder, thread, 0x401000, 1000, 500, 1000);
    profile_builder_variable(&builder,
                             (struct record_progress){.thread_id = thread,
                                                      .loop = 0x401000,
                                                      .since_ns = 20000000,
                                                      .burst_id = 1,
                                                      .ip = 0x401010,
                                                      .ticks = {0x401020, 0x401030}},
                             &(struct progress_variable){.place = 0x7000,
                                                         .kind = PROGRESS_WORD,
                                                         .width = 8,
                                                         .flags = PROGRESS_SINCE | PROGRESS_SHARED,
                                                         .accesses = 4096,
                                                         .within = 10,
                                                         .since = 100000});
    write_steps(&builder);
    write_timed_loads(&builder);
    write_shared(&builder, thread);
    write_served(&builder, thread);
    write_counter(&builder);
    write_exact_counts(&builder, thread);
    profile_builder_finish(&builder);
}

unsigned char *read_whole_file(const char *path, size_t *size)
{
    unsigned char *data = NULL;
    FILE *file = fopen(path, "rb");
    long length = -1;
    if (file && fseek(file, 0, SEEK_END) == 0)
        length = ftell(file);
    if (length >= 0) {
        rewind(file);
        data = malloc((size_t)length + 1);
    }
    if (data && fread(data, 1, (size_t)length, file) != (size_t)length) {
        free(data);
        data = NULL;
    }
    if (file)
        (void)fclose(file);
    *size = data ? (size_t)length : 0;
    return data;
}

void repair_checksums(unsigned char *data, size_t size)
{
    size_t offset = sizeof(struct profile_file_header);
    while (offset <= size && size - offset >= sizeof(struct record_header)) {
        struct record_header header;
        memcpy(&header, data + offset, sizeof(header));
        if (size - offset - sizeof(header) < header.length)
            return;
        header.checksum = 0;
        uint32_t checksum = checksum_crc32c(0, &header, sizeof(header));
        header.checksum = checksum_crc32c(checksum, data + offset + sizeof(header), header.length);
        memcpy(data + offset, &header, sizeof(header));
        offset += sizeof(header) + header.length;
    }
}

/* Values that meet limits more often than uniform ones do. */
static uint64_t interesting(struct random *random)
{
    static const uint64_t values[] = {0,          1,          7,          8,          255,
                                      256,        0x7fffffff, 0x80000000, 0xffffffff, 1u << 20,
                                      UINT64_MAX, INT64_MAX,  3712,       22};
    if (random_below(random, 3) == 0)
        return random_next(random);
    return values[random_below(random, sizeof(values) / sizeof(values[0]))];
}

static void change_once(struct random *random, unsigned char *data, size_t size)
{
    size_t at = random_below(random, (uint32_t)size);
    size_t left = size - at;
    switch (random_below(random, 4)) {
    case 0:
        data[at] = (unsigned char)random_next(random);
        break;
    case 1:
        data[at] ^= (unsigned char)(1u << random_below(random, 8));
        break;
    case 2: {
        uint64_t value = interesting(random);
        size_t width = (size_t)1 << random_below(random, 4);
        memcpy(data + at, &value, width < left ? width : left);
        break;
    }
    default: {
        size_t length = random_below(random, 64);
        size_t from = random_below(random, (uint32_t)size);
        length = length < left ? length : left;
        length = length < size - from ? length : size - from;
        memmove(data + at, data + from, length);
    }
    }
}

unsigned char *mutate_profile(struct random *random, const unsigned char *data, size_t size,
                              size_t *changed_size)
{
    /* Repeats or leaves out a stretch now and then, which moves and doubles records. */
    size_t cut = random_below(random, (uint32_t)size + 1);
    size_t resume = random_below(random, 4) ? cut : random_below(random, (uint32_t)size + 1);
    size_t end = random_below(random, 4)
                     ? size
                     : resume + random_below(random, (uint32_t)(size - resume) + 1);
    size_t length = cut + (end - resume);
    unsigned char *copy = malloc(length ? length : 1);
    memcpy(copy, data, cut);
    memcpy(copy + cut, data + resume, end - resume);
    for (uint32_t i = random_below(random, 8); i > 0 && length > 0; i--)
        change_once(random, copy, length);
    if (random_below(random, 2))
        repair_checksums(copy, length);
    *changed_size = length;
    return copy;
}

static void require(int holds, const char *what)
{
    if (!holds) {
        (void)fprintf(stderr, "profile reader: %s\n", what);
        abort();
    }
}

static uint64_t touch_text(const struct profile *profile)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < profile->run.count; i++)
        sum += strlen(profile->run.items[i]);
    for (size_t i = 0; i < profile->modules.count; i++)
        sum += strlen(profile->modules.items[i]->path);
    for (size_t i = 0; i < profile->mappings.count; i++)
        sum += strlen(profile->mappings.items[i]->path);
    for (size_t i = 0; i < profile->sites.count; i++)
        sum += strlen(profile->sites.items[i]->name);
    for (size_t i = 0; i < profile->notes.count; i++)
        sum += strlen(profile->notes.items[i]->text);
    for (size_t i = 0; i < profile->counters.count; i++)
        sum += strlen(profile->counters.items[i]->name);
    for (size_t i = 0; i < profile->regions.count; i++)
        sum += strlen(profile->regions.items[i]->name);
    for (size_t i = 0; i < profile->origins.count; i++)
        sum += strlen(profile_origin_text(profile, profile->origins.items[i]->origin_id, "x", ""));
    return sum;
}

static void check_contexts(const struct profile *profile)
{
    for (size_t i = 0; i < profile->contexts.count; i++) {
        const struct record_context *context = &profile->contexts.items[i];
        require(profile_context(profile, context->context_id) == context, "context not found");
        size_t depth = 0;
        for (; context; context = profile_context(profile, context->parent_id))
            require(depth++ <= profile->contexts.count, "contexts form a cycle");
    }
}

static void check_bursts(const struct profile *profile)
{
    struct probe_decoder decoder;
    struct probe_group group;
    static struct probe_count counts[PROBE_COUNTS_MAX];
    size_t sizes[PROBE_LINE_SIZES];
    for (size_t i = 0; i < profile->bursts.count; i++) {
        const struct record_burst *burst = profile->bursts.items[i];
        uint64_t touches = 0, open = 0, groups = 0;
        require(profile_burst(profile, burst->burst_id) == burst, "burst not found");
        require(i == 0 || profile->bursts.items[i - 1]->burst_id < burst->burst_id,
                "bursts not sorted");
        probe_decoder_begin(&decoder, burst);
        for (; probe_decode(&decoder, &group, counts, PROBE_COUNTS_MAX, sizes); groups++) {
            for (size_t k = 0; k < sizes[0]; k++) {
                require(probe_code_distance(counts[k].code) < PROBE_DISTANCE_BINS, "no such bin");
                require(k == 0 || counts[k - 1].code < counts[k].code, "codes not ascending");
                touches += counts[k].count;
                open += probe_code_open(counts[k].code) ? counts[k].count : 0;
            }
        }
        require(!decoder.damaged && groups == burst->groups, "probes that cannot be read");
        require(touches == burst->touches && open == burst->open, "probes that do not add up");
    }
}

static void check_samples(const struct profile *profile)
{
    for (size_t i = 0; i < profile->samples.count; i++) {
        const struct record_sample *sample = &profile->samples.items[i];
        const struct record_watch_end *end = profile_watch_end(profile, sample->sample_id);
        require(!end || end->sample_id == sample->sample_id, "another sample's end");
        const struct record_module *module =
            profile_module_at(profile, sample->ip, sample->monotonic_ns);
        require(!module || (module->start <= sample->ip && sample->ip < module->end),
                "a module elsewhere");
        (void)profile_thread(profile, sample->thread_id);
    }
    for (size_t i = 0; i < profile->watch_ends.count; i++) {
        const struct record_watch_end *end = &profile->watch_ends.items[i];
        require(profile_watch_end(profile, end->sample_id) == end, "watch end not found");
        require(i == 0 || end[-1].sample_id < end->sample_id, "watch ends not sorted");
    }
    for (size_t i = 0; i < profile->line_watches.count; i++) {
        const struct record_line_watch *one = &profile->line_watches.items[i];
        require(profile_line_watch(profile, one->sample_id) == one, "line watch not found");
        require(one->probability > 0 && one->probability <= 1, "probability of a line watch");
    }
    for (size_t i = 0; i < profile->shared_uses.count; i++) {
        double share = profile->shared_uses.items[i].share;
        require(share > 0 && share <= 1, "share of a shared line");
    }
    for (size_t i = 0; i < profile->steps.count; i++) {
        const struct record_steps *one = profile->steps.items[i];
        require(profile_steps(profile, one->burst_id) == one, "steps not found");
        for (uint32_t k = 0; k < one->count; k++)
            require(one->steps[k].far < one->steps[k].accesses &&
                        one->steps[k].crowded <= one->steps[k].judged,
                    "parts larger than their whole");
    }
    for (size_t i = 0; i < profile->timed_loads.count; i++) {
        const struct record_timed_loads *one = profile->timed_loads.items[i];
        require(profile_timed_loads(profile, one->burst_id) == one, "timed loads not found");
        for (uint32_t k = 0; k < one->count; k++)
            require(one->loads[k].from_memory <= one->loads[k].timed,
                    "more loads from memory than were timed");
    }
    for (size_t i = 0; i < profile->process_transfers.count; i++) {
        double transfers = profile->process_transfers.items[i].transfers;
        require(isfinite(transfers) && transfers >= 0, "transfers between processes");
    }
    for (size_t i = 0; i < profile->invalidations.count; i++) {
        const struct record_invalidation *one = &profile->invalidations.items[i];
        require(profile_invalidation(profile, one->sample_id) == one, "invalidation not found");
        require(i == 0 || one[-1].sample_id < one->sample_id, "invalidations not sorted");
    }
}

static void check_histograms(const struct profile *profile)
{
    for (size_t i = 0; i < profile->histograms.count; i++) {
        const struct record_histogram *histogram = profile->histograms.items[i];
        for (uint32_t k = 0; k < histogram->bin_count; k++) {
            require(histogram->bins[k].bin < HISTOGRAM_BIN_COUNT, "bin out of range");
            require(k == 0 || histogram->bins[k - 1].bin < histogram->bins[k].bin,
                    "bins not ascending");
        }
    }
}

void profile_mutator_check(const unsigned char *data, size_t size)
{
    char message[256] = "";
    struct profile *profile = profile_parse(data, size, "fuzz", message, sizeof(message));
    if (!profile) {
        require(message[0] != '\0' && !strchr(message, '\n'), "no message of one line");
        return;
    }
    require(profile->dropped_bytes <= size, "dropped more than there is");
    (void)touch_text(profile);
    check_contexts(profile);
    check_bursts(profile);
    check_samples(profile);
    check_histograms(profile);
    profile_free(profile);
}
