/* SPDX-License-Identifier: BSD-3-Clause */
/* Walks a thread's stack with cached rules. Signal-safe. */
#include "unwinding/unwind.h"

#include <stdatomic.h>

#include "arch/arch.h"
#include "isa/guarded_memory.h"
#include "unwinding/cursor.h"
#include "unwinding/frame_rules.h"
#include "unwinding/rule_cache.h"

#include "signal_safe.h"

static _Atomic uint64_t truncated_walks;

uint64_t unwind_truncated(void)
{
    return atomic_load_explicit(&truncated_walks, memory_order_relaxed);
}

/* To the caller of an ordinary frame, with a known rule, on memory known to be readable; false, and
 * nothing done, where it is not that. */
UNWIND_READS_FRAMES static inline bool step_plain(struct cursor *cursor)
{
    struct call_frame_rule rule;
    const uint64_t low = cursor->stack.low, high = cursor->stack.high;
    if (!cursor->is_call || !rule_cache_find(cursor->ip - 1, &rule) ||
        (rule.flags & CALL_FRAME_PLAIN) == 0)
        return false;
    const uint64_t cfa = cursor->stack_pointer + (uint32_t)rule.cfa_offset;
    const uint64_t place = cfa + (uint64_t)(int64_t)rule.return_address_offset;
    uint64_t return_address;
    if (place % 8 != 0 || place < low || place >= high ||
        !guarded_load_64(place, &return_address) || arch_strip_signature(return_address) == 0)
        return false;
    if (rule.frame_pointer == PLACE_AT_CFA) {
        const uint64_t saved = cfa + (uint64_t)(int64_t)rule.frame_pointer_offset;
        uint64_t frame_pointer;
        if (saved % 8 != 0 || saved < low || saved >= high ||
            !guarded_load_64(saved, &frame_pointer))
            return false;
        cursor_take_frame_pointer(cursor, saved, frame_pointer);
    }
    cursor_rely_on(cursor, place, return_address);
    cursor->ip = arch_strip_signature(return_address);
    cursor->stack_pointer = cfa;
    return true;
}

/* Notes the frame that the walk has come to. */
static const struct walk_frame *note_frame(struct cursor *cursor)
{
    struct walk *walk = cursor->walk;
    walk->frame[cursor->frame] =
        (struct walk_frame){.ip = cursor->ip,
                            .stack_pointer = cursor->stack_pointer,
                            .frame_pointer = cursor->frame_pointer,
                            .first_word = (uint8_t)walk->words,
                            .frame_pointer_word = (int8_t)cursor->frame_pointer_word,
                            .frame_pointer_since = (uint8_t)cursor->frame_pointer_since,
                            .frame_pointer_known = cursor->frame_pointer_known};
    walk->frames = cursor->frame + 1;
    return &walk->frame[cursor->frame];
}

/* The frame and all beyond it are those of the walk before: the cursor goes to the last of them,
 * where that walk may have stopped at the limit. */
static void go_on_as(struct cursor *cursor, const struct walk *old, unsigned at)
{
    struct walk *walk = cursor->walk;
    if (old->frame[at].needs_frame_pointer)
        cursor_use_frame_pointer(cursor);
    walk_append(walk, old, at);
    const struct walk_frame *last = &walk->frame[walk->frames - 1];
    cursor->frame = walk->frames - 1;
    cursor->ip = last->ip;
    cursor->stack_pointer = last->stack_pointer;
    cursor->frame_pointer = last->frame_pointer;
    cursor->frame_pointer_known = last->frame_pointer_known;
    cursor->frame_pointer_word = last->frame_pointer_word;
    cursor->frame_pointer_since = last->frame_pointer_since;
    cursor->is_call = true;
    cursor->link_known = false;
    if (walk->is_ended || last->frame_pointer_word < 0)
        return;
    /* Nobody has compared it unless that walk used it. */
    struct walk_word *word = &walk->word[last->frame_pointer_word];
    cursor->frame_pointer_known =
        last->frame_pointer_known && cursor_read_word(cursor, word->address, &word->value);
    cursor->frame_pointer = word->value;
}

static struct cursor cursor_at(const struct unwind_start *start, struct walk *walk)
{
    return (struct cursor){.ip = start->ip,
                           .stack_pointer = start->stack_pointer,
                           .frame_pointer = start->frame_pointer,
                           .link = start->link,
                           .is_call = start->is_call,
                           .frame_pointer_known = true,
                           .link_known = !start->is_call,
                           .stack = stack_range_around(start->stack_pointer),
                           .walk = walk,
                           .frame_pointer_word = IN_REGISTER};
}

static void end_walk(const struct cursor *cursor, enum step outcome)
{
    if (outcome == STEP_LOST)
        atomic_fetch_add_explicit(&truncated_walks, 1, memory_order_relaxed);
    stack_range_remember(&cursor->stack);
}

size_t unwind(const struct unwind_start *start, uint64_t *ips, size_t max)
{
    struct cursor cursor = cursor_at(start, NULL);
    enum step outcome = STEP_DONE;
    if (max == 0)
        return 0;
    if (max > UNWIND_FRAMES_MAX)
        max = UNWIND_FRAMES_MAX;
    for (;;) {
        ips[cursor.frame] = cursor.ip;
        if (cursor.frame + 1 == max)
            break;
        if (!step_plain(&cursor) && (outcome = cursor_step(&cursor)) != STEP_DONE)
            break;
        cursor.frame++;
    }
    end_walk(&cursor, outcome);
    return cursor.frame + 1;
}

struct walk *unwind_again(const struct unwind_start *start, struct walk_memory *memory)
{
    const struct walk *old = &memory->walks[memory->last];
    struct walk *walk = &memory->walks[1 - memory->last];
    struct cursor cursor = cursor_at(start, walk);
    enum step outcome = STEP_DONE;
    unsigned at = 0, known = 0;

    walk->words = 0;
    walk->is_complete = start->is_call && !frame_rules_loader_works();
    walk->is_ended = false;
    walk->epoch = rule_cache_epoch();
    if (!old->is_complete || old->epoch != walk->epoch)
        at = old->frames;
    for (;;) {
        if (walk_goes_on_as(old, &at, note_frame(&cursor), &cursor.stack)) {
            known = old->frames - at;
            go_on_as(&cursor, old, at);
            at = old->frames;
        }
        if (walk->is_ended || cursor.frame + 1 == UNWIND_FRAMES_MAX)
            break;
        walk->is_ended = !step_plain(&cursor) && (outcome = cursor_step(&cursor)) != STEP_DONE;
        if (walk->is_ended)
            break;
        cursor.frame++;
    }
    end_walk(&cursor, outcome);
    memory->walked = walk->frames > known ? walk->frames - known : 1;
    if (walk->is_complete) {
        atomic_signal_fence(memory_order_seq_cst);
        memory->last = 1 - memory->last;
    }
    return walk;
}

struct unwind_start unwind_start_of_signal(const ucontext_t *context)
{
    return (struct unwind_start){.ip = arch_ip(context),
                                 .stack_pointer = arch_stack_pointer(context),
                                 .frame_pointer = arch_frame_pointer(context),
                                 .link = arch_link(context)};
}
