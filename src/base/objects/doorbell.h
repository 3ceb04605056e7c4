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
     * site, enum allocator, frames, frame count, name: an allocation site gets its number, 1 ..
     * BLOCK_SITE_MAX, before any block of it is told. frames points to return addresses, the caller
     * of the allocator first; name to text of which DOORBELL_NAME_MAX - 1 bytes count, or is 0.
     */
    DOORBELL_SITE = 1,
    /*
     * enum object_layer, address, bytes as requested, site, is new: a block is the program's from
     * now on. Not new: what is left of a block of which a part was unmapped, or one that is back
     * because realloc failed.
     */
    DOORBELL_INSERTED,
    /* enum object_layer, address: the block that begins there is being given back. Before the
     * allocator may use it again. */
    DOORBELL_REMOVED,
    /* low, high: the calling thread's stack. */
    DOORBELL_STACK,
    /* name: the calling thread enters a region; regions nest. */
    DOORBELL_REGION_BEGIN,
    /* It leaves the innermost one. */
    DOORBELL_REGION_END,
    /* Accesses are not counted from here on, in any thread, until DOORBELL_RESUME. */
    DOORBELL_PAUSE,
    DOORBELL_RESUME,
};

enum { DOORBELL_FRAMES_MAX = 64, DOORBELL_NAME_MAX = 256 };

#endif
