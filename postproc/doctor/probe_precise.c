/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Do hardware samples carry the addresses of accesses? Tried on a loop that reads a known array:
 * PEBS through memory events that libpfm4 knows, AMD's IBS through its own PMU, Arm's SPE through
 * its buffer. PEBS and IBS are believed when most sampled user-space addresses lie inside the
 * array.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "doctor/event_names.h"
#include "doctor/perf.h"
#include "doctor/probe.h"

enum { ARRAY_WORDS = 1 << 17, PASSES = 200, BUFFER_PAGES = 64 };

static uint64_t array[ARRAY_WORDS];

static void sweep_array(void)
{
    for (int pass = 0; pass < PASSES; pass++) {
        for (size_t i = 0; i < ARRAY_WORDS; i++)
            (void)*(volatile uint64_t *)&array[i];
    }
}

/* Value of a one-number file below the PMU's folder in sysfs, or -1. */
static long read_number(const char *pmu, const char *file)
{
    char path[128];
    long value;
    snprintf(path, sizeof path, "/sys/bus/event_source/devices/%s/%s", pmu, file);
    return perf_read_number(path, &value) ? value : -1;
}

struct samples {
    unsigned long all, inside;
};

/* Records wrap at the end of the ring; those used here are copied out a word at a time. */
static uint64_t ring_word(const uint8_t *ring, size_t size, uint64_t at)
{
    uint64_t word;
    memcpy(&word, ring + at % size, sizeof word);
    return word;
}

/* Counts PERF_SAMPLE_IP | PERF_SAMPLE_ADDR records: header, ip, address. */
static struct samples count_samples(const struct perf_event_mmap_page *page, size_t page_size)
{
    const uint8_t *ring = (const uint8_t *)page + page_size;
    size_t size = BUFFER_PAGES * page_size;
    uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
    struct samples samples = {0, 0};

    for (uint64_t at = 0; at + sizeof(struct perf_event_header) <= head;) {
        struct perf_event_header header;
        uint64_t first = ring_word(ring, size, at);
        memcpy(&header, &first, sizeof header);
        if (header.size < sizeof header || at + header.size > head)
            break;
        bool user = (header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER;
        if (header.type == PERF_RECORD_SAMPLE && header.size >= 24 && user) {
            uint64_t address = ring_word(ring, size, at + 16);
            samples.all++;
            samples.inside +=
                address >= (uintptr_t)array && address < (uintptr_t)array + sizeof array;
        }
        at += header.size;
    }
    return samples;
}

/* Samples the loop with one event. Returns 0, or errno of what failed. */
static int sample_loop(struct perf_event_attr *attributes, struct samples *samples)
{
    size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
    attributes->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_ADDR;
    int event = perf_open(attributes);
    if (event < 0)
        return errno;
    /* Mapped read-only: the kernel stops at a full ring instead of overwriting it. */
    size_t length = (1 + BUFFER_PAGES) * page_size;
    void *page = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
    if (page == MAP_FAILED) {
        int error = errno;
        close(event);
        return error;
    }
    ioctl(event, PERF_EVENT_IOC_ENABLE, 0);
    sweep_array();
    ioctl(event, PERF_EVENT_IOC_DISABLE, 0);
    *samples = count_samples(page, page_size);
    munmap(page, length);
    close(event);
    return 0;
}

static void judge(struct finding *finding, const char *source, struct samples samples)
{
    enum { SAMPLES_CONVINCING = 20 };
    double share = samples.all ? (double)samples.inside / (double)samples.all : 0;
    bool good = samples.all >= SAMPLES_CONVINCING && share > 0.5;
    finding_result(finding,
                   good             ? FINDING_WORKS
                   : samples.inside ? FINDING_LIMITED
                                    : FINDING_MISSING,
                   "%s: %lu samples, %.0f %% with an address inside the array", source, samples.all,
                   100 * share);
    finding_meaning(finding, good ? "the engine pmu has its source of addresses"
                                  : "this source of addresses is not to be trusted");
}

/* AMD. Returns false when the machine has no IBS. */
static bool try_ibs(struct finding *finding)
{
    struct perf_event_attr attributes;
    struct samples samples = {0, 0};
    long type = read_number("ibs_op", "type");
    if (type < 0)
        return false;
    /* cnt_ctl (bit 19): count operations, not cycles. Kernels from 6.14 on can filter by software;
     * others refuse exclude_kernel, so that the event needs privileges. */
    perf_attributes(&attributes, (uint32_t)type, UINT64_C(1) << 19);
    attributes.sample_period = 0x10000;
    attributes.config2 = 1;
    int error = sample_loop(&attributes, &samples);
    if (error == EINVAL) {
        attributes.config2 = 0;
        attributes.exclude_kernel = 0;
        attributes.exclude_hv = 0;
        error = sample_loop(&attributes, &samples);
    }
    if (error) {
        perf_explain(finding, error);
        if (error == EACCES || error == EPERM)
            finding_remedy(finding, "sudo setcap cap_perfmon=ep PROGRAM does not work with "
                                    "LD_PRELOAD; use a kernel from 6.14 on, or run as root");
        return true;
    }
    judge(finding, "IBS", samples);
    return true;
}

/* Arm. Returns false when the machine has no SPE. */
static bool try_spe(struct finding *finding)
{
    struct perf_event_attr attributes;
    enum { AUX_PAGES = 16 };
    size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
    long type = read_number("arm_spe_0", "type");
    if (type < 0)
        return false;
    /* ts_enable, jitter, load_filter, store_filter */
    perf_attributes(&attributes, (uint32_t)type,
                    UINT64_C(1) | UINT64_C(1) << 16 | UINT64_C(1) << 33 | UINT64_C(1) << 34);
    attributes.sample_period = 4096;
    int event = perf_open(&attributes);
    if (event < 0) {
        perf_explain(finding, errno);
        return true;
    }
    struct perf_event_mmap_page *page =
        mmap(NULL, (1 + BUFFER_PAGES) * page_size, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
    void *aux = MAP_FAILED;
    if (page != MAP_FAILED) {
        page->aux_offset = (1 + BUFFER_PAGES) * page_size;
        page->aux_size = AUX_PAGES * page_size;
        aux = mmap(NULL, page->aux_size, PROT_READ | PROT_WRITE, MAP_SHARED, event,
                   (off_t)page->aux_offset);
    }
    if (aux == MAP_FAILED) {
        finding_result(finding, FINDING_MISSING, "SPE: its buffer cannot be mapped: %s",
                       strerror(errno));
        finding_remedy(finding, "sudo sysctl kernel.perf_event_mlock_kb=2048");
        return true;
    }
    ioctl(event, PERF_EVENT_IOC_ENABLE, 0);
    sweep_array();
    ioctl(event, PERF_EVENT_IOC_DISABLE, 0);
    unsigned long long written = __atomic_load_n(&page->aux_head, __ATOMIC_ACQUIRE);
    finding_result(finding, written ? FINDING_WORKS : FINDING_MISSING,
                   "SPE: %llu bytes of records (addresses not checked here)", written);
    finding_meaning(finding, written ? "the engine pmu has its source of addresses"
                                     : "the unit opens, but records nothing");
    return true;
}

/* Intel and whatever else libpfm4 can sample precisely. */
static void try_pebs(struct finding *finding)
{
    static const char *const names[] = {"MEM_INST_RETIRED:ALL_LOADS", "MEM_UOPS_RETIRED:ALL_LOADS",
                                        "MEM_TRANS_RETIRED:LOAD_LATENCY"};
    int error = ENOENT;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct perf_event_attr attributes;
        struct encoded_event event;
        struct samples samples = {0, 0};
        if (!event_encode(names[i], &event))
            continue;
        perf_attributes(&attributes, event.type, event.config);
        attributes.config1 = event.config1;
        attributes.config2 = event.config2;
        attributes.precise_ip = 2;
        attributes.sample_period = 10007; /* prime: out of step with the loop */
        error = sample_loop(&attributes, &samples);
        if (error == 0) {
            judge(finding, "PEBS", samples);
            return;
        }
    }
    if (error == EACCES || error == EPERM || error == ENOSYS) {
        perf_explain(finding, error);
        return;
    }
    finding_result(finding, FINDING_MISSING,
                   "none: no PEBS, ibs_op or arm_spe is visible (libpfm4 sees: %s)",
                   event_processor());
    finding_meaning(finding, "the engine pmu has no source of addresses; the engine clock "
                             "takes its samples by CPU time instead");
}

void probe_precise(struct finding *finding)
{
    finding_tried(finding, "sampling loads of a known array with PEBS, IBS or SPE");
    if (!try_ibs(finding) && !try_spe(finding))
        try_pebs(finding);
}
