/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of options and how they are set. Signal-safe: numbers are read and messages are put
 * together by hand because the C library's ways depend on the locale or may allocate.
 */
#include "options.h"

#include <string.h>

#include "access.h"
#include "job.h"
#include "objects/object_groups.h"
#include "options_internal.h"

#include "signal_safe.h"

const char *const engine_names[ENGINE_COUNT] = {"auto",  "pmu",      "clock",
                                                "exact", "simulate", "none"};

const struct option_description option_table[OPTION_COUNT] = {
    [OPTION_ENGINE] = {"REUSE_ENGINE", "engine", 'e', "NAME", NULL, "auto",
                       "an engine: auto, pmu, clock, exact, simulate or none",
                       "auto, pmu, clock, exact, simulate or none"},
    [OPTION_BUDGET] = {"REUSE_BUDGET", "budget", 0, "PERCENT", NULL, "2",
                       "a percentage from 0.1 to 50", "share of CPU time that profiling may take"},
    [OPTION_PERIOD] = {"REUSE_PERIOD", "period", 'p', "N", NULL, "",
                       "a whole number from 1 to 1000000000000",
                       "fixed: CPU ns (clock), events (pmu), accesses"},
    [OPTION_LINE_SIZE] = {"REUSE_LINE_SIZE", "line-size", 0, "BYTES", NULL, "64",
                          "a power of two from 32 to 4096", "cache line that reuse is taken at"},
    [OPTION_OUTPUT] = {"REUSE_OUTPUT", "output", 'o', "PATTERN", NULL, "reuse.%e.%p.rprof",
                       "a file name of at most 4095 bytes with %p, %h, %j, %r, %e and %%",
                       "file, folder; %h host, %r rank"},
    [OPTION_FOLLOW] = {"REUSE_FOLLOW", "follow", 0, "LIST", NULL, "fork,exec",
                       "a list of fork and exec, or none", "profile offspring too, or none"},
    [OPTION_EVENT] = {"REUSE_EVENT", "event", 0, "NAME", NULL, "",
                      "an event name of at most 255 characters",
                      "what pmu samples, as libpfm4 names it"},
    [OPTION_DURATION] = {"REUSE_DURATION", "duration", 0, "SECONDS", NULL, "",
                         "a number of seconds from 0 to 1000000000",
                         "stop sampling then; the program runs on"},
    [OPTION_SNAPSHOT] = {"REUSE_SNAPSHOT", "snapshot", 0, "WHEN", NULL, "",
                         "SIGUSR1 or SIGUSR2, a time of at least 1s as 60s, 5m or 2h, or one of "
                         "each: SIGUSR2,60s",
                         "SIGUSR2, or 60s: write what is known and run on"},
    [OPTION_METRICS] = {"REUSE_METRICS", "metrics", 0, "FILE", NULL, "",
                        "a file name of at most 4095 bytes with %p, %h, %j, %r, %e and %%",
                        "keep OpenMetrics of the run in this file"},
    [OPTION_INTERVAL] = {"REUSE_INTERVAL", "interval", 0, "SECONDS", NULL, "10",
                         "a whole number from 1 to 86400", "between rewrites of --metrics"},
    [OPTION_SHARING] = {"REUSE_SHARING", "no-sharing", 0, NULL, "0", "1", "1 or 0",
                        "do not watch what other threads store"},
    [OPTION_REGISTERS] = {"REUSE_REGISTERS", "registers", 0, "N", NULL, "4",
                          "a whole number from 0 to 4",
                          "debug registers to use; leave the others alone"},
    [OPTION_SEED] = {"REUSE_SEED", "seed", 0, "N", NULL, "",
                     "a whole number from 0 to 18446744073709551615",
                     "of the random choices, to repeat a run"},
    [OPTION_LINE_SIZES] = {"REUSE_LINE_SIZES", "line-sizes", 0, "LIST", NULL, "256",
                           "a list of at most 4 powers of two from 32 to 4096",
                           "exact: further line sizes to compute"},
    [OPTION_REGIONS] = {"REUSE_REGIONS", "regions", 0, "LIST", NULL, "",
                        "a list of at most 4095 bytes",
                        "exact: functions to count apart, with callees; * ?"},
    [OPTION_RATE] = {"REUSE_RATE", "rate", 0, "SHARE", NULL, "1", "a number from 0.001 to 1",
                     "exact: follow this share of the lines only"},
    [OPTION_PARTITIONS] = {"REUSE_PARTITIONS", "partitions", 0, "N", NULL, "0",
                           "a whole number from 0 to 8",
                           "exact: objects to follow in split caches"},
    [OPTION_PARTITION_GROUPS] = {"REUSE_PARTITION_GROUPS", "partition-groups", 0, "LIST", NULL, "",
                                 "groups of objects as reuse-report --sector-hints names them",
                                 "exact: objects to follow together, as hints name them"},
    [OPTION_SHARED_CACHE] = {"REUSE_SHARED_CACHE", "no-shared-cache", 0, NULL, "0", "1", "1 or 0",
                             "exact: leave out the cache that threads share"},
    [OPTION_SIMULATE_LAYOUT] = {"REUSE_SIMULATE_LAYOUT", "simulate-layout", 0, "NAME", NULL, "pebs",
                                "pebs, ibs or spe", "simulate: records as of pebs, ibs or spe"},
    [OPTION_SIMULATE_SKID] = {"REUSE_SIMULATE_SKID", "simulate-skid", 0, "N", NULL, "0",
                              "a whole number from 0 to 1000000",
                              "simulate: accesses until a record arrives"},
    [OPTION_SIMULATE_LOSS] = {"REUSE_SIMULATE_LOSS", "simulate-loss", 0, "PERCENT", NULL, "0",
                              "a percentage from 0 to 100", "simulate: share of records lost"},
    [OPTION_SIMULATE_TRAP] = {"REUSE_SIMULATE_TRAP", "simulate-trap", 0, "WHEN", NULL, "after",
                              "after or before", "simulate: trap after (x86) or before (Arm)"},
    [OPTION_SIMULATE_REGISTER] = {"REUSE_SIMULATE_REGISTER", "simulate-register", 0, "BYTES", NULL,
                                  "8", "a power of two from 8 to 128",
                                  "simulate: what a debug register watches"},
    [OPTION_PLACE] = {"REUSE_PLACE", "place", 0, "FILE", NULL, "",
                      "a file name of at most 4095 bytes",
                      "bind threads as reuse-report --placement found"},
    [OPTION_TRY] = {"REUSE_TRY", "try", 0, "CHANGE", NULL, "", "a text of at most 4095 bytes",
                    "change heap blocks as a finding says"},
    [OPTION_RECORD_RAW] = {"REUSE_RECORD_RAW", "record-raw", 0, "FILE", NULL, "",
                           "a file name of at most 4095 bytes with %p, %h, %j, %r, %e and %%",
                           "record what kernel and hardware gave, for --replay"},
    [OPTION_REPLAY] = {"REUSE_REPLAY", "replay", 0, "FILE", NULL, "",
                       "a file name of at most 4095 bytes",
                       "repeat such a recording; no program is run"},
    [OPTION_QUIET] = {"REUSE_QUIET", "quiet", 'q', NULL, "1", "0", "1 or 0",
                      "nothing on stderr but errors"},
    [OPTION_VERBOSE] = {"REUSE_VERBOSE", "verbose", 'v', NULL, "1", "0", "1 or 0",
                        "say more on stderr"},
};

const char *const simulated_layout_names[LAYOUT_COUNT] = {"pebs", "ibs", "spe"};

static bool groups_are_valid(const char *list)
{
    struct object_groups groups;
    return object_groups_parse(list, &groups);
}

_Static_assert(OPTION_COUNT <= 64, "each has its bit in texts_given");

static bool set_text(struct options *options, enum option_id id, const char *value, char *text,
                     size_t size)
{
    if (!option_parse_text(value, text, size))
        return false;
    options->texts_given |= UINT64_C(1) << id;
    return true;
}

static void clear_text(struct options *options, enum option_id id, char *text)
{
    if (!options_has_text(options, id))
        return;
    text[0] = '\0';
    options->texts_given &= ~(UINT64_C(1) << id);
}

/* True when the value is acceptable, and then stored. */
static bool apply(struct options *options, enum option_id id, const char *value)
{
    uint32_t sizes[OPTIONS_LINE_SIZES_MAX] = {0}; /* all of it is stored */
    unsigned count;
    static const char *const when[] = {"after", "before"};
    uint64_t whole;
    double decimal;
    int index;

    switch (id) {
    case OPTION_ENGINE:
        index = option_parse_name(value, engine_names, ENGINE_COUNT);
        if (index >= 0)
            options->engine = (enum engine)index;
        return index >= 0;
    case OPTION_BUDGET:
        if (!option_parse_percentage(value, &decimal) || decimal < OPTIONS_BUDGET_MIN ||
            decimal > OPTIONS_BUDGET_MAX)
            return false;
        options->budget_percent = decimal;
        return true;
    case OPTION_PERIOD:
        if (!option_parse_whole(value, &whole) || whole == 0 || whole > OPTIONS_PERIOD_MAX)
            return false;
        options->period = whole;
        return true;
    case OPTION_LINE_SIZE:
        if (!option_parse_whole(value, &whole) || !line_size_is_valid(whole))
            return false;
        options->line_size = (uint32_t)whole;
        return true;
    case OPTION_OUTPUT:
        return option_pattern_is_valid(value) &&
               option_parse_text(value, options->output, sizeof options->output);
    case OPTION_FOLLOW:
        return option_parse_follow(value, &options->follow);
    case OPTION_EVENT:
        return set_text(options, id, value, options->event, sizeof options->event);
    case OPTION_DURATION:
        if (!option_parse_decimal(value, &decimal) || decimal > OPTIONS_DURATION_MAX)
            return false;
        options->duration = decimal;
        return true;
    case OPTION_SNAPSHOT:
        if (!option_parse_snapshot(value, &index, &decimal))
            return false;
        options->snapshot_signal = index;
        options->snapshot_every = decimal;
        return true;
    case OPTION_METRICS:
        return option_pattern_is_valid(value) &&
               set_text(options, id, value, options->metrics, sizeof options->metrics);
    case OPTION_INTERVAL:
        if (!option_parse_whole(value, &whole) || whole == 0 || whole > 86400)
            return false;
        options->interval = (double)whole;
        return true;
    case OPTION_SHARING:
        return option_parse_switch(value, &options->sharing);
    case OPTION_REGISTERS:
        if (!option_parse_whole(value, &whole) || whole > OPTIONS_REGISTERS_MAX)
            return false;
        options->registers = (unsigned)whole;
        return true;
    case OPTION_SEED:
        if (!option_parse_whole(value, &options->seed))
            return false;
        options->seed_given = true;
        return true;
    case OPTION_LINE_SIZES:
        if (!option_parse_line_sizes(value, sizes, &count))
            return false;
        memcpy(options->line_sizes, sizes, sizeof sizes);
        options->line_size_count = count;
        return true;
    case OPTION_REGIONS:
        return set_text(options, id, value, options->regions, sizeof options->regions);
    case OPTION_RATE:
        if (!option_parse_decimal(value, &decimal) || decimal < OPTIONS_RATE_MIN || decimal > 1)
            return false;
        options->rate = decimal;
        return true;
    case OPTION_PARTITIONS:
        if (!option_parse_whole(value, &whole) || whole > OPTIONS_PARTITIONS_MAX)
            return false;
        options->partitions = (unsigned)whole;
        return true;
    case OPTION_PARTITION_GROUPS:
        return groups_are_valid(value) && set_text(options, id, value, options->partition_groups,
                                                   sizeof options->partition_groups);
    case OPTION_SHARED_CACHE:
        return option_parse_switch(value, &options->shared_cache);
    case OPTION_SIMULATE_LAYOUT:
        index = option_parse_name(value, simulated_layout_names, LAYOUT_COUNT);
        if (index >= 0)
            options->simulate_layout = (enum simulated_layout)index;
        return index >= 0;
    case OPTION_SIMULATE_SKID:
        if (!option_parse_whole(value, &whole) || whole > OPTIONS_SKID_MAX)
            return false;
        options->simulate_skid = (uint32_t)whole;
        return true;
    case OPTION_SIMULATE_LOSS:
        if (!option_parse_percentage(value, &decimal) || decimal > 100)
            return false;
        options->simulate_loss_percent = decimal;
        return true;
    case OPTION_SIMULATE_TRAP:
        index = option_parse_name(value, when, 2);
        if (index >= 0)
            options->simulate_trap_before = index == 1;
        return index >= 0;
    case OPTION_SIMULATE_REGISTER:
        if (!option_parse_whole(value, &whole) || whole < OPTIONS_REGISTER_MIN ||
            whole > OPTIONS_REGISTER_MAX || (whole & (whole - 1)) != 0)
            return false;
        options->simulate_register = (uint32_t)whole;
        return true;
    case OPTION_PLACE:
        return set_text(options, id, value, options->place, sizeof options->place);
    case OPTION_TRY:
        return set_text(options, id, value, options->try, sizeof options->try);
    case OPTION_RECORD_RAW:
        return option_pattern_is_valid(value) &&
               set_text(options, id, value, options->record_raw, sizeof options->record_raw);
    case OPTION_REPLAY:
        return set_text(options, id, value, options->replay, sizeof options->replay);
    case OPTION_QUIET:
        return option_parse_switch(value, &options->quiet);
    case OPTION_VERBOSE:
        return option_parse_switch(value, &options->verbose);
    case OPTION_COUNT:
        break;
    }
    return false;
}

static void set_default(struct options *options, enum option_id id)
{
    const char *fallback = option_table[id].fallback;
    if (*fallback) {
        apply(options, id, fallback);
        return;
    }
    switch (id) {
    case OPTION_PERIOD:
        options->period = 0;
        break;
    case OPTION_EVENT:
        clear_text(options, id, options->event);
        break;
    case OPTION_DURATION:
        options->duration = 0;
        break;
    case OPTION_SNAPSHOT:
        options->snapshot_signal = 0;
        options->snapshot_every = 0;
        break;
    case OPTION_METRICS:
        clear_text(options, id, options->metrics);
        break;
    case OPTION_REGIONS:
        clear_text(options, id, options->regions);
        break;
    case OPTION_PARTITION_GROUPS:
        clear_text(options, id, options->partition_groups);
        break;
    case OPTION_PLACE:
        clear_text(options, id, options->place);
        break;
    case OPTION_TRY:
        clear_text(options, id, options->try);
        break;
    case OPTION_RECORD_RAW:
        clear_text(options, id, options->record_raw);
        break;
    case OPTION_REPLAY:
        clear_text(options, id, options->replay);
        break;
    case OPTION_SEED:
        options->seed = 0;
        options->seed_given = false;
        break;
    default:
        break;
    }
}

static void set_defaults(struct options *options)
{
    for (int id = 0; id < OPTION_COUNT; id++)
        set_default(options, (enum option_id)id);
}

void options_default(struct options *options)
{
    memset(options, 0, sizeof *options);
    set_defaults(options);
}

int options_set(struct options *options, enum option_id id, const char *value, char *reason,
                size_t reason_size)
{
    struct option_text text = option_text_begin(reason, reason_size);
    if (*value == '\0') {
        set_default(options, id);
        return 0;
    }
    if (apply(options, id, value))
        return 0;
    option_explain(&text, id, value);
    return -1;
}

/* The value of a variable, or NULL. */
static const char *find_variable(const char *const *environment, const char *name)
{
    size_t length = strlen(name);
    for (; environment && *environment; environment++) {
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
            return *environment + length + 1;
    }
    return NULL;
}

/* The default. The ranks of a job are named by it, so that they are found together. */
static const char *default_output(const char *const *environment)
{
    struct job job;

    job_find(environment, &job);
    return job.id[0] != '\0' ? OPTIONS_OUTPUT_OF_JOB : option_table[OPTION_OUTPUT].fallback;
}

int options_read(const char *const *environment, struct options *options, char *message,
                 size_t message_size)
{
    struct option_text text = option_text_begin(message, message_size);
    const char *output = default_output(environment);
    int status = 0;

    set_defaults(options);
    apply(options, OPTION_OUTPUT, output);
    for (int i = 0; i < OPTION_COUNT; i++) {
        enum option_id id = (enum option_id)i;
        const char *value = find_variable(environment, option_table[id].variable);
        if (!value || *value == '\0' || apply(options, id, value))
            continue;
        if (status == 0) {
            option_text_append(&text, option_table[id].variable);
            option_text_append(&text, ": ");
            option_explain(&text, id, value);
        }
        status = -1;
    }
    /* The default is no folder, and programs start often: nothing is asked for it. */
    if (strcmp(options->output, output) != 0)
        option_output_in_folder(options->output, output);
    return status;
}

int options_parse(const char *const *environment, struct options *options, char *message,
                  size_t message_size)
{
    memset(options, 0, sizeof *options);
    return options_read(environment, options, message, message_size);
}
