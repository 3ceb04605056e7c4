/* SPDX-License-Identifier: BSD-3-Clause */
/* See metrics.h. */
#include "launcher/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job.h"

enum { STATUS_FAILURE = 125 };

/* What the process beside the program needs to know. */
struct exporter {
    char report[PATH_MAX];
    char profile[OPTIONS_OUTPUT_MAX], metrics[OPTIONS_OUTPUT_MAX];
    int program; /* pidfd */
    int interval_ms;
};

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "reuse-run: no metrics: %s%s%s\n", what, *why ? ": " : "", why);
    return STATUS_FAILURE;
}

/* reuse-report lies beside this program. */
static bool find_report(char path[PATH_MAX])
{
    static const char name[] = "reuse-report";
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - sizeof name - 1);
    char *slash;

    if (length <= 0)
        return false;
    path[length] = '\0';
    slash = strrchr(path, '/');
    if (!slash)
        return false;
    memcpy(slash + 1, name, sizeof name);
    return access(path, X_OK) == 0;
}

/* The library will expand the same pattern in this process, when it has become the program. */
static bool expand(const char *pattern, const struct target *target,
                   const struct environment *environment, char path[OPTIONS_OUTPUT_MAX],
                   char reason[OPTIONS_MESSAGE_MAX])
{
    char program[PATH_MAX];
    struct utsname system;
    struct job job;
    struct output_names names = {
        .pid = getpid(), .host = system.nodename, .job = job.id, .rank = job.rank};

    uname(&system);
    job_find((const char *const *)environment->entries, &job);
    names.program = realpath(target->binary, program) ? program : target->binary;
    return options_expand_output(pattern, &names, path, OPTIONS_OUTPUT_MAX, reason,
                                 OPTIONS_MESSAGE_MAX) == 0;
}

/* Whether a file can be created beside the one that is to be replaced. */
static bool can_replace(const char *path)
{
    char partial[OPTIONS_OUTPUT_MAX + 32];
    int file;

    snprintf(partial, sizeof partial, "%s.%ld.tmp", path, (long)getpid());
    file = open(partial, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0)
        return false;
    close(file);
    unlink(partial);
    return true;
}

static int set_snapshot(const struct options *options, struct environment *environment)
{
    const char *variable = option_table[OPTION_SNAPSHOT].variable;
    const char *before = environment_get(environment, variable);
    char text[64];

    if (options->snapshot_every > 0)
        return 0;
    snprintf(text, sizeof text, "%s%s%.0fs", options->snapshot_signal ? before : "",
             options->snapshot_signal ? "," : "", options->interval);
    return environment_set(environment, variable, text);
}

/* ---- the process beside the program ---- */

/* Without words of its own: early in a run there may be nothing to report on. */
static bool write_metrics(const struct exporter *exporter)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        int nothing = open("/dev/null", O_RDWR);

        for (int i = 0; i <= STDERR_FILENO && nothing >= 0; i++)
            dup2(nothing, i);
        execl(exporter->report, "reuse-report", "--format", "openmetrics", "-o", exporter->metrics,
              exporter->profile, (char *)NULL);
        _exit(STATUS_FAILURE);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void watch(const struct exporter *exporter)
{
    struct pollfd program = {.fd = exporter->program, .events = POLLIN};
    int ended;

    /* Whatever profiles reuse-run itself has no business in reuse-report. */
    unsetenv("LD_PRELOAD");
    while ((ended = poll(&program, 1, exporter->interval_ms)) == 0 || (ended < 0 && errno == EINTR))
        if (ended == 0 && access(exporter->profile, R_OK) == 0)
            write_metrics(exporter);
    if (!write_metrics(exporter))
        fprintf(stderr,
                "reuse-run: no metrics in %s: reuse-report --format openmetrics %s says why\n",
                exporter->metrics, exporter->profile);
}

/* Two forks: what waits for all of its children is to find none of ours. */
static int start(const struct exporter *exporter)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        int nothing = open("/dev/null", O_RDWR);

        if (nothing >= 0) {
            dup2(nothing, STDIN_FILENO);
            dup2(nothing, STDOUT_FILENO);
        }
        setsid();
        child = fork();
        if (child == 0)
            watch(exporter);
        _exit(child < 0);
    }
    if (child < 0)
        return -1;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

int metrics_prepare(const struct options *options, const struct target *target,
                    struct environment *environment)
{
    static struct exporter exporter;
    char reason[OPTIONS_MESSAGE_MAX];

    if (options->metrics[0] == '\0')
        return -1;
    if (!find_report(exporter.report))
        return fail("reuse-report is not beside reuse-run", "");
    if (!expand(options->output, target, environment, exporter.profile, reason) ||
        !expand(options->metrics, target, environment, exporter.metrics, reason))
        return fail(reason, "");
    if (!can_replace(exporter.metrics))
        return fail(exporter.metrics, strerror(errno));
    exporter.program = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (exporter.program < 0)
        return fail("the kernel cannot tell when the program ends (pidfd_open)", strerror(errno));
    fcntl(exporter.program, F_SETFD, FD_CLOEXEC);
    exporter.interval_ms = (int)(options->interval * 1000);
    if (set_snapshot(options, environment) != 0 || start(&exporter) != 0)
        return fail("no process can be started", strerror(errno));
    close(exporter.program);
    /* The file is this process's: programs that it starts by another reuse-run leave it alone. */
    return environment_set(environment, option_table[OPTION_METRICS].variable, "") == 0
               ? -1
               : fail("out of memory", "");
}
