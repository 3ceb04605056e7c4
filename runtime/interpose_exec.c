/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exec ends a profile without an exit: what is buffered must reach the file first. And when exec is
 * not to be followed, the new program must not inherit the runtime.
 */
#include <alloca.h>
#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "fault_guard.h"
#include "interpose.h"
#include "process.h"
#include "settings.h"

static bool is_preload(const char *variable)
{
    return strncmp(variable, "LD_PRELOAD=", 11) == 0;
}

static size_t length_of(char *const vector[])
{
    size_t n = 0;

    while (vector && vector[n])
        n++;
    return n;
}

/* Whether the program to be started should run without us. */
static bool drops_preload(void)
{
    return process_is_ours() && !(settings.options.follow & FOLLOW_EXEC);
}

/* An environment without LD_PRELOAD in `copy`, which has room for length_of(environment) + 1. */
static char *const *without_preload(char *const environment[], char **copy)
{
    size_t n = 0;

    for (size_t i = 0; environment && environment[i]; i++)
        if (!is_preload(environment[i]))
            copy[n++] = environment[i];
    copy[n] = NULL;
    return copy;
}

#define FOLLOWED(environment)                                                                      \
    (drops_preload()                                                                               \
         ? without_preload(environment, alloca((length_of(environment) + 1) * sizeof(char *)))     \
         : (environment))

INTERPOSED int execve(const char *path, char *const arguments[], char *const environment[])
{
    static int (*next)(const char *, char *const[], char *const[]);
    int result;

    if (!next)
        next = interpose_real("execve");
    process_before_exec();
    fault_guard_before_exec();
    result = next(path, arguments, FOLLOWED(environment));
    fault_guard_after_exec();
    return result;
}

INTERPOSED int execvpe(const char *file, char *const arguments[], char *const environment[])
{
    static int (*next)(const char *, char *const[], char *const[]);
    int result;

    if (!next)
        next = interpose_real("execvpe");
    process_before_exec();
    fault_guard_before_exec();
    result = next(file, arguments, FOLLOWED(environment));
    fault_guard_after_exec();
    return result;
}

INTERPOSED int fexecve(int descriptor, char *const arguments[], char *const environment[])
{
    static int (*next)(int, char *const[], char *const[]);
    int result;

    if (!next)
        next = interpose_real("fexecve");
    process_before_exec();
    fault_guard_before_exec();
    result = next(descriptor, arguments, FOLLOWED(environment));
    fault_guard_after_exec();
    return result;
}

INTERPOSED int execv(const char *path, char *const arguments[])
{
    return execve(path, arguments, environ);
}

INTERPOSED int execvp(const char *file, char *const arguments[])
{
    return execvpe(file, arguments, environ);
}

/* Arguments of the list forms as a vector on the stack. */
#define GATHER(first, last, vector)                                                                \
    va_list list_;                                                                                 \
    size_t count_ = 1;                                                                             \
    va_start(list_, last);                                                                         \
    while (va_arg(list_, char *))                                                                  \
        count_++;                                                                                  \
    va_end(list_);                                                                                 \
    char **vector = alloca((count_ + 1) * sizeof(char *));                                         \
    va_start(list_, last);                                                                         \
    vector[0] = (char *)(uintptr_t)(first);                                                        \
    for (size_t i_ = 1; i_ < count_; i_++)                                                         \
        vector[i_] = va_arg(list_, char *);                                                        \
    va_arg(list_, char *);                                                                         \
    vector[count_] = NULL

INTERPOSED int execl(const char *path, const char *argument, ...)
{
    GATHER(argument, argument, arguments);
    va_end(list_);
    return execve(path, arguments, environ);
}

INTERPOSED int execlp(const char *file, const char *argument, ...)
{
    GATHER(argument, argument, arguments);
    va_end(list_);
    return execvpe(file, arguments, environ);
}

INTERPOSED int execle(const char *path, const char *argument, ...)
{
    GATHER(argument, argument, arguments);
    char *const *environment = va_arg(list_, char *const *);
    va_end(list_);
    return execve(path, arguments, environment);
}

typedef int spawn_function(pid_t *, const char *, const posix_spawn_file_actions_t *,
                           const posix_spawnattr_t *, char *const[], char *const[]);

INTERPOSED int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                           const posix_spawnattr_t *attributes, char *const arguments[],
                           char *const environment[])
{
    static spawn_function *next;

    if (!next)
        next = interpose_real("posix_spawn");
    return next(pid, path, actions, attributes, arguments, FOLLOWED(environment));
}

INTERPOSED int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                            const posix_spawnattr_t *attributes, char *const arguments[],
                            char *const environment[])
{
    static spawn_function *next;

    if (!next)
        next = interpose_real("posix_spawnp");
    return next(pid, file, actions, attributes, arguments, FOLLOWED(environment));
}
