/* SPDX-License-Identifier: BSD-3-Clause */
/* exec ends a profile without an exit: what is buffered must reach the file first. */
#include <alloca.h>
#include <stdarg.h>
#include <stdint.h>
#include <unistd.h>

#include "interposition/interpose.h"
#include "interposition/interpose_limit.h"
#include "interposition/interpose_signal.h"
#include "memory/fault_guard.h"
#include "process/preload.h"
#include "process/process.h"

/* The environment to start a program with; as long as the function runs that this stands in. */
#define ENVIRONMENT_FOR_NEXT(environment)                                                          \
    ({                                                                                             \
        size_t room_ = preload_room_without(environment);                                          \
        void *copy_ = room_ > 0 ? alloca(room_) : NULL;                                            \
        preload_without(environment, copy_);                                                       \
    })

INTERPOSED int execve(const char *path, char *const arguments[], char *const environment[])
{
    static int (*next)(const char *, char *const[], char *const[]);
    char *const *handed = ENVIRONMENT_FOR_NEXT(environment);
    int result;

    if (!next)
        next = interpose_real("execve");
    process_before_exec();
    fault_guard_before_exec();
    signal_before_exec();
    limits_before_exec();
    result = next(path, arguments, handed);
    limits_after_exec();
    signal_after_exec();
    fault_guard_after_exec();
    return result;
}

INTERPOSED int execvpe(const char *file, char *const arguments[], char *const environment[])
{
    static int (*next)(const char *, char *const[], char *const[]);
    char *const *handed = ENVIRONMENT_FOR_NEXT(environment);
    int result;

    if (!next)
        next = interpose_real("execvpe");
    process_before_exec();
    fault_guard_before_exec();
    signal_before_exec();
    limits_before_exec();
    result = next(file, arguments, handed);
    limits_after_exec();
    signal_after_exec();
    fault_guard_after_exec();
    return result;
}

INTERPOSED int fexecve(int descriptor, char *const arguments[], char *const environment[])
{
    static int (*next)(int, char *const[], char *const[]);
    char *const *handed = ENVIRONMENT_FOR_NEXT(environment);
    int result;

    if (!next)
        next = interpose_real("fexecve");
    process_before_exec();
    fault_guard_before_exec();
    signal_before_exec();
    limits_before_exec();
    result = next(descriptor, arguments, handed);
    limits_after_exec();
    signal_after_exec();
    fault_guard_after_exec();
    return result;
}

INTERPOSED int execveat(int folder, const char *path, char *const arguments[],
                        char *const environment[], int flags)
{
    static int (*next)(int, const char *, char *const[], char *const[], int);
    char *const *handed = ENVIRONMENT_FOR_NEXT(environment);
    int result;

    if (!next)
        next = interpose_real("execveat");
    process_before_exec();
    fault_guard_before_exec();
    signal_before_exec();
    limits_before_exec();
    result = next(folder, path, arguments, handed, flags);
    limits_after_exec();
    signal_after_exec();
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
