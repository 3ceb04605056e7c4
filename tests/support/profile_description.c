/* SPDX-License-Identifier: BSD-3-Clause */
/* See profile_description.h. */
#include "support/profile_description.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profile/probes.h"

__attribute__((format(printf, 3, 4))) static void add_fact(struct description *description,
                                                           uint64_t count, const char *format, ...)
{
    char line[8192];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    description->facts =
        realloc(description->facts, (description->count + 1) * sizeof(*description->facts));
    description->facts[description->count++] = (struct fact){strdup(line), count};
}

static int compare_facts(const void *left, const void *right)
{
    return strcmp(((const struct fact *)left)->text, ((const struct fact *)right)->text);
}

void profile_description_free(struct description *description)
{
    for (size_t i = 0; i < description->count; i++)
        free(description->facts[i].text);
    free(description->facts);
}

/* Sorts, and adds up what is the same. */
static void settle(struct description *description)
{
    size_t kept = 0;
    qsort(description->facts, description->count, sizeof(*description->facts), compare_facts);
    for (size_t i = 0; i < description->count; i++) {
        if (kept && strcmp(description->facts[kept - 1].text, description->facts[i].text) == 0) {
            description->facts[kept - 1].count += description->facts[i].count;
            free(description->facts[i].text);
        } else {
            description->facts[kept++] = description->facts[i];
        }
    }
    description->count = kept;
}

struct text {
    char bytes[1024];
};

__attribute__((format(printf, 1, 2))) static struct text text(const char *format, ...)
{
    struct text result;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(result.bytes, sizeof(result.bytes), format, arguments);
    va_end(arguments);
    return result;
}

static struct text place(const struct profile *profile, uint64_t address, uint64_t time)
{
    const struct record_module *module = profile_module_at(profile, address, time);
    if (!module)
        return text("%llx", (unsigned long long)address);
    return text("%s[%02x]+%llx", module->path, module->build_id[0],
                (unsigned long long)(address - module->load_bias));
}

static struct text chain(const struct profile *profile, uint32_t context_id, uint64_t time)
{
    struct text frames = text("context");
    for (const struct record_context *context = profile_context(profile, context_id); context;
         context = profile_context(profile, context->parent_id))
        frames = text("%s<%s", frames.bytes, place(profile, context->ip, time).bytes);
    return frames;
}

static struct text who(const struct profile *profile, uint32_t thread_id)
{
    const struct record_thread *thread = profile_thread(profile, thread_id);
    uint32_t origin = thread ? thread->origin_id : 0;
    return text("%s/%s/%s/%d/%s", profile_origin_text(profile, origin, "host", "?"),
                profile_origin_text(profile, origin, "rank", "?"),
                profile_origin_text(profile, origin, "pid", "?"), thread ? thread->tid : -1,
                thread ? thread->name : "?");
}

static struct text object(const struct profile *profile, uint8_t kind, uint32_t reference)
{
    const struct record_site *site = NULL;
    switch (kind) {
    case OBJECT_HEAP:
        site = profile_site(profile, reference);
        assert_non_null(site);
        return text("site %d '%s' %s", site->allocator, site->name,
                    chain(profile, site->context_id, 0).bytes);
    case OBJECT_GLOBAL:
        return text("global %s", profile_module(profile, reference)->path);
    case OBJECT_STACK:
        return text("stack %s", who(profile, reference).bytes);
    default:
        return text("object %d %u", kind, reference);
    }
}

/* Data addresses: within the module for globals, else as they are. */
static unsigned long long data_address(const struct profile *profile, uint8_t kind,
                                       uint32_t reference, uint64_t address)
{
    if (kind != OBJECT_GLOBAL || address == 0)
        return address;
    return address - profile_module(profile, reference)->load_bias;
}

static struct text watch_end(const struct profile *profile, uint64_t sample_id)
{
    const struct record_watch_end *end = profile_watch_end(profile, sample_id);
    if (!end)
        return text("open");
    return text("%d %llu %s %s %s", end->reason, (unsigned long long)end->app_ns,
                who(profile, end->thread_id).bytes,
                chain(profile, end->context_id, end->monotonic_ns).bytes,
                place(profile, end->ip, end->monotonic_ns).bytes);
}

static struct text invalidation(const struct profile *profile, uint64_t sample_id)
{
    const struct record_invalidation *one = profile_invalidation(profile, sample_id);
    if (!one)
        return text("never");
    return text("%llu %s %s %s", (unsigned long long)one->app_ns,
                who(profile, one->thread_id).bytes,
                chain(profile, one->context_id, one->monotonic_ns).bytes,
                place(profile, one->ip, one->monotonic_ns).bytes);
}

/* A burst, but for its probes: thread and app time are enough to tell it from all others. */
static struct text burst_name(const struct profile *profile, uint64_t burst_id)
{
    const struct record_burst *burst = profile_burst(profile, burst_id);
    if (!burst)
        return text("no burst");
    return text("burst %s %llu", who(profile, burst->thread_id).bytes,
                (unsigned long long)burst->app_ns);
}

static void describe_group(struct description *out, const struct profile *profile,
                           const struct record_burst *burst, const struct probe_group *group,
                           const struct probe_count *counts, const size_t sizes[])
{
    uint64_t time = burst->monotonic_ns;
    uint8_t kind = group->object_kind;
    uint32_t reference = group->object_reference;
    struct text name = text(
        "%s: %s next %s %s of %s 2^%u %llx %u bytes %u", burst_name(profile, burst->burst_id).bytes,
        place(profile, group->ip, time).bytes, place(profile, group->reuse_ip, time).bytes,
        chain(profile, group->path_id, time).bytes, object(profile, kind, reference).bytes,
        group->tracked_log2, data_address(profile, kind, reference, group->place), group->width,
        group->kind);
    for (unsigned s = 0; s < PROBE_LINE_SIZES; s++) {
        for (size_t i = 0; i < sizes[s]; i++, counts++)
            add_fact(out, counts->count, "%s code %u at size %u", name.bytes, counts->code, s);
    }
}

static void describe_bursts(struct description *out, const struct profile *profile)
{
    static struct probe_count counts[PROBE_COUNTS_MAX];
    for (size_t i = 0; i < profile->bursts.count; i++) {
        const struct record_burst *burst = profile->bursts.items[i];
        uint64_t time = burst->monotonic_ns;
        struct probe_decoder decoder;
        struct probe_group group;
        size_t sizes[PROBE_LINE_SIZES];
        const struct record_region *region = profile_region(profile, burst->region_id);
        add_fact(out, 1, "%s at %s loop %s in '%s' for %llu: %u %u %u",
                 burst_name(profile, burst->burst_id).bytes,
                 chain(profile, burst->context_id, time).bytes,
                 place(profile, burst->loop, time).bytes, region ? region->name : "",
                 (unsigned long long)burst->weight_ns, burst->touches, burst->open, burst->groups);
        probe_decoder_begin(&decoder, burst);
        while (probe_decode(&decoder, &group, counts, PROBE_COUNTS_MAX, sizes))
            describe_group(out, profile, burst, &group, counts, sizes);
        assert_false(decoder.damaged);
    }
}

static void describe_samples(struct description *out, const struct profile *profile)
{
    for (size_t i = 0; i < profile->samples.count; i++) {
        const struct record_sample *sample = &profile->samples.items[i];
        uint64_t time = sample->monotonic_ns;
        uint8_t kind = sample->object_kind;
        uint32_t reference = sample->object_reference;
        add_fact(out, 1,
                 "sample %s %s %s at %s loop %s of %s %llx watch %llx for %llu until %s invalid %s",
                 who(profile, sample->thread_id).bytes, burst_name(profile, sample->burst_id).bytes,
                 chain(profile, sample->context_id, time).bytes,
                 place(profile, sample->ip, time).bytes, place(profile, sample->loop, time).bytes,
                 object(profile, kind, reference).bytes,
                 data_address(profile, kind, reference, sample->address),
                 data_address(profile, kind, reference, sample->watch_address),
                 (unsigned long long)sample->weight_ns, watch_end(profile, sample->sample_id).bytes,
                 invalidation(profile, sample->sample_id).bytes);
    }
}

static struct text histogram_key(const struct profile *profile,
                                 const struct record_histogram *histogram)
{
    uint8_t kind = (uint8_t)(histogram->key >> 32);
    uint32_t reference = (uint32_t)histogram->key;
    switch (histogram->scope) {
    case SCOPE_THREAD:
        return who(profile, reference);
    case SCOPE_LINE:
        return place(profile, histogram->key, 0);
    case SCOPE_REGION:
        return text("%s", profile_region(profile, reference)->name);
    case SCOPE_OBJECT:
        return text("%s %llx", object(profile, kind, reference).bytes,
                    data_address(profile, kind, reference, histogram->key2));
    default:
        return text("%llx", (unsigned long long)histogram->key);
    }
}

static void describe_counts(struct description *out, const struct profile *profile)
{
    for (size_t i = 0; i < profile->histograms.count; i++) {
        const struct record_histogram *histogram = profile->histograms.items[i];
        struct text key = histogram_key(profile, histogram);
        int scope = histogram->scope;
        add_fact(out, histogram->accesses, "histogram %d %s accesses", scope, key.bytes);
        add_fact(out, histogram->cold, "histogram %d %s cold", scope, key.bytes);
        for (uint32_t k = 0; k < histogram->bin_count; k++)
            add_fact(out, histogram->bins[k].count, "histogram %d %s bin %u", scope, key.bytes,
                     histogram->bins[k].bin);
    }
    for (size_t i = 0; i < profile->site_totals.count; i++) {
        const struct record_site_totals *totals = &profile->site_totals.items[i];
        struct text site = object(profile, OBJECT_HEAP, totals->site_id);
        add_fact(out, totals->blocks, "blocks of %s", site.bytes);
        add_fact(out, totals->bytes, "bytes of %s", site.bytes);
        add_fact(out, totals->live_bytes_peak, "peak of %s", site.bytes);
    }
    for (size_t i = 0; i < profile->transfers.count; i++) {
        const struct record_transfer *transfer = &profile->transfers.items[i];
        add_fact(out, (uint64_t)transfer->transfers, "transfers %s > %s %d %s %s",
                 who(profile, transfer->source_thread).bytes,
                 who(profile, transfer->destination_thread).bytes, transfer->kind,
                 object(profile, transfer->object_kind, transfer->object_reference).bytes,
                 place(profile, transfer->source_ip, 0).bytes);
    }
}

static void describe_steps(struct description *out, const struct profile *profile)
{
    for (size_t i = 0; i < profile->steps.count; i++) {
        const struct record_steps *record = profile->steps.items[i];
        const struct record_burst *burst = profile_burst(profile, record->burst_id);
        uint64_t time = burst ? burst->monotonic_ns : 0;

        for (uint32_t k = 0; k < record->count; k++) {
            const struct address_steps *steps = &record->steps[k];

            add_fact(out, steps->far, "steps of %s, loaded by %s, stride %lld, crowded %d",
                     place(profile, steps->ip, time).bytes,
                     place(profile, steps->loaded_by, time).bytes, (long long)steps->stride,
                     steps->crowded);
        }
    }
}

static void describe_timed_loads(struct description *out, const struct profile *profile)
{
    for (size_t i = 0; i < profile->timed_loads.count; i++) {
        const struct record_timed_loads *record = profile->timed_loads.items[i];
        const struct record_burst *burst = profile_burst(profile, record->burst_id);
        uint64_t time = burst ? burst->monotonic_ns : 0;

        for (uint32_t k = 0; k < record->count; k++)
            add_fact(out, record->loads[k].timed, "timed loads of %s, %d from memory, %u ns",
                     place(profile, record->loads[k].ip, time).bytes, record->loads[k].from_memory,
                     record->loads[k].memory_ns);
    }
}

static void describe_threads(struct description *out, const struct profile *profile)
{
    for (size_t i = 0; i < profile->threads.count; i++)
        add_fact(out, 1, "thread %s", who(profile, profile->threads.items[i].thread_id).bytes);
    for (size_t i = 0; i < profile->thread_ends.count; i++)
        add_fact(out, profile->thread_ends.items[i].app_ns, "thread end %s",
                 who(profile, profile->thread_ends.items[i].thread_id).bytes);
    for (size_t i = 0; i < profile->totals.count; i++)
        add_fact(out, profile->totals.items[i].samples, "totals %s",
                 who(profile, profile->totals.items[i].thread_id).bytes);
    for (size_t i = 0; i < profile->progress.count; i++) {
        const struct record_progress *progress = profile->progress.items[i];
        add_fact(out, progress->count, "progress %s %s", who(profile, progress->thread_id).bytes,
                 place(profile, progress->loop, progress->monotonic_ns).bytes);
        if (progress->ip)
            add_fact(out, 1, "burst began at %s",
                     place(profile, progress->ip, progress->monotonic_ns).bytes);
        for (unsigned k = 0; k < TICKS_MAX; k++)
            if (progress->ticks[k])
                add_fact(out, 1, "tick at %s",
                         place(profile, progress->ticks[k], progress->monotonic_ns).bytes);
    }
    for (size_t i = 0; i < profile->served.count; i++) {
        const struct record_served *served = &profile->served.items[i];
        uint8_t kind = served->object_kind;
        uint32_t reference = served->object_reference;
        add_fact(out, served->samples, "served %s %s of %s %llx to %llx level %d latency %llu",
                 who(profile, served->thread_id).bytes,
                 place(profile, served->ip, served->monotonic_ns).bytes,
                 object(profile, kind, reference).bytes,
                 data_address(profile, kind, reference, served->address_low),
                 data_address(profile, kind, reference, served->address_high), served->level,
                 (unsigned long long)served->latency);
    }
    for (size_t i = 0; i < profile->notes.count; i++)
        add_fact(out, 1, "note %s %s",
                 profile_origin_text(profile, profile->notes.items[i]->origin_id, "pid", "?"),
                 profile->notes.items[i]->text);
    for (size_t i = 0; i < profile->mappings.count; i++)
        add_fact(out, 1, "mapping %s %llx",
                 profile_origin_text(profile, profile->mappings.items[i]->origin_id, "pid", "?"),
                 (unsigned long long)profile->mappings.items[i]->start);
}

static void describe_counters(struct description *out, const struct profile *profile)
{
    for (size_t i = 0; i < profile->counters.count; i++) {
        const struct record_counter *counter = profile->counters.items[i];
        const uint64_t sums[] = {counter->count, counter->estimate, counter->enabled_ns,
                                 counter->running_ns, counter->processes};
        for (size_t k = 0; k < sizeof(sums) / sizeof(sums[0]); k++)
            add_fact(out, sums[k], "counter %s %u %llx levels %llx flags %u kind %u trust %u: %zu",
                     counter->name, counter->type, (unsigned long long)counter->config,
                     (unsigned long long)counter->levels, counter->flags, counter->kind,
                     counter->trust, k);
    }
}

void profile_describe(struct description *out, const struct profile *profile)
{
    describe_bursts(out, profile);
    describe_samples(out, profile);
    describe_counts(out, profile);
    describe_threads(out, profile);
    describe_steps(out, profile);
    describe_timed_loads(out, profile);
    describe_counters(out, profile);
}

void profile_assert_same(struct description *left, struct description *right)
{
    settle(left);
    settle(right);
    for (size_t i = 0; i < left->count && i < right->count; i++) {
        assert_string_equal(left->facts[i].text, right->facts[i].text);
        assert_int_equal(left->facts[i].count, right->facts[i].count);
    }
    assert_int_equal(left->count, right->count);
}
