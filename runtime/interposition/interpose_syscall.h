/* SPDX-License-Identifier: BSD-3-Clause */
/* System calls that the target makes through syscall(2). */
#ifndef REUSE_RUNTIME_INTERPOSE_SYSCALL_H
#define REUSE_RUNTIME_INTERPOSE_SYSCALL_H

/* Once at start-up, so that the wrapper need not look anything up in a handler of the target's. */
void interpose_syscall_begin(void);

/* In interpose_seccomp.c: seccomp(2), or prctl(2), with these arguments is about to be called. */
void sandbox_by_number(long operation, long program);
void sandbox_by_control(long option, long a, long b);

#endif
