/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread's last walk of its stack, so that the next one walks only the frames that are new: where
 * it reaches a frame at the same place, for the same return address, and all words that the rest of
 * the walk was read from are as they were, the rest is the same. So an allocation in a loop costs a
 * look at some 32 words, without a rule. Signal-safe.
 */
#ifndef REUSE_RUNTIME_WALK_MEMORY_H
#define REUSE_RUNTIME_WALK_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "unwinding/unwind_stack.h"

/* Frames kept of a walk at most: the innermost ones. */
enum { UNWIND_FRAMES_MAX = 32 };

/* Words that a walk is read from: a return address and a frame pointer each, and some more. */
enum { WALK_WORDS_MAX = 3 * UNWIND_FRAMES_MAX };

/* A frame, as the walk knew it before the step to its caller. */
struct walk_frame {
    uint64_t ip, stack_pointer, frame_pointer;
    uint32_t context;         /* for the caller of unwind(): kept while all frames from here to the
                                 outermost         stay as they are; 0 in a new frame */
    uint8_t first_word;       /* of those that were read in this step and later ones */
    bool needs_frame_pointer; /* this step or a later one rests on it */
    bool frame_pointer_known;
    int8_t frame_pointer_word;   /* where it was read; < 0: it is in the register of the start */
    uint8_t frame_pointer_since; /* the first frame that had it */
};

struct walk_word {
    uint64_t address, value;
    bool is_relied_on; /* false: a saved register that no later step made use of */
};

struct walk {
    unsigned frames, words;
    bool is_complete; /* false: words do not tell all, as beyond the frame of a signal */
    bool is_ended;    /* at the outermost frame or where no rule leads on, not at the limit */
    uint64_t epoch;   /* of rules */
    struct walk_frame frame[UNWIND_FRAMES_MAX];
    struct walk_word word[WALK_WORDS_MAX];
};

/* All zero to begin with. Of one thread; a walk that a jump out of a signal handler cuts off leaves
 * the one before. */
struct walk_memory {
    struct walk walks[2];
    unsigned last;   /* index of the last complete one */
    unsigned walked; /* frames of the last one that were not remembered */
};

/*
 * True if from the frame (ip, stack_pointer, frame_pointer) on the walk would be that of `walk`
 * from frame *at on. Frames are met from the innermost on; *at is 0 at first, and moves on past
 * what cannot be the same. stack: what can be read.
 */
bool walk_goes_on_as(const struct walk *walk, unsigned *at, const struct walk_frame *frame,
                     const struct stack_range *stack);

/* Puts the frames of old from `at` on, as many as there is room for, in the place of the last one.
 */
void walk_append(struct walk *walk, const struct walk *old, unsigned at);

#endif
