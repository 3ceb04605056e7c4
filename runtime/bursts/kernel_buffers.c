/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "bursts/kernel_buffers.h"

#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "arch/arch.h"
#include "isa/interpreter.h"

#include "signal_safe.h"

enum { VECTORS_MAX = 8 }; /* of one call: the first ones */

void kernel_buffers_begin(struct kernel_buffers *buffers)
{
    buffers->noted = 0;
}

static unsigned kept(const struct kernel_buffers *buffers)
{
    return buffers->noted < KERNEL_BUFFERS_MAX ? buffers->noted : KERNEL_BUFFERS_MAX;
}

/* One that overlaps another, or is next to it, grows it. */
static void add(struct kernel_buffers *buffers, uint64_t base, uint64_t size)
{
    uint64_t end = base + size;

    if (end <= base)
        return;
    for (unsigned i = 0; i < kept(buffers); i++) {
        if (base > buffers->range[i].end || end < buffers->range[i].base)
            continue;
        if (base < buffers->range[i].base)
            buffers->range[i].base = base;
        if (end > buffers->range[i].end)
            buffers->range[i].end = end;
        return;
    }
    buffers->range[buffers->noted % KERNEL_BUFFERS_MAX].base = base;
    buffers->range[buffers->noted++ % KERNEL_BUFFERS_MAX].end = end;
}

static void add_vectors(struct kernel_buffers *buffers, struct interpreter *interpreter,
                        uint64_t vectors, uint64_t count)
{
    for (uint64_t i = 0; i < count && i < VECTORS_MAX; i++) {
        uint64_t at = vectors + i * sizeof(struct iovec), base, size;

        if (!interpreter_peek(interpreter, at + offsetof(struct iovec, iov_base), 8, &base) ||
            !interpreter_peek(interpreter, at + offsetof(struct iovec, iov_len), 8, &size))
            return;
        add(buffers, base, size);
    }
}

static void add_message(struct kernel_buffers *buffers, struct interpreter *interpreter,
                        uint64_t message)
{
    uint64_t vectors, count;

    if (interpreter_peek(interpreter, message + offsetof(struct msghdr, msg_iov), 8, &vectors) &&
        interpreter_peek(interpreter, message + offsetof(struct msghdr, msg_iovlen), 8, &count))
        add_vectors(buffers, interpreter, vectors, count);
}

void kernel_buffers_note(struct kernel_buffers *buffers, struct interpreter *interpreter)
{
    const uint64_t *general = interpreter_general(interpreter);
    uint64_t second = general[ARCH_SYSTEM_CALL_SECOND], third = general[ARCH_SYSTEM_CALL_THIRD];
    uint32_t used = UINT32_C(1) << ARCH_SYSTEM_CALL_NUMBER |
                    UINT32_C(1) << ARCH_SYSTEM_CALL_SECOND | UINT32_C(1) << ARCH_SYSTEM_CALL_THIRD;

    if (interpreter_poisoned_registers(interpreter) & used)
        return;
    switch (general[ARCH_SYSTEM_CALL_NUMBER]) {
    case SYS_read:
    case SYS_write:
    case SYS_pread64:
    case SYS_pwrite64:
    case SYS_recvfrom:
    case SYS_sendto:
        add(buffers, second, third);
        break;
    case SYS_readv:
    case SYS_writev:
    case SYS_preadv:
    case SYS_pwritev:
    case SYS_preadv2:
    case SYS_pwritev2:
        add_vectors(buffers, interpreter, second, third);
        break;
    case SYS_recvmsg:
    case SYS_sendmsg:
        add_message(buffers, interpreter, second);
        break;
    default:
        break;
    }
}

bool kernel_buffers_touch(const struct kernel_buffers *buffers, uint64_t address, uint64_t size)
{
    for (unsigned i = 0; i < kept(buffers); i++)
        if (address < buffers->range[i].end && address + size > buffers->range[i].base)
            return true;
    return false;
}
