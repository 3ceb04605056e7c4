/* SPDX-License-Identifier: BSD-3-Clause */
/* System calls without the C library: no cancellation point, no wrapper of anybody's. Signal-safe.
 */
#ifndef REUSE_RUNTIME_OWN_RAW_CALL_H
#define REUSE_RUNTIME_OWN_RAW_CALL_H

#include <errno.h>

/*
 * The kernel's result: -errno on failure; errno is not touched. Arguments that a call does not take
 * may be anything. Handlers make system calls by this code and not the C library's, where an
 * execute breakpoint may wait for the target (bridge.h).
 */
static inline long raw_call(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;

    __asm__ volatile("svc #0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory", "cc");
    return x0;
#endif
}

/* The C library's way of saying it. */
static inline long raw_call_with_errno(long result)
{
    if ((unsigned long)result <= -4096UL)
        return result;
    errno = (int)-result;
    return -1;
}

#endif
