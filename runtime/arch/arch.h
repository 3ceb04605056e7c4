/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What of the runtime depends on the processor. Each machine has a header beside this one that
 * defines all of what follows. Signal-safe.
 *
 *     ARCH_HAS_STUBS
 *         Whether the interpreter runs instructions on the processor itself (isa/interpreter.h).
 *     ARCH_TRAPS_BEFORE_ACCESS
 *         Whether a debug register traps before the access (Arm) or after it (x86). Before it, the
 *         handler must not return with the register armed on that word: the access would never
 *         be made (step_over.h).
 *
 *     ARCH_SYSTEM_CALL_CHANGES
 *         General registers that hold something else after a system call: a bit for each, numbered
 *         as in struct interpreter_registers.
 *     ARCH_SYSTEM_CALL_NUMBER, ARCH_SYSTEM_CALL_SECOND, ARCH_SYSTEM_CALL_THIRD
 *         Which of them say what call it is, and its second and third argument.
 *
 *     uint64_t arch_ip(const ucontext_t *)
 *     void arch_set_ip(ucontext_t *, uint64_t ip)
 *     uint64_t arch_stack_pointer(const ucontext_t *)
 *     uint64_t arch_frame_pointer(const ucontext_t *)
 *     uint64_t arch_link(const ucontext_t *)
 *         Of the interrupted code; the link register is 0 where there is none.
 *
 *     uint64_t arch_after_access(const ucontext_t *)
 *         Of a trap: the address after the instruction that made the access, or will make it. (x86:
 *         or a repeated string instruction under way.)
 *
 *     uint64_t arch_access_done(const ucontext_t *)
 *         Where registers trap before the access: an address that the thread comes to only when the
 *         trapped access has been made for good; 0 if there is none to be told. The instruction can
 *         be read, for it was about to be executed.
 *
 *     ucontext_t *arch_handler_context(const ucontext_t *)
 *         The interrupted code is the first instruction of a signal handler: its third argument.
 *
 *     bool arch_is_linkage_stub(uint64_t ip)
 *         Whether an interrupted instruction belongs to a linkage stub that call frame information
 *         does not describe: the link register holds its return address. Reads
 *         ARCH_LINKAGE_STUB_BYTES at ip.
 *
 *     ARCH_SIGNAL_FRAMES_UNDESCRIBED
 *         Whether the kernel's code that handlers return to may lack call frame information.
 *     bool arch_signal_frame(uint64_t ip, uint64_t stack_pointer, struct arch_saved *)
 *         Whether ip is one of its instructions. Then, where the registers of what the signal
 *         interrupted are saved. Reads ARCH_SIGNAL_RETURN_BYTES at ip, and half as many before it.
 *
 *     uint64_t arch_strip_signature(uint64_t return_address)
 *         Without the authentication code that some processors put into its upper bits.
 *
 *     void arch_registers(const ucontext_t *, uint64_t thread_pointer,
 *                         struct interpreter_registers *)
 *     const void *arch_extended_state(const ucontext_t *)
 *         What the interpreter starts from: see interpreter_begin().
 *
 *     ARCH_CONTEXT_BYTES
 *     const void *arch_extended_elsewhere(const ucontext_t *)
 *     uint32_t arch_extended_bytes(const ucontext_t *)
 *         For keeping a context: so many bytes from the start of uc_mcontext; and what of the
 * extended state lies elsewhere, with its size (at least ARCH_EXTENDED_LEAST; 0: nothing does).
 *     void arch_set_extended_state(ucontext_t *, void *, uint32_t bytes)
 *         For a context that was kept, perhaps in a file: what lay elsewhere is here now (NULL and
 * 0 if nothing did). No address that the context held is followed any more.
 *
 *     void arch_flush_line(const void *)
 *     void arch_flush_done(void)
 *         Writes the cache line back and drops it from every cache; all such lines are gone.
 *
 *     uint64_t arch_ticks(void)
 *         Of a clock that runs at one pace, the same for all processors.
 *
 *     ARCH_UNROLLED
 *     void arch_add(unsigned turns)
 *     void arch_mix(unsigned turns)
 *     void arch_load(unsigned turns)
 *     void arch_forward(unsigned turns)
 *         So many times ARCH_UNROLLED instructions, turns >= 1: additions, each of which waits
 *         for the one before, a cycle; five additions and three loads of eight that wait for
 *         nothing; loads that wait for nothing; stores and loads in turn, each of what the one
 *         before has loaded or stored.
 *
 *     ARCH_JUMPS, ARCH_FAR_JUMPS
 *     void arch_jump(unsigned turns)
 *     void arch_jump_far(unsigned turns)
 *         So many times ARCH_JUMPS and ARCH_FAR_JUMPS taken branches, 16 bytes from one to the
 * next.
 *
 *     void arch_store(unsigned turns)
 *         So many times ARCH_UNROLLED stores of the same word.
 *
 *     void arch_branches(unsigned turns, struct arch_draw, uint64_t mask)
 *         Conditional branches, one a turn, each of which the sign of a draw decides, as far as it
 *         is in the mask: by a multiplication, an addition and a comparison. arch_drawn_branches()
 *         and arch_foreseen_branches() are those by the draw and by the sign of 0.
 *
 *     void arch_call_on_stack(unsigned char *top, void (*function)(void *), void *argument)
 *         top is a multiple of 16.
 */
#ifndef REUSE_RUNTIME_ARCH_H
#define REUSE_RUNTIME_ARCH_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "isa/interpreter.h"

/* Addresses of saved registers. */
struct arch_saved {
    uint64_t ip, stack_pointer, frame_pointer, link;
};

enum { ARCH_JUMPS = 32, ARCH_FAR_JUMPS = 512 };

/* Of a linear congruence modulo 2^64. */
struct arch_draw {
    uint64_t state, factor, step;
};

#if defined(__x86_64__)
#include "arch/x86_64.h"
#elif defined(__aarch64__)
#include "arch/aarch64.h"
#endif

/* From a place that no call was at before: processors learn what repeats. Factor and step are those
 * of Knuth's MMIX. */
static inline struct arch_draw arch_draw_anew(void)
{
    return (struct arch_draw){.state = arch_ticks(),
                              .factor = UINT64_C(6364136223846793005),
                              .step = UINT64_C(1442695040888963407)};
}

static inline void arch_drawn_branches(unsigned turns)
{
    arch_branches(turns, arch_draw_anew(), UINT64_MAX);
}

static inline void arch_foreseen_branches(unsigned turns)
{
    arch_branches(turns, arch_draw_anew(), 0);
}

#endif
