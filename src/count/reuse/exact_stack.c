/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of exact_stack.h: open addressing with linear probing, and the far accesses. */
#if defined __GNUC__ && !defined __clang__
#pragma GCC optimize("O3") /* random probes take 23 ns instead of 33 */
#endif
#include "reuse/exact_stack.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LINE_MASK ((UINT64_C(1) << 48) - 1)
#define NO_LINE UINT64_MAX
#define NO_ENTRY ENTRY_MASK
#define ENTRY_MASK ((UINT64_C(1) << 48) - 1) /* of near_entry; above it is the mark */
#define NO_TIME UINT32_MAX /* not in the order although not near: memory was short */

enum {
    FIRST_ENTRIES = 1024,
    TIMES_PER_LINE = 8, /* room in the order, so that compaction is rare */
    FIRST_TIMES = 16384,
    PAGE = 4096,
    HUGE_PAGE = 2 << 20,
    MANY_ENTRIES = 1 << 16, /* from here on tables grow by a quarter */
};

static uint64_t entry_line(const struct exact_line *entry)
{
    return (entry->words[0] & LINE_MASK) - 1; /* NO_LINE when empty */
}

static uint64_t entry_clock(const struct exact_line *entry)
{
    return entry->words[0] >> 48 | entry->words[1] >> 32 << 16;
}

static uint32_t entry_time(const struct exact_line *entry)
{
    return (uint32_t)entry->words[1];
}

static struct exact_line entry_of(uint64_t line, uint64_t clock, uint32_t time)
{
    return (struct exact_line){{(line + 1) | clock << 48, clock >> 16 << 32 | time}};
}

/* Random probes of a large table miss the TLB with every probe unless its pages are huge. */
static struct exact_line *table_memory(uint64_t entries)
{
    size_t bytes = (entries * sizeof(struct exact_line) + PAGE - 1) & ~(size_t)(PAGE - 1);
    size_t slack = bytes >= HUGE_PAGE ? HUGE_PAGE : 0;
    unsigned char *memory = mmap(NULL, bytes + slack, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    if (slack) {
        size_t head = (size_t)(-(uintptr_t)memory & (HUGE_PAGE - 1));
        if (head)
            munmap(memory, head);
        if (slack > head)
            munmap(memory + head + bytes, slack - head);
        memory += head;
        madvise(memory, bytes, MADV_HUGEPAGE);
    }
    return (struct exact_line *)memory;
}

static uint16_t *mark_memory(uint64_t entries)
{
    void *memory = mmap(NULL, entries * sizeof(uint16_t), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory != MAP_FAILED ? memory : NULL;
}

static void use_table(struct exact_stack *stack, struct exact_line *table, uint64_t entries)
{
    stack->table = table;
    stack->table_entries = entries;
    stack->groups = entries / 4;
}

bool exact_stack_create(struct exact_stack *stack)
{
    memset(stack, 0, sizeof *stack);
    for (unsigned i = 0; i < EXACT_STACK_NEAR; i++)
        stack->near_line[i] = NO_LINE;
    struct exact_line *table = table_memory(FIRST_ENTRIES);
    if (table == NULL)
        return false;
    if (!exact_order_create(&stack->order, FIRST_TIMES)) {
        munmap(table, FIRST_ENTRIES * sizeof *table);
        return false;
    }
    use_table(stack, table, FIRST_ENTRIES);
    return true;
}

void exact_stack_destroy(struct exact_stack *stack)
{
    if (stack->table != NULL)
        munmap(stack->table, stack->table_entries * sizeof *stack->table);
    if (stack->marks != NULL)
        munmap(stack->marks, stack->table_entries * sizeof *stack->marks);
    exact_order_destroy(&stack->order);
    memset(stack, 0, sizeof *stack);
}

bool exact_stack_keep_marks(struct exact_stack *stack)
{
    stack->marks = mark_memory(stack->table_entries);
    return stack->marks != NULL;
}

uint64_t exact_stack_bytes(const struct exact_stack *stack)
{
    uint64_t entry = sizeof *stack->table + (stack->marks != NULL ? sizeof *stack->marks : 0);
    return stack->table_entries * entry + exact_order_bytes(&stack->order);
}

/* The line's entry, or the empty one where it belongs: the same place in the groups that follow. */
static uint64_t find_entry(const struct exact_stack *stack, uint64_t line)
{
    for (uint64_t i = exact_stack_home(stack, line);;) {
        uint64_t there = entry_line(&stack->table[i]);
        if (there == line || there == NO_LINE)
            return i;
        i += 4;
        if (i >= stack->table_entries)
            i -= stack->table_entries;
    }
}

static void near_entries_moved(struct exact_stack *stack)
{
    for (unsigned i = 0; i < stack->near_count; i++)
        if ((stack->near_entry[i] & ENTRY_MASK) != NO_ENTRY)
            stack->near_entry[i] =
                find_entry(stack, stack->near_line[i]) | (stack->near_entry[i] & ~ENTRY_MASK);
}

/*
 * Lines keep their order from table to table, so the new one fills up from its start as the old one
 * is read, and the memory of what was read is given back on the way: there are never two tables.
 */
static bool grow_table(struct exact_stack *stack)
{
    enum { STEP = HUGE_PAGE / sizeof(struct exact_line) };
    struct exact_line *old = stack->table;
    uint64_t old_entries = stack->table_entries;
    uint64_t entries = old_entries < MANY_ENTRIES ? 2 * old_entries : old_entries / 16 * 20;
    uint16_t *old_marks = stack->marks, *marks = old_marks != NULL ? mark_memory(entries) : NULL;
    struct exact_line *table = table_memory(entries);
    if (table == NULL || (old_marks != NULL && marks == NULL)) {
        if (table != NULL)
            munmap(table, entries * sizeof *table);
        if (marks != NULL)
            munmap(marks, entries * sizeof *marks);
        return false;
    }
    use_table(stack, table, entries);
    stack->marks = marks;
    for (uint64_t i = 0; i < old_entries; i++) {
        if (entry_line(&old[i]) != NO_LINE) {
            uint64_t moved = find_entry(stack, entry_line(&old[i]));
            table[moved] = old[i];
            if (marks != NULL)
                marks[moved] = old_marks[i];
        }
        if (i % STEP == STEP - 1)
            madvise(&old[i + 1 - STEP], STEP * sizeof *old, MADV_DONTNEED);
    }
    munmap(old, old_entries * sizeof *old);
    if (old_marks != NULL)
        munmap(old_marks, old_entries * sizeof *old_marks);
    near_entries_moved(stack);
    return true;
}

static bool is_near(const struct exact_stack *stack, uint64_t line)
{
    for (unsigned i = 0; i < stack->near_count; i++)
        if (stack->near_line[i] == line)
            return true;
    return false;
}

/* Makes room in the order: renumbers the lines that are in it, which are those not near. */
static bool compact(struct exact_stack *stack)
{
    uint64_t capacity = TIMES_PER_LINE * (uint64_t)stack->order.live;
    if (capacity < FIRST_TIMES)
        capacity = FIRST_TIMES;
    for (uint64_t i = 0; i < stack->table_entries; i++) {
        struct exact_line *entry = &stack->table[i];
        uint64_t line = entry_line(entry);
        uint32_t time = entry_time(entry);
        if (line != NO_LINE && time != NO_TIME && !is_near(stack, line))
            *entry =
                entry_of(line, entry_clock(entry), exact_order_renumbered(&stack->order, time));
    }
    return exact_order_compact(&stack->order, capacity);
}

/* The least recent near line goes to the order, as its latest. */
static void evict_last_near(struct exact_stack *stack)
{
    enum { LAST = EXACT_STACK_NEAR - 1 };
    uint64_t entry = stack->near_entry[LAST] & ENTRY_MASK;
    uint32_t time = NO_TIME;
    if (exact_order_left(&stack->order) > 0 || compact(stack))
        time = exact_order_append(&stack->order);
    if (entry == NO_ENTRY || time == NO_TIME)
        stack->untracked++;
    if (entry != NO_ENTRY)
        stack->table[entry] = entry_of(stack->near_line[LAST], stack->near_clock[LAST], time);
    if (entry != NO_ENTRY && stack->marks != NULL)
        stack->marks[entry] = (uint16_t)(stack->near_entry[LAST] >> 48);
}

static uint64_t insert_entry(struct exact_stack *stack, uint64_t line)
{
    uint64_t place = exact_stack_home(stack, line) & 3, places = stack->groups;
    bool full = (stack->place_count[place] + 1) * 4 > places * 3;
    if (full && !grow_table(stack) && stack->place_count[place] + 1 >= places)
        return NO_ENTRY;
    uint64_t i = find_entry(stack, line);
    stack->place_count[i & 3]++;
    stack->table[i] = entry_of(line, 0, NO_TIME);
    stack->count++;
    return i;
}

struct exact_reuse exact_stack_use_far(struct exact_stack *stack, uint64_t line)
{
    struct exact_reuse reuse = {EXACT_STACK_COLD, EXACT_STACK_COLD};
    uint64_t i = find_entry(stack, line);
    stack->far++;
    bool known = entry_line(&stack->table[i]) == line;

    if (stack->near_count == EXACT_STACK_NEAR)
        evict_last_near(stack);
    else
        stack->near_count++;
    exact_stack_to_front(stack, EXACT_STACK_NEAR - 1, line, NO_ENTRY);

    if (!known)
        i = insert_entry(stack, line);
    else if (entry_time(&stack->table[i]) != NO_TIME) {
        const struct exact_line *entry = &stack->table[i];
        /* The line just evicted is in the order by now: it counts there. */
        reuse.distance =
            EXACT_STACK_NEAR - 1 + exact_order_remove(&stack->order, entry_time(entry));
        reuse.time = stack->clock - entry_clock(entry);
    }
    stack->near_entry[0] = i | (uint64_t)(known && stack->marks != NULL ? stack->marks[i] : 0)
                                   << 48;
    return reuse;
}

/* A line with its place in the order of last uses, 0 the oldest. */
struct ordered_line {
    uint64_t place, line, clock;
    uint16_t mark;
};

static int by_place(const void *a, const void *b)
{
    const struct ordered_line *x = a, *y = b;
    return (x->place > y->place) - (x->place < y->place);
}

bool exact_stack_filter(struct exact_stack *stack, const struct exact_stack *from, bool marks,
                        bool (*keep)(void *context, uint64_t line), void *context)
{
    struct ordered_line *lines = malloc((from->count + EXACT_STACK_NEAR) * sizeof *lines);
    size_t count = 0;
    if (lines == NULL)
        return false;
    marks = marks && from->marks != NULL;
    if (!exact_stack_create(stack) || (marks && !exact_stack_keep_marks(stack))) {
        exact_stack_destroy(stack);
        free(lines);
        return false;
    }
    for (uint64_t i = 0; i < from->table_entries; i++) {
        const struct exact_line *entry = &from->table[i];
        uint64_t line = entry_line(entry);
        if (line == NO_LINE || entry_time(entry) == NO_TIME || is_near(from, line) ||
            !keep(context, line))
            continue;
        lines[count++] =
            (struct ordered_line){exact_order_rank(&from->order, entry_time(entry)), line,
                                  entry_clock(entry), marks ? from->marks[i] : 0};
    }
    qsort(lines, count, sizeof *lines, by_place);
    for (unsigned i = from->near_count; i-- > 0;)
        if (keep(context, from->near_line[i]))
            lines[count++] =
                (struct ordered_line){UINT64_MAX, from->near_line[i], from->near_clock[i],
                                      marks ? (uint16_t)(from->near_entry[i] >> 48) : 0};
    for (size_t i = 0; i < count; i++) {
        stack->clock = lines[i].clock - 1;
        exact_stack_use(stack, lines[i].line);
        exact_stack_set_mark(stack, lines[i].mark);
    }
    stack->clock = from->clock;
    stack->far = 0;
    free(lines);
    return true;
}
