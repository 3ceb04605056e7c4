/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes profiles for tests, through the real writer. */
#include "support/profile_builder.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/rates/variable_pace.h"

static void check(bool good, const char *what)
{
    if (!good) {
        (void)fprintf(stderr, "profile_builder: %s\n", what);
        exit(1);
    }
}

static void append(struct profile_builder *builder, enum record_type type, const void *fixed,
                   size_t fixed_size, const void *tail, size_t tail_size)
{
    check(profile_writer_append(&builder->writer, type, fixed, fixed_size, tail, tail_size,
                                builder->now_ns),
          "a record could not be appended");
}

static uint64_t tick(struct profile_builder *builder)
{
    return builder->now_ns += 1000;
}

void profile_builder_begin(struct profile_builder *builder, const char *path)
{
    *builder = (struct profile_builder){.now_ns = 1000000};
    int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    check(descriptor >= 0, "the file cannot be created");
    builder->buffer = malloc(PROFILE_WRITER_BUFFER);
    check(builder->buffer, "no memory");
    profile_writer_open(&builder->writer, descriptor, builder->buffer, UINT64_MAX);
    check(builder->writer.state == WRITER_OPEN, "the file cannot be written");
}

void profile_builder_run(struct profile_builder *builder, const char *key, const char *value)
{
    append(builder, RECORD_RUN, key, strlen(key) + 1, value, strlen(value) + 1);
}

void profile_builder_run_number(struct profile_builder *builder, const char *key, uint64_t value)
{
    char text[24];
    (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
    profile_builder_run(builder, key, text);
}

void profile_builder_defaults(struct profile_builder *builder)
{
    static const char *const pairs[][2] = {
        {"engine", "clock"},
        {"version", "0.1.0"},
        {"program", "/bin/test"},
        {"command", "test"},
        {"pid", "42"},
        {"ppid", "41"},
        {"host", "testhost"},
        {"kernel", "6.1.0"},
        {"directory", "/"},
        {"start_unix_ns", "1700000000000000000"},
        {"start_monotonic_ns", "1000000"},
        {"line_size", "64"},
        {"budget_percent", "2"},
        {"period_ns", "0"},
        {"seed", "1"},
        {"cpus", "4"},
        {"page_size", "4096"},
        {"trap_cost_ns", "0"},
        {"trigger_cost_ns", "0"},
        {"slots", "4"},
        {"burst", "4096"},
    };
    static const struct record_cache caches[] = {
        {.level = 1,
         .type = CACHE_DATA,
         .ways = 8,
         .line_size = 64,
         .bytes = 32 << 10,
         .sharing_cpus = 1},
        {.level = 2,
         .type = CACHE_UNIFIED,
         .ways = 16,
         .line_size = 64,
         .bytes = 1 << 20,
         .sharing_cpus = 1},
        {.level = 3,
         .type = CACHE_UNIFIED,
         .ways = 16,
         .line_size = 64,
         .bytes = 16 << 20,
         .sharing_cpus = 4},
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
        profile_builder_run(builder, pairs[i][0], pairs[i][1]);
    for (size_t i = 0; i < sizeof(caches) / sizeof(caches[0]); i++)
        append(builder, RECORD_CACHE, &caches[i], sizeof(caches[i]), NULL, 0);
}

uint32_t profile_builder_thread(struct profile_builder *builder, int32_t tid, const char *name)
{
    struct record_thread thread = {
        .thread_id = ++builder->threads,
        .tid = tid,
        .monotonic_ns = tick(builder),
    };
    (void)snprintf(thread.name, sizeof(thread.name), "%s", name);
    append(builder, RECORD_THREAD, &thread, sizeof(thread), NULL, 0);
    return thread.thread_id;
}

uint32_t profile_builder_context(struct profile_builder *builder, uint32_t parent_id, uint64_t ip)
{
    struct record_context context = {
        .context_id = ++builder->contexts,
        .parent_id = parent_id,
        .ip = ip,
    };
    if (context.context_id < BUILDER_PARENTS)
        builder->parents[context.context_id] = parent_id;
    append(builder, RECORD_CONTEXT, &context, sizeof(context), NULL, 0);
    return context.context_id;
}

uint32_t profile_builder_module(struct profile_builder *builder, const char *path, uint64_t start,
                                uint64_t end, uint64_t load_bias)
{
    struct record_module module = {
        .module_id = ++builder->modules,
        .load_bias = load_bias,
        .start = start,
        .end = end,
        .monotonic_ns = tick(builder),
    };
    append(builder, RECORD_MODULE, &module, sizeof(module), path, strlen(path) + 1);
    return module.module_id;
}

uint32_t profile_builder_site(struct profile_builder *builder, uint32_t context_id,
                              enum allocator allocator, const char *name)
{
    struct record_site site = {
        .site_id = ++builder->sites,
        .context_id = context_id,
        .allocator = (uint16_t)allocator,
    };
    append(builder, RECORD_SITE, &site, offsetof(struct record_site, name), name, strlen(name) + 1);
    return site.site_id;
}

uint32_t profile_builder_region(struct profile_builder *builder, uint64_t entry_ip,
                                const char *name)
{
    struct record_region region = {.region_id = ++builder->regions, .entry_ip = entry_ip};
    append(builder, RECORD_REGION, &region, sizeof(region), name, strlen(name) + 1);
    return region.region_id;
}

struct record_burst profile_builder_default_burst(uint32_t thread_id, uint32_t context_id)
{
    return (struct record_burst){
        .thread_id = thread_id,
        .context_id = context_id,
        .weight_ns = 1000000,
        .accesses = BURST_ACCESSES,
        .probes = BURST_PROBES,
    };
}

static void count_probes(struct record_burst *burst, const struct builder_group *group)
{
    for (size_t i = 0; i < group->sizes[0]; i++) {
        burst->touches += group->counts[i].count;
        burst->open += probe_code_open(group->counts[i].code) ? group->counts[i].count : 0;
    }
}

uint64_t profile_builder_burst(struct profile_builder *builder, struct record_burst *burst,
                               const struct builder_group *groups, size_t n)
{
    static unsigned char tail[PROFILE_WRITER_PAYLOAD_MAX];
    struct probe_encoder encoder;
    unsigned line_sizes = burst->flags & BURST_WIDE ? PROBE_LINE_SIZES : 1;
    probe_encoder_begin(&encoder, tail, sizeof(tail) - sizeof(*burst));
    burst->touches = burst->open = 0;
    for (size_t i = 0; i < n; i++) {
        const struct probe_count *counts[PROBE_LINE_SIZES] = {groups[i].counts};
        for (unsigned k = 1; k < line_sizes; k++)
            counts[k] = counts[k - 1] + groups[i].sizes[k - 1];
        probe_encode(&encoder, &groups[i].probe, line_sizes, counts, groups[i].sizes);
        count_probes(burst, &groups[i]);
    }
    check(!encoder.overflow && n <= UINT16_MAX, "a burst has too many probes");
    burst->groups = (uint16_t)n;
    burst->probe_size = (uint32_t)encoder.used;
    if (burst->burst_id == 0)
        burst->burst_id = builder->bursts + 1;
    if (burst->burst_id > builder->bursts)
        builder->bursts = burst->burst_id;
    if (burst->monotonic_ns == 0)
        burst->monotonic_ns = tick(builder);
    append(builder, RECORD_BURST, burst, sizeof(*burst), tail, encoder.used);
    return burst->burst_id;
}

struct record_sample profile_builder_default_sample(uint32_t thread_id, uint32_t context_id)
{
    struct record_sample sample = {
        .thread_id = thread_id,
        .context_id = context_id,
        .weight_ns = 1000000,
        .ip = 0x401000,
        .address = 0x10000,
        .width = 8,
        .kind = ACCESS_LOAD,
        .accesses_ahead = 2000,
        .words_accessed = 1,
        .weight_factor = 1,
    };
    for (int i = 0; i < LINE_SIZE_COUNT; i++)
        sample.reuse_time[i] = REUSE_TIME_NONE;
    return sample;
}

uint64_t profile_builder_sample(struct profile_builder *builder, struct record_sample *sample)
{
    if (sample->sample_id == 0)
        sample->sample_id = builder->samples + 1;
    if (sample->sample_id > builder->samples)
        builder->samples = sample->sample_id;
    if (sample->monotonic_ns == 0)
        sample->monotonic_ns = tick(builder);
    append(builder, RECORD_SAMPLE, sample, sizeof(*sample), NULL, 0);
    return sample->sample_id;
}

void profile_builder_lone_burst(struct profile_builder *builder, struct record_sample *sample)
{
    uint32_t time = sample->reuse_time[line_size_index(LINE_SIZE_DEFAULT)];
    bool open = time == REUSE_TIME_NONE;
    struct record_burst burst = {
        .thread_id = sample->thread_id,
        .context_id = sample->context_id,
        .monotonic_ns = sample->monotonic_ns,
        .app_ns = sample->app_ns,
        .weight_ns = sample->weight_ns,
        .loop = sample->loop,
        .cpu = sample->cpu,
        .stop = sample->stop,
        .accesses = 1,
        .probes = 1,
    };
    uint32_t until = open ? sample->accesses_ahead : time;
    uint32_t between = sample->lines_ahead ? sample->lines_ahead - 1 : until ? until - 1 : 0;
    struct probe_count count = {
        probe_code(open, probe_distance_bin(between), probe_time_bin(until)), 1};
    struct builder_group group = {.probe = {.ip = sample->ip,
                                            .reuse_ip = open ? 0 : sample->ip,
                                            .path_id = sample->context_id < BUILDER_PARENTS
                                                           ? builder->parents[sample->context_id]
                                                           : 0,
                                            .object_reference = sample->object_reference,
                                            .object_kind = sample->object_kind,
                                            .kind = sample->kind & 3,
                                            .width = sample->width,
                                            .place = sample->address},
                                  .counts = &count,
                                  .sizes = {1}};

    sample->burst_id = profile_builder_burst(builder, &burst, &group, 1);
    sample->flags |= open && sample->watch_mode ? SAMPLE_OPEN : 0;
}

void profile_builder_watch_end(struct profile_builder *builder, const struct record_sample *sample,
                               enum watch_end reason, uint64_t watched_ns)
{
    struct record_watch_end end = {
        .sample_id = sample->sample_id,
        .thread_id = sample->thread_id,
        .context_id = sample->context_id,
        .monotonic_ns = sample->monotonic_ns + watched_ns,
        .app_ns = sample->app_ns + watched_ns,
        .ip = sample->ip,
        .reason = (uint8_t)reason,
        .kind = ACCESS_LOAD,
    };
    append(builder, RECORD_WATCH_END, &end, sizeof(end), NULL, 0);
}

void profile_builder_invalidation(struct profile_builder *builder,
                                  const struct record_sample *sample, uint32_t thread_id,
                                  uint64_t watched_ns)
{
    struct record_invalidation invalidation = {
        .sample_id = sample->sample_id,
        .thread_id = thread_id,
        .context_id = sample->context_id,
        .monotonic_ns = sample->monotonic_ns + watched_ns,
        .app_ns = sample->app_ns + watched_ns,
        .ip = sample->ip,
    };
    append(builder, RECORD_INVALIDATION, &invalidation, sizeof(invalidation), NULL, 0);
}

void profile_builder_variables(struct profile_builder *builder,
                               const struct record_progress *record,
                               const struct progress_variable *variables)
{
    append(builder, RECORD_PROGRESS, record, sizeof(*record), variables,
           record->count * sizeof(*variables));
}

void profile_builder_variable(struct profile_builder *builder, struct record_progress record,
                              const struct progress_variable *variable)
{
    record.count = 1;
    profile_builder_variables(builder, &record, variable);
}

void profile_builder_rate(struct profile_builder *builder, uint32_t thread_id, uint64_t loop,
                          uint64_t app_ns, double accesses, uint64_t elapsed_ns)
{
    profile_builder_variable(builder,
                             (struct record_progress){.thread_id = thread_id,
                                                      .loop = loop,
                                                      .monotonic_ns = tick(builder),
                                                      .app_ns = app_ns,
                                                      .before_ns = elapsed_ns + LOOK_LOSS_NS},
                             &(struct progress_variable){.kind = PROGRESS_REGISTER,
                                                         .width = 1,
                                                         .flags = PROGRESS_BEFORE,
                                                         .accesses = BURST_ACCESSES,
                                                         .within = BURST_ACCESSES,
                                                         .before = accesses});
}

void profile_builder_histogram(struct profile_builder *builder,
                               const struct record_histogram *histogram,
                               const struct histogram_bin *bins)
{
    append(builder, RECORD_HISTOGRAM, histogram, sizeof(*histogram), bins,
           histogram->bin_count * sizeof(*bins));
}

void profile_builder_note(struct profile_builder *builder, enum note_severity severity,
                          const char *text)
{
    struct record_note note = {.severity = (uint32_t)severity};
    append(builder, RECORD_NOTE, &note, sizeof(note), text, strlen(text) + 1);
}

void profile_builder_record(struct profile_builder *builder, enum record_type type,
                            const void *record, size_t size)
{
    append(builder, type, record, size, NULL, 0);
}

void profile_builder_record_with_tail(struct profile_builder *builder, enum record_type type,
                                      const void *fixed, size_t fixed_size, const void *tail,
                                      size_t tail_size)
{
    append(builder, type, fixed, fixed_size, tail, tail_size);
}

void profile_builder_cut(struct profile_builder *builder)
{
    check(profile_writer_flush(&builder->writer, builder->now_ns), "the file cannot be written");
    profile_writer_close(&builder->writer, builder->now_ns);
    free(builder->buffer);
    builder->buffer = NULL;
}

void profile_builder_finish(struct profile_builder *builder)
{
    struct record_end end = {
        .monotonic_ns = tick(builder),
        .wall_ns = builder->now_ns - 1000000,
    };
    append(builder, RECORD_END, &end, sizeof(end), NULL, 0);
    profile_builder_cut(builder);
}

struct profile *profile_builder_load(const char *path)
{
    char message[512] = "";
    struct profile *profile = profile_load(path, message, sizeof(message));
    check(profile != NULL, message);
    return profile;
}
