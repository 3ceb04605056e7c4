/* SPDX-License-Identifier: BSD-3-Clause */
/* See engine_qemu.h. */
#include "config.h"

#include "launcher/engine_qemu.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exact_memory.h"
#include "launcher/library.h"
#include "objects/doorbell.h"

enum { STATUS_FAILURE = 125, STATUS_NOT_FOUND = 127 };
enum { QEMU_MAJOR = 7, QEMU_MINOR = 2 }; /* oldest version whose plugins see what we need */

static const char qemu_name[] = "qemu-x86_64";

static __attribute__((format(printf, 1, 2))) int fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("reuse-run: ", stderr);
    vfprintf(stderr, format, arguments);
    fputs("\n", stderr);
    va_end(arguments);
    return STATUS_FAILURE;
}

/* What a program prints on stdout when it gets one argument, up to size - 1 bytes. */
static bool output_of(const char *path, const char *argument, char *text, size_t size)
{
    int ends[2], status;
    size_t used = 0;
    if (pipe(ends) != 0)
        return false;
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl(path, path, argument, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    for (;;) {
        char rest[4096]; /* read to the end, so that the writer does not die of a closed pipe */
        ssize_t got = used + 1 < size ? read(ends[0], text + used, size - 1 - used)
                                      : read(ends[0], rest, sizeof rest);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        if (used + 1 < size)
            used += (size_t)got;
    }
    text[used] = '\0';
    close(ends[0]);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) != 127;
}

/* Finds QEMU and its version. Returns 0, or the exit status after a line on stderr. */
static int find_qemu(const char *engine, const struct environment *environment, char path[PATH_MAX],
                     char version[32])
{
    char text[16384];
    int major = 0, minor = 0;
    if (target_find(qemu_name, environment_get(environment, "PATH"), path) != 0)
        return fail("the engine %s runs programs in QEMU, but %s is not in PATH; install it "
                    "(Debian: apt install qemu-user), or use --engine clock",
                    engine, qemu_name);
    if (!output_of(path, "-version", text, sizeof text) ||
        sscanf(text, "qemu-x86_64 version %31[^ \n(]", version) != 1 ||
        sscanf(version, "%d.%d", &major, &minor) < 1)
        return fail("%s does not tell its version; is it QEMU?", path);
    if (major < QEMU_MAJOR || (major == QEMU_MAJOR && minor < QEMU_MINOR))
        return fail("%s is version %s; the engine %s needs %d.%d or newer", path, version, engine,
                    QEMU_MAJOR, QEMU_MINOR);
    if (!output_of(path, "-h", text, sizeof text) || strstr(text, "-plugin") == NULL)
        return fail("%s %s was built without plugins; install one that has them (Debian 12: "
                    "apt install qemu-user)",
                    path, version);
    return 0;
}

struct words {
    char **items;
    size_t count, capacity;
};

static void add(struct words *words, const char *word)
{
    if (words->count + 1 >= words->capacity) {
        words->capacity = words->capacity ? 2 * words->capacity : 32;
        words->items = realloc(words->items, words->capacity * sizeof *words->items);
        if (words->items == NULL)
            exit(fail("out of memory"));
    }
    words->items[words->count++] = (char *)word;
    words->items[words->count] = NULL;
}

/*
 * Memory that the program's processes have in common under QEMU, what they become by exec included:
 * a descriptor that stays open. -1: there is none, and what moves between processes is not counted.
 */
static int make_shared_memory(void)
{
    int made = memfd_create(EXACT_MEMORY_NAME, MFD_CLOEXEC), kept = -1;

    if (made >= 0 && ftruncate(made, EXACT_MEMORY_BYTES) == 0)
        kept = fcntl(made, F_DUPFD, EXACT_MEMORY_DESCRIPTOR);
    if (made >= 0)
        close(made);
    return kept;
}

/* The value of -plugin: in it, a comma in a path is written twice. guest has none. */
static char *plugin_argument(const char *library, size_t program_index, const char *version,
                             const char *guest, int shared)
{
    char *argument = malloc(2 * strlen(library) + strlen(guest) + 128), *end = argument;
    if (argument == NULL)
        exit(fail("out of memory"));
    for (; *library != '\0'; library++) {
        *end++ = *library;
        if (*library == ',')
            *end++ = ',';
    }
    end += sprintf(end, ",program=%zu,qemu=%s,version=" PACKAGE_VERSION, program_index, version);
    if (guest[0] != '\0')
        end += sprintf(end, ",guest=%s", guest);
    if (shared >= 0)
        sprintf(end, ",shared=%d", shared);
    return argument;
}

/*
 * Finds the library that tells of the program's heap, "" if there is none: then blocks have no
 * names, and a line says why. Neither LD_PRELOAD nor QEMU's option can hold every path.
 */
static void find_guest_library(const struct options *options, char path[PATH_MAX])
{
    const char *why = NULL;
    if (library_find_guest(path) != 0)
        why = "libreuse-guest.so was not found";
    else if (strpbrk(path, " :,") != NULL)
        why = "the path of libreuse-guest.so has a blank, colon or comma";
    if (why == NULL)
        return;
    path[0] = '\0';
    if (!options->quiet)
        fail("heap blocks get no names: %s", why);
}

/* The program that QEMU must load, as the kernel would choose it, and its arguments. */
static void add_program(struct words *words, const struct target *target, char *const *arguments)
{
    if (target->interpreter[0] != '\0') {
        add(words, target->interpreter);
        if (target->interpreter_argument[0] != '\0')
            add(words, target->interpreter_argument);
    } else if (target->kind == TARGET_UNKNOWN) {
        add(words, "/bin/sh"); /* a script without #!, which shells run all the same */
    }
    add(words, target->path);
    for (size_t i = 1; arguments[i] != NULL; i++)
        add(words, arguments[i]);
}

bool qemu_engines_present(void)
{
    char plugin[PATH_MAX];
    return library_find_plugin(plugin) == 0;
}

/* The engine is not built for other machines (exact/operands_x86.c). */
static bool is_built_here(void)
{
#ifdef __x86_64__
    return true;
#else
    return false;
#endif
}

int run_under_qemu(const struct options *options, const struct target *target,
                   char *const *arguments, struct environment *environment)
{
    const char *engine = engine_names[options->engine];
    char qemu[PATH_MAX], plugin[PATH_MAX], version[32];
    if (!is_built_here())
        return fail("the engine %s runs 64-bit x86 programs on x86-64 machines, and this is none: "
                    "use --engine clock here",
                    engine);
    if (target->kind == TARGET_DAMAGED)
        return fail("%s %s", target->binary, target->reason[0] ? target->reason : "is no program");
    if (target->kind == TARGET_OTHER_MACHINE)
        return fail("%s %s; this engine runs 64-bit x86 programs: build it for x86-64, or profile "
                    "it on its own machine with --engine clock",
                    target->binary, target->reason);
    if (target->interpreter[0] != '\0' && access(target->interpreter, X_OK) != 0) {
        fail("%s cannot start: its interpreter %s: %s", target->path, target->interpreter,
             strerror(errno));
        return STATUS_NOT_FOUND;
    }
    if (target->kind == TARGET_PRIVILEGED && geteuid() != 0 && !options->quiet)
        fprintf(stderr,
                "reuse-run: %s gains rights when it is started, but not inside QEMU: it runs with "
                "yours; if it needs them, run reuse-run as the user it changes to\n",
                target->binary);
    if (library_find_plugin(plugin) != 0)
        return fail("libreuse-exact.so is neither in this build tree nor beside reuse-run nor "
                    "in " REUSE_PLUGIN_FOLDER "; install libreuse, or run make");
    int status = find_qemu(engine, environment, qemu, version);
    if (status != 0)
        return status;

    bool script = target->interpreter[0] != '\0' || target->kind == TARGET_UNKNOWN;
    enum { BEFORE_PROGRAM = 9 }; /* words that stand before the program's path */
    char *preload_for_guest = NULL, guest[PATH_MAX];
    find_guest_library(options, guest);
    if (guest[0] != '\0' &&
        (environment_preload(environment, guest) != 0 ||
         environment_set(environment, DOORBELL_VARIABLE, DOORBELL_VERSION) != 0))
        return fail("out of memory");
    const char *preload = environment_get(environment, "LD_PRELOAD");
    if (preload != NULL && asprintf(&preload_for_guest, "LD_PRELOAD=%s", preload) < 0)
        return fail("out of memory");
    char *argument = plugin_argument(plugin, BEFORE_PROGRAM, version, guest,
                                     options->sharing ? make_shared_memory() : -1);
    struct words words = {0};
    add(&words, qemu_name);
    add(&words, "-cpu"); /* what this machine can, as far as QEMU can: libraries choose by it */
    add(&words, "max");
    add(&words, preload_for_guest != NULL ? "-E" : "-U");
    add(&words, preload_for_guest != NULL ? preload_for_guest : "LD_PRELOAD");
    add(&words, "-plugin");
    add(&words, argument);
    add(&words, "-0");
    add(&words,
        script ? (target->interpreter[0] != '\0' ? target->interpreter : "sh") : arguments[0]);
    add_program(&words, target, arguments);
    /* The plugin must also see QEMU kill itself when the guest dies of a signal. */
    if (environment_set(environment, "LD_PRELOAD", plugin) == 0)
        execve(qemu, words.items, environment->entries);
    status = fail("%s cannot start: %s", qemu, strerror(errno));
    free(words.items);
    free(argument);
    free(preload_for_guest);
    return status;
}
