/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes profiles for tests, through the real writer. Every function that fails ends the test
 * program with a line on stderr: a test's fixture has no business failing.
 *
 *     struct profile_builder builder;
 *     profile_builder_begin(&builder, path);
 *     profile_builder_run(&builder, "engine", "clock");
 *     uint32_t thread = profile_builder_thread(&builder, 1000, "main");
 *     uint32_t main_context = profile_builder_context(&builder, 0, 0x401000);
 *     struct record_burst burst = profile_builder_default_burst(thread, main_context);
 *     const struct probe_count count = {probe_code(false, 0, probe_time_bin(7)), 2048};
 *     const struct builder_group group = {
 *         .probe = {.ip = 0x401000, .reuse_ip = 0x401000}, .counts = &count, .sizes = {1}};
 *     profile_builder_burst(&builder, &burst, &group, 1);
 *     struct record_sample sample = profile_builder_default_sample(thread, main_context);
 *     sample.burst_id = burst.burst_id;
 *     sample.reuse_time[1] = 7;
 *     uint64_t id = profile_builder_sample(&builder, &sample);
 *     profile_builder_finish(&builder);
 */
#ifndef REUSE_TESTS_PROFILE_BUILDER_H
#define REUSE_TESTS_PROFILE_BUILDER_H

#include "profile/format.h"
#include "profile/probes.h"
#include "profile/reader.h"
#include "profile/writer.h"

enum { BUILDER_PARENTS = 256 };

struct profile_builder {
    struct profile_writer writer;
    unsigned char *buffer;
    uint64_t now_ns; /* what records with a time get when the caller gives none; grows by 1000 */
    uint32_t threads, contexts, sites, modules, regions; /* identifiers given out so far */
    uint64_t samples, bursts;
    uint32_t parents[BUILDER_PARENTS]; /* of the first contexts, by identifier */
};

/* Creates or truncates the file and writes its header and schema. */
void profile_builder_begin(struct profile_builder *, const char *path);

/* One key of RECORD_RUN; may be called often. */
void profile_builder_run(struct profile_builder *, const char *key, const char *value);
void profile_builder_run_number(struct profile_builder *, const char *key, uint64_t value);

/* The keys that every profile has: engine clock, line_size 64, program /bin/test, pid 42, host
 * "testhost", and so on; and a machine with 32 KiB, 1 MiB and 16 MiB caches of 64-byte lines. */
void profile_builder_defaults(struct profile_builder *);

/* Each returns the identifier that it gave. */
uint32_t profile_builder_thread(struct profile_builder *, int32_t tid, const char *name);
uint32_t profile_builder_context(struct profile_builder *, uint32_t parent_id, uint64_t ip);
uint32_t profile_builder_module(struct profile_builder *, const char *path, uint64_t start,
                                uint64_t end, uint64_t load_bias);
uint32_t profile_builder_site(struct profile_builder *, uint32_t context_id, enum allocator,
                              const char *name);
uint32_t profile_builder_region(struct profile_builder *, uint64_t entry_ip, const char *name);

/* A burst of full length, standing for 1 ms, of no loop. */
struct record_burst profile_builder_default_burst(uint32_t thread_id, uint32_t context_id);

/* A group of probes, and how many there are of each code. */
struct builder_group {
    struct probe_group probe;
    const struct probe_count *counts; /* of all line sizes, one after the other; codes ascend */
    size_t sizes[PROBE_LINE_SIZES];   /* beyond the first: of bursts with BURST_WIDE alone */
};

/* Gives the burst an identifier and a time if it has none, and what follows from its probes:
 * touches, open, groups, probe_size. Returns the identifier. */
uint64_t profile_builder_burst(struct profile_builder *, struct record_burst *,
                               const struct builder_group *, size_t groups);

/* A load of 8 bytes at 0x10000 of no known object, of no burst, standing for 1 ms, nothing found in
 * 2000 accesses, not watched. */
struct record_sample profile_builder_default_sample(uint32_t thread_id, uint32_t context_id);

/* Gives the sample an identifier if it has none, and a time. Returns the identifier. */
uint64_t profile_builder_sample(struct profile_builder *, struct record_sample *);

/* A burst of one access, the sample's, which is resolved or open as the sample tells; the sample
 * becomes one of it. To be called before profile_builder_sample(). */
void profile_builder_lone_burst(struct profile_builder *, struct record_sample *);

/* An end of the sample's watch, after watched_ns of its thread's time. */
void profile_builder_watch_end(struct profile_builder *, const struct record_sample *,
                               enum watch_end reason, uint64_t watched_ns);

/* The first store of another thread to the sample's line, after watched_ns of its thread's time. */
void profile_builder_invalidation(struct profile_builder *, const struct record_sample *,
                                  uint32_t thread_id, uint64_t watched_ns);

/* The variables of a burst, record->count of them; or one, the count of which need not be set. */
void profile_builder_variables(struct profile_builder *, const struct record_progress *,
                               const struct progress_variable *);
void profile_builder_variable(struct profile_builder *, struct record_progress,
                              const struct progress_variable *);
/* A register that counts accesses: so many in elapsed_ns before a burst of the loop. */
void profile_builder_rate(struct profile_builder *, uint32_t thread_id, uint64_t loop,
                          uint64_t app_ns, double accesses, uint64_t elapsed_ns);

/* A histogram; bins ascend. */
void profile_builder_histogram(struct profile_builder *, const struct record_histogram *,
                               const struct histogram_bin *bins);

void profile_builder_note(struct profile_builder *, enum note_severity, const char *text);

/* Any record of a fixed size (sizeof the struct), as it stands. */
void profile_builder_record(struct profile_builder *, enum record_type, const void *record,
                            size_t size);

/* The same with a tail: text with its NUL, pairs, bins. */
void profile_builder_record_with_tail(struct profile_builder *, enum record_type, const void *fixed,
                                      size_t fixed_size, const void *tail, size_t tail_size);

/* Writes RECORD_END and closes the file. */
void profile_builder_finish(struct profile_builder *);

/* Closes the file as SIGKILL would: without RECORD_END. */
void profile_builder_cut(struct profile_builder *);

/* profile_load(), where failure ends the test program. */
struct profile *profile_builder_load(const char *path);

#endif
