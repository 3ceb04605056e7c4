/* SPDX-License-Identifier: BSD-3-Clause */
/* See output_run.h. */
#include "config.h"

#include "output_run.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "host_caches.h"
#include "job.h"
#include "locality.h"
#include "simulate/simulate.h"

extern char **environ;

static char program[PATH_MAX]; /* set before the first record is written */

void output_run_set_program(const char *path)
{
    if (realpath(path, program) == NULL)
        snprintf(program, sizeof program, "%s", path);
}

const char *output_run_program(void)
{
    return program;
}

static const char *host_name(void)
{
    static struct utsname name; /* under output's lock */
    return uname(&name) == 0 ? name.nodename : "unknown";
}

bool output_run_path(const struct options *options, char *path, size_t size, char *reason,
                     size_t reason_size)
{
    struct job job;
    char name[OPTIONS_OUTPUT_MAX], directory[PATH_MAX];
    job_find((const char *const *)environ, &job);
    struct output_names names = {
        .pid = getpid(), .host = host_name(), .job = job.id, .rank = job.rank, .program = program};
    if (options_expand_output(options->output, &names, name, sizeof name, reason, reason_size) != 0)
        return false;
    bool relative = name[0] != '/' && getcwd(directory, sizeof directory) != NULL;
    int length = relative ? snprintf(path, size, "%s/%s", directory, name)
                          : snprintf(path, size, "%s", name);
    if (length < 0 || (size_t)length >= size) {
        snprintf(reason, reason_size, "the path is longer than %zu bytes", size - 1);
        return false;
    }
    return true;
}

static void append_pair(struct profile_writer *writer, const char *key, const char *value)
{
    profile_writer_append(writer, RECORD_RUN, key, strlen(key) + 1, value, strlen(value) + 1, 0);
}

static void append_simulated(void *writer, const char *key, const char *value)
{
    append_pair(writer, key, value);
}

static void append_number(struct profile_writer *writer, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    append_pair(writer, key, text);
}

/* Writes a word as a POSIX shell needs it written. */
static void write_quoted(FILE *command, const char *word)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
    if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
        fputs(word, command);
        return;
    }
    fputc('\'', command);
    for (; *word != '\0'; word++)
        fputs(*word == '\'' ? "'\\''" : (char[]){*word, '\0'}, command);
    fputc('\'', command);
}

static void append_command(struct profile_writer *writer, unsigned program_index)
{
    enum { COMMAND_MAX = 60000 }; /* a record's length is limited: longer ones are cut */
    char *text = NULL, *argument = NULL;
    size_t size = 0, argument_size = 0;
    FILE *arguments = program_index > 0 ? fopen("/proc/self/cmdline", "re") : NULL;
    FILE *command = open_memstream(&text, &size);
    for (unsigned i = 0; arguments != NULL && command != NULL &&
                         getdelim(&argument, &argument_size, '\0', arguments) > 0;
         i++) {
        if (i > program_index)
            fputc(' ', command);
        if (i >= program_index)
            write_quoted(command, argument);
    }
    if (arguments != NULL)
        fclose(arguments);
    if (command != NULL)
        fclose(command);
    if (size > COMMAND_MAX)
        text[COMMAND_MAX] = '\0';
    append_pair(writer, "command", size > 0 ? text : program);
    free(argument);
    free(text);
}

static void append_cache(void *writer, const struct record_cache *cache)
{
    profile_writer_append(writer, RECORD_CACHE, cache, sizeof *cache, NULL, 0, 0);
}

void output_run_write(struct profile_writer *writer, const struct settings *settings,
                      uint64_t start_monotonic_ns)
{
    struct utsname kernel;
    struct timespec now;
    char directory[PATH_MAX];
    clock_gettime(CLOCK_REALTIME, &now);
    append_pair(writer, "engine", engine_names[settings->options.engine]);
    append_pair(writer, "version", PACKAGE_VERSION);
    append_pair(writer, "program", program);
    append_command(writer, settings->program_index);
    append_number(writer, "pid", (uint64_t)getpid());
    append_number(writer, "ppid", (uint64_t)getppid());
    append_pair(writer, "host", host_name());
    struct job job;
    job_find((const char *const *)environ, &job);
    if (job.rank[0] != '\0')
        append_pair(writer, "rank", job.rank);
    if (job.size > 0)
        append_number(writer, "ranks", job.size);
    if (job.id[0] != '\0')
        append_pair(writer, "job", job.id);
    if (uname(&kernel) == 0)
        append_pair(writer, "kernel", kernel.release);
    if (getcwd(directory, sizeof directory) != NULL)
        append_pair(writer, "directory", directory);
    append_number(writer, "start_unix_ns",
                  (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
    append_number(writer, "start_monotonic_ns", start_monotonic_ns);
    append_number(writer, "line_size", locality_line_size(0));
    append_number(writer, "cpus", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
    append_number(writer, "page_size", (uint64_t)sysconf(_SC_PAGESIZE));
    append_pair(writer, "qemu", settings->qemu_version);
    if (simulate_is_on())
        simulate_describe(append_simulated, writer);
    host_caches_each(append_cache, writer);
}
