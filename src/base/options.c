/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of options and their parsing. Signal-safe: numbers are read and messages are put
 * together by hand because the C library's ways depend on the locale or may allocate.
 */
#include "options.h"

#include <signal.h>
#include <string.h>

#include "access.h"
#include "job.h"
#include "objects/object_groups.h"

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
                       "name; %h host, %j job, %r rank"},
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
                    "align heap blocks as a finding says"},
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

/* Text under construction in a caller's buffer; always terminated, `full` once something did not
 * fit. */
struct text {
    char *start;
    size_t size, length;
    bool full;
};

static struct text text_begin(char *start, size_t size)
{
    if (size > 0)
        start[0] = '\0';
    return (struct text){start, size, 0, size == 0};
}

static void text_append_character(struct text *text, char character)
{
    if (text->length + 1 >= text->size) {
        text->full = true;
        return;
    }
    text->start[text->length++] = character;
    text->start[text->length] = '\0';
}

static void text_append(struct text *text, const char *addition)
{
    while (*addition && !text->full)
        text_append_character(text, *addition++);
}

/* As text_append, for what must stay one line and one path component. */
static void text_append_component(struct text *text, const char *addition)
{
    for (; *addition && !text->full; addition++)
        text_append_character(text, *addition == '/' ? '_' : *addition);
}

static void text_append_number(struct text *text, uint64_t number)
{
    char digits[20];
    size_t count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    while (count > 0)
        text_append_character(text, digits[--count]);
}

/* Whole decimal numbers only: no sign, no blank, no overflow. */
static bool parse_whole(const char *text, uint64_t *number)
{
    uint64_t value = 0;
    if (*text == '\0')
        return false;
    for (; *text; text++) {
        unsigned digit = (unsigned)(*text - '0');
        if (digit > 9 || __builtin_mul_overflow(value, UINT64_C(10), &value) ||
            __builtin_add_overflow(value, (uint64_t)digit, &value))
            return false;
    }
    *number = value;
    return true;
}

/* Digits with at most one point among or around them, whatever the locale. */
static bool parse_decimal(const char *text, double *number)
{
    double value = 0, scale = 1;
    bool digits = false, point = false;
    for (; *text; text++) {
        unsigned digit = (unsigned)(*text - '0');
        if (*text == '.' && !point) {
            point = true;
        } else if (digit <= 9) {
            digits = true;
            value = value * 10 + digit;
            if (point)
                scale *= 10;
        } else {
            return false;
        }
        /* Longer than any sensible value, and before either quantity overflows. */
        if (value > 1e15 || scale > 1e15)
            return false;
    }
    *number = value / scale;
    return digits;
}

/* Index of the text among names; -1 if it is none of them. */
static int parse_name(const char *text, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(text, names[i]) == 0)
            return i;
    return -1;
}

static bool parse_switch(const char *text, bool *value)
{
    if ((text[0] != '0' && text[0] != '1') || text[1] != '\0')
        return false;
    *value = text[0] == '1';
    return true;
}

static bool parse_follow(const char *text, unsigned *follow)
{
    unsigned value = 0;
    if (strcmp(text, "none") == 0) {
        *follow = 0;
        return true;
    }
    for (;;) {
        size_t length = strcspn(text, ",");
        if (length == 4 && memcmp(text, "fork", 4) == 0)
            value |= FOLLOW_FORK;
        else if (length == 4 && memcmp(text, "exec", 4) == 0)
            value |= FOLLOW_EXEC;
        else
            return false;
        if (text[length] == '\0')
            break;
        text += length + 1;
    }
    *follow = value;
    return true;
}

/* A whole number of seconds, minutes or hours. */
static bool parse_time(const char *text, size_t length, double *seconds)
{
    static const struct {
        char unit;
        double seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}};
    char number[16] = "";
    uint64_t whole;

    if (length < 2 || length > sizeof number)
        return false;
    memcpy(number, text, length - 1);
    if (!parse_whole(number, &whole))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (text[length - 1] == units[i].unit) {
            *seconds = (double)whole * units[i].seconds;
            return *seconds >= OPTIONS_SNAPSHOT_MIN && *seconds <= OPTIONS_SNAPSHOT_MAX;
        }
    return false;
}

/* At most one signal and one time; what is stored is undefined on failure. */
static bool parse_snapshot(const char *text, int *signal, double *every)
{
    *signal = 0;
    *every = 0;
    for (;;) {
        size_t length = strcspn(text, ",");
        if (*signal == 0 && length == 7 && memcmp(text, "SIGUSR", 6) == 0 &&
            (text[6] == '1' || text[6] == '2'))
            *signal = text[6] == '1' ? SIGUSR1 : SIGUSR2;
        else if (*every > 0 || !parse_time(text, length, every))
            return false;
        if (text[length] == '\0')
            return true;
        text += length + 1;
    }
}

/* Distinct line sizes; what is stored is undefined on failure. */
static bool parse_line_sizes(const char *text, uint32_t sizes[OPTIONS_LINE_SIZES_MAX],
                             unsigned *count)
{
    *count = 0;
    for (;;) {
        char number[8] = "";
        uint64_t size;
        size_t length = strcspn(text, ",");
        bool known = false;
        if (length >= sizeof number)
            return false;
        memcpy(number, text, length);
        if (!parse_whole(number, &size) || !line_size_is_valid(size))
            return false;
        for (unsigned i = 0; i < *count; i++)
            known |= sizes[i] == size;
        if (!known && *count == OPTIONS_LINE_SIZES_MAX)
            return false;
        if (!known)
            sizes[(*count)++] = (uint32_t)size;
        if (text[length] == '\0')
            return true;
        text += length + 1;
    }
}

static bool parse_text(const char *text, char *value, size_t size)
{
    size_t length = strlen(text);
    if (length >= size)
        return false;
    memcpy(value, text, length + 1);
    return true;
}

static bool groups_are_valid(const char *list)
{
    struct object_groups groups;
    return object_groups_parse(list, &groups);
}

static bool pattern_is_valid(const char *pattern)
{
    if (strlen(pattern) >= OPTIONS_OUTPUT_MAX)
        return false;
    for (const char *at = strchr(pattern, '%'); at; at = strchr(at + 2, '%')) {
        if (at[1] == '\0' || !strchr("phjre%", at[1]))
            return false;
    }
    return true;
}

/* True when the value is acceptable, and then stored. */
static bool apply(struct options *options, enum option_id id, const char *value)
{
    uint32_t sizes[OPTIONS_LINE_SIZES_MAX];
    unsigned count;
    static const char *const when[] = {"after", "before"};
    uint64_t whole;
    double decimal;
    int index;

    switch (id) {
    case OPTION_ENGINE:
        index = parse_name(value, engine_names, ENGINE_COUNT);
        if (index >= 0)
            options->engine = (enum engine)index;
        return index >= 0;
    case OPTION_BUDGET:
        if (!parse_decimal(value, &decimal) || decimal < OPTIONS_BUDGET_MIN ||
            decimal > OPTIONS_BUDGET_MAX)
            return false;
        options->budget_percent = decimal;
        return true;
    case OPTION_PERIOD:
        if (!parse_whole(value, &whole) || whole == 0 || whole > OPTIONS_PERIOD_MAX)
            return false;
        options->period = whole;
        return true;
    case OPTION_LINE_SIZE:
        if (!parse_whole(value, &whole) || !line_size_is_valid(whole))
            return false;
        options->line_size = (uint32_t)whole;
        return true;
    case OPTION_OUTPUT:
        return pattern_is_valid(value) &&
               parse_text(value, options->output, sizeof options->output);
    case OPTION_FOLLOW:
        return parse_follow(value, &options->follow);
    case OPTION_EVENT:
        return parse_text(value, options->event, sizeof options->event);
    case OPTION_DURATION:
        if (!parse_decimal(value, &decimal) || decimal > OPTIONS_DURATION_MAX)
            return false;
        options->duration = decimal;
        return true;
    case OPTION_SNAPSHOT:
        if (!parse_snapshot(value, &index, &decimal))
            return false;
        options->snapshot_signal = index;
        options->snapshot_every = decimal;
        return true;
    case OPTION_METRICS:
        return pattern_is_valid(value) &&
               parse_text(value, options->metrics, sizeof options->metrics);
    case OPTION_INTERVAL:
        if (!parse_whole(value, &whole) || whole == 0 || whole > 86400)
            return false;
        options->interval = (double)whole;
        return true;
    case OPTION_SHARING:
        return parse_switch(value, &options->sharing);
    case OPTION_REGISTERS:
        if (!parse_whole(value, &whole) || whole > OPTIONS_REGISTERS_MAX)
            return false;
        options->registers = (unsigned)whole;
        return true;
    case OPTION_SEED:
        if (!parse_whole(value, &options->seed))
            return false;
        options->seed_given = true;
        return true;
    case OPTION_LINE_SIZES:
        if (!parse_line_sizes(value, sizes, &count))
            return false;
        memcpy(options->line_sizes, sizes, sizeof sizes);
        options->line_size_count = count;
        return true;
    case OPTION_REGIONS:
        return parse_text(value, options->regions, sizeof options->regions);
    case OPTION_RATE:
        if (!parse_decimal(value, &decimal) || decimal < OPTIONS_RATE_MIN || decimal > 1)
            return false;
        options->rate = decimal;
        return true;
    case OPTION_PARTITIONS:
        if (!parse_whole(value, &whole) || whole > OPTIONS_PARTITIONS_MAX)
            return false;
        options->partitions = (unsigned)whole;
        return true;
    case OPTION_PARTITION_GROUPS:
        return groups_are_valid(value) &&
               parse_text(value, options->partition_groups, sizeof options->partition_groups);
    case OPTION_SHARED_CACHE:
        return parse_switch(value, &options->shared_cache);
    case OPTION_SIMULATE_LAYOUT:
        index = parse_name(value, simulated_layout_names, LAYOUT_COUNT);
        if (index >= 0)
            options->simulate_layout = (enum simulated_layout)index;
        return index >= 0;
    case OPTION_SIMULATE_SKID:
        if (!parse_whole(value, &whole) || whole > OPTIONS_SKID_MAX)
            return false;
        options->simulate_skid = (uint32_t)whole;
        return true;
    case OPTION_SIMULATE_LOSS:
        if (!parse_decimal(value, &decimal) || decimal > 100)
            return false;
        options->simulate_loss_percent = decimal;
        return true;
    case OPTION_SIMULATE_TRAP:
        index = parse_name(value, when, 2);
        if (index >= 0)
            options->simulate_trap_before = index == 1;
        return index >= 0;
    case OPTION_SIMULATE_REGISTER:
        if (!parse_whole(value, &whole) || whole < OPTIONS_REGISTER_MIN ||
            whole > OPTIONS_REGISTER_MAX || (whole & (whole - 1)) != 0)
            return false;
        options->simulate_register = (uint32_t)whole;
        return true;
    case OPTION_PLACE:
        return parse_text(value, options->place, sizeof options->place);
    case OPTION_TRY:
        return parse_text(value, options->try, sizeof options->try);
    case OPTION_RECORD_RAW:
        return pattern_is_valid(value) &&
               parse_text(value, options->record_raw, sizeof options->record_raw);
    case OPTION_REPLAY:
        return parse_text(value, options->replay, sizeof options->replay);
    case OPTION_QUIET:
        return parse_switch(value, &options->quiet);
    case OPTION_VERBOSE:
        return parse_switch(value, &options->verbose);
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
        options->event[0] = '\0';
        break;
    case OPTION_DURATION:
        options->duration = 0;
        break;
    case OPTION_SNAPSHOT:
        options->snapshot_signal = 0;
        options->snapshot_every = 0;
        break;
    case OPTION_METRICS:
        options->metrics[0] = '\0';
        break;
    case OPTION_REGIONS:
        options->regions[0] = '\0';
        break;
    case OPTION_PARTITION_GROUPS:
        options->partition_groups[0] = '\0';
        break;
    case OPTION_PLACE:
        options->place[0] = '\0';
        break;
    case OPTION_TRY:
        options->try[0] = '\0';
        break;
    case OPTION_RECORD_RAW:
        options->record_raw[0] = '\0';
        break;
    case OPTION_REPLAY:
        options->replay[0] = '\0';
        break;
    case OPTION_SEED:
        options->seed = 0;
        options->seed_given = false;
        break;
    default:
        break;
    }
}

void options_default(struct options *options)
{
    memset(options, 0, sizeof *options);
    for (int id = 0; id < OPTION_COUNT; id++)
        set_default(options, (enum option_id)id);
}

/* A user's value within a message: on one line, and short enough to leave room for the rest. */
static void text_append_quoted(struct text *text, const char *value)
{
    enum { SHOWN_MAX = 100 };
    text_append(text, "'");
    for (size_t i = 0; value[i] && i < SHOWN_MAX; i++) {
        unsigned char character = (unsigned char)value[i];
        text_append_character(text, character < ' ' || character == 0x7f ? '?' : value[i]);
    }
    text_append(text, strlen(value) > SHOWN_MAX ? "...'" : "'");
}

static void explain(struct text *text, enum option_id id, const char *value)
{
    text_append_quoted(text, value);
    text_append(text, " is not ");
    text_append(text, option_table[id].values);
}

int options_set(struct options *options, enum option_id id, const char *value, char *reason,
                size_t reason_size)
{
    struct text text = text_begin(reason, reason_size);
    if (*value == '\0') {
        set_default(options, id);
        return 0;
    }
    if (apply(options, id, value))
        return 0;
    explain(&text, id, value);
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

/* The ranks of a job are named by it, so that they are found together. */
static void set_job_default(const char *const *environment, struct options *options)
{
    struct job job;

    job_find(environment, &job);
    if (job.id[0] != '\0')
        apply(options, OPTION_OUTPUT, OPTIONS_OUTPUT_OF_JOB);
}

int options_parse(const char *const *environment, struct options *options, char *message,
                  size_t message_size)
{
    struct text text = text_begin(message, message_size);
    int status = 0;

    options_default(options);
    set_job_default(environment, options);
    for (int i = 0; i < OPTION_COUNT; i++) {
        enum option_id id = (enum option_id)i;
        const char *value = find_variable(environment, option_table[id].variable);
        if (!value || *value == '\0' || apply(options, id, value))
            continue;
        if (status == 0) {
            text_append(&text, option_table[id].variable);
            text_append(&text, ": ");
            explain(&text, id, value);
        }
        status = -1;
    }
    return status;
}

static void append_conversion(struct text *text, char conversion, const struct output_names *names)
{
    switch (conversion) {
    case 'p':
        if (names->pid < 0)
            text_append_character(text, '-');
        text_append_number(text, names->pid < 0 ? -(uint64_t)names->pid : (uint64_t)names->pid);
        break;
    case 'h':
        text_append_component(text, names->host ? names->host : "unknown");
        break;
    case 'j':
        text_append_component(text, names->job && *names->job ? names->job : "0");
        break;
    case 'r':
        text_append_component(text, names->rank && *names->rank ? names->rank : "0");
        break;
    case 'e': {
        const char *program = names->program ? names->program : "unknown";
        const char *slash = strrchr(program, '/');
        text_append_component(text, slash && slash[1] ? slash + 1 : program);
        break;
    }
    default:
        text_append_character(text, conversion);
    }
}

int options_expand_output(const char *pattern, const struct output_names *names, char *path,
                          size_t path_size, char *reason, size_t reason_size)
{
    struct text expanded = text_begin(path, path_size);
    struct text text = text_begin(reason, reason_size);

    if (!pattern_is_valid(pattern)) {
        explain(&text, OPTION_OUTPUT, pattern);
        return -1;
    }
    for (const char *at = pattern; *at; at++) {
        if (*at == '%')
            append_conversion(&expanded, *++at, names);
        else
            text_append_character(&expanded, *at);
    }
    if (!expanded.full && expanded.length > 0)
        return 0;
    text_append(&text, "'");
    text_append(&text, pattern);
    text_append(&text,
                expanded.full ? "' names a file longer than a path can be" : "' names no file");
    if (path_size > 0)
        path[0] = '\0';
    return -1;
}
