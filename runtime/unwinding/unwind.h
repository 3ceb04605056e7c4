/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calling contexts: the return addresses on a thread's stack.
 *
 * Signal-safe throughout: no lock, no allocation, no system call but for a probe of each stack page
 * that a thread has not shown before. Memory is read only where a probe proved it readable, so a
 * broken stack ends the context and not the target. errno is kept.
 *
 * Own code on top of src/observe/objects/call_frame.h, where a library would be expected, for
 * measured reasons: loading libunwind.so into the target changes which unwinder the target's C++
 * exceptions use (it exports _Unwind_RaiseException, and libstdc++ binds to it in every program
 * that gets libgcc_s by dlopen only); its general path takes the loader's lock and two sigprocmask
 * calls a frame; its fast path does not tell where the return addresses lie, which the
 * memory of the last walk must verify. Needs _dl_find_object (glibc 2.35), which finds the object
 * of an address without a lock; with an older C library contexts are taken only while the loader is
 * at rest, see unwind_loader_enter().
 */
#ifndef REUSE_RUNTIME_UNWIND_H
#define REUSE_RUNTIME_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include "unwinding/walk_memory.h"

/* Where a walk starts. */
struct unwind_start {
    uint64_t ip; /* an instruction about to be executed, or a return address: see is_call */
    uint64_t stack_pointer;
    uint64_t frame_pointer;
    uint64_t link; /* the link register (aarch64), else 0 */
    bool is_call;  /* ip is the return address of a call that is under way */
};

/*
 * Stores up to max (at most UNWIND_FRAMES_MAX) frames, innermost first: ips[0] is start->ip, the
 * others are return addresses. Returns their number, at least 1 when max is.
 */
size_t unwind(const struct unwind_start *start, uint64_t *ips, size_t max);

/*
 * The same frames, up to UNWIND_FRAMES_MAX, walked as far as they are not those of the thread's
 * walk before. The result lies in `memory` and holds until the next call with it.
 */
struct walk *unwind_again(const struct unwind_start *start, struct walk_memory *memory);

/* The state that a signal interrupted, as a start. */
struct unwind_start unwind_start_of_signal(const ucontext_t *context);

/*
 * The caller of the function that this is expanded in, as a start; is_call is set. The function
 * gets a frame pointer.
 */
#define UNWIND_START_OF_CALLER()                                                                   \
    ({                                                                                             \
        const uint64_t *frame_ = __builtin_frame_address(0);                                       \
        (struct unwind_start){                                                                     \
            .ip = (uint64_t)(uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0)), \
            .stack_pointer = (uint64_t)(uintptr_t)__builtin_dwarf_cfa(),                           \
            .frame_pointer = frame_[0],                                                            \
            .is_call = true};                                                                      \
    })

/* True when the 8 bytes at address can be read; address is a multiple of 8. Keeps errno. */
bool unwind_is_readable(uint64_t address);

/*
 * Tells that [low, high), whole pages of 4 KiB around the stack pointer of the calling thread, are
 * and stay readable while it runs on them. Saves the probes: to be called where a thread starts, if
 * at all.
 */
void unwind_know_stack(uint64_t low, uint64_t high);

/* Forgets what the calling thread knows of stacks that overlap [low, high): that memory is about to
 * go. Loads are guarded as well, for what goes unseen; but one that faults costs a signal. */
void unwind_forget_stacks(uint64_t low, uint64_t high);

/* Functions that read other functions' frames, where the sanitizer has its marks. */
#define UNWIND_READS_FRAMES __attribute__((no_sanitize("address")))

/*
 * Around dlopen and dlclose in the calling thread; calls nest. After the outermost leave of a
 * dlclose (unloaded) the rules of all code addresses are read afresh, as another object may lie
 * there.
 */
void unwind_loader_enter(void);
void unwind_loader_leave(bool unloaded);

/* Walks that ended before the outermost frame or UNWIND_FRAMES_MAX; approximate under contention.
 */
uint64_t unwind_truncated(void);

#endif
