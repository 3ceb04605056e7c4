/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs one program for the tests of transparency and tells how it ended, which a shell cannot tell
 * exactly (it shows "exit 139" and "killed by signal 11" alike):
 *
 *     run_target [--preload LIBRARY] [--open-files N] [--file-size BYTES] [--signal N --after MS]
 *                RESULT SECONDS PROGRAM [ARGUMENTS]
 *
 * RESULT receives one line, "exit N", "signal N" or "timeout"; in the last case the program and
 * what it started in its process group has been killed. The library goes into LD_PRELOAD of the
 * program alone; the limits are soft ones. Exit status 0 unless the program could not be run.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct plan {
    const char *preload;
    long open_files, file_size; /* -1: as inherited */
    int signal;
    long after_ms;
};

static void set_limit(__rlimit_resource_t resource, long value)
{
    struct rlimit limit;
    if (value < 0)
        return;
    getrlimit(resource, &limit);
    limit.rlim_cur = (rlim_t)value;
    if (setrlimit(resource, &limit) != 0) {
        perror("run_target: setrlimit");
        _exit(125);
    }
}

static void become_target(const struct plan *plan, char **command)
{
    setpgid(0, 0);
    set_limit(RLIMIT_NOFILE, plan->open_files);
    set_limit(RLIMIT_FSIZE, plan->file_size);
    set_limit(RLIMIT_CORE, 0);
    if (plan->preload != NULL)
        setenv("LD_PRELOAD", plan->preload, 1);
    execvp(command[0], command);
    fprintf(stderr, "run_target: cannot run %s: %s\n", command[0], strerror(errno));
    _exit(127);
}

static long elapsed_ms(const struct timespec *start)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - start->tv_sec) * 1000 + (now.tv_nsec - start->tv_nsec) / 1000000;
}

/* Waits for the child; false when it was not over in time. */
static bool wait_for(pid_t child, const struct plan *plan, long limit_ms, int *status)
{
    struct timespec start, pause = {.tv_nsec = 2000000};
    bool signalled = plan->signal == 0;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (;;) {
        if (waitpid(child, status, WNOHANG) == child)
            return true;
        long elapsed = elapsed_ms(&start);
        if (!signalled && elapsed >= plan->after_ms) {
            kill(child, plan->signal);
            signalled = true;
        }
        if (elapsed >= limit_ms) {
            kill(-child, SIGKILL);
            waitpid(child, status, 0);
            return false;
        }
        nanosleep(&pause, NULL);
    }
}

static char **parse(int argc, char **argv, struct plan *plan)
{
    int i = 1;
    for (; i + 1 < argc && strncmp(argv[i], "--", 2) == 0; i += 2) {
        if (strcmp(argv[i], "--preload") == 0)
            plan->preload = argv[i + 1];
        else if (strcmp(argv[i], "--open-files") == 0)
            plan->open_files = atol(argv[i + 1]);
        else if (strcmp(argv[i], "--file-size") == 0)
            plan->file_size = atol(argv[i + 1]);
        else if (strcmp(argv[i], "--signal") == 0)
            plan->signal = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--after") == 0)
            plan->after_ms = atol(argv[i + 1]);
        else
            return NULL;
    }
    return argc - i >= 3 ? argv + i : NULL;
}

int main(int argc, char **argv)
{
    struct plan plan = {.open_files = -1, .file_size = -1};
    char **rest = parse(argc, argv, &plan);
    if (rest == NULL) {
        fprintf(stderr, "run_target: wrong usage, see its source\n");
        return 125;
    }
    pid_t child = fork();
    if (child < 0) {
        perror("run_target: fork");
        return 125;
    }
    if (child == 0)
        become_target(&plan, rest + 2);
    setpgid(child, child);

    int status = 0;
    bool in_time = wait_for(child, &plan, atol(rest[1]) * 1000, &status);
    FILE *result = fopen(rest[0], "w");
    if (result == NULL) {
        perror("run_target: result");
        return 125;
    }
    if (!in_time)
        fprintf(result, "timeout\n");
    else if (WIFSIGNALED(status))
        fprintf(result, "signal %d\n", WTERMSIG(status));
    else
        fprintf(result, "exit %d\n", WEXITSTATUS(status));
    return fclose(result) == 0 ? 0 : 125;
}
