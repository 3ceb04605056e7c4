/* SPDX-License-Identifier: BSD-3-Clause */
/* reuse-report: shows what profiles say. Exit status 0, 1 on failure, 2 on wrong usage, 3
 * when a condition of --fail-if holds. */
#include <dirent.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "document/render.h"
#include "perfdata/sections.h"
#include "placement/topology.h"
#include "report/compare/compare.h"
#include "report/export/export.h"
#include "report/job/job_files.h"
#include "report/merge_files.h"
#include "report/model/progress.h"
#include "report/model/together.h"
#include "report/options.h"
#include "report/report_output.h"
#include "report/sections/sections.h"
#include "support/memory.h"
#include "symbols/crash_retry.h"

/* The newest *.rprof of the working directory; the caller frees it. NULL if there is none. */
static char *newest_profile(void)
{
    static const char suffix[] = ".rprof";
    DIR *directory = opendir(".");
    struct timespec newest = {0};
    struct dirent *entry;
    char *found = NULL;

    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        size_t length = strlen(entry->d_name);
        struct stat status;

        if (length < sizeof(suffix) - 1 ||
            strcmp(entry->d_name + length - (sizeof(suffix) - 1), suffix) != 0 ||
            stat(entry->d_name, &status) != 0 || !S_ISREG(status.st_mode))
            continue;
        if (found != NULL &&
            (status.st_mtim.tv_sec < newest.tv_sec ||
             (status.st_mtim.tv_sec == newest.tv_sec && status.st_mtim.tv_nsec <= newest.tv_nsec)))
            continue;
        newest = status.st_mtim;
        free(found);
        found = copy_string(entry->d_name);
    }
    if (directory != NULL)
        closedir(directory);
    return found;
}

/* files: those of a job, or NULL. */
static void build_document(struct model *model, const struct job_files *files,
                           struct document *document)
{
    const bool *wanted = model->options->sections;
    static const struct {
        void (*build)(struct model *, struct document *);
        const char *stage;
    } builders[SECTION_COUNT] = {
        [SECTION_HISTOGRAM] = {section_histogram, "histograms"},
        [SECTION_MRC] = {section_mrc, "miss-ratio curve"},
        [SECTION_THREADS] = {section_threads, "threads"},
        [SECTION_OBJECTS] = {section_objects, "data objects"},
        [SECTION_BLOCKING] = {section_blocking, "blocking"},
        [SECTION_STRUCTS] = {section_structs, "structures"},
        [SECTION_LINES] = {section_lines, "source lines"},
        [SECTION_CONTEXTS] = {section_contexts, "calling contexts"},
        [SECTION_TIMELINE] = {section_timeline, "timeline"},
        [SECTION_TRAFFIC] = {section_traffic, "traffic"},
        [SECTION_SHARING] = {section_sharing, "sharing"},
        [SECTION_SECTOR_HINTS] = {section_sector_hints, "sector hints"},
    };

    progress_stage("findings");
    if (wanted[SECTION_SUMMARY])
        section_findings(model, document, true);
    progress_stage("summary");
    section_summary(model, document, wanted[SECTION_SUMMARY]);
    if (wanted[SECTION_JOB] || (files != NULL && wanted[SECTION_SUMMARY])) {
        progress_stage("ranks of the job");
        section_job(model, files, document);
    }
    for (size_t i = 0; i < SECTION_COUNT; i++)
        if (wanted[i] && builders[i].build != NULL) {
            progress_stage(builders[i].stage);
            builders[i].build(model, document);
        }
    if (wanted[SECTION_SHARING] || wanted[SECTION_MATRIX]) {
        progress_stage("communication matrix");
        section_matrix(model, document, wanted[SECTION_MATRIX]);
    }
    if (wanted[SECTION_PLACEMENT]) {
        progress_stage("placement");
        section_placement(model, document);
    }
    section_notes(model, document);
}

static void warn_of_wrong_files(struct model *model)
{
    struct symbols *symbols = resolver_symbols(model->resolver);

    progress_end();
    for (size_t i = 0; i < symbols_module_count(symbols); i++) {
        struct symbol_module *module = symbols_module_number(symbols, i);

        if (symbol_module_state(module) == MODULE_WRONG_BUILD_ID)
            fprintf(stderr,
                    "reuse-report: warning: %s%s is not the file that ran: its build-id differs\n",
                    model->search.sysroot, symbol_module_path(module));
    }
}

/* Lines on conditions follow the report. */
static int judge(const struct report_options *options, const struct run_figures *before,
                 const struct run_figures *after, const struct model *model,
                 struct document *document)
{
    char *lines;
    size_t size;
    FILE *memory = open_text(&lines, &size);
    bool fails = judge_conditions(options, before, after, document, memory);
    int status;

    fclose(memory);
    status = report_put(options, document, model);
    fputs(lines, stderr);
    free(lines);
    return status != 0 ? status : fails ? STATUS_CONDITION : 0;
}

static int judge_run(const struct report_options *options, struct model *model,
                     struct document *document)
{
    struct run_figures figures;

    if (options->conditions.count > 0)
        figures_of(model, false, &figures);
    return judge(options, NULL, &figures, model, document);
}

/* What has a form of its own: the matrix alone, or a profile as other tools have it. */
static int render_alone(const struct report_options *options, struct model *model)
{
    char *text;
    size_t size;
    FILE *memory = open_text(&text, &size);
    char message[1024];
    bool (*const write)(struct model *, FILE *, char *, size_t) =
        format_is_export(options->format) ? export_write : write_matrix_alone;
    bool written = write(model, memory, message, sizeof(message));
    int status;

    fclose(memory);
    warn_of_wrong_files(model);
    status = written ? report_write(options, text, size) : report_fail(message);
    free(text);
    return status;
}

static int render(const struct report_options *options, struct model *model,
                  const struct job_files *files)
{
    struct document *document;
    int status;

    if (options->csv_layout != CSV_LAYOUT_NONE || format_is_export(options->format))
        return render_alone(options, model);
    document = document_create();
    build_document(model, files, document);
    if (model->failure == NULL) {
        warn_of_wrong_files(model);
        status = judge_run(options, model, document);
    } else {
        status = report_fail(model->failure);
    }
    document_free(document);
    return status;
}

/* Loads profiles; false, with a line on stderr, if one cannot be read. */
static bool load(const char *const *names, size_t count, struct profile **profiles)
{
    char message[1024];

    for (size_t i = 0; i < count; i++) {
        profiles[i] = profile_load(names[i], message, sizeof(message));
        if (profiles[i] == NULL) {
            report_fail(message);
            return false;
        }
    }
    return true;
}

static int compare(const struct report_options *options, struct model *const models[SIDES])
{
    struct document *document = document_create();
    struct comparison_side sides[SIDES];
    int status;

    progress_stage("comparing");
    for (size_t side = 0; side < SIDES; side++)
        comparison_side_init(&sides[side], models[side]);
    section_diff(sides, document);
    for (size_t side = 0; side < SIDES; side++)
        warn_of_wrong_files(models[side]);
    status =
        judge(options, &sides[SIDE_BEFORE].figures, &sides[SIDE_AFTER].figures, NULL, document);
    for (size_t side = 0; side < SIDES; side++)
        comparison_side_free(&sides[side]);
    document_free(document);
    return status;
}

static int report_difference(const struct report_options *options)
{
    size_t count = options->profiles.count,
           counts[SIDES] = {options->before, count - options->before};
    struct profile **profiles = allocate_zeroed(count, sizeof(profiles[0]));
    struct model *models[SIDES] = {NULL, NULL};
    char message[1024];
    int status = 0;

    progress_begin();
    progress_stage("reading profiles");
    if (!load(options->profiles.items, count, profiles))
        status = STATUS_FAILURE;
    for (size_t side = 0, first = 0; side < SIDES && status == 0; first += counts[side++]) {
        models[side] = model_create(options, (const struct profile *const *)profiles + first,
                                    counts[side], message, sizeof(message));
        if (models[side] == NULL)
            status = report_fail(message);
    }
    if (status == 0)
        status = compare(options, models);
    crash_retry_written(status);
    for (size_t side = 0; side < SIDES; side++)
        model_free(models[side]);
    for (size_t i = 0; i < count; i++)
        profile_free(profiles[i]);
    free(profiles);
    return status;
}

/* files: the ranks of a job, or NULL. */
static int report_files(const struct report_options *options, const char *const *names,
                        size_t count, const struct job_files *files)
{
    const struct profile *profiles[1];
    struct profile *profile = NULL;
    struct model *model = NULL;
    char message[1024];
    int status = options->topology == NULL ||
                         topology_is_readable(options->topology, message, sizeof(message))
                     ? 0
                     : report_fail(message);

    progress_begin();
    progress_stage("reading profiles");
    if (status == 0) {
        profile = load_together(names, count, message, sizeof(message));
        if (profile == NULL)
            status = report_fail(message);
    }
    if (status == 0) {
        progress_stage("finding modules and symbols");
        profiles[0] = profile;
        model = model_create(options, profiles, 1, message, sizeof(message));
        status = model != NULL ? render(options, model, files) : report_fail(message);
    }
    crash_retry_written(status);
    model_free(model);
    profile_free(profile);
    return status;
}

/* What the files and folders name, or the job that most of it belongs to. Without a job, a file of
 * several that is bad is said to be, by what reads it, and the others are shown. */
static int report(const struct report_options *options, const char *const *names, size_t count)
{
    struct job_files files;
    char message[1024];
    const char **chosen;
    size_t used;
    int status;

    progress_begin();
    progress_stage("reading profiles");
    if (!job_files_find(names, count, &files, message, sizeof(message))) {
        job_files_free(&files);
        return report_fail(message);
    }
    used = files.id != NULL ? files.ranks.count : files.names.count;
    chosen = allocate_zeroed(used, sizeof(*chosen));
    for (size_t i = 0; i < used; i++)
        chosen[i] = files.id != NULL ? files.ranks.items[i].name : files.names.items[i];
    if (files.id == NULL && used > 1) {
        size_t usable = usable_files(chosen, used, chosen);

        files.left_out = usable < used;
        used = usable;
    }
    status = used > 0 ? report_files(options, chosen, used, files.id != NULL ? &files : NULL)
                      : report_fail("none of the files can be reported on: see above");
    if (status == 0 && files.left_out)
        status = STATUS_FAILURE;
    free(chosen);
    job_files_free(&files);
    return status;
}

/* A perf.data file in place of a profile: no reuse, but what addresses and data sources tell. */
static int report_perf_data(const struct report_options *options)
{
    struct document *document;
    char message[1024];
    int status;

    if (format_is_export(options->format))
        return report_fail(
            "a perf.data file has no calling contexts for the formats of other tools: "
            "text, json or csv");
    if (options->diff || options->conditions.count > 0)
        return report_fail(
            "a perf.data file has no reuse to compare: --diff and --fail-if want profiles "
            "of reuse-run");
    if (options->profiles.count > 1)
        return report_fail("a perf.data file is reported on alone: name one file");
    progress_begin();
    progress_stage("reading perf.data");
    document = perfdata_document(options, options->profiles.items[0], message, sizeof(message));
    if (document == NULL)
        return report_fail(message);
    status = report_put(options, document, NULL);
    document_free(document);
    return status;
}

static bool names_perf_data(const struct report_options *options)
{
    for (size_t i = 0; i < options->profiles.count; i++)
        if (recording_is_perf_data(options->profiles.items[i]))
            return true;
    return false;
}

static int report_newest(const struct report_options *options)
{
    char *name = newest_profile();
    const char *const names[] = {name};
    int status;

    if (name == NULL)
        return report_fail("no *.rprof here and none named: run the program with reuse-run, or say "
                           "which file");
    fprintf(stderr, "reuse-report: %s\n", name);
    status = report(options, names, 1);
    free(name);
    return status;
}

int main(int argc, char **argv)
{
    struct report_options options;
    int status = 0;

    setlocale(LC_CTYPE, "");
    signal(SIGPIPE, SIG_IGN);
    memory_keep();
    crash_retry_begin(argv);
    switch (report_options_parse(&options, argc, argv)) {
    case OPTIONS_DONE:
        break;
    case OPTIONS_WRONG:
        status = STATUS_USAGE;
        break;
    case OPTIONS_RUN:
        status = options.merge
                     ? merge_files(options.profiles.items, options.profiles.count, options.output)
                 : names_perf_data(&options) ? report_perf_data(&options)
                 : options.diff              ? report_difference(&options)
                 : options.profiles.count > 0
                     ? report(&options, options.profiles.items, options.profiles.count)
                     : report_newest(&options);
        break;
    }
    progress_end();
    report_options_free(&options);
    return status;
}
