/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stack ranges that a thread was seen to be able to read. Signal-safe: a handler that
 * interrupts their update leaves them alone.
 */
#include "unwinding/unwind_stack.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unwinding/unwind.h"

#include "signal_safe.h"

enum {
    STACKS_KNOWN = 4,     /* ranges per thread: its own stack, a signal stack, two of coroutines */
    DOWNWARD_PROBES = 64, /* a stack that grew by more gets a new range */
};

/* Written by the owning thread only, and by its signal handlers when `busy` is not set. */
static __thread struct {
    struct stack_range range[STACKS_KNOWN];
    unsigned next;
    bool busy;
} known_stacks __attribute__((tls_model("initial-exec")));

/* The kernel copies the signal set before it looks at the invalid first argument, and says EFAULT
 * when it cannot. (abseil's AddressIsReadable rests on the same.) */
bool unwind_is_readable(uint64_t address)
{
    if (address < PAGE_BYTES) /* a null pointer would not be looked at */
        return false;
    const int saved_errno = errno;
    const bool readable = syscall(SYS_rt_sigprocmask, -1, address, NULL, 8) == 0 || errno != EFAULT;
    errno = saved_errno;
    return readable;
}

/* Readable memory around the stack pointer, from what the thread knows. */
struct stack_range stack_range_around(uint64_t stack_pointer)
{
    const uint64_t page = stack_pointer & -(uint64_t)PAGE_BYTES;
    if (!known_stacks.busy) {
        for (unsigned i = 0; i < STACKS_KNOWN; i++) {
            struct stack_range known = known_stacks.range[i];
            if (stack_pointer >= known.high ||
                (page < known.low && known.low - page > (uint64_t)DOWNWARD_PROBES * PAGE_BYTES))
                continue;
            while (known.low > page && unwind_is_readable(known.low - PAGE_BYTES))
                known.low -= PAGE_BYTES;
            if (known.low <= page)
                return known;
        }
    }
    return (struct stack_range){.low = page,
                                .high = unwind_is_readable(page) ? page + PAGE_BYTES : page};
}

void stack_range_remember(const struct stack_range *stack)
{
    if (known_stacks.busy)
        return;
    known_stacks.busy = true;
    atomic_signal_fence(memory_order_seq_cst);
    struct stack_range *place = NULL;
    for (unsigned i = 0; i < STACKS_KNOWN; i++) {
        struct stack_range *known = &known_stacks.range[i];
        if (known->low < stack->high && stack->low < known->high)
            place = known;
    }
    if (place == NULL)
        place = &known_stacks.range[known_stacks.next++ % STACKS_KNOWN];
    *place = *stack;
    atomic_signal_fence(memory_order_seq_cst);
    known_stacks.busy = false;
}

void stack_range_forget(uint64_t address)
{
    unwind_forget_stacks(address, address + 1);
}

void unwind_forget_stacks(uint64_t low, uint64_t high)
{
    if (known_stacks.busy)
        return;
    known_stacks.busy = true;
    atomic_signal_fence(memory_order_seq_cst);
    for (unsigned i = 0; i < STACKS_KNOWN; i++) {
        struct stack_range *known = &known_stacks.range[i];
        if (known->low < high && low < known->high)
            known->low = known->high = 0;
    }
    atomic_signal_fence(memory_order_seq_cst);
    known_stacks.busy = false;
}

void unwind_know_stack(uint64_t low, uint64_t high)
{
    stack_range_remember(&(struct stack_range){.low = low, .high = high});
}
