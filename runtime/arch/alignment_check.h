/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs may have the processor fault on accesses that are not aligned (EFLAGS.AC on x86), and
 * the kernel calls handlers with that still in force. Ours are compiled to access what lies at any
 * address. Signal-safe.
 */
#ifndef REUSE_RUNTIME_ALIGNMENT_CHECK_H
#define REUSE_RUNTIME_ALIGNMENT_CHECK_H

/* The first thing in every handler of ours; the return from it brings the program's choice back. */
static inline void alignment_check_end(void)
{
#if defined(__x86_64__)
    /* Below the stack pointer are 128 bytes that the compiler may have in use. */
    __asm__ volatile("leaq -128(%%rsp), %%rsp\n\t"
                     "pushfq\n\t"
                     "andl $~0x40000, (%%rsp)\n\t"
                     "popfq\n\t"
                     "leaq 128(%%rsp), %%rsp"
                     :
                     :
                     : "memory", "cc");
#endif
}

#endif
