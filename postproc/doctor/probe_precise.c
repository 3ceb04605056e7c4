/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Do hardware samples carry the addresses of accesses? The unit that the engine pmu would take is
 * tried on its self-test, a loop of known accesses, for longer than the engine does: PEBS and IBS
 * through the ring buffer, SPE through its AUX area. It is believed when counts, addresses and the
 * mix of loads and stores are those of the loop. Beside that: whether its records say where data
 * came from; of Intel's these are not the samplers' but those of a load latency event, which has to
 * run together with them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "doctor/perf.h"
#include "doctor/probe.h"
#include "pmu/access_use.h"
#include "pmu/aux_area.h"
#include "pmu/ibs.h"
#include "pmu/refusal.h"
#include "pmu/ring.h"
#include "pmu/self_test.h"
#include "pmu/spe.h"
#include "support/event_names.h"

/* 12 million accesses, and some hundred samples: not so many that a tick's allowance is used up. */
enum { PASSES = 3000, PERIOD = 65536, RING_PAGES = 64, AUX_PAGES = 64 };

static uint64_t array[SELF_TEST_WORDS];

static const char no_source[] = "the engine pmu has no source of addresses; the engine clock takes "
                                "its samples by CPU time instead";

/* The unit under test and what it has brought. */
struct trial {
    struct pmu_choice choice;
    struct processor processor;
    struct self_test test;
    struct pmu_choice latencies; /* samplers 0: none */
    int latencies_error;         /* why they could not be opened */
    uint64_t sourced;            /* records that say where the data came from */
    int samplers[PMU_EVENTS_MAX], counters[PMU_EVENTS_MAX];
    unsigned opened_samplers, opened_counters;
    int beside[2]; /* load latencies, and what leads their group; -1 */
    struct perf_event_mmap_page *page, *beside_page;
    struct aux_area aux;
    size_t page_size;
};

static void attributes_of(const struct pmu_event *event, struct perf_event_attr *attributes)
{
    perf_attributes(attributes, event->type, event->config);
    attributes->config1 = event->config1;
    attributes->config2 = event->config2;
    attributes->exclude_kernel = attributes->exclude_hv = !event->with_kernel;
}

/* Whether the kernel takes the event as a run opens it. */
static bool opens_with_signals(const struct perf_event_attr *attributes)
{
    struct perf_event_attr with = *attributes;
    int descriptor;

    with.wakeup_events = 1;
    with.sigtrap = 1;
    with.sig_data = 1;
    with.remove_on_exec = 1;
    descriptor = perf_open(&with);
    if (descriptor >= 0)
        close(descriptor);
    return descriptor >= 0;
}

/* 0, or errno of what failed. */
static int open_sampler(struct trial *trial, const struct pmu_event *event)
{
    struct perf_event_attr attributes;
    int descriptor;

    attributes_of(event, &attributes);
    attributes.precise_ip = event->precise & 3;
    attributes.sample_period = trial->test.period;
    attributes.sample_type = trial->choice.sample_type;
    descriptor = perf_open(&attributes);
    if (descriptor < 0 && errno == EINVAL && attributes.sample_type & PERF_SAMPLE_WEIGHT_STRUCT) {
        /* before Linux 5.12 */
        trial->choice.sample_type &= ~(uint64_t)PERF_SAMPLE_WEIGHT_STRUCT;
        attributes.sample_type = trial->choice.sample_type;
        descriptor = perf_open(&attributes);
    }
    if (descriptor < 0)
        return errno;
    trial->samplers[trial->opened_samplers++] = descriptor;
    if (trial->choice.unit != PMU_SPE && !opens_with_signals(&attributes))
        return errno;
    if (trial->page)
        return ioctl(descriptor, PERF_EVENT_IOC_SET_OUTPUT, trial->samplers[0]) ? errno : 0;
    trial->page = mmap(NULL, (1 + RING_PAGES) * trial->page_size, PROT_READ | PROT_WRITE,
                       MAP_SHARED, descriptor, 0);
    if (trial->page == MAP_FAILED) {
        trial->page = NULL;
        return errno;
    }
    return 0;
}

/* The area that SPE writes to; it lies behind the ring. */
static int map_aux(struct trial *trial)
{
    void *bytes;

    trial->page->aux_offset = (1 + RING_PAGES) * trial->page_size;
    trial->page->aux_size = AUX_PAGES * trial->page_size;
    bytes = mmap(NULL, trial->page->aux_size, PROT_READ | PROT_WRITE, MAP_SHARED,
                 trial->samplers[0], (off_t)trial->page->aux_offset);
    if (bytes == MAP_FAILED)
        return errno;
    aux_begin(&trial->aux, bytes, trial->page->aux_size);
    return 0;
}

/* 0, or errno; without them the trial goes on. */
static int open_latencies(struct trial *trial)
{
    const struct pmu_choice *choice = &trial->latencies;
    struct perf_event_attr attributes;
    void *page;

    if (choice->sampler[0].needs_leader) {
        attributes_of(&choice->leader, &attributes);
        trial->beside[1] = perf_open(&attributes);
        if (trial->beside[1] < 0)
            return errno;
    }
    attributes_of(&choice->sampler[0], &attributes);
    attributes.precise_ip = choice->sampler[0].precise & 3;
    attributes.sample_period = trial->test.period;
    attributes.sample_type = trial->choice.sample_type; /* as the kernel took it */
    trial->beside[0] = perf_open_in_group(&attributes, trial->beside[1]);
    if (trial->beside[0] < 0)
        return errno;
    page = mmap(NULL, (1 + RING_PAGES) * trial->page_size, PROT_READ | PROT_WRITE, MAP_SHARED,
                trial->beside[0], 0);
    if (page == MAP_FAILED)
        return errno;
    trial->beside_page = page;
    return 0;
}

static int open_all(struct trial *trial)
{
    const struct pmu_choice *choice = &trial->choice;
    int error = 0;

    for (unsigned i = 0; i < choice->samplers && error == 0; i++)
        error = open_sampler(trial, &choice->sampler[i]);
    if (error == 0 && choice->unit == PMU_SPE)
        error = map_aux(trial);
    for (unsigned i = 0; i < choice->counters && error == 0; i++) {
        struct perf_event_attr attributes;

        attributes_of(&choice->counter[i], &attributes);
        trial->counters[i] = perf_open(&attributes);
        if (trial->counters[i] < 0)
            return errno;
        trial->opened_counters++;
    }
    if (error == 0 && trial->latencies.samplers > 0)
        trial->latencies_error = open_latencies(trial);
    return error;
}

static void control_all(const struct trial *trial, unsigned long request)
{
    for (unsigned i = 0; i < trial->opened_samplers; i++)
        ioctl(trial->samplers[i], request, 0);
    for (unsigned i = 0; i < trial->opened_counters; i++)
        ioctl(trial->counters[i], request, 0);
    for (int i = 1; i >= 0; i--)
        if (trial->beside[i] >= 0)
            ioctl(trial->beside[i], request, 0);
}

static void count_all(struct trial *trial)
{
    const struct pmu_choice *choice = &trial->choice;
    bool own = choice->counters > 0;
    unsigned n = own ? trial->opened_counters : trial->opened_samplers;

    for (unsigned i = 0; i < n && (own || choice->counts_accesses); i++) {
        uint64_t count;

        if (read(own ? trial->counters[i] : trial->samplers[i], &count, sizeof count) ==
            sizeof count)
            self_test_count(&trial->test, own ? &choice->counter[i] : &choice->sampler[i], count);
    }
}

/* Where the samplers do not tell sources, others' records say how many do. */
static void add_access(struct trial *trial, const struct access_record *access, bool beside)
{
    bool told = access_use(access) == USE_ACCESS && access->level != LEVEL_UNKNOWN;

    trial->sourced += told && beside == (trial->latencies.samplers > 0);
    if (!beside)
        self_test_record(&trial->test, access);
}

static void add_sample(struct trial *trial, bool beside, const uint8_t *record,
                       const struct perf_record_header *header)
{
    struct perf_layout layout = {.sample_type = trial->choice.sample_type};
    struct ibs_processor processor = {trial->processor.family, trial->processor.model};
    struct perf_sample sample;
    struct ibs_registers registers;
    struct access_record access;

    if (!perf_sample_decode(&layout, record, header->size, &sample)) {
        self_test_unreadable(&trial->test, 1);
    } else if (trial->choice.unit != PMU_IBS) {
        perf_sample_to_record(&layout, &sample, header->misc, UNIT_PEBS, 0, &access);
        add_access(trial, &access, beside);
    } else if (ibs_decode(sample.raw, sample.raw_size, &registers) &&
               ibs_to_record(&registers, &processor, &access)) {
        add_access(trial, &access, beside);
    } else {
        self_test_unreadable(&trial->test, 1);
    }
}

static void take_spe(void *context, const struct spe_record *record)
{
    struct trial *trial = context;
    struct access_record access;

    spe_to_record(record, trial->choice.source_table, &access);
    add_access(trial, &access, false);
}

static void drain_ring(struct trial *trial, struct perf_event_mmap_page *page, bool beside)
{
    struct ring ring = {.data = (const uint8_t *)page + trial->page_size,
                        .size = RING_PAGES * trial->page_size,
                        .tail = page->data_tail};
    struct perf_record_header header;
    const uint8_t *record;

    ring.head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
    while (ring_next(&ring, &header, &record)) {
        struct perf_stream_record stream;

        if (header.type == PERF_RECORD_SAMPLE)
            add_sample(trial, beside, record, &header);
        else if (!perf_stream_decode(record, header.size, &stream))
            continue;
        else if (stream.event == STREAM_LOST)
            trial->test.lost += stream.count;
        else if (stream.event == STREAM_THROTTLED)
            trial->test.throttled++;
        else if (stream.event == STREAM_AUX && trial->aux.bytes)
            aux_take(&trial->aux, stream.offset, stream.count, stream.flags, take_spe, trial);
    }
}

/* 0 with a filled-in test, or errno. */
static int run_trial(struct trial *trial)
{
    struct self_test_plan plan = self_test_plan(pmu_max_sample_rate(getenv("REUSE_PMU_SYSFS")));
    int error;

    trial->test.period = plan.period > PERIOD ? plan.period : PERIOD;
    error = open_all(trial);
    if (error)
        return error;
    memset(array, 1, sizeof array);
    control_all(trial, PERF_EVENT_IOC_ENABLE);
    self_test_run(&trial->test, array, plan.passes > PASSES ? plan.passes : PASSES);
    control_all(trial, PERF_EVENT_IOC_DISABLE);
    count_all(trial);
    drain_ring(trial, trial->page, false);
    if (trial->beside_page)
        drain_ring(trial, trial->beside_page, true);
    return 0;
}

/* "; 120 records say where data came from", or why none does. */
static void describe_sources(const struct trial *trial, char *text, size_t size)
{
    const struct aux_faults *faults = &trial->aux.faults;
    size_t used;

    if (trial->choice.unit == PMU_OVERFLOW)
        text[0] = '\0';
    else if (trial->latencies_error)
        snprintf(text, size, "; load latencies cannot be opened beside it: %s",
                 strerror(trial->latencies_error));
    else
        snprintf(text, size, "; %" PRIu64 " records%s say where data came from", trial->sourced,
                 trial->latencies.samplers > 0 ? " of load latencies beside it" : "");
    used = strlen(text);
    if (trial->aux.bytes)
        snprintf(text + used, size - used,
                 "; AUX area: %" PRIu64 " times full, %" PRIu64 " collisions, %" PRIu64
                 " records cut, %" PRIu64 " bytes unreadable",
                 faults->truncated, faults->collisions, faults->cut, faults->bad_bytes);
}

static void judge(struct finding *finding, const struct trial *trial)
{
    const struct self_test *test = &trial->test;
    char reason[SELF_TEST_REASON], sources[256];
    const char *name = trial->choice.sampler[0].name;

    if (!self_test_judge(test, &trial->choice, reason)) {
        finding_result(finding, test->inside ? FINDING_LIMITED : FINDING_MISSING, "%s: %s", name,
                       reason);
        finding_meaning(finding, "this PMU is not to be trusted; the engine clock takes the "
                                 "samples instead");
        return;
    }
    describe_sources(trial, sources, sizeof sources);
    finding_result(finding, FINDING_WORKS,
                   "%s: of %" PRIu64 " accesses %" PRIu64 " were sampled with an address, %" PRIu64
                   " inside the array, %" PRIu64 " of these loads; %" PRIu64 " records lost%s",
                   name, test->loads + test->stores, test->accesses, test->inside,
                   test->inside_loads, test->lost, sources);
    finding_meaning(finding, "the engine pmu has its source of addresses");
}

static bool events_are_permitted(void)
{
    struct perf_event_attr attributes;
    int descriptor;

    perf_attributes(&attributes, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
    descriptor = perf_open(&attributes);
    if (descriptor >= 0)
        close(descriptor);
    return descriptor >= 0;
}

/* False if the refusal is of no kind that only IBS knows: who gets no event at all gets none of
 * IBS either. */
static bool explain_ibs(struct finding *finding, const struct trial *trial, int error)
{
    char reason[PMU_REASON_MAX] = "";
    const char *remedy;
    struct utsname name;

    if (uname(&name) != 0 || !events_are_permitted() ||
        !pmu_explain_ibs(&trial->choice, error, kernel_version(name.release), reason, &remedy))
        return false;
    finding_result(finding, FINDING_MISSING, "%s: %s", trial->choice.sampler[0].name, reason);
    finding_meaning(finding, "%s", no_source);
    finding_remedy(finding, "%s", remedy);
    return true;
}

static void explain(struct finding *finding, const struct trial *trial, int error)
{
    if (explain_ibs(finding, trial, error))
        return;
    switch (error) {
    case EACCES:
    case EPERM:
    case ENOSYS:
    case EMFILE:
        perf_explain(finding, error);
        if (trial->opened_samplers > 0 && error == EPERM)
            finding_remedy(finding, "sudo sysctl kernel.perf_event_mlock_kb=2048");
        return;
    case EBUSY:
        finding_result(finding, FINDING_MISSING, "%s: the PMU is taken by somebody else",
                       trial->choice.sampler[0].name);
        finding_remedy(finding, "stop other profilers; sudo sysctl kernel.nmi_watchdog=0");
        return;
    default:
        finding_result(finding, FINDING_MISSING, "%s: %s", trial->choice.sampler[0].name,
                       strerror(error));
        finding_meaning(finding, "%s", no_source);
    }
}

/* Without SPE much still works: what it would add is said beside it. */
static void advise_spe(struct finding *finding, const struct pmu_machine *machine)
{
    size_t used = strlen(finding->meaning);

    if (!pmu_lacks_spe(machine))
        return;
    snprintf(finding->meaning + used, sizeof finding->meaning - used,
             "%sthe processor has SPE, which says where data came from, but the kernel shows no "
             "arm_spe_0",
             used > 0 ? "; " : "");
    if (finding->remedy[0] == '\0')
        finding_remedy(finding, "%s", pmu_spe_remedy);
}

static void probe_unit(struct finding *finding, const struct pmu_machine *machine)
{
    struct trial trial = {.page_size = (size_t)sysconf(_SC_PAGESIZE), .beside = {-1, -1}};
    char reason[PMU_REASON_MAX];
    int error;

    trial.processor = machine->processor;
    if (!pmu_choose(machine, "", &trial.choice, reason)) {
        finding_result(finding, FINDING_MISSING, "none: %s (libpfm4 sees: %s)", reason,
                       event_processor());
        finding_meaning(finding, "%s", no_source);
        return;
    }
    if (trial.choice.unit == PMU_PEBS && !pmu_choose_latencies(machine, &trial.latencies))
        trial.latencies.samplers = 0;
    error = run_trial(&trial);
    if (error)
        explain(finding, &trial, error);
    else
        judge(finding, &trial);
}

void probe_precise(struct finding *finding)
{
    struct pmu_machine machine = {.read = pmu_read_sysfs, .context = getenv("REUSE_PMU_SYSFS")};

    finding_tried(finding, "counting and sampling a loop of known accesses with PEBS, IBS or SPE");
    if (!machine.context || !processor_of_folder(machine.context, &machine.processor))
        processor_here(&machine.processor);
    probe_unit(finding, &machine);
    advise_spe(finding, &machine);
}
