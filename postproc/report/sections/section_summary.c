/* SPDX-License-Identifier: BSD-3-Clause */
/* --summary: the run, how it was measured, what was lost, and what to look at. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "document/numbers.h"
#include "path_name.h"
#include "report/model/coherence.h"
#include "report/model/communication_view.h"
#include "report/model/run_time.h"
#include "report/model/shared_caches.h"
#include "report/sections/section_support.h"
#include "report/sections/sections.h"
#include "report/sections/summary_losses.h"
#include "report/sections/summary_memory.h"
#include "report/sharing/sharing_advice.h"

/* Sums over the threads and profiles that are looked at. */
struct run_totals {
    uint64_t handler_ns, cpu_ns, wall_ns;
    uint64_t besides_ns; /* of handler_ns, what lies in cpu_ns */
    struct lost_counts lost;
    size_t threads, incomplete;
};

/* Where there are none to be had, no watch is lost for want of one: a note says it. */
static bool may_have_registers(const struct profile *profile)
{
    const char *state = profile_run_text(profile, "registers_state", "trap");

    return strcmp(state, "trap") == 0 || strcmp(state, "taken") == 0;
}

static struct run_totals add_up(const struct model *model)
{
    struct run_totals sum = {0};

    for (size_t p = 0; p < model->profile_count; p++) {
        const struct profile *profile = model->profiles[p];
        bool had_registers = may_have_registers(profile);

        sum.lost.records += profile->lost_records;
        sum.lost.dropped_bytes += profile->dropped_bytes;
        sum.lost.invalid_records += profile->invalid_records;
        sum.lost.unknown_records += profile->unknown_records;
        sum.wall_ns += run_wall_ns(profile);
        sum.incomplete += !profile->complete;
        for (size_t i = 0; i < profile->threads.count; i++)
            sum.threads += model_looks_at(model, profile, profile->threads.items[i].thread_id);
        for (size_t i = 0; i < profile->totals.count; i++) {
            const struct record_totals *totals = &profile->totals.items[i];

            if (!model_looks_at(model, profile, totals->thread_id))
                continue;
            sum.handler_ns += totals->handler_ns + totals->besides_ns;
            sum.besides_ns += totals->besides_ns;
            sum.cpu_ns += profile_counts_accesses(profile) ? 0 : totals->app_ns;
            for (size_t k = 0; k < LOSS_COUNT; k++)
                sum.lost.in_run[k] += k != LOSS_NO_REGISTER || had_registers ? totals->lost[k] : 0;
        }
    }
    return sum;
}

/* The value that all profiles agree on; NULL if they differ or none has it. */
static const char *common_text(const struct model *model, const char *key)
{
    const char *text = profile_run_text(model->profiles[0], key, NULL);

    for (size_t p = 1; text != NULL && p < model->profile_count; p++) {
        const char *other = profile_run_text(model->profiles[p], key, NULL);

        if (other == NULL || strcmp(other, text) != 0)
            return NULL;
    }
    return text;
}

static struct cell number_cell(const struct model *model, const char *key)
{
    const char *text = common_text(model, key);

    return text != NULL ? cell_value(CELL_NUMBER, strtod(text, NULL)) : cell_empty();
}

static size_t process_count(const struct model *model)
{
    size_t count = 0;

    for (size_t p = 0; p < model->profile_count; p++)
        count += model->profiles[p]->origins.count > 0 ? model->profiles[p]->origins.count : 1;
    return count;
}

/* The first word of a command as a shell would need it; NULL: none that can be told. The caller
 * frees it. */
static char *started_as(const char *command)
{
    size_t length = command != NULL ? strcspn(command, " ") : 0;

    if (length > 0 && *command == '\'') {
        length = strcspn(command + 1, "'");
        return command[length + 1] == '\'' &&
                       (command[length + 2] == ' ' || command[length + 2] == '\0')
                   ? format_string("%.*s", (int)length, command + 1)
                   : NULL;
    }
    return length > 0 ? format_string("%.*s", (int)length, command) : NULL;
}

/*
 * The file that ran; behind the name that it was started by, where that is another one: dot is a
 * link to /usr/sbin/libgvc6-config-update.
 */
static void add_program(struct model *model, struct document *document, struct section *section)
{
    const char *program = common_text(model, "program");
    char *started = started_as(common_text(model, "command"));
    char *text =
        started != NULL && program != NULL && strcmp(path_name(started), path_name(program)) != 0
            ? format_string("%s (%s)", started, program)
            : NULL;

    if (text != NULL)
        section_fact_as(document, section, "program", "Program", INTERVAL_NONE,
                        cell_text(document, program), text);
    else
        section_fact(section, "program", "Program", INTERVAL_NONE, cell_text(document, program));
    section_fact(section, "started_as", NULL, INTERVAL_NONE, cell_text(document, started));
    free(text);
    free(started);
}

static void add_run(struct model *model, struct document *document, struct section *section)
{
    const char *host = common_text(model, "host"), *pid = common_text(model, "pid");
    const char *rank = common_text(model, "rank");
    size_t processes = process_count(model);
    char *process;

    section_fact(section, "schema", NULL, INTERVAL_NONE, cell_text(document, "reuse-report/1"));
    add_program(model, document, section);
    section_fact(section, "command", "Command", INTERVAL_NONE,
                 cell_text(document, common_text(model, "command")));
    if (processes == 1)
        process = format_string("%s on %s%s%s", pid != NULL ? pid : "?",
                                host != NULL ? host : "an unknown host",
                                rank != NULL ? ", rank " : "", rank != NULL ? rank : "");
    else
        process = format_string("%zu, on %s", processes, host != NULL ? host : "several hosts");
    section_fact_as(document, section, "pid", processes == 1 ? "Process" : "Processes",
                    INTERVAL_NONE, number_cell(model, "pid"), process);
    free(process);
    section_fact(section, "host", NULL, INTERVAL_NONE, cell_text(document, host));
    section_fact(section, "rank", NULL, INTERVAL_NONE, number_cell(model, "rank"));
    section_fact(section, "processes", NULL, INTERVAL_NONE,
                 cell_value(CELL_NUMBER, (double)processes));
}

static void add_time(struct document *document, struct section *section,
                     const struct run_totals *totals)
{
    char *wall = number_time((double)totals->wall_ns), *cpu = number_time((double)totals->cpu_ns);
    char *text = format_string("%s%s%s%s%zu thread%s%s", totals->wall_ns > 0 ? wall : "",
                               totals->wall_ns > 0 ? " wall, " : "", totals->cpu_ns > 0 ? cpu : "",
                               totals->cpu_ns > 0 ? " CPU, " : "", totals->threads,
                               totals->threads == 1 ? "" : "s",
                               totals->incomplete > 0 ? "; the profile ends early" : "");

    section_fact_as(document, section, "complete", "Run", INTERVAL_NONE,
                    cell_truth(totals->incomplete == 0), text);
    free(text);
    free(cpu);
    free(wall);
}

static void add_measurement(struct model *model, struct document *document, struct section *section)
{
    const char *engine = common_text(model, "engine");
    struct cell accesses = cell_estimate(CELL_COUNT, model->accesses);
    char *text, *range, *value;

    text = model->exact && model->line_rate > 1
               ? format_string("%s (1 in %" PRIu32 " lines was followed)",
                               engine != NULL ? engine : "several", model->line_rate)
               : format_string("%s%s", engine != NULL ? engine : "several",
                               model->exact ? " (every access was counted)" : "");
    section_fact_as(document, section, "engine", "Engine", INTERVAL_NONE,
                    cell_text(document, engine), text);
    free(text);
    section_fact_as(document, section, "line_size", "Line size", INTERVAL_NONE,
                    cell_value(CELL_NUMBER, analysis_line_size(model->analysis)),
                    (text = format_string("%u bytes", analysis_line_size(model->analysis))));
    free(text);
    value = number_count(model->accesses.value);
    range = number_count_range(model->accesses.lo, model->accesses.hi);
    text = model->exact ? format_string("%s (exact)", value)
                        : format_string("%s (estimated; 95 %% interval %s)", value, range);
    section_fact_as(document, section, "accesses", "Accesses", INTERVAL_OBJECT, accesses, text);
    free(text);
    free(range);
    free(value);
}

/* Less of the time in loops whose rate is known rounds to nothing. */
#define COVERED_MIN 0.005

static void add_rate(struct model *model, struct document *document, struct section *section)
{
    struct access_rate_summary rate = analysis_access_rate(model->analysis);
    char *text;

    /* The rate of a clock that counts accesses is no news. */
    if (model->exact || profile_counts_accesses(model->profiles[0]))
        return;
    if (rate.bursts > 0 && rate.covered < COVERED_MIN)
        text = format_string("%.2f per ns of CPU time, from induction variables of %zu burst%s; "
                             "no loop has enough of them for a rate of its own",
                             rate.per_ns.value, rate.bursts, rate.bursts == 1 ? "" : "s");
    else if (rate.bursts == 0)
        text = format_string("not measured, taken as %.2f per ns of CPU time", rate.per_ns.value);
    else
        text = format_string("%.2f per ns of CPU time, from induction variables of %zu burst%s; "
                             "loops with %.0f %% of the time have a rate of their own",
                             rate.per_ns.value, rate.bursts, rate.bursts == 1 ? "" : "s",
                             100 * rate.covered);
    section_fact_as(document, section, "access_rate.per_ns", "Access rate", INTERVAL_OBJECT,
                    cell_estimate(CELL_NUMBER, rate.per_ns), text);
    free(text);
    section_fact(section, "access_rate.bursts", NULL, INTERVAL_NONE,
                 cell_value(CELL_COUNT, (double)rate.bursts));
    section_fact(section, "access_rate.covered", NULL, INTERVAL_NONE,
                 cell_value(CELL_SHARE, rate.covered));
    section_fact(section, "access_rate.size_axis_low", NULL, INTERVAL_NONE,
                 cell_value(CELL_FACTOR, rate.size_axis_low));
    text = format_string("cache sizes may be off by a factor of %.2f to %.2f: %s",
                         rate.size_axis_low, rate.size_axis_high,
                         rate.bursts == 0 ? "the access rate is not known"
                                          : "the access rate is known only that well");
    /* Within 15 % it is known as well as the method can tell. */
    section_fact_as(document, section, "access_rate.size_axis_high",
                    rate.size_axis_low < 0.85 || rate.size_axis_high > 1.15 ? "Size axis" : NULL,
                    INTERVAL_NONE, cell_value(CELL_FACTOR, rate.size_axis_high), text);
    free(text);
}

/* How far off the estimate is, where the engine also counted. */
static void add_truth(struct model *model, struct document *document, struct section *section)
{
    const struct comparison *comparison = &model->comparison;
    char *text, *bytes;

    if (!model->has_truth)
        return;
    bytes = number_bytes(comparison->worst_bytes);
    text = format_string(
        "every access was counted as well; the estimated miss ratio is off by "
        "%.2f points on average over %zu sizes (at most %.2f, at %s), %.0f %% of "
        "its intervals hold the truth; histograms of stack distances agree to %.1f %%, "
        "of reuse times to %.1f %%",
        100 * comparison->error, comparison->sizes, 100 * comparison->worst, bytes,
        100 * comparison->covered, 100 * comparison->stack_distance_accuracy,
        100 * comparison->reuse_time_accuracy);
    section_fact_as(document, section, "truth.mrc_error", "Truth", INTERVAL_NONE,
                    cell_value(CELL_SHARE, comparison->error), text);
    free(text);
    free(bytes);
    section_fact(section, "truth.mrc_worst", NULL, INTERVAL_NONE,
                 cell_value(CELL_SHARE, comparison->worst));
    section_fact(section, "truth.mrc_worst_bytes", NULL, INTERVAL_NONE,
                 cell_value(CELL_BYTES, comparison->worst_bytes));
    section_fact(section, "truth.sizes", NULL, INTERVAL_NONE,
                 cell_value(CELL_COUNT, (double)comparison->sizes));
    section_fact(section, "truth.covered", NULL, INTERVAL_NONE,
                 cell_value(CELL_SHARE, comparison->covered));
    section_fact(section, "truth.stack_distance_accuracy", NULL, INTERVAL_NONE,
                 cell_value(CELL_SHARE, comparison->stack_distance_accuracy));
    section_fact(section, "truth.reuse_time_accuracy", NULL, INTERVAL_NONE,
                 cell_value(CELL_SHARE, comparison->reuse_time_accuracy));
}

/* In relation to the program's own time, as the runtime's closing line and its budget have it. */
static void add_overhead(struct document *document, struct section *section,
                         const struct run_totals *totals, bool exact)
{
    double program = (double)totals->cpu_ns - (double)totals->besides_ns;
    double share = program > 0 ? (double)totals->handler_ns / program : 0;
    char *time = number_time((double)totals->handler_ns);
    char *text = format_string("%s of CPU time taken by the profiler (part of it estimated), "
                               "%.1f %% of what the program needs itself",
                               time, 100 * share);

    section_fact_as(document, section, "overhead.handler_ns",
                    totals->cpu_ns > 0 && !exact ? "Overhead" : NULL, INTERVAL_NONE,
                    cell_value(CELL_TIME, (double)totals->handler_ns), text);
    section_fact(section, "overhead.wall_ns", NULL, INTERVAL_NONE,
                 cell_value(CELL_TIME, (double)totals->wall_ns));
    section_fact(section, "overhead.cpu_ns", NULL, INTERVAL_NONE,
                 cell_value(CELL_TIME, (double)totals->cpu_ns));
    free(text);
    free(time);
}

static const struct column miss_columns[] = {
    {.key = "level", .heading = NULL},
    {.heading = "cache"},
    {.key = "bytes", .heading = "size"},
    {.key = "miss_ratio",
     .heading = "misses\n% of accesses",
     .interval = INTERVAL_SUFFIXED,
     .heat = true},
    {.key = "cold", .heading = "cold\n%", .interval = INTERVAL_SUFFIXED},
    {.key = "capacity", .heading = "capacity\n%", .interval = INTERVAL_SUFFIXED},
    {.key = "coherence", .heading = "coherence\n%", .interval = INTERVAL_SUFFIXED},
    {.key = "beyond"},
};

/* No part is more than all misses. */
static struct cell part_cell(const struct miss_split *split, struct estimate part, double most)
{
    part.hi = fmax(part.value, fmin(part.hi, most));
    return split->beyond ? cell_share_between(part) : cell_estimate(CELL_SHARE, part);
}

static void add_misses(struct model *model, struct document *document, struct section *section)
{
    char *title = format_string("Misses of each level (%s)",
                                model->machine_assumed ? "common sizes: the machine is not known"
                                : model->options->machine != NULL ? model->machine.name
                                                                  : "the run's machine");
    struct curve_point curve[MODEL_SIZES_MAX];
    struct estimate coherence;
    bool modelled = false, beyond = false;
    char *remark;
    struct table *table = document_table(
        document, "misses", title,
        basis_text(model, document, ", modelled as fully associative LRU caches, one per thread"),
        miss_columns, sizeof(miss_columns) / sizeof(*miss_columns));

    free(title);
    memcpy(curve, model->whole, sizeof(curve));
    coherence_add(model, curve, model->size_count);
    for (size_t i = 0; i < model->machine.levels; i++) {
        const struct miss_split *split = &model->misses[i];
        const struct estimate *all = &curve[model->level_size[i]].miss_ratio;
        struct row *row = table_row(table);

        row->cells[0] = cell_value(CELL_NUMBER, model->machine.caches[i].level);
        row->cells[1] = cell_text(document, level_name(model, document, i));
        row->cells[2] = cell_value(CELL_BYTES, (double)model->machine.caches[i].bytes);
        row->cells[3] = part_cell(split, *all, all->hi);
        row->cells[4] = part_cell(split, split->cold, all->hi);
        row->cells[5] = part_cell(split, split->capacity, all->hi);
        modelled = coherence_of_level(model, i, &coherence);
        row->cells[6] =
            modelled ? cell_share_between(coherence) : part_cell(split, split->coherence, all->hi);
        row->cells[7] = cell_truth(split->beyond);
        beyond |= split->beyond || row->cells[6].kind == CELL_BEYOND;
    }
    remark = format_string(
        "%s%s",
        modelled ? "cold: first use; capacity: the rest; coherence: another thread wrote the line "
                   "meanwhile, modelled as --sharing has it."
                 : "cold: first use; coherence: another thread wrote the line meanwhile; capacity: "
                   "the rest.",
        beyond ? " Some lines were not followed to their next use: then the value lies somewhere "
                 "in the range, or is not known at all (\"beyond\")."
               : "");
    table_remark(document, table, remark);
    free(remark);
    section_table(section, table);
}

static bool is_shown_elsewhere(const char *key)
{
    static const char *const keys[] = {"program", "command", "pid", "host", "engine", "rank"};

    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

/* Everything that the runtime recorded about the run. */
static void add_run_keys(struct model *model, struct document *document, struct section *section)
{
    const struct profile *profile = model->profiles[0];

    for (size_t i = 0; i + 1 < profile->run.count; i += 2) {
        const char *name = profile->run.items[i];
        char *key = format_string("run.%s", name);

        section_fact(section, document_string(document, key),
                     model->options->verbose && !is_shown_elsewhere(name)
                         ? document_string(document, name)
                         : NULL,
                     INTERVAL_NONE, cell_text(document, profile->run.items[i + 1]));
        free(key);
    }
}

void section_summary(struct model *model, struct document *document, bool shown)
{
    struct section *section = document_section(document, "summary", "Summary", shown);
    struct run_totals totals = add_up(model);

    add_run(model, document, section);
    add_time(document, section, &totals);
    add_measurement(model, document, section);
    add_observed(model, document, section);
    summary_add_memory(model, document, section);
    add_rate(model, document, section);
    add_truth(model, document, section);
    add_overhead(document, section, &totals, model->exact);
    summary_losses(document, section, &totals.lost);
    if (shown)
        add_sharing_fact(model, document, section);
    add_run_keys(model, document, section);
    if (shown) {
        add_misses(model, document, section);
        add_shared_misses(model, document, section);
        add_served_sources(model, document, section);
    }
}
