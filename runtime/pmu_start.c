/* SPDX-License-Identifier: BSD-3-Clause */
/* Choosing and trying the unit at start-up. See pmu.h. Not signal-safe. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmu/self_test.h"
#include "pmu_internal.h"
#include "settings.h"
#include "tape.h"

enum {
    PASSES = 60,   /* of the loop: some 245 000 accesses, a fraction of a millisecond */
    PERIOD = 4000, /* a multiple of what every unit rounds to; all samples fit into the ring */
};

/* What the loop sweeps over. */
static uint64_t self_test_array[SELF_TEST_WORDS];

static void add_record(void *context, const struct access_record *record)
{
    self_test_record(context, record);
}

/* What a refusal means, and what would change it. */
static void explain(int error, const struct pmu_event *event, char *reason)
{
    const char *text;

    switch (error) {
    case EACCES:
    case EPERM:
        text = pmu_engine.choice.needs_privilege
                   ? "the kernel cannot keep its own samples out of IBS before Linux 6.14: use a "
                     "newer kernel, or run with CAP_PERFMON"
                   : "not permitted: sysctl kernel.perf_event_paranoid=2, or a seccomp filter "
                     "forbids it (see reuse-doctor)";
        break;
    case ENOENT:
    case EOPNOTSUPP:
    case ENODEV:
        text = "the PMU does not have it (a virtual machine?)";
        break;
    case EBUSY:
        text = "the PMU is taken by somebody else: stop other profilers, or the NMI watchdog "
               "(sysctl kernel.nmi_watchdog=0)";
        break;
    case EMFILE:
        text = "no file descriptor is free: raise `ulimit -n`";
        break;
    case ENOSYS:
        text = "the kernel or a seccomp filter has no performance events";
        break;
    default:
        text = strerror(error);
    }
    snprintf(reason, PMU_REASON_MAX, "%s: %s", event->name, text);
}

static bool read_sysfs(void *context, const char *path, char *text, size_t size)
{
    bool found = !tape_supplies() && pmu_read_sysfs(context, path, text, size);

    found = tape_value(TAPE_SETTING, found);
    if (found)
        tape_bytes(text, size);
    text[size - 1] = '\0';
    return found;
}

/* Runs the loop under the events. */
static bool try_unit(char *reason)
{
    const struct pmu_choice *choice = &pmu_engine.choice;
    struct self_test test = {.period = PERIOD};
    struct pmu_thread thread;
    uint64_t before[PMU_EVENTS_MAX];
    const struct pmu_event *tried = &choice->sampler[0];
    int result = pmu_thread_open_events(&thread, PERIOD, 0, false, &tried);

    if (result < 0) {
        explain(-result, tried, reason);
        return false;
    }
    if (!thread.ring[0]) {
        snprintf(reason, PMU_REASON_MAX,
                 "%s: its buffer of %u pages cannot be locked: sysctl kernel.perf_event_mlock_kb "
                 "or `ulimit -l` is too small",
                 choice->sampler[0].name, PMU_RING_PAGES);
        pmu_thread_close(&thread);
        return false;
    }
    /* Brought into memory before it counts. */
    memset(self_test_array, 1, sizeof self_test_array);
    result = pmu_thread_enable(&thread);
    if (result < 0) {
        explain(-result, &choice->sampler[0], reason);
        pmu_thread_close(&thread);
        return false;
    }
    for (unsigned i = 0; i < thread.counters; i++)
        before[i] = pmu_event_count(&thread, i);
    self_test_run(&test, self_test_array, PASSES);
    test.begin = tape_value(TAPE_SETTING, test.begin);
    test.end = tape_value(TAPE_SETTING, test.end);
    /* A unit that counts operations has no word on accesses. */
    for (unsigned i = 0; i < thread.counters && (choice->counters || choice->counts_accesses); i++)
        self_test_count(&test, choice->counters ? &choice->counter[i] : &choice->sampler[i],
                        pmu_event_count(&thread, i) - before[i]);
    pmu_thread_disable(&thread);
    pmu_thread_drain(&thread, add_record, &test);
    test.lost = thread.losses.records;
    self_test_unreadable(&test, thread.losses.damaged);
    pmu_thread_close(&thread);
    return self_test_judge(&test, choice, reason);
}

static void describe(void)
{
    static const char *const units[] = {
        [PMU_PEBS] = "PEBS", [PMU_IBS] = "IBS", [PMU_OVERFLOW] = "overflow"};
    char *text = pmu_engine.description;
    size_t size = sizeof pmu_engine.description;
    const struct pmu_choice *choice = &pmu_engine.choice;

    snprintf(text, size, "%s", units[choice->unit]);
    for (unsigned i = 0; i < choice->samplers; i++)
        snprintf(text + strlen(text), size - strlen(text), "%s%s", i ? ", " : " ",
                 choice->sampler[i].name);
}

/* Which processor the reason is about. */
static void name_processor(const struct processor *processor, char *reason)
{
    size_t used = strlen(reason);

    if (processor->vendor == VENDOR_INTEL || processor->vendor == VENDOR_AMD)
        snprintf(reason + used, PMU_REASON_MAX - used, " [%s family %u model %u]",
                 processor->vendor == VENDOR_INTEL ? "Intel" : "AMD", processor->family,
                 processor->model);
}

bool pmu_start(const char *event, char *reason)
{
    /* For tests, and to look at another machine's: the folder of event sources. */
    struct pmu_machine machine = {.read = read_sysfs, .context = getenv("REUSE_PMU_SYSFS")};

    if (!machine.context || !processor_of_folder(machine.context, &machine.processor))
        processor_here(&machine.processor);
    tape_bytes(&machine.processor, sizeof machine.processor);
    pmu_engine.processor = machine.processor;
    if (!pmu_choose(&machine, event, &pmu_engine.choice, reason)) {
        name_processor(&machine.processor, reason);
        return false;
    }
    if (pmu_engine.choice.unit == PMU_SPE)
        pmu_choice_by_overflow(&pmu_engine.choice);
    if (!try_unit(reason))
        return false;
    if (pmu_engine.choice.counters == 0 && !pmu_engine.choice.counts_accesses) {
        snprintf(reason, PMU_REASON_MAX, "%s: nothing counts accesses beside it",
                 pmu_engine.choice.sampler[0].name);
        return false;
    }
    describe();
    pmu_engine.in_use = true;
    return true;
}
