/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which events sample the accesses of this machine with addresses, and which count them.
 *
 * The choice is a pure function of the processor and of what the kernel shows below
 * /sys/bus/event_source/devices, which a caller reads for it: so every machine can be tested on any
 * other. Encodings are data (models.h), checked against libpfm4 for each model that it knows.
 *
 * No allocation; signal-safe but for what the caller's read function does.
 */
#ifndef REUSE_PMU_CHOOSE_H
#define REUSE_PMU_CHOOSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pmu/spe.h"

enum processor_vendor { VENDOR_UNKNOWN, VENDOR_INTEL, VENDOR_AMD, VENDOR_ARM };

struct processor {
    enum processor_vendor vendor; /* VENDOR_AMD: Hygon too; VENDOR_ARM: any implementer */
    unsigned family, model;       /* of CPUID, extended ones included */
    uint32_t ibs_capabilities;    /* CPUID 8000_001B EAX */
    uint64_t midr;                /* MIDR_EL1, 0 unknown */
};

/* The processor that this runs on. Not signal-safe on Arm, where it reads a file. */
void processor_here(struct processor *);

/* How the choice looks at a machine. */
struct pmu_machine {
    struct processor processor;
    /* First line of a file below /sys/bus/event_source/devices, without its newline; false if there
     * is none. */
    bool (*read)(void *context, const char *path, char *text, size_t size);
    void *context;
};

/* The processor that a folder in place of the event sources is of: its file `processor`, "intel 6
 * 85", "amd 25 17" or "arm MIDR". False, and nothing changed, without one. */
bool processor_of_folder(const char *folder, struct processor *);

/* For `read`: the running machine's. context: another folder (const char *) in place of
 * /sys/bus/event_source/devices, or NULL. */
bool pmu_read_sysfs(void *context, const char *path, char *text, size_t size);

/* Samples that the kernel takes from an event on a CPU in a second, at most: 0 not known. folder:
 * as `context` above; there it is the file `perf_event_max_sample_rate`. */
uint64_t pmu_max_sample_rate(const char *folder);

enum pmu_unit {
    PMU_PEBS,
    PMU_IBS,
    PMU_SPE,
    PMU_OVERFLOW, /* a counter of accesses overflows; the address comes from decoding */
};

struct pmu_event {
    char name[64]; /* for messages */
    uint32_t type;
    uint64_t config, config1, config2;
    uint8_t precise;   /* attr.precise_ip */
    uint8_t kinds;     /* what it samples or counts: ACCESS_LOAD | ACCESS_STORE */
    uint8_t accesses;  /* counting: accesses for each count (2: loads that store, too) */
    uint8_t core_kind; /* below pmu_choice.core_kinds: the kind of core that it counts on */
    bool needs_leader; /* sampled only as a member of a group led by pmu_choice.leader */
    bool with_kernel;  /* the kernel refuses to leave itself out: its records are no samples */
};

enum { PMU_EVENTS_MAX = 6, PMU_REASON_MAX = 256 };

struct pmu_choice {
    enum pmu_unit unit;
    unsigned samplers; /* events that sample */
    struct pmu_event sampler[PMU_EVENTS_MAX];
    unsigned counters; /* events that together count accesses; 0: the samplers themselves do */
    struct pmu_event counter[PMU_EVENTS_MAX];
    /* Kinds of cores that have a unit of their own, at least 1. A thread is on one of them at a
     * time, so that events of different kinds never count together (counted.h). */
    unsigned core_kinds;
    struct pmu_event leader;  /* see needs_leader */
    uint64_t sample_type;     /* PERF_SAMPLE_* of the samplers */
    uint64_t period_multiple; /* the kernel or the unit rounds to this */
    uint64_t period_least;
    bool counts_accesses; /* the period counts accesses of the event's kinds; else operations */
    bool needs_privilege; /* one event is with_kernel, so the kernel asks for CAP_PERFMON */
    enum spe_source_table source_table;
};

/*
 * Fills in what this machine offers. event: REUSE_EVENT, "" chooses; else it replaces the samplers:
 * rXXXX, a name from cpu/events, or PMU/term=value,.../ with the terms of the kernel's format
 * files. False with one line in `reason` (at least PMU_REASON_MAX bytes) when nothing samples
 * addresses here, or the event is not known.
 */
bool pmu_choose(const struct pmu_machine *, const char *event, struct pmu_choice *, char *reason);

/*
 * The event whose records say how loads were served, where the samplers of pmu_choose() do not:
 * Intel's load latency. (The records of events of all accesses name no source: the unit follows no
 * load for them.) False: the processor has none, or the kernel does not show it.
 */
bool pmu_choose_latencies(const struct pmu_machine *, struct pmu_choice *);

/*
 * Lets the choice's counters of accesses interrupt instead of its unit: for those who need the
 * thread stopped near the access rather than a record of it. (SPE writes records into memory and
 * interrupts when that is full.)
 */
void pmu_choice_by_overflow(struct pmu_choice *);

#endif
