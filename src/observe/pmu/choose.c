/* SPDX-License-Identifier: BSD-3-Clause */
/* See choose.h. Signal-safe but for what the caller's read function does. */
#include "pmu/choose.h"

#include <linux/perf_event.h>
#include <string.h>

#include "pmu/format_terms.h"
#include "pmu/ibs.h"
#include "pmu/models.h"
#include "pmu/reason.h"

#include "signal_safe.h"

enum { TEXT = 256, PATH = 128 };

/* What every sampled access needs. */
static const uint64_t common_sample_type =
    PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR;

static void compose(char *text, size_t size, const char *a, const char *b, const char *c)
{
    text[0] = '\0';
    reason_append(text, size, a);
    reason_append(text, size, b);
    reason_append(text, size, c);
}

/* attr.type of a PMU; -1 if the kernel does not show it. */
static int64_t pmu_type(const struct pmu_machine *machine, const char *pmu)
{
    char path[PATH], text[TEXT];
    uint64_t type;

    compose(path, sizeof path, pmu, "/type", "");
    if (!machine->read(machine->context, path, text, sizeof text) || !format_number(text, &type) ||
        type > INT32_MAX)
        return -1;
    return (int64_t)type;
}

static bool exists(const struct pmu_machine *machine, const char *pmu, const char *file)
{
    char path[PATH], text[TEXT];

    compose(path, sizeof path, pmu, "/", file);
    return machine->read(machine->context, path, text, sizeof text);
}

/* Sets terms ("event=0xcd,umask=0x1") of a PMU in an event. False if one is unknown. */
static bool set_terms(const struct pmu_machine *machine, const char *pmu, const char *terms,
                      struct pmu_event *event)
{
    struct format_target target = {&event->config, &event->config1, &event->config2};
    char path[PATH], format[TEXT];
    struct format_term term;

    while (format_next_term(&terms, &term)) {
        if (format_set_direct(&term, &target))
            continue;
        compose(path, sizeof path, pmu, "/format/", term.name);
        if (!machine->read(machine->context, path, format, sizeof format) ||
            !format_set(format, term.value, &target))
            return false;
    }
    return !term.bad;
}

/* An event that the kernel describes in sysfs, such as cpu/events/mem-loads. */
static bool named_event(const struct pmu_machine *machine, const char *pmu, const char *name,
                        struct pmu_event *event)
{
    char path[PATH], terms[TEXT];
    int64_t type = pmu_type(machine, pmu);

    compose(path, sizeof path, pmu, "/events/", name);
    if (type < 0 || !machine->read(machine->context, path, terms, sizeof terms))
        return false;
    *event = (struct pmu_event){.type = (uint32_t)type};
    compose(event->name, sizeof event->name, pmu, "/", name);
    return set_terms(machine, pmu, terms, event);
}

static void number_event(struct pmu_event *event, const char *pmu, const char *name, int64_t type,
                         uint64_t config, unsigned kinds)
{
    *event = (struct pmu_event){
        .type = (uint32_t)type, .config = config, .kinds = (uint8_t)kinds, .accesses = 1};
    if (pmu)
        compose(event->name, sizeof event->name, pmu, "/", name);
    else
        compose(event->name, sizeof event->name, name, "", "");
}

/* ---- Intel ---- */

enum {
    LOAD_LATENCY = 0x01cd,     /* MEM_TRANS_RETIRED:LOAD_LATENCY */
    LOAD_LATENCY_AUX = 0x8203, /* what leads its group where the kernel demands it */
    PRECISE = 2,               /* the IP is the instruction's own */
};

/*
 * From Sapphire Rapids to before Granite Rapids, and on the large cores of hybrid parts, the kernel
 * answers ENODATA for a load latency event with a data source that is not in a group led by another
 * event. Where it is so, it shows mem-loads-aux.
 */
static void consider_leader(const struct pmu_machine *machine, const char *pmu,
                            struct pmu_choice *choice, struct pmu_event *event)
{
    if ((event->config & 0xffff) != LOAD_LATENCY || !exists(machine, pmu, "events/mem-loads-aux"))
        return;
    if (!named_event(machine, pmu, "mem-loads-aux", &choice->leader))
        number_event(&choice->leader, pmu, "mem-loads-aux", (int64_t)event->type, LOAD_LATENCY_AUX,
                     0);
    event->needs_leader = true;
}

static void add_intel(struct pmu_choice *choice, const char *pmu, const struct intel_model *model,
                      int64_t type)
{
    uint8_t kind = (uint8_t)choice->core_kinds++;
    struct pmu_event *loads = &choice->sampler[choice->samplers++];
    struct pmu_event *stores = &choice->sampler[choice->samplers++];

    number_event(loads, pmu, model->loads, type, model->loads_config, ACCESS_LOAD);
    number_event(stores, pmu, model->stores, type, model->stores_config, ACCESS_STORE);
    loads->precise = stores->precise = PRECISE;
    loads->core_kind = stores->core_kind = kind;
}

/* Small cores beside the large ones: of Arrow Lake-H there are two kinds. */
static void add_small_cores(const struct pmu_machine *machine, struct pmu_choice *choice)
{
    static const char *const pmus[] = {"cpu_atom", "cpu_lowpower"};

    for (size_t i = 0; i < sizeof pmus / sizeof pmus[0]; i++) {
        int64_t type = pmu_type(machine, pmus[i]);

        if (type >= 0)
            add_intel(choice, pmus[i], &intel_small_core, type);
    }
}

static bool choose_intel(const struct pmu_machine *machine, struct pmu_choice *choice, char *reason)
{
    const struct intel_model *model =
        intel_model_find(machine->processor.family, machine->processor.model);
    int64_t cpu = pmu_type(machine, "cpu"), core = pmu_type(machine, "cpu_core");

    choice->unit = PMU_PEBS;
    choice->sample_type = common_sample_type | PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_DATA_SRC;
    choice->period_multiple = choice->period_least = 1;
    choice->counts_accesses = true;
    if (cpu < 0 && core < 0) {
        compose(reason, PMU_REASON_MAX, "the kernel shows no processor PMU (a virtual machine?)",
                "", "");
        return false;
    }
    if (model && core >= 0) {
        add_intel(choice, "cpu_core", model, core);
        add_small_cores(machine, choice);
        return true;
    }
    if (model) {
        add_intel(choice, "cpu", model, cpu);
        return true;
    }
    /* A newer or older processor: what the kernel calls mem-loads and mem-stores. */
    for (int store = 0; store < 2; store++) {
        struct pmu_event *event = &choice->sampler[choice->samplers];
        const char *pmu = cpu >= 0 ? "cpu" : "cpu_core";

        if (!named_event(machine, pmu, store ? "mem-stores" : "mem-loads", event))
            continue;
        event->kinds = store ? ACCESS_STORE : ACCESS_LOAD;
        event->precise = PRECISE;
        event->accesses = 1;
        /* Only the loads that the unit chose to follow are counted. */
        choice->counts_accesses = false;
        consider_leader(machine, pmu, choice, event);
        choice->samplers++;
    }
    if (choice->samplers == 0)
        compose(reason, PMU_REASON_MAX,
                "this Intel processor is not known, and the kernel shows no cpu/events/mem-loads",
                "", "");
    return choice->samplers > 0;
}

bool pmu_choose_latencies(const struct pmu_machine *machine, struct pmu_choice *choice)
{
    const char *pmu = pmu_type(machine, "cpu") >= 0 ? "cpu" : "cpu_core";
    struct pmu_event *event = &choice->sampler[0];

    memset(choice, 0, sizeof *choice);
    if (machine->processor.vendor != VENDOR_INTEL ||
        !named_event(machine, pmu, "mem-loads", event) || (event->config & 0xffff) != LOAD_LATENCY)
        return false;
    choice->unit = PMU_PEBS;
    choice->samplers = choice->core_kinds = 1;
    choice->sample_type = common_sample_type | PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_DATA_SRC;
    choice->period_multiple = choice->period_least = 1;
    event->kinds = ACCESS_LOAD;
    event->precise = PRECISE;
    consider_leader(machine, pmu, choice, event);
    return true;
}

/* ---- AMD ---- */

static bool choose_amd(const struct pmu_machine *machine, struct pmu_choice *choice, char *reason)
{
    int64_t type = pmu_type(machine, "ibs_op"), cpu = pmu_type(machine, "cpu");
    struct pmu_event *event = &choice->sampler[0];
    struct format_target target = {&event->config, &event->config1, &event->config2};
    char format[TEXT];

    if (type < 0) {
        compose(reason, PMU_REASON_MAX,
                "the kernel shows no ibs_op (a virtual machine, or IBS is off in the firmware)", "",
                "");
        return false;
    }
    choice->unit = PMU_IBS;
    number_event(event, NULL, "ibs_op", type, 0, 0);
    /* Counting operations makes all of them equally likely; cycles would favour slow ones. */
    if (machine->read(machine->context, "ibs_op/format/cnt_ctl", format, sizeof format))
        format_set(format, 1, &target);
    /* Without a filter the kernel refuses exclude_kernel (EINVAL), and then the event is refused to
     * unprivileged users. The counters beside it leave the kernel out. */
    if (!machine->read(machine->context, "ibs_op/format/swfilt", format, sizeof format) ||
        !format_set(format, 1, &target))
        event->with_kernel = !(machine->processor.ibs_capabilities & IBS_BIT63_FILTER);
    choice->needs_privilege = event->with_kernel;
    choice->samplers = 1;
    choice->sample_type = common_sample_type | PERF_SAMPLE_RAW;
    /* The low four bits are not there; newer kernels take nothing below 0x90. */
    choice->period_multiple = 16;
    choice->period_least = 0x90;
    if (cpu >= 0 && machine->processor.family >= AMD_FAMILY_FIRST) {
        choice->counters = 2;
        number_event(&choice->counter[0], "cpu", "LS_DISPATCH:LD_DISPATCH:STORE_DISPATCH", cpu,
                     AMD_LOADS_OR_STORES, ACCESS_LOAD | ACCESS_STORE);
        number_event(&choice->counter[1], "cpu", "LS_DISPATCH:LD_ST_DISPATCH", cpu,
                     AMD_LOADS_AND_STORES, ACCESS_LOAD | ACCESS_STORE);
        choice->counter[1].accesses = 2;
    }
    return true;
}

/* ---- Arm ---- */

/* Kinds of cores whose units the kernel shows. Cores of one kind count raw numbers; of several,
 * each under its unit's type, for a raw number is counted by the first unit alone. */
static unsigned arm_counters(const struct pmu_machine *machine, struct pmu_choice *choice)
{
    struct pmu_event *events = choice->counter;
    unsigned kinds = 0;

    for (unsigned i = 0; i < arm_core_pmu_count && kinds < ARM_CORE_KINDS_MAX; i++) {
        const char *pmu = arm_core_pmus[i];
        int64_t type = pmu_type(machine, pmu);

        if (type < 0)
            continue;
        number_event(&events[2 * kinds], pmu, "LD_SPEC", type, ARM_LOADS_SPECULATIVE, ACCESS_LOAD);
        number_event(&events[2 * kinds + 1], pmu, "ST_SPEC", type, ARM_STORES_SPECULATIVE,
                     ACCESS_STORE);
        events[2 * kinds].core_kind = events[2 * kinds + 1].core_kind = (uint8_t)kinds;
        kinds++;
    }
    choice->core_kinds = kinds > 1 ? kinds : 1;
    choice->counters = 2 * choice->core_kinds;
    if (kinds > 1)
        return kinds;
    number_event(&events[0], NULL, "LD_SPEC", PERF_TYPE_RAW, ARM_LOADS_SPECULATIVE, ACCESS_LOAD);
    number_event(&events[1], NULL, "ST_SPEC", PERF_TYPE_RAW, ARM_STORES_SPECULATIVE, ACCESS_STORE);
    return kinds;
}

static bool choose_spe(const struct pmu_machine *machine, int64_t type, struct pmu_choice *choice)
{
    /* Physical addresses (pa_enable) stay off: they need privileges and nobody uses them. */
    static const char *const terms[] = {"ts_enable", "jitter", "load_filter", "store_filter"};
    struct pmu_event *event = &choice->sampler[0];
    struct format_target target = {&event->config, &event->config1, &event->config2};
    char path[PATH], format[TEXT];

    choice->unit = PMU_SPE;
    number_event(event, NULL, "arm_spe_0", type, 0, ACCESS_LOAD | ACCESS_STORE);
    for (size_t i = 0; i < sizeof terms / sizeof terms[0]; i++) {
        compose(path, sizeof path, "arm_spe_0/format/", terms[i], "");
        if (machine->read(machine->context, path, format, sizeof format))
            format_set(format, 1, &target);
    }
    choice->samplers = 1;
    choice->sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME; /* of records beside the AUX area */
    choice->period_multiple = choice->period_least = 256;
    choice->source_table = spe_source_table_for(machine->processor.midr);
    arm_counters(machine, choice);
    return true;
}

static bool choose_arm(const struct pmu_machine *machine, struct pmu_choice *choice, char *reason)
{
    int64_t spe = pmu_type(machine, "arm_spe_0");

    if (spe >= 0)
        return choose_spe(machine, spe, choice);
    if (arm_counters(machine, choice) == 0) {
        compose(reason, PMU_REASON_MAX,
                "the kernel shows neither arm_spe_0 nor a unit of the cores (armv8_pmuv3, "
                "armv8_cortex_a78, ...)",
                "", "");
        return false;
    }
    /* A64FX and others without SPE */
    pmu_choice_by_overflow(choice);
    return true;
}

void pmu_choice_by_overflow(struct pmu_choice *choice)
{
    memcpy(choice->sampler, choice->counter, sizeof choice->sampler);
    memset(choice->counter, 0, sizeof choice->counter);
    choice->unit = PMU_OVERFLOW;
    choice->samplers = choice->counters;
    choice->counters = 0; /* the samplers count as well */
    choice->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
    choice->period_multiple = choice->period_least = 1;
    choice->counts_accesses = true;
}

/* ---- what the user names ---- */

/* rXXXX, PMU/term,.../ or a name below cpu/events. */
static bool parse_event(const struct pmu_machine *machine, const char *text, char *pmu,
                        struct pmu_event *event)
{
    const char *slash = strchr(text, '/');
    size_t length = slash ? (size_t)(slash - text) : 0;
    char terms[TEXT];
    int64_t type;

    *event = (struct pmu_event){.accesses = 1};
    compose(pmu, PATH, exists(machine, "cpu", "type") ? "cpu" : "cpu_core", "", "");
    if (text[0] == 'r' && format_hexadecimal(text + 1, &event->config)) {
        event->type = PERF_TYPE_RAW;
        reason_append(event->name, sizeof event->name, text);
        return true;
    }
    if (!slash)
        return named_event(machine, pmu, text, event);
    if (length == 0 || length >= PATH || strlen(slash + 1) >= sizeof terms)
        return false;
    memcpy(pmu, text, length);
    pmu[length] = '\0';
    compose(terms, sizeof terms, slash + 1, "", "");
    if (strlen(terms) == 0 || terms[strlen(terms) - 1] != '/')
        return false;
    terms[strlen(terms) - 1] = '\0';
    type = pmu_type(machine, pmu);
    if (type < 0)
        return false;
    event->type = (uint32_t)type;
    reason_append(event->name, sizeof event->name, text);
    return set_terms(machine, pmu, terms, event);
}

/* Replaces the samplers by one event. What was chosen gives the unit and its rules. */
static bool override(const struct pmu_machine *machine, const char *text, struct pmu_choice *choice,
                     char *reason)
{
    struct pmu_event event;
    char pmu[PATH];

    if (!parse_event(machine, text, pmu, &event)) {
        compose(reason, PMU_REASON_MAX, "event '", text,
                "' is not known here: give rXXXX, a name from cpu/events, or PMU/term=value/");
        return false;
    }
    if (choice->unit == PMU_PEBS)
        event.precise = PRECISE;
    /* The samplers counted accesses; this event need not. */
    if (choice->counts_accesses && choice->counters == 0) {
        choice->counters = choice->samplers;
        memcpy(choice->counter, choice->sampler, sizeof choice->counter);
        for (unsigned i = 0; i < choice->counters; i++)
            choice->counter[i].precise = 0;
    }
    choice->counts_accesses = false;
    choice->sampler[0] = event;
    choice->samplers = 1;
    if (choice->unit == PMU_PEBS)
        consider_leader(machine, pmu, choice, &choice->sampler[0]);
    return true;
}

bool pmu_choose(const struct pmu_machine *machine, const char *event, struct pmu_choice *choice,
                char *reason)
{
    bool found;

    memset(choice, 0, sizeof *choice);
    switch (machine->processor.vendor) {
    case VENDOR_INTEL:
        found = choose_intel(machine, choice, reason);
        break;
    case VENDOR_AMD:
        found = choose_amd(machine, choice, reason);
        break;
    case VENDOR_ARM:
        found = choose_arm(machine, choice, reason);
        break;
    default:
        compose(reason, PMU_REASON_MAX, "this processor is of no vendor whose units are known", "",
                "");
        found = false;
    }
    if (choice->core_kinds == 0)
        choice->core_kinds = 1;
    return found && (event[0] == '\0' || override(machine, event, choice, reason));
}
