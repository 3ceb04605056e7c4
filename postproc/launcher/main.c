/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reuse-run: starts a program with libreuse.so in LD_PRELOAD and the options in its environment.
 *
 * It becomes the program by execve() instead of starting a child and waiting. Nothing has to be
 * done after the program's end, the runtime inside it closes the profile; and so everything that
 * whoever started us expects holds without imitation: the process number is the program's (kill,
 * mpirun, batch systems and debuggers find it), signals and the terminal reach it directly, exit
 * status and death by a signal are its own (a shell shows 128 + signal and names it), resource
 * usage and limits count once, and no idle process stays in memory. Engines that run the program
 * inside QEMU may decide otherwise (engine_qemu.h).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "launcher/engine_qemu.h"
#include "launcher/environment.h"
#include "launcher/job_name.h"
#include "launcher/library.h"
#include "launcher/metrics.h"
#include "launcher/option_conflicts.h"
#include "launcher/placement.h"
#include "launcher/remedy.h"
#include "launcher/sandbox.h"
#include "launcher/sanitizer.h"
#include "launcher/target.h"
#include "launcher/usage.h"
#include "options.h"
#include "support/event_names.h"

enum { STATUS_FAILURE = 125, STATUS_NOT_EXECUTABLE = 126, STATUS_NOT_FOUND = 127 };
enum { FIRST_LONG_OPTION = 256 }; /* getopt values: letters below, enum option_id above */

static int fail(const char *what)
{
    fprintf(stderr, "reuse-run: %s\n", what);
    return STATUS_FAILURE;
}

/* getopt's tables from ours. Sizes: two extra options, a terminator, three characters each. */
static void make_getopt_tables(struct option long_options[OPTION_COUNT + 3],
                               char letters[3 * (OPTION_COUNT + 3)])
{
    char *at = letters;
    *at++ = '+'; /* stop at the first word that is no option: the rest is the program's */
    *at++ = ':'; /* report a missing value as ':' */
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option_description *option = &option_table[i];
        long_options[i] =
            (struct option){option->name, option->argument ? required_argument : no_argument, NULL,
                            FIRST_LONG_OPTION + i};
        if (option->letter) {
            *at++ = option->letter;
            if (option->argument)
                *at++ = ':';
        }
    }
    long_options[OPTION_COUNT] = (struct option){"help", no_argument, NULL, 'h'};
    long_options[OPTION_COUNT + 1] = (struct option){"version", no_argument, NULL, 'V'};
    long_options[OPTION_COUNT + 2] = (struct option){NULL, 0, NULL, 0};
    *at++ = 'h';
    *at++ = 'V';
    *at = '\0';
}

static int complain_option(int found, const char *word)
{
    bool is_long = strncmp(word, "--", 2) == 0;
    char letter[] = {'-', (char)optopt, '\0'};
    fprintf(stderr, "reuse-run: option '%s' %s; reuse-run --help lists the options\n",
            is_long ? word : letter,
            found == ':'        ? "needs a value"
            : is_long && optopt ? "takes no value"
                                : "is unknown or ambiguous");
    return STATUS_FAILURE;
}

static int option_of_letter(int letter)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        if (option_table[i].letter == letter)
            return i;
    }
    return -1;
}

/*
 * Reads the command line up to the program's name and sets the options in its environment.
 * Returns -1 to go on, or the status to exit with.
 */
static int read_options(int argc, char **argv, struct environment *environment)
{
    static struct options checked; /* large, and only a sieve for values */
    struct option long_options[OPTION_COUNT + 3];
    char letters[3 * (OPTION_COUNT + 3)], reason[OPTIONS_MESSAGE_MAX];
    int found;

    options_default(&checked);
    make_getopt_tables(long_options, letters);
    opterr = 0;
    while ((found = getopt_long(argc, argv, letters, long_options, NULL)) != -1) {
        if (found == 'h') {
            usage_print(stdout);
            return 0;
        }
        if (found == 'V') {
            puts("reuse-run " PACKAGE_VERSION);
            return 0;
        }
        int id = found >= FIRST_LONG_OPTION ? found - FIRST_LONG_OPTION : option_of_letter(found);
        if (id < 0)
            return complain_option(found, argv[optind - 1]);
        const char *value = option_table[id].given ? option_table[id].given : optarg;
        if (options_set(&checked, (enum option_id)id, value, reason, sizeof reason) != 0) {
            fprintf(stderr, "reuse-run: --%s: %s\n", option_table[id].name, reason);
            return STATUS_FAILURE;
        }
        if (environment_set(environment, option_table[id].variable, value) != 0)
            return fail("out of memory");
    }
    return -1;
}

static int complain_program(const char *name, const char *path, int error)
{
    if (error == EISDIR)
        fprintf(stderr, "reuse-run: %s is a directory, not a program\n", name);
    else if (error == EACCES)
        fprintf(stderr, "reuse-run: %s is not executable (chmod +x makes it so)\n",
                *path ? path : name);
    else if (error == ENOENT)
        fprintf(stderr, "reuse-run: %s was not found%s\n", name,
                strchr(name, '/') ? "" : " in PATH (for one here, type ./ before its name)");
    else
        fprintf(stderr, "reuse-run: %s: %s\n", name, strerror(error));
    return error == ENOENT || error == ENOTDIR ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
}

/* Programs that this one starts may be linked with it too, and find us first. */
static int allow_other_order(struct environment *environment)
{
    const char *options = environment_get(environment, "ASAN_OPTIONS");
    char *extended;
    if (asprintf(&extended, "%s%sverify_asan_link_order=0", options ? options : "",
                 options && *options ? ":" : "") < 0)
        return -1;
    int status = environment_set(environment, "ASAN_OPTIONS", extended);
    free(extended);
    return status;
}

/* Puts gcc's sanitizer before our library, where the program has one. */
static int sanitizer_first(const struct target *target, struct environment *environment)
{
    char sanitizer[256];
    if (!sanitizer_library(target->binary, sanitizer, sizeof sanitizer))
        return 0;
    return environment_preload(environment, sanitizer) == 0 ? allow_other_order(environment) : -1;
}

/* Sets LD_PRELOAD, or says why the target runs without a profile. Returns -1, or an exit status. */
static int prepare_preload(const struct target *target, struct environment *environment)
{
    char library[PATH_MAX];

    if (target->reason[0]) {
        bool same = strcmp(target->path, target->binary) == 0;
        fprintf(stderr, "reuse-run: %s%s%s%s %s; it runs unprofiled (%s)\n", target->path,
                same ? "" : " is run by ", same ? "" : target->binary, same ? "" : ", which",
                target->reason, target->remedy);
    }
    /* These loaders would complain about the library, or refuse to start. Where the loader merely
     * does not see LD_PRELOAD, it stays set for the programs that the target starts. */
    if (target->kind == TARGET_OTHER_MACHINE || target->kind == TARGET_OTHER_LOADER)
        return -1;
    if (sandbox_kills_events()) {
        fprintf(stderr,
                "reuse-run: a seccomp filter kills what calls perf_event_open: %s runs "
                "unprofiled (reuse-doctor says more)\n",
                target->path);
        return -1;
    }
    if (library_find(library) != 0)
        return fail("libreuse.so is neither in this build tree nor beside reuse-run nor "
                    "in " REUSE_LIBRARY_FOLDER "; install libreuse, or run make");
    if (strpbrk(library, " :")) {
        fprintf(stderr,
                "reuse-run: LD_PRELOAD cannot hold the path '%s' because of its blank or "
                "colon; install libreuse elsewhere\n",
                library);
        return STATUS_FAILURE;
    }
    if (environment_preload(environment, library) != 0 || sanitizer_first(target, environment) != 0)
        return fail("out of memory");
    return -1;
}

/*
 * The library in the target knows no event names but the kernel's: what libpfm4 knows is given to
 * it as a number. Other names stay, and it will say if it does not know them either.
 */
static int translate_event(const char *name, struct environment *environment)
{
    struct encoded_event event;
    char text[128];

    if (strchr(name, '/') || !event_encode(name, &event) || event.type != PERF_TYPE_RAW)
        return 0;
    if (event.config1 || event.config2)
        snprintf(text, sizeof text, "cpu/config=0x%llx,config1=0x%llx,config2=0x%llx/",
                 (unsigned long long)event.config, (unsigned long long)event.config1,
                 (unsigned long long)event.config2);
    else
        snprintf(text, sizeof text, "r%llx", (unsigned long long)event.config);
    return environment_set(environment, option_table[OPTION_EVENT].variable, text);
}

/* Which process was started by name: with -q, its errors are told, not those of what it starts; and
 * it says if --try found nothing. */
static int name_process(struct environment *environment)
{
    char pid[32];
    snprintf(pid, sizeof pid, "%ld", (long)getpid());
    return environment_set(environment, "REUSE_PROCESS", pid);
}

/* Becomes the program. Returns only if that failed, with the exit status. */
static int become(const struct target *target, char **arguments, char **environment)
{
    execve(target->path, arguments, environment);
    int error = errno;
    if (error == ENOEXEC && target->kind == TARGET_UNKNOWN && target->interpreter[0] == '\0') {
        /* A script without #!, which execvp() and shells hand to the shell. */
        size_t count = 0;
        while (arguments[count])
            count++;
        char **shell = calloc(count + 2, sizeof *shell);
        if (shell) {
            shell[0] = (char *)"sh";
            shell[1] = (char *)target->path;
            memcpy(shell + 2, arguments + 1, count * sizeof *shell);
            execve("/bin/sh", shell, environment);
            free(shell);
        }
    }
    if (error == ENOENT && target->interpreter[0])
        fprintf(stderr, "reuse-run: %s cannot start: its interpreter %s was not found\n",
                target->path, target->interpreter);
    else if (error == ENOENT)
        fprintf(stderr, "reuse-run: %s cannot start: the loader that it names was not found\n",
                target->path);
    else
        fprintf(stderr, "reuse-run: %s cannot start: %s\n", target->path, strerror(error));
    return error == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
}

/* What this program is called when it is started for the library alone. */
static const char replaying[] = "reuse-run --replay";

/* The library repeats a recording in whatever process loads it, and ends it: this one, started
 * anew. */
static int replay(struct environment *environment)
{
    char library[PATH_MAX];
    char *arguments[] = {(char *)replaying, NULL};

    if (library_find(library) != 0)
        return fail("libreuse.so is neither in this build tree nor beside reuse-run nor "
                    "in " REUSE_LIBRARY_FOLDER "; install libreuse, or run make");
    if (environment_preload(environment, library) != 0)
        return fail("out of memory");
    execve("/proc/self/exe", arguments, environment->entries);
    return fail("cannot start itself: /proc is needed");
}

/* Everything after the environment is set up; returns the exit status, if it returns. */
static int launch(int argc, char **argv, struct environment *environment)
{
    static struct target target;
    static struct options options;
    char path[PATH_MAX], message[OPTIONS_MESSAGE_MAX];

    int status = read_options(argc, argv, environment);
    if (status >= 0)
        return status;
    if (environment_get(environment, option_table[OPTION_REPLAY].variable)) {
        if (optind < argc)
            return fail("--replay repeats a recording and runs no program");
        return replay(environment);
    }
    if (job_name_prepare(environment) != 0)
        return fail("out of memory");
    if (optind >= argc)
        return fail("no program given; usage: reuse-run [OPTIONS] [--] PROGRAM [ARGS]");
    if (options_parse((const char *const *)environment->entries, &options, message,
                      sizeof message) != 0)
        return fail(message);
    const char *contradiction = option_contradiction(&options);
    if (contradiction)
        return fail(contradiction);
    option_warn_unused(&options, environment);

    const char *search_path = environment_get(environment, "PATH");
    int error = target_find(argv[optind], search_path, path);
    if (error)
        return complain_program(argv[optind], path, error);
    target_inspect(path, search_path, &target);
    status = placement_prepare(&options, &target, environment);
    if (status < 0)
        status = remedy_check(&options, &target);
    if (status >= 0)
        return status;
    if (options.try[0] && name_process(environment) != 0)
        return fail("out of memory");
    if (options.engine == ENGINE_NONE) {
        status = remedy_prepare(&options, environment);
        return status >= 0 ? status : become(&target, argv + optind, environment->entries);
    }
    if (options.engine == ENGINE_EXACT || options.engine == ENGINE_SIMULATE)
        return run_under_qemu(&options, &target, argv + optind, environment);
    if (options.event[0] && translate_event(options.event, environment) != 0)
        return fail("out of memory");
    status = prepare_preload(&target, environment);
    if (status < 0)
        status = remedy_prepare(&options, environment);
    if (status >= 0)
        return status;
    if (options.quiet && name_process(environment) != 0)
        return fail("out of memory");
    status = metrics_prepare(&options, &target, environment);
    if (status >= 0)
        return status;
    return become(&target, argv + optind, environment->entries);
}

int main(int argc, char **argv)
{
    struct environment environment;
    if (argc > 0 && strcmp(argv[0], replaying) == 0)
        return fail(
            "nothing was replayed: libreuse.so could not be loaded (the loader's line above "
            "says why)");
    if (environment_begin(&environment, environ) != 0)
        return fail("out of memory");
    int status = launch(argc, argv, &environment);
    environment_end(&environment);
    return status;
}
