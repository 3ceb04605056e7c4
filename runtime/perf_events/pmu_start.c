/* SPDX-License-Identifier: BSD-3-Clause */
/* Choosing and trying the unit at start-up. See pmu.h. Not signal-safe. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "bursts/handler.h"
#include "interposition/interpose_signal.h"
#include "large_table.h"
#include "perf_events/perf_event.h"
#include "perf_events/pmu_internal.h"
#include "pmu/refusal.h"
#include "pmu/self_test.h"
#include "process/settings.h"
#include "recording/tape.h"

enum {
    /* Of the witness: no unit's least interval is longer; some hundred loads that fit as well. */
    WITNESS_PERIOD = 4096,
    WITNESS_LOADS = 1000,
};

/* What the loop sweeps over, and how. */
static LARGE_TABLE uint64_t self_test_array[SELF_TEST_WORDS];
static struct self_test_plan plan;

static void add_record(void *context, const struct access_record *record, uint64_t weight)
{
    (void)weight;
    self_test_record(context, record);
}

static unsigned running_kernel(void)
{
    struct utsname name;
    unsigned version = uname(&name) == 0 ? kernel_version(name.release) : 0;

    return (unsigned)tape_value(TAPE_SETTING, version);
}

/* What a refusal means, and what would change it. */
static void explain(int error, const struct pmu_event *event, char *reason)
{
    const char *text, *remedy;
    size_t used;

    snprintf(reason, PMU_REASON_MAX, "%s: ", event->name);
    if (pmu_explain_ibs(&pmu_engine.choice, error, running_kernel(), reason, &remedy)) {
        used = strlen(reason);
        snprintf(reason + used, PMU_REASON_MAX - used, ": %s", remedy);
        return;
    }
    switch (error) {
    case EACCES:
    case EPERM:
        text = "not permitted: sysctl kernel.perf_event_paranoid=2, or a seccomp filter forbids it "
               "(see reuse-doctor)";
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
    case ENOBUFS:
        text = "memory for its buffers cannot be locked: sysctl kernel.perf_event_mlock_kb or "
               "`ulimit -l` is too small";
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
    struct self_test test = {.period = plan.period};
    struct pmu_thread thread;
    uint64_t before[PMU_EVENTS_MAX];
    const struct pmu_event *tried = &choice->sampler[0];
    int result = pmu_thread_open_events(&thread, plan.period, 0, false, &tried);

    if (result < 0) {
        explain(-result, tried, reason);
        return false;
    }
    if (!thread.ring[0]) {
        explain(ENOBUFS, tried, reason);
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
    self_test_run(&test, self_test_array, plan.passes);
    test.begin = tape_value(TAPE_SETTING, test.begin);
    test.end = tape_value(TAPE_SETTING, test.end);
    /* A unit that counts operations has no word on accesses. */
    for (unsigned i = 0; i < thread.counters && (choice->counters || choice->counts_accesses); i++)
        self_test_count(&test, choice->counters ? &choice->counter[i] : &choice->sampler[i],
                        pmu_event_count(&thread, i) - before[i]);
    pmu_thread_disable(&thread);
    pmu_thread_drain(&thread, add_record, &test);
    test.lost = thread.losses.records;
    test.throttled = thread.losses.throttled;
    self_test_unreadable(&test, thread.losses.damaged);
    pmu_thread_close(&thread);
    return self_test_judge(&test, choice, reason);
}

/* Of load latencies: a quarter of the samplers' period, for PEBS follows one load at a time. */
static uint64_t witness_interval(bool loads)
{
    uint64_t usual = loads ? WITNESS_LOADS : WITNESS_PERIOD;
    uint64_t longer = loads ? plan.period / 4 : plan.period;

    return longer > usual ? longer : usual;
}

/*
 * The same loop under the witness. PEBS follows only some loads, so how many records are to be
 * expected is not known; SPE samples all operations alike.
 */
static bool try_witness(char *reason)
{
    const struct pmu_choice *choice = &pmu_engine.witness;
    bool loads = choice->sampler[0].kinds == ACCESS_LOAD;
    uint64_t interval = witness_interval(loads);
    struct self_test test = {.period = loads ? 0 : interval};
    struct pmu_losses losses = {0};
    struct pmu_witness witness;
    int result = pmu_witness_open(&witness, interval);

    if (result == 0 && witness.leader >= 0)
        result = perf_event_control(&witness.leader, PERF_EVENT_IOC_ENABLE, NULL);
    if (result == 0)
        result = perf_event_control(&witness.descriptor, PERF_EVENT_IOC_ENABLE, NULL);
    if (result < 0) {
        explain(-result, &choice->sampler[0], reason);
        pmu_witness_close(&witness);
        return false;
    }
    self_test_run(&test, self_test_array, plan.passes);
    test.begin = tape_value(TAPE_SETTING, test.begin);
    test.end = tape_value(TAPE_SETTING, test.end);
    if (loads)
        test.stores = 0;
    perf_event_control(&witness.descriptor, PERF_EVENT_IOC_DISABLE, NULL);
    pmu_witness_drain(&witness, false, &losses, add_record, &test);
    test.lost = losses.records;
    test.throttled = losses.throttled;
    self_test_unreadable(&test, losses.damaged);
    pmu_witness_close(&witness);
    return self_test_judge(&test, choice, reason);
}

/* Where the samplers' records do not tell where data came from; unless the user chose these. False
 * with a reason, or an empty one where nothing is missed. */
static bool choose_witness(const struct pmu_machine *machine, const char *event, char *reason)
{
    struct pmu_choice *choice = &pmu_engine.choice;

    reason[0] = '\0';
    if (choice->unit == PMU_SPE) {
        pmu_engine.witness = *choice;
        pmu_choice_by_overflow(choice);
        return true;
    }
    if (choice->unit != PMU_PEBS || event[0] != '\0')
        return false;
    if (pmu_choose_latencies(machine, &pmu_engine.witness))
        return true;
    snprintf(reason, PMU_REASON_MAX,
             "the kernel shows no load latency event (cpu/events/mem-loads)");
    return false;
}

/*
 * The samplers once more, now with the signals that a run wants of them, and the witness beside
 * them: these are other attributes, which a kernel may refuse, and signals may stay away. Kernels
 * before 6.1 stop a hardware event at its first signal until the thread's next switch, so several
 * have to come.
 */
static bool try_signals(char *reason)
{
    enum { PERIOD = 32 * 1024, SIGNALS = 4, ROUNDS_MAX = 40 };
    const struct event_cookie cookie = {.kind = EVENT_TRIAL};
    const struct pmu_event *tried = &pmu_engine.choice.sampler[0];
    uint64_t period = plan.period > PERIOD ? plan.period : PERIOD;
    unsigned before = handler_trials(), signals = 0;
    struct self_test done = {0};
    struct pmu_thread thread;
    sigset_t trap, mask;
    int result = pmu_thread_open_events(&thread, period, event_cookie_pack(cookie), true, &tried);

    if (result == 0)
        result = pmu_thread_enable(&thread);
    if (result < 0) {
        explain(-result, tried, reason);
        pmu_thread_close(&thread);
        return false;
    }
    /* What is recorded is done with signals blocked. */
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    signals_change(SIG_UNBLOCK, &trap, &mask);
    for (unsigned round = 0; round < ROUNDS_MAX && signals < SIGNALS && !tape_supplies(); round++) {
        self_test_run(&done, self_test_array, plan.passes);
        signals = handler_trials() - before;
    }
    signals_change(SIG_SETMASK, &mask, NULL);
    pmu_thread_close(&thread);
    signals = (unsigned)tape_value(TAPE_SETTING, signals);
    if (signals < SIGNALS)
        snprintf(reason, PMU_REASON_MAX,
                 "%s: only %u signals came in %llu accesses (Linux before 6.1 loses those of "
                 "hardware events)",
                 tried->name, signals, (unsigned long long)(done.loads + done.stores));
    return signals >= SIGNALS;
}

static void describe_served_by(void)
{
    static const char *const samples[] = {[PMU_PEBS] = "events (PEBS)",
                                          [PMU_IBS] = "operations (IBS)",
                                          [PMU_SPE] = "operations (SPE)"};
    const struct pmu_choice *choice =
        pmu_engine.has_witness ? &pmu_engine.witness : &pmu_engine.choice;
    const char *what = choice->counts_accesses                   ? "accesses (PEBS)"
                       : choice->sampler[0].kinds == ACCESS_LOAD ? "loads followed by PEBS"
                                                                 : samples[choice->unit];

    if (choice->unit != PMU_OVERFLOW)
        snprintf(pmu_engine.served_by, sizeof pmu_engine.served_by, "%s, sampled by %s", what,
                 choice->sampler[0].name);
}

/* Events that are spread evenly over the kinds of cores. */
static unsigned of_each_kind(unsigned events)
{
    unsigned kinds = pmu_engine.choice.core_kinds;

    return (events + kinds - 1) / kinds;
}

unsigned pmu_counters_taken(void)
{
    const struct pmu_choice *choice = &pmu_engine.choice;
    bool leader = false;

    if (!pmu_engine.in_use)
        return 0;
    for (unsigned i = 0; i < choice->samplers; i++)
        leader |= choice->sampler[i].needs_leader;
    /* IBS and SPE have registers of their own; PEBS' witness has a counter and, maybe, a leader. */
    return of_each_kind(choice->counters) +
           (choice->unit == PMU_IBS ? 0 : of_each_kind(choice->samplers) + leader) +
           (pmu_engine.has_witness && pmu_engine.witness.unit == PMU_PEBS
                ? 1 + pmu_engine.witness.sampler[0].needs_leader
                : 0);
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
    char refusal[PMU_REASON_MAX];
    bool witness;

    if (!machine.context || !processor_of_folder(machine.context, &machine.processor))
        processor_here(&machine.processor);
    tape_bytes(&machine.processor, sizeof machine.processor);
    pmu_engine.processor = machine.processor;
    if (!pmu_choose(&machine, event, &pmu_engine.choice, reason)) {
        name_processor(&machine.processor, reason);
        return false;
    }
    witness = choose_witness(&machine, event, refusal);
    plan = self_test_plan(
        tape_value(TAPE_SETTING, tape_supplies() ? 0 : pmu_max_sample_rate(machine.context)));
    if (!try_unit(reason))
        return false;
    if (pmu_engine.choice.counters == 0 && !pmu_engine.choice.counts_accesses) {
        snprintf(reason, PMU_REASON_MAX, "%s: nothing counts accesses beside it",
                 pmu_engine.choice.sampler[0].name);
        return false;
    }
    pmu_engine.has_witness = witness && try_witness(refusal);
    if (!try_signals(reason))
        return false;
    if (!pmu_engine.has_witness && refusal[0] != '\0')
        snprintf(pmu_engine.witness_refusal, sizeof pmu_engine.witness_refusal,
                 "what served the accesses is not told: %s", refusal);
    describe();
    describe_served_by();
    pmu_engine.in_use = true;
    return true;
}
