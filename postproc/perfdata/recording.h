/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a perf.data file of `perf mem record` or `perf c2c record` holds of memory accesses: the
 * sampled ones in user space, and the mappings and threads by which they get names. PEBS samples,
 * IBS samples with raw registers, and SPE's AUX data. And the stacks of samples, where they were
 * recorded (--call-graph), be they accesses or not.
 */
#ifndef REUSE_POSTPROC_RECORDING_H
#define REUSE_POSTPROC_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pmu/access_record.h"
#include "pmu/access_use.h"
#include "pmu/perf_file.h"
#include "support/memory.h"

enum { RECORDED_BUILD_ID_MAX = 20 };

/* A mapping of a process, from `time` on. */
struct recorded_map {
    uint32_t pid;
    uint64_t start, end, offset, time;
    const char *path; /* points into the file */
    const uint8_t *build_id;
    size_t build_id_size; /* 0: not recorded */
};

struct recorded_thread {
    uint32_t pid, tid;
    const char *name; /* points into the file; the last one */
};

/* A process that another one made: it has that one's mappings, too. */
struct recorded_fork {
    uint32_t pid, parent;
};

/* The stack of a sample, as it was recorded. Pointers lead into the file, unaligned. */
struct recorded_stack {
    const uint8_t *chain; /* --call-graph fp: chain_count words, innermost first */
    uint64_t chain_count;
    const uint8_t *registers; /* --call-graph dwarf: those of register_mask; NULL: none */
    uint64_t register_mask;   /* PERF_REG_X86_*, PERF_REG_ARM64_* */
    const uint8_t *bytes;     /* of the stack, from the stack pointer on */
    uint64_t size;
};

/* A sample of user space that has a stack. */
struct recorded_sample {
    uint32_t pid, tid;
    uint64_t time;
    size_t access; /* in `accesses`; SIZE_MAX: it is none */
    struct recorded_stack stack;
};

struct recording {
    uint8_t *bytes;
    size_t size;
    struct perf_file file;
    ARRAY(struct access_record) accesses; /* of user space, by loads and stores */
    ARRAY(struct recorded_map) maps;      /* sorted by pid and start */
    ARRAY(struct recorded_thread) threads;
    ARRAY(struct recorded_fork) forks;
    ARRAY(struct recorded_sample) samples;
    const char *units; /* "PEBS", "IBS", "SPE" or "hardware events" */
    char command[1024], processor[256], host[256], machine[64], event[128];
    /* what is not among the accesses, and why */
    uint64_t left_out[USE_COUNT];
    uint64_t lost, throttled, truncated;
};

/* Whether the file begins like one of perf's, of whatever kind. */
bool recording_is_perf_data(const char *path);

/* NULL with one line in `message` that names the file and the cause. A recording without accesses
 * is one if it has stacks. */
struct recording *recording_load(const char *path, char *message, size_t message_size);
void recording_free(struct recording *);

/* The mapping that held an address of the process at that time; NULL if none is known. */
const struct recorded_map *recording_map(const struct recording *, uint32_t pid, uint64_t address,
                                         uint64_t time);

/* The last name of a thread, or NULL. */
const char *recording_thread_name(const struct recording *, uint32_t tid);

#endif
