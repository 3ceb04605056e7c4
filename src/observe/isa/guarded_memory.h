/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads from addresses that may fault, at the price of a plain load.
 *
 * Each load below is recorded in a table (as the Linux kernel does for user copies). The process's
 * SIGSEGV and SIGBUS handlers must call guarded_memory_recover(); if the fault came from one of
 * these loads, execution goes on where the load reports failure. Neither signal may be blocked
 * while these functions run: a blocked synchronous signal kills the process.
 *
 * Async-signal-safe, thread-safe. Reads are those of the hardware: 8 bytes and less at a time, not
 * ordered.
 */
#ifndef REUSE_ISA_GUARDED_MEMORY_H
#define REUSE_ISA_GUARDED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * For the fault handler. ip is the faulting instruction; returns where to go on instead, or 0 if
 * the fault is none of ours. On x86-64 uc->uc_mcontext.gregs[REG_RIP], on aarch64
 * uc->uc_mcontext.pc.
 */
uint64_t guarded_memory_recover(uint64_t ip);

/* Copies size bytes from address; false (buffer undefined) if one of them cannot be read. */
bool guarded_memory_read(uint64_t address, void *buffer, size_t size);

/* Relative table entries need no relocation at load time. */
#define GUARDED_LOAD(bits, instruction)                                                            \
    static inline bool guarded_load_##bits(uint64_t address, uint64_t *value)                      \
    {                                                                                              \
        uint64_t loaded;                                                                           \
        __asm__ goto("1: " instruction "\n\t"                                                      \
                     ".pushsection reuse_guarded, \"a\"\n\t"                                       \
                     ".balign 4\n\t"                                                               \
                     ".long 1b - ., %l[fault] - .\n\t"                                             \
                     ".popsection"                                                                 \
                     : [loaded] "=r"(loaded)                                                       \
                     : [address] "r"(address)                                                      \
                     : "memory"                                                                    \
                     : fault);                                                                     \
        *value = loaded;                                                                           \
        return true;                                                                               \
    fault:                                                                                         \
        return false;                                                                              \
    }
#ifdef __aarch64__
GUARDED_LOAD(8, "ldrb %w[loaded], [%[address]]")
GUARDED_LOAD(16, "ldrh %w[loaded], [%[address]]")
GUARDED_LOAD(32, "ldr %w[loaded], [%[address]]")
GUARDED_LOAD(64, "ldr %[loaded], [%[address]]")
#else
GUARDED_LOAD(8, "movzbl (%[address]), %k[loaded]")
GUARDED_LOAD(16, "movzwl (%[address]), %k[loaded]")
GUARDED_LOAD(32, "movl (%[address]), %k[loaded]")
GUARDED_LOAD(64, "movq (%[address]), %[loaded]")
#endif
#undef GUARDED_LOAD

#endif
