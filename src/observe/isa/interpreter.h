/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Looking ahead: interprets the target's next instructions on copied registers.
 *
 * Nothing of the target is executed or written. Stores go to a private store buffer; loads come
 * from that buffer or, guarded, from the target's memory. What the interpreter does not know is
 * poisoned (register by register, flag by flag, byte by byte in the store buffer); a branch or an
 * address that depends on poison stops it. It stops rather than guesses.
 *
 * Signal safety: everything here except interpreter_create() and decode_cache_create() may run in a
 * signal handler. No allocation: the caller supplies all memory. Stack: 16 KiB suffice.
 *
 * What is an access: each explicit and implicit memory operand; a masked operand is one access from
 * its first to its last selected element (none if none is selected, its full width if the mask is
 * unknown); a gather or scatter is one for each selected element; operands longer than 64 bytes
 * (xsave and the like, dc zva, several scalable vectors) come in pieces of 64. A pair of registers
 * is one operand of double width. Stores are not checked for being possible, loads are.
 * Threads: one struct interpreter is used by one thread at a time. The decode cache is shared by
 * all interpreters of the process and is lock-free.
 */
#ifndef REUSE_ISA_INTERPRETER_H
#define REUSE_ISA_INTERPRETER_H

#include <stddef.h>
#include <stdint.h>

#include "access.h"
#include "interpreter_stop.h"
#include "isa/registers.h"

/*
 * Reads size bytes (1..64, never across a page) of the target at address into buffer; false if
 * that would fault. Must be async-signal-safe. NULL (the runtime's choice, and by far the fastest)
 * reads the own address space with loads that may fault: the process's SIGSEGV and SIGBUS handlers
 * must then call guarded_memory_recover() (guarded_memory.h). Tests read another process.
 * Hooks run under the target's rounding mode: integer code only.
 */
typedef bool (*interpreter_read)(void *context, uint64_t address, void *buffer, size_t size);

/*
 * Called at every taken backward branch (jump to a lower address, not call or return), before
 * execution goes on at target. accesses counts since interpreter_begin(). Loop heads are
 * found with it. May be NULL.
 */
struct interpreter;
typedef void (*interpreter_branch)(void *context, const struct interpreter *interpreter,
                                   uint64_t target, uint64_t accesses);

/*
 * Called at every conditional jump whose flags come from an integer operation, before it is
 * decided. ip is the jump's; result what the flags were set from, sign-extended (cmp: left minus
 * right). From it the end of a loop can be foreseen. May be NULL.
 */
typedef void (*interpreter_condition)(void *context, uint64_t ip, int64_t result);

/*
 * Called after every call (return_address: where it will return to) and return (0), before
 * execution goes on at target. accesses counts since interpreter_begin(), the instruction's own
 * stack access included. May be NULL.
 */
typedef void (*interpreter_call)(void *context, const struct interpreter *interpreter,
                                 uint64_t accesses, uint64_t target, uint64_t return_address);

struct pipeline;
struct provenance;
struct line_times;
struct interpreter_options {
    interpreter_read read; /* or NULL */
    /* Of a line that interpreter_avoid() named, when it is first needed: all its 64 bytes. */
    interpreter_read read_avoided;
    void *read_context; /* for both */
    interpreter_branch backward_branch;
    interpreter_condition condition;
    interpreter_call call;
    void *branch_context; /* for all three hooks */
    /* Told what is executed, for how long that would take; x86 only. May be NULL. */
    struct pipeline *pipeline;
    /* Told of what is timed, for what addresses are made of. May be NULL. */
    struct provenance *provenance;
    /* Times loads, but for those by `read`, which may be of memory that must not be touched. May be
     * NULL. */
    struct line_times *times;
};

/* Bytes that interpreter_create() needs; a constant of the build (some MiB, touched as
 * used). */
size_t interpreter_memory_size(void);

/* Builds an interpreter in memory (page-aligned, zeroed, interpreter_memory_size() bytes). */
struct interpreter *interpreter_create(void *memory, const struct interpreter_options *options);

/* Replaces the hooks; for switching the branch hook on and off between runs. */
void interpreter_set_options(struct interpreter *, const struct interpreter_options *);

/* Replaces who is told what is executed; NULL: nobody. */
void interpreter_tell(struct interpreter *, struct pipeline *, struct provenance *);

/* Replaces who times loads; NULL: nobody. */
void interpreter_time(struct interpreter *, struct line_times *);

/*
 * Starts at the given state. extended points to the saved FP/SIMD state in the layout in which the
 * kernel hands it to a signal handler (on x86 uc_mcontext.fpregs, i.e. XSAVE with its
 * software-reserved bytes; on A64 uc_mcontext.__reserved, 4096 bytes), or is NULL: then vector
 * registers start poisoned. Clears the store buffer.
 */
void interpreter_begin(struct interpreter *, const struct interpreter_registers *,
                       const void *extended);

/*
 * After interpreter_begin(): the 64-byte line of address must not be touched by a plain load (it is
 * under a debug register, say); read_avoided is asked for it, and only if it is needed.
 */
void interpreter_avoid(struct interpreter *, uint64_t address);

/*
 * Interprets until out holds capacity accesses, an instruction budget is used up, or it must stop.
 * Returns the number of accesses written, in execution order; *why tells the cause. Accesses of an
 * instruction that stops the run are not reported. An instruction with many operands may need up to
 * 64 free entries: capacity must be at least 64, and FULL may be reported up to 63 early.
 */
size_t interpreter_run(struct interpreter *, struct access *out, size_t capacity,
                       uint64_t instruction_budget, enum interpreter_stop *why);

/* State after the last completed instruction. */
void interpreter_get_registers(const struct interpreter *, struct interpreter_registers *);

/* The general registers alone, in place: cheap enough for every turn of a loop. */
const uint64_t *interpreter_general(const struct interpreter *);

/* Bit r set: general[r] is poisoned (its value is unknown). */
uint32_t interpreter_poisoned_registers(const struct interpreter *);

/* The arithmetic flags, at their positions in interpreter_registers.flags: set bits are unknown. */
uint64_t interpreter_poisoned_flags(const struct interpreter *);

/* Vector register n (0..31), all 64 bytes; false if it is poisoned. */
bool interpreter_get_vector(const struct interpreter *, unsigned n, uint8_t bytes[64]);

/* Whether the interpreted program has stored to one of size bytes at address. */
bool interpreter_has_written(struct interpreter *, uint64_t address, uint64_t size);

/* Since interpreter_begin(); an element of a repeated string instruction counts as one. */
uint64_t interpreter_instructions(const struct interpreter *);
uint64_t interpreter_accesses(const struct interpreter *);

/*
 * Reads memory as the interpreted program would see it (store buffer over target); false when
 * unreadable or poisoned. size 1, 2, 4 or 8.
 */
bool interpreter_peek(struct interpreter *, uint64_t address, unsigned size, uint64_t *value);

/* Likewise, as it is in the target's memory: stores of the look-ahead are not there. */
bool interpreter_peek_memory(const struct interpreter *, uint64_t address, unsigned size,
                             uint64_t *value);

/*
 * Explicit read and write operands of the one instruction at code (at most size bytes), given the
 * registers before it executes; those of the stack and of string instructions (one element) as
 * well. An operand under a mask is reported in full, gathers and scatters are not (no vectors are
 * given). Used for decoding at an interrupted or trapped instruction. Returns the number of
 * accesses (up to capacity), or -1 when undecodable. *length gets its size in bytes.
 */
int instruction_accesses(const void *code, size_t size, const struct interpreter_registers *,
                         struct access *out, size_t capacity, unsigned *length);

/*
 * Shared decode cache: set up once per process before the first interpreter runs. On x86 only: A64
 * words are decoded alone and kept by each interpreter, so that there these functions do nothing.
 * memory is zeroed, size bytes (1 MiB or more pays off; 4 MiB is the runtime's choice); executable
 * may be NULL or a region for the stubs that run single SIMD/FP instructions on copied state;
 * without it such results are poisoned. A stub is written to_writable bytes from where it is
 * executed: 0 for memory that is both writable and executable, else the way to another view of the
 * same.
 */
void decode_cache_create(void *memory, size_t size, void *executable, size_t executable_size,
                         ptrdiff_t to_writable);

/* For the child after fork(), before it interprets: forgets readers that exist only in the parent.
 */
void decode_cache_after_fork(void);

/* For the same, if the memory of the stubs has not come along: the cache is empty, and has stubs
 * again only if there is memory for them in the same place. */
void decode_cache_lost_stubs(bool renewed);

/* Bytes that a processor saves of its registers, general ones aside, at most (tiles have 8 KiB). */
enum { INTERPRETER_STATE_MAX = 16384 };

/*
 * All that decode_cache_create() has found out about the processor, in pieces: to be kept, or to be
 * replaced by what was kept on another, whose states are then interpreted. Instructions that this
 * processor lacks end the process.
 */
void interpreter_processor(void (*piece)(void *bytes, size_t size));

/*
 * Memory that the next blocks of code go to, `wanted` bytes of it, as far as no call before has
 * told of it; half of that and more at a time, else NULL. Whoever makes it resident spares the
 * interpreter its page faults. *size: of what is returned, bytes; 0: nothing is to be done.
 */
void *decode_cache_ahead(size_t wanted, size_t *size);

/* Counters for tests and diagnostics. */
struct decode_cache_statistics {
    uint64_t blocks, instructions; /* decoded and kept; decoded in all */
    uint64_t resets;               /* times that the cache was emptied because it was full */
    uint64_t uncached;             /* blocks decoded without being kept */
};
void decode_cache_statistics(struct decode_cache_statistics *);

/* One word for a stop cause, for reports ("poisoned branch"). Static storage. */
const char *interpreter_stop_name(enum interpreter_stop);

#endif
