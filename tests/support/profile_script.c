/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * profile_script FILE: makes a profile from commands on standard input, for tests that are scripts.
 * Identifiers count from 1 in order of definition; numbers are decimal or 0x.
 *
 *     defaults                              the keys and caches of profile_builder_defaults()
 *     run KEY VALUE...
 *     module BUILD_ID|- START END BIAS PATH
 *     thread TID NAME
 *     context PARENT IP
 *     site CONTEXT ALLOCATOR [NAME]
 *     site_totals SITE BLOCKS BYTES LARGEST
 *     totals THREAD APP_NS HANDLER_NS [LOSS=COUNT...] [markers=N foreseen=N stops=N bridged=N]
 *     rate THREAD LOOP ACCESSES ELAPSED_NS
 *     probes IP [FIELD=VALUE...] [[SIZE/][open:]DISTANCE:TIME=COUNT...]  a group of the next burst;
 *                                           SIZE: half, twice, four times the run's line; none: it
 *     burst THREAD CONTEXT [FIELD=VALUE...] of the groups since the last one; wide if any has a
 * SIZE sample THREAD CONTEXT [FIELD=VALUE...] [end=REASON:WATCHED_NS:IP] of a burst: begins with
 * the thread's last one histogram SCOPE MEASURE LINE_SIZE KEY KEY2 ACCESSES COLD [VALUE=COUNT...]
 *     lines N                               histograms from here on are of 1 in N lines
 *     region ENTRY_IP NAME
 *     note SEVERITY TEXT...
 *     finish | cut                          the end in order, or as SIGKILL leaves it
 */
#define _GNU_SOURCE /* strsep */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/histogram_bin.h"
#include "support/profile_builder.h"

static struct profile_builder builder;
static uint64_t app_ns[65536]; /* of each thread: its last sample */
static uint64_t burst_app_ns[65536];

enum { GROUPS_MAX = 1024, COUNTS_MAX = 64 };
static struct builder_group groups[GROUPS_MAX]; /* of the next burst */
static struct probe_count counts[GROUPS_MAX][COUNTS_MAX];
static size_t group_count;
static uint32_t line_rate = 1;
static bool wide; /* a group tells other line sizes than the run's */

static void bad(const char *what)
{
    (void)fprintf(stderr, "profile_script: %s\n", what);
    exit(1);
}

static char *word(char **line)
{
    char *found = strsep(line, " ");

    if (found == NULL || *found == '\0')
        bad("a command lacks an argument");
    return found;
}

static uint64_t number(char **line)
{
    return strtoull(word(line), NULL, 0);
}

static void make_module(char *line)
{
    struct record_module module = {.module_id = ++builder.modules};
    const char *identity = word(&line);

    for (; identity[0] != '-' && identity[0] != '\0'; identity += 2) {
        unsigned byte;

        if (sscanf(identity, "%2x", &byte) != 1 || module.build_id_size == 20)
            bad("bad build-id");
        module.build_id[module.build_id_size++] = (uint8_t)byte;
    }
    module.start = number(&line);
    module.end = number(&line);
    module.load_bias = number(&line);
    profile_builder_record_with_tail(&builder, RECORD_MODULE, &module, sizeof(module), line,
                                     strlen(line) + 1);
}

static void make_end(const struct record_sample *sample, char *value)
{
    struct record_watch_end end = {.sample_id = sample->sample_id, .thread_id = sample->thread_id};
    uint64_t watched;

    end.reason = (uint8_t)strtoul(strsep(&value, ":"), NULL, 0);
    watched = strtoull(strsep(&value, ":"), NULL, 0);
    end.ip = value != NULL ? strtoull(value, NULL, 0) : 0;
    end.monotonic_ns = sample->monotonic_ns + watched;
    end.app_ns = sample->app_ns + watched;
    profile_builder_record(&builder, RECORD_WATCH_END, &end, sizeof(end));
}

static void make_sample(char *line)
{
    uint32_t thread = (uint32_t)number(&line);
    struct record_sample sample = profile_builder_default_sample(thread, (uint32_t)number(&line));
    char *end = NULL, *field;

    sample.app_ns = app_ns[thread % 65536] += sample.weight_ns;
    while ((field = strsep(&line, " ")) != NULL) {
        char *value = strchr(field, '=');
        uint64_t n;

        if (value == NULL)
            bad("a field of a sample has no value");
        *value++ = '\0';
        n = strtoull(value, NULL, 0);
        if (strcmp(field, "end") == 0)
            end = value;
        else if (strcmp(field, "ip") == 0)
            sample.ip = n;
        else if (strcmp(field, "address") == 0)
            sample.address = n;
        else if (strcmp(field, "loop") == 0)
            sample.loop = n;
        else if (strcmp(field, "reuse") == 0)
            for (int i = 0; i < LINE_SIZE_COUNT; i++)
                sample.reuse_time[i] = (uint32_t)n;
        else if (strcmp(field, "reuse_ip") == 0)
            sample.reuse_ip = n;
        else if (strcmp(field, "kind") == 0)
            sample.object_kind = (uint8_t)n;
        else if (strcmp(field, "reference") == 0)
            sample.object_reference = (uint32_t)n;
        else if (strcmp(field, "size") == 0)
            sample.object_size = n;
        else if (strcmp(field, "watch") == 0)
            sample.watch_mode = (uint8_t)n;
        else if (strcmp(field, "ahead") == 0)
            sample.accesses_ahead = (uint32_t)n;
        else if (strcmp(field, "lines_ahead") == 0)
            sample.lines_ahead = (uint32_t)n;
        else if (strcmp(field, "burst") == 0)
            sample.burst_id = n, sample.app_ns = burst_app_ns[thread % 65536];
        else if (strcmp(field, "flags") == 0)
            sample.flags = (uint16_t)n;
        else
            bad(field);
    }
    sample.watch_address = sample.address;
    profile_builder_sample(&builder, &sample);
    if (end != NULL)
        make_end(&sample, end);
}

/* DISTANCE:TIME, with "open:" before it for open probes. */
static uint16_t make_code(const char *field)
{
    unsigned distance, time;
    bool open = strncmp(field, "open:", 5) == 0;

    if (sscanf(field + (open ? 5 : 0), "%u:%u", &distance, &time) != 2)
        bad(field);
    return probe_code(open, probe_distance_bin(distance), probe_time_bin(time));
}

static void set_probe_field(struct probe_group *probe, const char *field, uint64_t n)
{
    if (strcmp(field, "reuse_ip") == 0)
        probe->reuse_ip = n;
    else if (strcmp(field, "path") == 0)
        probe->path_id = (uint32_t)n;
    else if (strcmp(field, "kind") == 0)
        probe->object_kind = (uint8_t)n;
    else if (strcmp(field, "reference") == 0)
        probe->object_reference = (uint32_t)n;
    else if (strcmp(field, "tracked") == 0)
        probe->tracked_log2 = (uint8_t)n;
    else if (strcmp(field, "place") == 0)
        probe->place = n;
    else if (strcmp(field, "width") == 0)
        probe->width = (uint8_t)n;
    else if (strcmp(field, "access") == 0)
        probe->kind = (uint8_t)n;
    else
        bad(field);
}

/* The index of the size that a count is of; *field is moved behind its name. */
static unsigned size_of(char **field)
{
    static const char *const names[PROBE_LINE_SIZES] = {"", "half", "twice", "four"};
    char *end = strchr(*field, '/');

    if (end == NULL)
        return 0;
    *end = '\0';
    for (unsigned i = 1; i < PROBE_LINE_SIZES; i++)
        if (strcmp(*field, names[i]) == 0) {
            *field = end + 1;
            wide = true;
            return i;
        }
    bad(*field);
    return 0;
}

static int compare_codes(const void *left, const void *right)
{
    const struct probe_count *a = left, *b = right;

    return a->code < b->code ? -1 : a->code > b->code;
}

/* Size after size, each in order of its codes. */
static void join_counts(struct builder_group *group, struct probe_count *list,
                        struct probe_count of_size[PROBE_LINE_SIZES][COUNTS_MAX])
{
    size_t n = 0;

    for (unsigned s = 0; s < PROBE_LINE_SIZES; s++) {
        qsort(of_size[s], group->sizes[s], sizeof(*list), compare_codes);
        for (size_t i = 0; i < group->sizes[s]; i++) {
            if (i > 0 && of_size[s][i - 1].code == of_size[s][i].code)
                bad("two counts of a group are of one bin");
            if (n == COUNTS_MAX)
                bad("too many counts in a group");
            list[n++] = of_size[s][i];
        }
    }
}

static void make_probes(char *line)
{
    static struct probe_count of_size[PROBE_LINE_SIZES][COUNTS_MAX];
    struct builder_group *group = &groups[group_count];
    char *field;

    if (group_count == GROUPS_MAX)
        bad("too many groups of probes");
    *group = (struct builder_group){.probe = {.kind = ACCESS_LOAD, .width = 8},
                                    .counts = counts[group_count]};
    group->probe.ip = number(&line);
    while ((field = strsep(&line, " ")) != NULL) {
        char *value = strchr(field, '=');
        unsigned size;

        if (value == NULL)
            bad("a field of probes has no value");
        *value++ = '\0';
        if (strchr(field, ':') == NULL) {
            set_probe_field(&group->probe, field, strtoull(value, NULL, 0));
            continue;
        }
        size = size_of(&field);
        if (group->sizes[size] == COUNTS_MAX)
            bad("too many counts in a group");
        of_size[size][group->sizes[size]++] =
            (struct probe_count){make_code(field), (uint32_t)strtoul(value, NULL, 0)};
    }
    join_counts(group, counts[group_count++], of_size);
}

static void make_burst(char *line)
{
    uint32_t thread = (uint32_t)number(&line);
    struct record_burst burst = profile_builder_default_burst(thread, (uint32_t)number(&line));
    char *field;

    burst.app_ns = burst_app_ns[thread % 65536] += burst.weight_ns;
    while ((field = strsep(&line, " ")) != NULL) {
        char *value = strchr(field, '=');
        uint64_t n;

        if (value == NULL)
            bad("a field of a burst has no value");
        *value++ = '\0';
        n = strtoull(value, NULL, 0);
        if (strcmp(field, "loop") == 0)
            burst.loop = n;
        else if (strcmp(field, "weight_ns") == 0)
            burst.weight_ns = n;
        else if (strcmp(field, "accesses") == 0)
            burst.accesses = (uint32_t)n;
        else if (strcmp(field, "probes") == 0)
            burst.probes = (uint32_t)n;
        else if (strcmp(field, "region") == 0)
            burst.region_id = (uint32_t)n;
        else
            bad(field);
    }
    burst.flags |= wide ? BURST_WIDE : 0;
    profile_builder_burst(&builder, &burst, groups, group_count);
    group_count = 0;
    wide = false;
}

static void make_site_totals(char *line)
{
    struct record_site_totals totals = {.site_id = (uint32_t)number(&line)};

    totals.blocks = number(&line);
    totals.bytes = number(&line);
    totals.largest_bytes = number(&line);
    profile_builder_record(&builder, RECORD_SITE_TOTALS, &totals, sizeof(totals));
}

static void make_totals(char *line)
{
    struct record_totals totals = {.thread_id = (uint32_t)number(&line)};
    char *field;

    totals.app_ns = number(&line);
    totals.handler_ns = number(&line);
    while ((field = strsep(&line, " ")) != NULL) {
        unsigned loss;
        unsigned long long count;

        if (sscanf(field, "%u=%llu", &loss, &count) == 2 && loss < LOSS_COUNT)
            totals.lost[loss] = count;
        else if (sscanf(field, "markers=%llu", &count) == 1)
            totals.markers = count;
        else if (sscanf(field, "foreseen=%llu", &count) == 1)
            totals.foreseen = count;
        else if (sscanf(field, "stops=%llu", &count) == 1)
            totals.stops = count;
        else if (sscanf(field, "bridged=%llu", &count) == 1)
            totals.bridged = count;
        else
            bad(field);
    }
    profile_builder_record(&builder, RECORD_TOTALS, &totals, sizeof(totals));
}

enum { BINS_MAX = 4096 };

static void make_histogram(char *line)
{
    struct record_histogram histogram = {.rate_denominator = line_rate};
    static struct histogram_bin bins[BINS_MAX];
    char *field;

    histogram.scope = (uint8_t)number(&line);
    histogram.measure = (uint8_t)number(&line);
    histogram.line_size = (uint32_t)number(&line);
    histogram.key = number(&line);
    histogram.key2 = number(&line);
    histogram.accesses = number(&line);
    histogram.cold = number(&line);
    while ((field = strsep(&line, " ")) != NULL && histogram.bin_count < BINS_MAX) {
        unsigned long long value, count;

        if (sscanf(field, "%llu=%llu", &value, &count) != 2)
            bad("bad bin");
        bins[histogram.bin_count++] =
            (struct histogram_bin){.bin = histogram_bin_of(value), .count = count};
    }
    profile_builder_histogram(&builder, &histogram, bins);
}

static bool run_command(const char *command, char *line)
{
    if (strcmp(command, "finish") == 0) {
        profile_builder_finish(&builder);
        return false;
    }
    if (strcmp(command, "cut") == 0) {
        profile_builder_cut(&builder);
        return false;
    }
    if (strcmp(command, "defaults") == 0) {
        profile_builder_defaults(&builder);
    } else if (strcmp(command, "run") == 0) {
        const char *key = word(&line);

        profile_builder_run(&builder, key, line != NULL ? line : "");
    } else if (strcmp(command, "module") == 0) {
        make_module(line);
    } else if (strcmp(command, "thread") == 0) {
        int32_t tid = (int32_t)number(&line);

        profile_builder_thread(&builder, tid, word(&line));
    } else if (strcmp(command, "context") == 0) {
        uint32_t parent = (uint32_t)number(&line);

        profile_builder_context(&builder, parent, number(&line));
    } else if (strcmp(command, "site") == 0) {
        uint32_t context = (uint32_t)number(&line);
        enum allocator allocator = (enum allocator)number(&line);

        profile_builder_site(&builder, context, allocator, line != NULL ? line : "");
    } else if (strcmp(command, "site_totals") == 0) {
        make_site_totals(line);
    } else if (strcmp(command, "totals") == 0) {
        make_totals(line);
    } else if (strcmp(command, "rate") == 0) {
        uint32_t thread = (uint32_t)number(&line);
        uint64_t loop = number(&line), accesses = number(&line);

        profile_builder_rate(&builder, thread, loop, 0, accesses, number(&line));
    } else if (strcmp(command, "probes") == 0) {
        make_probes(line);
    } else if (strcmp(command, "burst") == 0) {
        make_burst(line);
    } else if (strcmp(command, "sample") == 0) {
        make_sample(line);
    } else if (strcmp(command, "histogram") == 0) {
        make_histogram(line);
    } else if (strcmp(command, "lines") == 0) {
        line_rate = (uint32_t)number(&line);
    } else if (strcmp(command, "region") == 0) {
        uint64_t entry = number(&line);

        profile_builder_region(&builder, entry, word(&line));
    } else if (strcmp(command, "note") == 0) {
        enum note_severity severity = (enum note_severity)number(&line);

        profile_builder_note(&builder, severity, line != NULL ? line : "");
    } else {
        bad(command);
    }
    return true;
}

int main(int argc, char **argv)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    bool more = true;

    if (argc != 2)
        bad("usage: profile_script FILE < COMMANDS");
    profile_builder_begin(&builder, argv[1]);
    while (more && (length = getline(&line, &capacity, stdin)) > 0) {
        char *rest = line, *command;

        if (line[length - 1] == '\n')
            line[length - 1] = '\0';
        if (*line == '\0' || *line == '#')
            continue;
        command = strsep(&rest, " "); /* moves rest */
        more = run_command(command, rest);
    }
    if (more)
        bad("neither finish nor cut");
    free(line);
    return 0;
}
