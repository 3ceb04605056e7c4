/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two programs for the test of the format's description, in one:
 *     profile_dump --make FILE     writes a profile that holds every type of record
 *     profile_dump FILE            prints what the C reader finds, one "name number" per line:
 *                                  how many of each record, and sums over some of their fields
 */
#include <stdio.h>
#include <string.h>

#include "support/profile_builder.h"
#include "support/profile_mutator.h"

#define COUNT(name, member) print(name, profile->member.count)
#define SUM(name, member, field)                                                                   \
    do {                                                                                           \
        uint64_t sum = 0;                                                                          \
        for (size_t i = 0; i < profile->member.count; i++)                                         \
            sum += profile->member.items[i].field;                                                 \
        print(name, sum);                                                                          \
    } while (0)

static void print(const char *name, uint64_t number)
{
    (void)printf("%s %llu\n", name, (unsigned long long)number);
}

static void print_counts(const struct profile *profile)
{
    print("run", profile->run.count / 2);
    COUNT("cache", caches);
    COUNT("module", modules);
    COUNT("module_end", module_ends);
    COUNT("mapping", mappings);
    COUNT("thread", threads);
    COUNT("thread_end", thread_ends);
    COUNT("context", contexts);
    COUNT("site", sites);
    COUNT("site_totals", site_totals);
    COUNT("sample", samples);
    COUNT("watch_end", watch_ends);
    COUNT("invalidation", invalidations);
    COUNT("line_watch", line_watches);
    COUNT("line_event", line_events);
    COUNT("line_end", line_ends);
    COUNT("turn", turns);
    COUNT("served", served);
    COUNT("progress", progress);
    COUNT("totals", totals);
    COUNT("burst", bursts);
    COUNT("note", notes);
    print("end", profile->complete);
    COUNT("histogram", histograms);
    COUNT("transfer", transfers);
    COUNT("region", regions);
    COUNT("origin", origins);
    COUNT("counter", counters);
    COUNT("shared_mapping", shared_mappings);
    COUNT("shared_use", shared_uses);
    COUNT("process_transfer", process_transfers);
    COUNT("steps", steps);
    COUNT("timed_loads", timed_loads);
}

static void print_probes(const struct profile *profile)
{
    struct probe_decoder decoder;
    struct probe_group group;
    static struct probe_count counts[PROBE_COUNTS_MAX];
    size_t sizes[PROBE_LINE_SIZES];
    uint64_t groups = 0, probes = 0, open = 0, distances = 0, times = 0, wider = 0;
    uint64_t ips = 0, reuses = 0, paths = 0, objects = 0, places = 0, accesses = 0;
    for (size_t i = 0; i < profile->bursts.count; i++) {
        probe_decoder_begin(&decoder, profile->bursts.items[i]);
        while (probe_decode(&decoder, &group, counts, PROBE_COUNTS_MAX, sizes)) {
            groups++;
            ips += group.ip;
            reuses += group.reuse_ip;
            paths += group.path_id;
            objects += (uint64_t)group.object_kind * 1000000 + group.tracked_log2 * 1000u +
                       group.object_reference;
            places += group.place;
            accesses += group.width * 10u + group.kind;
            for (size_t k = 0; k < sizes[0]; k++) {
                probes += counts[k].count;
                open += probe_code_open(counts[k].code) ? counts[k].count : 0;
                distances += (uint64_t)counts[k].count *
                             probe_distance_low(probe_code_distance(counts[k].code));
                times +=
                    (uint64_t)counts[k].count * probe_time_low(probe_code_time(counts[k].code));
            }
            for (size_t k = sizes[0]; k < sizes[0] + sizes[1] + sizes[2] + sizes[3]; k++)
                wider += (uint64_t)counts[k].count * counts[k].code;
        }
    }
    print("probes.groups", groups);
    print("probes.count", probes);
    print("probes.open", open);
    print("probes.distances", distances);
    print("probes.times", times);
    print("probes.wider", wider);
    print("probes.ip", ips);
    print("probes.reuse_ip", reuses);
    print("probes.path", paths);
    print("probes.object", objects);
    print("probes.place", places);
    print("probes.access", accesses);
}

static void print_sums(const struct profile *profile)
{
    uint64_t path_bytes = 0;
    uint64_t bin_counts = 0;
    uint64_t counter_estimates = 0, variable_accesses = 0, far_steps = 0, timed = 0;

    for (size_t i = 0; i < profile->steps.count; i++)
        for (uint32_t k = 0; k < profile->steps.items[i]->count; k++)
            far_steps += profile->steps.items[i]->steps[k].far;
    for (size_t i = 0; i < profile->timed_loads.count; i++)
        for (uint32_t k = 0; k < profile->timed_loads.items[i]->count; k++)
            timed += profile->timed_loads.items[i]->loads[k].timed;
    for (size_t i = 0; i < profile->progress.count; i++)
        for (uint32_t k = 0; k < profile->progress.items[i]->count; k++)
            variable_accesses += profile->progress.items[i]->variables[k].accesses;
    for (size_t i = 0; i < profile->modules.count; i++)
        path_bytes += strlen(profile->modules.items[i]->path);
    for (size_t i = 0; i < profile->histograms.count; i++) {
        for (uint32_t k = 0; k < profile->histograms.items[i]->bin_count; k++)
            bin_counts += profile->histograms.items[i]->bins[k].count;
    }
    for (size_t i = 0; i < profile->counters.count; i++)
        counter_estimates += profile->counters.items[i]->estimate;
    print_probes(profile);
    SUM("sample.burst_id", samples, burst_id);
    SUM("sample.address", samples, address);
    SUM("sample.reuse_time[1]", samples, reuse_time[1]);
    SUM("sample.watch_address", samples, watch_address);
    SUM("sample.words_accessed", samples, words_accessed);
    SUM("watch_end.app_ns", watch_ends, app_ns);
    SUM("watch_end.reason", watch_ends, reason);
    SUM("invalidation.app_ns", invalidations, app_ns);
    SUM("line_event.elapsed_ns", line_events, elapsed_ns);
    SUM("context.ip", contexts, ip);
    SUM("thread.tid", threads, tid);
    SUM("totals.armed", totals, armed);
    SUM("served.latency", served, latency);
    print("counter.estimate", counter_estimates);
    print("progress.variables.accesses", variable_accesses);
    print("steps.steps.far", far_steps);
    print("timed_loads.loads.timed", timed);
    SUM("cache.bytes", caches, bytes);
    print("module.path", path_bytes);
    print("histogram.bins.count", bin_counts);
    double transfers = 0;
    for (size_t i = 0; i < profile->transfers.count; i++)
        transfers += profile->transfers.items[i].transfers;
    (void)printf("transfer.transfers %.3f\n", transfers);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--make") == 0) {
        write_every_record(argv[2]);
        return 0;
    }
    if (argc != 2) {
        (void)fprintf(stderr, "usage: profile_dump [--make] FILE\n");
        return 2;
    }
    struct profile *profile = profile_builder_load(argv[1]);
    print_counts(profile);
    print_sums(profile);
    profile_free(profile);
    return 0;
}
