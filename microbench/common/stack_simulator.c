/* SPDX-License-Identifier: BSD-3-Clause */
/* Exact LRU stack distances; see stack_simulator.h. */
#include "stack_simulator.h"

#include <stdlib.h>
#include <string.h>

#include "options.h"

enum { TOP = 8 };    /* lines kept in the explicit top of the stack */
enum { IN_TOP = 0 }; /* slot of a line that is in the top, or was never used */
#define NO_LINE UINT32_MAX

struct stack_simulator {
    uint64_t now;       /* accesses so far */
    uint64_t *last_use; /* per line: time of its last use, 0 never */
    uint32_t top[TOP];  /* most recent first */
    size_t top_count;
    /* Below the top, lines have slots 1 .. slot_count in the order in which they left the top. */
    uint32_t *slot;    /* per line, or IN_TOP */
    uint32_t *line_at; /* per slot, or NO_LINE */
    uint32_t *tree;    /* Fenwick tree: 1 per occupied slot */
    size_t slot_count; /* capacity */
    size_t next_slot;
    size_t below_count; /* lines below the top */
};

struct stack_simulator *stack_simulator_create(size_t line_count)
{
    struct stack_simulator *s = calloc(1, sizeof *s);
    check_allocation(s, "the stack simulator", sizeof *s);
    if (line_count >= NO_LINE / 4)
        fatal("%zu lines are too many to enumerate", line_count);
    s->slot_count = 2 * line_count + 1024;
    s->next_slot = 1;
    s->last_use = calloc(line_count + 1, sizeof *s->last_use);
    s->slot = calloc(line_count + 1, sizeof *s->slot);
    s->line_at = malloc((s->slot_count + 1) * sizeof *s->line_at);
    s->tree = calloc(s->slot_count + 1, sizeof *s->tree);
    check_allocation(s->last_use, "the stack simulator", line_count * sizeof *s->last_use);
    check_allocation(s->slot, "the stack simulator", line_count * sizeof *s->slot);
    check_allocation(s->line_at, "the stack simulator", s->slot_count * sizeof *s->line_at);
    check_allocation(s->tree, "the stack simulator", s->slot_count * sizeof *s->tree);
    memset(s->line_at, 0xff, (s->slot_count + 1) * sizeof *s->line_at);
    return s;
}

void stack_simulator_free(struct stack_simulator *s)
{
    if (s == NULL)
        return;
    free(s->last_use);
    free(s->slot);
    free(s->line_at);
    free(s->tree);
    free(s);
}

static void tree_add(struct stack_simulator *s, size_t slot, uint32_t amount)
{
    for (; slot <= s->slot_count; slot += slot & -slot)
        s->tree[slot] += amount;
}

static uint32_t tree_sum(const struct stack_simulator *s, size_t slot)
{
    uint32_t sum = 0;
    for (; slot > 0; slot -= slot & -slot)
        sum += s->tree[slot];
    return sum;
}

/* Closes the gaps that lines left when they went back to the top. */
static void renumber(struct stack_simulator *s)
{
    size_t to = 1;
    for (size_t from = 1; from < s->next_slot; from++) {
        uint32_t line = s->line_at[from];
        if (line == NO_LINE)
            continue;
        s->line_at[from] = NO_LINE;
        s->line_at[to] = line;
        s->slot[line] = (uint32_t)to++;
    }
    s->next_slot = to;
    for (size_t i = 1; i <= s->slot_count; i++)
        s->tree[i] = i < to;
    for (size_t i = 1; i <= s->slot_count; i++) {
        size_t parent = i + (i & -i);
        if (parent <= s->slot_count)
            s->tree[parent] += s->tree[i];
    }
}

static void push_below(struct stack_simulator *s, uint32_t line)
{
    if (s->next_slot > s->slot_count)
        renumber(s);
    s->slot[line] = (uint32_t)s->next_slot;
    s->line_at[s->next_slot] = line;
    tree_add(s, s->next_slot, 1);
    s->next_slot++;
    s->below_count++;
}

/* Puts line on top; `depth` is where it was in the top, or top_count when it was not there. */
static void move_to_top(struct stack_simulator *s, uint32_t line, size_t depth)
{
    if (depth == s->top_count) {
        if (s->top_count == TOP) {
            push_below(s, s->top[TOP - 1]);
            depth = TOP - 1;
        } else {
            s->top_count++;
        }
    }
    for (size_t i = depth; i > 0; i--)
        s->top[i] = s->top[i - 1];
    s->top[0] = line;
}

uint64_t stack_simulator_access(struct stack_simulator *s, size_t line, uint64_t *reuse_time)
{
    uint64_t last = s->last_use[line];
    s->last_use[line] = ++s->now;
    *reuse_time = last == 0 ? STACK_COLD : s->now - last;

    size_t depth = 0;
    while (depth < s->top_count && s->top[depth] != line)
        depth++;
    uint64_t distance = depth;
    if (depth == s->top_count) {
        size_t slot = s->slot[line];
        distance = STACK_COLD;
        if (slot != IN_TOP) {
            distance = depth + s->below_count - tree_sum(s, slot);
            tree_add(s, slot, UINT32_MAX); /* minus one */
            s->line_at[slot] = NO_LINE;
            s->slot[line] = IN_TOP;
            s->below_count--;
        }
    }
    move_to_top(s, (uint32_t)line, depth);
    return distance;
}
