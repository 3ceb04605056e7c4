/* SPDX-License-Identifier: BSD-3-Clause */
/* See silicon_test.h. */
#include "doctor/silicon_test.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config.h"
#include "doctor/perf.h"
#include "pmu/choose.h"
#include "support/memory.h"

/* A quarter of an hour in all, on a real machine. */
static const struct silicon_case cases[] = {
    {"sweep", {"sweep", "--bytes", "512K"}, "60", "60", false},
    {"stores", {"sweep", "--bytes", "8M", "--access", "store"}, "60", "4", false},
    {"stencil", {"stencil", "--rows", "512", "--columns", "512"}, "60", "3", false},
    {"chase", {"chase", "--bytes", "4M"}, "60", "40", false},
    {"zipf", {"zipf", "--elements", "262144"}, "60", "40", false},
    {"ping-pong", {"handover", "--pattern", "ping-pong"}, "400000", "5000", true},
    {"false-sharing",
     {"handover", "--pattern", "ping-pong", "--own-words"},
     "400000",
     "5000",
     true},
    {"migratory", {"handover", "--pattern", "migratory", "--threads", "4"}, "200000", "3000", true},
};

struct harness {
    const struct silicon_options *options;
    char bin[PATH_MAX], programs[PATH_MAX + 32], folder[64];
};

/* A command whose output goes to files; its exit status, -1 if it could not be run. */
static int run(const struct harness *harness, char *const *arguments, const char *output)
{
    char *path = format_string("%s/%s", harness->folder, output);
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        char *errors = format_string("%s/errors", harness->folder);

        dup2(file, STDOUT_FILENO);
        dup2(open(errors, O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
        execv(arguments[0], arguments);
        _exit(127);
    }
    free(path);
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

/* Adds the case's program with its length to a command, which the caller frees from `owned` on. */
static size_t add_program(const struct harness *harness, const struct silicon_case *test,
                          bool by_iterations, const char *length, char **arguments, size_t count)
{
    arguments[count++] = format_string("%s/%s", harness->programs, test->arguments[0]);
    for (size_t i = 1; test->arguments[i]; i++)
        arguments[count++] = copy_string(test->arguments[i]);
    arguments[count++] = copy_string(by_iterations ? "--iterations" : "--seconds");
    arguments[count++] = copy_string(length);
    return count;
}

static void free_all(char **arguments)
{
    for (size_t i = 0; arguments[i]; i++)
        free(arguments[i]);
}

static bool is_simulated(const struct harness *harness)
{
    return strcmp(harness->options->engine, "simulate") == 0;
}

/* The truth of locality does not depend on the length; that of transfers does. */
static bool make_truth(const struct harness *harness, const struct silicon_case *test)
{
    char *arguments[24] = {NULL};
    const char *length = !test->transfers        ? "1"
                         : is_simulated(harness) ? test->short_run
                                                 : test->long_run;
    size_t count = add_program(harness, test, true, length, arguments, 0);
    int status;

    arguments[count++] = copy_string("--truth");
    arguments[count++] = format_string("%s/truth", harness->folder);
    status = run(harness, arguments, "output");
    free_all(arguments);
    return status == 0;
}

static bool make_profile(const struct harness *harness, const struct silicon_case *test)
{
    char *arguments[24] = {NULL};
    size_t count = 0;
    bool simulated = is_simulated(harness);
    int status;

    arguments[count++] = format_string("%s/reuse-run", harness->bin);
    arguments[count++] = copy_string("-e");
    arguments[count++] = copy_string(harness->options->engine);
    arguments[count++] = copy_string("-o");
    arguments[count++] = format_string("%s/profile", harness->folder);
    count = add_program(harness, test, simulated || test->transfers,
                        simulated ? test->short_run : test->long_run, arguments, count);
    status = run(harness, arguments, "output");
    free_all(arguments);
    return status == 0;
}

static bool make_report(const struct harness *harness)
{
    static const char *const options[] = {"--format", "json",      "--summary",
                                          "--mrc",    "--sharing", "--matrix"};
    char *arguments[12] = {format_string("%s/reuse-report", harness->bin)};
    size_t count = 1;
    int status;

    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        arguments[count++] = copy_string(options[i]);
    arguments[count] = format_string("%s/profile", harness->folder);
    status = run(harness, arguments, "report");
    free_all(arguments);
    return status == 0;
}

static json_t *load(const struct harness *harness, const char *name)
{
    char *path = format_string("%s/%s", harness->folder, name);
    json_t *result = json_load_file(path, 0, NULL);

    free(path);
    return result;
}

/* From the line that every microbenchmark prints: "iterations=220 checksum=...". */
static double iterations_done(const struct harness *harness)
{
    char *path = format_string("%s/output", harness->folder);
    FILE *file = fopen(path, "re");
    double iterations = 0;

    if (file) {
        if (fscanf(file, "iterations=%lf", &iterations) != 1)
            iterations = 0;
        fclose(file);
    }
    free(path);
    return iterations;
}

/* The first line that the last command wrote to standard error. */
static void first_error(const struct harness *harness, char *text, size_t size)
{
    char *path = format_string("%s/errors", harness->folder), line[512];
    FILE *file = fopen(path, "re");

    snprintf(text, size, "no message");
    if (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        snprintf(text, size, "%s", line);
    }
    if (file)
        fclose(file);
    free(path);
}

/* NULL, and a line said: the case gave nothing. */
static json_t *run_case(const struct harness *harness, const struct silicon_case *test)
{
    const char *step = "its truth";
    json_t *truth = NULL, *report = NULL, *result = NULL;
    uint64_t begun = perf_wall_ns();
    char error[512];

    if (make_truth(harness, test)) {
        truth = load(harness, "truth");
        step = "the run";
        if (truth && make_profile(harness, test)) {
            double iterations = iterations_done(harness);

            step = "the report";
            if (make_report(harness))
                report = load(harness, "report");
            if (report)
                result = silicon_compare(test, report, truth, iterations);
        }
    }
    if (result) {
        json_object_set_new(result, "case", json_string(test->name));
        json_object_set_new(result, "seconds", json_real((double)(perf_wall_ns() - begun) / 1e9));
    } else {
        first_error(harness, error, sizeof error);
        fprintf(stderr, "reuse-doctor: %s: %s failed: %s\n", test->name, step, error);
    }
    json_decref(truth);
    json_decref(report);
    return result;
}

/* Whether it is the engine that runs, and not the one that takes its place. */
static bool engine_serves(const struct harness *harness)
{
    static const struct silicon_case trial = {"trial", {"sweep"}, "0.3", "1", false};
    json_t *report = NULL;
    const char *engine;
    char error[512];
    bool serves;

    if (is_simulated(harness))
        return true;
    serves = make_profile(harness, &trial);
    first_error(harness, error, sizeof error);
    if (serves && make_report(harness))
        report = load(harness, "report");
    engine = json_string_value(json_object_get(report, "engine"));
    serves = engine && strcmp(engine, harness->options->engine) == 0;
    if (!serves)
        fprintf(stderr, "reuse-doctor: the engine %s does not run here: %s\n",
                harness->options->engine, error);
    json_decref(report);
    return serves;
}

static bool is_wanted(const char *list, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = list; at && *at; at += strcspn(at, ","), at += *at == ',')
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    return list == NULL;
}

/* The tools' folder, and the one with the microbenchmarks: of the build tree or the installation.
 */
static bool find_programs(struct harness *harness)
{
    static const char *const places[] = {"../microbench", "../libexec/libreuse"};
    ssize_t length = readlink("/proc/self/exe", harness->bin, sizeof harness->bin - 1);
    char *slash;

    if (length <= 0)
        return false;
    harness->bin[length] = '\0';
    slash = strrchr(harness->bin, '/');
    *slash = '\0';
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char *probe;
        bool there;

        snprintf(harness->programs, sizeof harness->programs, "%s/%s", harness->bin, places[i]);
        probe = format_string("%s/sweep", harness->programs);
        there = access(probe, X_OK) == 0;
        free(probe);
        if (there)
            return true;
    }
    fprintf(stderr,
            "reuse-doctor: the microbenchmarks are neither beside this build nor installed\n");
    return false;
}

static json_t *describe_machine(const char *engine)
{
    static const char *const vendors[] = {[VENDOR_UNKNOWN] = "unknown",
                                          [VENDOR_INTEL] = "Intel",
                                          [VENDOR_AMD] = "AMD",
                                          [VENDOR_ARM] = "Arm"};
    struct processor processor;
    struct utsname name = {0};
    char midr[32];

    processor_here(&processor);
    uname(&name);
    snprintf(midr, sizeof midr, "0x%llx", (unsigned long long)processor.midr);
    return json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:s, s:s, s:i, s:i}", "schema",
                     "reuse-silicon-test/1", "version", PACKAGE_VERSION, "engine", engine, "vendor",
                     vendors[processor.vendor], "family", (int)processor.family, "model",
                     (int)processor.model, "midr", midr, "kernel", name.release, "paranoid",
                     perf_paranoid(), "max_sample_rate", (int)pmu_max_sample_rate(NULL));
}

static void remove_folder(const struct harness *harness)
{
    static const char *const names[] = {"truth", "output", "errors", "profile", "report"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *path = format_string("%s/%s", harness->folder, names[i]);

        unlink(path);
        free(path);
    }
    rmdir(harness->folder);
}

int silicon_test(const struct silicon_options *options)
{
    struct harness harness = {.options = options, .folder = "/tmp/reuse-silicon-XXXXXX"};
    json_t *document, *results;
    int status = 0;

    if (!find_programs(&harness))
        return 1;
    if (!mkdtemp(harness.folder)) {
        fprintf(stderr, "reuse-doctor: no folder for profiles in /tmp: %s\n", strerror(errno));
        return 1;
    }
    if (!engine_serves(&harness)) {
        remove_folder(&harness);
        return 1;
    }
    results = json_array();
    document = describe_machine(options->engine);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *result;

        if (!is_wanted(options->cases, cases[i].name))
            continue;
        fprintf(stderr, "reuse-doctor: %s ...\n", cases[i].name);
        result = run_case(&harness, &cases[i]);
        if (result)
            json_array_append_new(results, result);
        else
            status = 1;
    }
    remove_folder(&harness);
    json_object_set_new(document, "cases", results);
    if (json_dump_file(document, options->output, JSON_INDENT(2)) != 0) {
        fprintf(stderr, "reuse-doctor: cannot write %s\n", options->output);
        status = 1;
    } else {
        fprintf(stderr, "reuse-doctor: results are in %s\n", options->output);
    }
    json_decref(document);
    return status;
}
