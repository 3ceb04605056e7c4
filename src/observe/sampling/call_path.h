/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From the calling context of an interruption to those of the accesses that follow it: the calls
 * and returns on the way are kept and applied, in order, to the frames that were unwound.
 *
 * Pure; no allocation; signal-safe. Some 160 KiB, touched as used.
 */
#ifndef REUSE_SAMPLING_CALL_PATH_H
#define REUSE_SAMPLING_CALL_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CALL_PATH_EVENTS = 4096,
    CALL_PATH_FRAMES = 31, /* above the leaf, that tell one path from another: the innermost */
};

/* The return address of a frame that is on the way but is not to be seen. */
enum { CALL_PATH_HIDDEN = 1 };

struct call_event {
    uint64_t accesses;       /* made when it was done, its own stack access included */
    uint64_t return_address; /* of a call; 0: a return */
};

struct call_frame_entry {
    uint64_t return_address;
    uint64_t hash;   /* of this frame and all below it in the array */
    uint32_t number; /* the user's, of the path that they are; 0 to begin with */
};

struct call_path {
    unsigned count;   /* events kept */
    unsigned applied; /* of them */
    unsigned depth;   /* frames now */
    bool overflow;    /* events were lost */
    struct call_event events[CALL_PATH_EVENTS];
    struct call_frame_entry frames[CALL_PATH_FRAMES + CALL_PATH_EVENTS]; /* outermost first */
};

/* above[0..n): the return addresses above the interrupted function, innermost first; at most
 * CALL_PATH_FRAMES count. */
void call_path_begin(struct call_path *, const uint64_t *above, size_t n);

/* Back to the interruption, with the events that were kept since then. */
void call_path_rewind(struct call_path *, const uint64_t *above, size_t n);

/* By ascending numbers of accesses. */
void call_path_add(struct call_path *, uint64_t accesses, uint64_t return_address);

/* Goes on to the access of that index (0: the first after the interruption). True: the path has
 * changed. */
bool call_path_seek(struct call_path *, uint64_t index);

/* False: calls on the way to where it is were lost, so that the path is not known. */
bool call_path_is_known(const struct call_path *);

/* The same for the same path, and almost never for different ones. */
uint64_t call_path_hash(const struct call_path *);

/* The return addresses above the access's own function, innermost first, without hidden ones;
 * returns how many, at most CALL_PATH_FRAMES. */
size_t call_path_frames(const struct call_path *, uint64_t frames[CALL_PATH_FRAMES]);

#endif
