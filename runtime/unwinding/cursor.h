/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signal-safe. A place in a walk of the stack, one frame, and the step to its caller. What the walk
 * rests on is noted beside it, so that the next walk can be compared with it (walk_memory.h).
 */
#ifndef REUSE_RUNTIME_CURSOR_H
#define REUSE_RUNTIME_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwinding/unwind_stack.h"
#include "unwinding/walk_memory.h"

/* No word: the frame pointer is still in the register of the start. */
enum { IN_REGISTER = -1 };

/* One frame. */
struct cursor {
    uint64_t ip, stack_pointer, frame_pointer, link;
    bool frame_pointer_known;
    bool is_call;
    bool link_known;
    struct stack_range stack;
    struct walk *walk;            /* what the walk rests on is noted there; NULL: nowhere */
    unsigned frame;               /* number of this one */
    int frame_pointer_word;       /* of the walk: where it was read */
    unsigned frame_pointer_since; /* the first frame that had it */
};

/* Notes a word; its index, or IN_REGISTER when it is not noted. */
static inline int cursor_rely_on(struct cursor *cursor, uint64_t address, uint64_t value)
{
    struct walk *walk = cursor->walk;
    if (walk == NULL)
        return IN_REGISTER;
    if (walk->words == WALK_WORDS_MAX) {
        walk->is_complete = false;
        return IN_REGISTER;
    }
    walk->word[walk->words] =
        (struct walk_word){.address = address, .value = value, .is_relied_on = true};
    return (int)walk->words++;
}

/* The caller's frame pointer was read there. It counts only once it is used: in most code the
 * register holds anything. */
static inline void cursor_take_frame_pointer(struct cursor *cursor, uint64_t address,
                                             uint64_t value)
{
    cursor->frame_pointer = value;
    cursor->frame_pointer_word = cursor_rely_on(cursor, address, value);
    cursor->frame_pointer_since = cursor->frame + 1;
    if (cursor->frame_pointer_word != IN_REGISTER)
        cursor->walk->word[cursor->frame_pointer_word].is_relied_on = false;
}

/* The walk will be read from the frame pointer as well: noted. False if it is not known. */
bool cursor_use_frame_pointer(struct cursor *);

/* A word of the stack; false if it is not there. */
bool cursor_read_word(struct cursor *, uint64_t address, uint64_t *value);

enum step { STEP_DONE, STEP_OUTERMOST, STEP_LOST };

/* To the caller; after anything but STEP_DONE there is none to go on to. */
enum step cursor_step(struct cursor *);

#endif
