/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How code inside an emulated program tells the exact engine what addresses alone do not show:
 * blocks, names, regions.
 *
 * The engine sees every system call of the program with its arguments. A call of the number below,
 * which no kernel knows, is a message; it fails with ENOSYS, under the engine as anywhere else, and
 * costs nothing else. Messages take effect in the program order of the calling thread. Pointers are
 * read before the call returns; bad ones make the message void. A library sends messages only when
 * the variable DOORBELL_VARIABLE is set in its environment to DOORBELL_VERSION, which reuse-run
 * does for programs that it starts under the engine.
 */
#ifndef REUSE_OBJECTS_DOORBELL_H
#define REUSE_OBJECTS_DOORBELL_H

#define DOORBELL_VARIABLE "REUSE_DOORBELL"
#define DOORBELL_VERSION "1"

/* syscall(DOORBELL_NUMBER, operation, arguments ...) */
#define DOORBELL_NUMBER 0x52455553L

enum doorbell_operation {
    /*
     * address, bytes as requested, enum allocator, frames, frame count: a block is the program's
     * from now on. frames points to return addresses, the caller of the allocator first; at most
     * DOORBELL_FRAMES_MAX are read.
     */
    DOORBELL_ALLOCATED = 1,
    /* address: the block that begins there is being given back. Before the allocator may reuse it.
     */
    DOORBELL_FREED = 2,
    /* low, high: the calling thread's stack. */
    DOORBELL_STACK = 3,
};

enum { DOORBELL_FRAMES_MAX = 64 };

#endif
