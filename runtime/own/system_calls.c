/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signal-safe. System calls under the C library's names and with its contract, for this library
 * alone: hidden, so that calls from here and from the core bind to them when it is linked. The C
 * library's would be cancellation points in the middle of a handler, and calls by name would find
 * whatever the target, or another preloaded library, defines under that name.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "own/own_calls.h"
#include "own/raw_call.h"

#include "signal_safe.h"

#define CALL(number, a, b, c, d)                                                                   \
    raw_call_with_errno(raw_call((number), (long)(a), (long)(b), (long)(c), (long)(d), 0, 0))

ssize_t read(int descriptor, void *buffer, size_t size)
{
    own_calls_note(SYS_read);
    return CALL(SYS_read, descriptor, buffer, size, 0);
}

ssize_t write(int descriptor, const void *buffer, size_t size)
{
    own_calls_note(SYS_write);
    return CALL(SYS_write, descriptor, buffer, size, 0);
}

int open(const char *path, int flags, ...)
{
    va_list list;
    mode_t mode;

    va_start(list, flags);
    mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
    va_end(list);
    return (int)CALL(SYS_openat, AT_FDCWD, path, flags, mode);
}

int fstat(int descriptor, struct stat *status)
{
    return (int)CALL(SYS_fstat, descriptor, status, 0, 0);
}

int ftruncate(int descriptor, off_t length)
{
    return (int)CALL(SYS_ftruncate, descriptor, length, 0, 0);
}

ssize_t readlink(const char *path, char *buffer, size_t size)
{
    return CALL(SYS_readlinkat, AT_FDCWD, path, buffer, size);
}

/* The caller always brings the memory. */
char *getcwd(char *buffer, size_t size)
{
    return CALL(SYS_getcwd, buffer, size, 0, 0) < 0 ? NULL : buffer;
}

int uname(struct utsname *system)
{
    return (int)CALL(SYS_uname, system, 0, 0, 0);
}

pid_t getpid(void)
{
    return (pid_t)raw_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

pid_t getppid(void)
{
    return (pid_t)raw_call(SYS_getppid, 0, 0, 0, 0, 0, 0);
}

int nanosleep(const struct timespec *time, struct timespec *rest)
{
    return (int)CALL(SYS_nanosleep, time, rest, 0, 0);
}

int sched_yield(void)
{
    return (int)CALL(SYS_sched_yield, 0, 0, 0, 0);
}

ssize_t getrandom(void *buffer, size_t size, unsigned flags)
{
    return CALL(SYS_getrandom, buffer, size, flags, 0);
}

/* Only asked where the heap ends. */
void *sbrk(intptr_t increment)
{
    return (void *)(raw_call(SYS_brk, 0, 0, 0, 0, 0, 0) + increment);
}

/* ---- sets of signals ---- */

enum { WORD_BITS = 8 * sizeof(unsigned long) };

static unsigned long signal_bit(int signal)
{
    return 1UL << ((unsigned)(signal - 1) % WORD_BITS);
}

static unsigned long *signal_word(const sigset_t *set, int signal)
{
    return (unsigned long *)&set->__val[(unsigned)(signal - 1) / WORD_BITS];
}

int sigemptyset(sigset_t *set)
{
    *set = (sigset_t){{0}};
    return 0;
}

int sigaddset(sigset_t *set, int signal)
{
    *signal_word(set, signal) |= signal_bit(signal);
    return 0;
}

int sigdelset(sigset_t *set, int signal)
{
    *signal_word(set, signal) &= ~signal_bit(signal);
    return 0;
}

int sigismember(const sigset_t *set, int signal)
{
    return (*signal_word(set, signal) & signal_bit(signal)) != 0;
}
