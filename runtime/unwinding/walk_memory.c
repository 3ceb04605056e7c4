/* SPDX-License-Identifier: BSD-3-Clause */
/* Comparing a walk with the one before. Signal-safe. */
#include "unwinding/walk_memory.h"

#include <stddef.h>

#include "isa/guarded_memory.h"
#include "unwinding/unwind.h"

#include "signal_safe.h"

/* The stack that was here may be gone, and another, smaller one in its place. */
UNWIND_READS_FRAMES static bool is_unchanged(const struct walk_word *word,
                                             const struct stack_range *stack)
{
    uint64_t value;
    if (!word->is_relied_on)
        return true;
    if (word->address < stack->low || word->address >= stack->high)
        return false;
    if (guarded_load_64(word->address, &value))
        return value == word->value;
    stack_range_forget(word->address);
    return false;
}

bool walk_goes_on_as(const struct walk *walk, unsigned *at, const struct walk_frame *frame,
                     const struct stack_range *stack)
{
    while (*at < walk->frames && walk->frame[*at].stack_pointer < frame->stack_pointer)
        ++*at;
    const struct walk_frame *known = &walk->frame[*at];
    if (*at >= walk->frames || known->stack_pointer != frame->stack_pointer ||
        known->ip != frame->ip)
        return false;
    if (known->needs_frame_pointer &&
        !(frame->frame_pointer_known && known->frame_pointer == frame->frame_pointer))
        return false;
    for (unsigned i = known->first_word; i < walk->words; i++) {
        if (is_unchanged(&walk->word[i], stack))
            continue;
        /* What was read with that word or before it is not the same, nor what it led to; beyond,
         * frames may be. */
        while (*at < walk->frames && walk->frame[*at].first_word <= i)
            ++*at;
        return false;
    }
    return true;
}

void walk_append(struct walk *walk, const struct walk *old, unsigned at)
{
    const struct walk_frame here = walk->frame[--walk->frames];
    const unsigned first_frame = walk->frames, skipped_frames = at;
    const unsigned first_word = walk->words, skipped_words = old->frame[at].first_word;
    for (unsigned i = skipped_words; i < old->words; i++) {
        if (walk->words == WALK_WORDS_MAX) {
            walk->is_complete = false;
            break;
        }
        walk->word[walk->words++] = old->word[i];
    }
    for (; at < old->frames && walk->frames < UNWIND_FRAMES_MAX; at++) {
        struct walk_frame *frame = &walk->frame[walk->frames++];
        *frame = old->frame[at];
        frame->first_word = (uint8_t)(frame->first_word - skipped_words + first_word);
        if (frame->frame_pointer_word >= (int)skipped_words) {
            frame->frame_pointer_word =
                (int8_t)(frame->frame_pointer_word - (int)skipped_words + (int)first_word);
            frame->frame_pointer_since =
                (uint8_t)(frame->frame_pointer_since - skipped_frames + first_frame);
        } else {
            /* Nobody has compared it unless it is needed. */
            frame->frame_pointer = here.frame_pointer;
            frame->frame_pointer_known = frame->frame_pointer_known && here.frame_pointer_known;
            frame->frame_pointer_word = here.frame_pointer_word;
            frame->frame_pointer_since = here.frame_pointer_since;
        }
    }
    walk->is_ended = old->is_ended && at == old->frames;
    /* Contexts are counted from the outermost frame that is kept. */
    const bool has_same_end =
        at == old->frames && (old->is_ended || walk->frames == UNWIND_FRAMES_MAX);
    for (unsigned i = first_frame; i < walk->frames && !has_same_end; i++)
        walk->frame[i].context = 0;
}
