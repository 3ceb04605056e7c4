/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exact LRU stack distances and reuse times of a stream of line numbers.
 *
 * The most recent EXACT_STACK_NEAR lines stand in an array in LRU order, where nearly all accesses
 * of real programs end after a comparison or two: the position is the distance. The other lines are
 * ordered by the moment in which they left that array: a hash table maps a line to that moment, and
 * exact_order.h counts the later ones. Time thus advances only when the array misses.
 *
 * Memory: 16 bytes a table entry, 60 to 75 % full once there are many, and less than 4 bytes a line
 * for the order: 25 to 31 bytes per distinct line, also while the table grows, and up to 4 more
 * with marks. Pure, allocates with malloc and mmap, not thread-safe: one stack belongs to one
 * consumer at a time.
 */
#ifndef REUSE_REUSE_EXACT_STACK_H
#define REUSE_REUSE_EXACT_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reuse/exact_order.h"

enum { EXACT_STACK_NEAR = 8 };

#define EXACT_STACK_COLD UINT64_MAX                    /* distance and reuse time of a first use */
#define EXACT_STACK_LINE_MAX ((UINT64_C(1) << 48) - 2) /* largest line number */

struct exact_reuse {
    uint64_t distance; /* distinct other lines since the last use; EXACT_STACK_COLD */
    uint64_t time;     /* accesses since the last use, 1 = the very next; EXACT_STACK_COLD */
};

/* Of 128 bits: line + 1 (48; 0 is empty), clock of the last use (48), time in the order (32). */
struct exact_line {
    uint64_t words[2];
};

/* Fields are private; clock, count, far and untracked may be read. */
struct exact_stack {
    uint64_t near_line[EXACT_STACK_NEAR];  /* most recent first */
    uint64_t near_clock[EXACT_STACK_NEAR]; /* of the last use */
    uint64_t
        near_entry[EXACT_STACK_NEAR]; /* 48 bits: the line's entry in the table; 16: its mark */
    uint64_t clock;                   /* accesses so far */
    unsigned near_count;
    struct exact_line *table;
    uint16_t *marks; /* by entry, of lines that are not near; NULL: none are kept */
    uint64_t table_entries;
    uint64_t groups;         /* of four entries */
    uint64_t place_count[4]; /* entries in use by place in their group */
    uint64_t count;          /* distinct lines so far */
    uint64_t far;            /* accesses that the near lines missed */
    uint64_t untracked;      /* first uses that found no memory and count as cold again later */
    struct exact_order order;
};

/* False (errno) when memory is short. */
bool exact_stack_create(struct exact_stack *);
void exact_stack_destroy(struct exact_stack *);

/*
 * Gives each line a mark for the caller's use, 0 at first; of a stack that was just created. False
 * when memory is short.
 */
bool exact_stack_keep_marks(struct exact_stack *);

/* The mark of the line that was used last. */
static inline uint16_t exact_stack_mark(const struct exact_stack *stack)
{
    return (uint16_t)(stack->near_entry[0] >> 48);
}
static inline void exact_stack_set_mark(struct exact_stack *stack, uint16_t mark)
{
    stack->near_entry[0] = stack->near_entry[0] << 16 >> 16 | (uint64_t)mark << 48;
}

/* Bytes in use. */
uint64_t exact_stack_bytes(const struct exact_stack *);

/*
 * Makes a stack that is what `from` would be if it had seen only the lines that `keep` accepts, but
 * for its clock, which is that of `from`; with the marks of `from`, or without any. False when
 * memory is short.
 */
bool exact_stack_filter(struct exact_stack *, const struct exact_stack *from, bool marks,
                        bool (*keep)(void *context, uint64_t line), void *context);

struct exact_reuse exact_stack_use_far(struct exact_stack *, uint64_t line); /* of use, below */

/*
 * Where the line's entry is looked for first. Four lines in a row share a 64-byte group of entries,
 * so that streams stay local; their order in it varies from group to group, so that strides use all
 * places.
 */
static inline uint64_t exact_stack_home(const struct exact_stack *stack, uint64_t line)
{
    unsigned __int128 product = (unsigned __int128)(line >> 2) * 0x9e3779b97f4a7c15u;
    uint64_t mixed = ((uint64_t)(product >> 64) ^ (uint64_t)product) * 0xd6e8feb86659fd93u;
    uint64_t group = (uint64_t)((unsigned __int128)mixed * stack->groups >> 64);
    return group << 2 | ((line + (mixed >> 8)) & 3);
}

/* Worth calling some accesses ahead when the near lines miss often. */
static inline void exact_stack_prefetch(const struct exact_stack *stack, uint64_t line)
{
    __builtin_prefetch(&stack->table[exact_stack_home(stack, line)], 1);
}

/* Moves near lines 0 .. i-1 one place back and puts a line in front. */
static inline void exact_stack_to_front(struct exact_stack *stack, unsigned i, uint64_t line,
                                        uint64_t entry)
{
    for (unsigned j = i; j > 0; j--) {
        __asm__ volatile(""); /* else it becomes three calls of memmove */
        stack->near_line[j] = stack->near_line[j - 1];
        stack->near_clock[j] = stack->near_clock[j - 1];
        stack->near_entry[j] = stack->near_entry[j - 1];
    }
    stack->near_line[0] = line;
    stack->near_clock[0] = stack->clock;
    stack->near_entry[0] = entry;
}

/* One access: what it reuses. line is at most EXACT_STACK_LINE_MAX. */
static inline struct exact_reuse exact_stack_use(struct exact_stack *stack, uint64_t line)
{
    uint64_t clock = ++stack->clock;
    if (stack->near_line[0] == line) {
        uint64_t time = clock - stack->near_clock[0];
        stack->near_clock[0] = clock;
        return (struct exact_reuse){0, time};
    }
    for (unsigned i = 1; i < EXACT_STACK_NEAR; i++) {
        if (stack->near_line[i] != line)
            continue;
        uint64_t time = clock - stack->near_clock[i];
        exact_stack_to_front(stack, i, line, stack->near_entry[i]);
        return (struct exact_reuse){i, time};
    }
    return exact_stack_use_far(stack, line);
}

#endif
