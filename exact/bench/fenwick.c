/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plugin with the textbook's exact stack distances, for comparison: a hash table from line to
 * time of last use and a Fenwick tree over times (Bennett and Kruskal 1975; Olken 1981), one of
 * each per thread, 64-byte lines, a histogram by octave. Prints the histogram's sum at the end.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "qemu_api.h"

int qemu_plugin_version = 1;

enum { THREADS_MAX = 1024, FIRST_LINES = 1 << 16, TIMES_PER_LINE = 4, OCTAVES = 64, COLD = 63 };

struct line {
    uint64_t number; /* + 1; 0 is empty */
    uint32_t time;
};

struct stack {
    struct line *lines;
    uint32_t *tree; /* 1 .. times; marks at times of last uses */
    uint32_t size, count, times, now;
    uint64_t histogram[OCTAVES];
};

static struct stack *stacks[THREADS_MAX]; /* by vcpu; only its own thread uses one */

static struct line *find(struct line *lines, uint32_t size, uint64_t number)
{
    uint64_t hash = number * 0x9e3779b97f4a7c15u;
    for (uint64_t i = hash >> 32;; i++) {
        struct line *line = &lines[i & (size - 1)];
        if (line->number == 0 || line->number == number + 1)
            return line;
    }
}

static void add(struct stack *stack, uint32_t time, uint32_t value)
{
    for (; time <= stack->times; time += time & -time)
        stack->tree[time] += value;
}

static uint32_t sum(const struct stack *stack, uint32_t time)
{
    uint32_t result = 0;
    for (; time > 0; time &= time - 1)
        result += stack->tree[time];
    return result;
}

static void *zeroed(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (memory == NULL)
        abort();
    return memory;
}

static int by_time(const void *a, const void *b)
{
    const struct line *x = *(struct line *const *)a, *y = *(struct line *const *)b;
    return (x->time > y->time) - (x->time < y->time);
}

/* Times have run out, or the table is full: a larger one, with times 1 .. count. */
static void rebuild(struct stack *stack)
{
    uint32_t size = stack->size, used = 0;
    while (size < 2 * stack->count)
        size *= 2;
    struct line **order = zeroed(stack->count + 1, sizeof *order);
    for (uint32_t i = 0; i < stack->size; i++)
        if (stack->lines[i].number != 0)
            order[used++] = &stack->lines[i];
    qsort(order, used, sizeof *order, by_time);
    struct line *lines = zeroed(size, sizeof *lines);
    free(stack->tree);
    stack->times = TIMES_PER_LINE * size;
    stack->tree = zeroed(stack->times + 1, sizeof *stack->tree);
    for (uint32_t i = 0; i < used; i++) {
        *find(lines, size, order[i]->number - 1) = (struct line){order[i]->number, i + 1};
        add(stack, i + 1, 1);
    }
    free(order);
    free(stack->lines);
    stack->lines = lines;
    stack->size = size;
    stack->now = used;
}

static void use(struct stack *stack, uint64_t number)
{
    if (stack->now == stack->times || 2 * stack->count >= stack->size)
        rebuild(stack);
    struct line *line = find(stack->lines, stack->size, number);
    unsigned octave = COLD;
    if (line->number != 0) {
        uint64_t distance = stack->count - sum(stack, line->time);
        octave = distance == 0 ? 0 : 64u - (unsigned)__builtin_clzll(distance);
        add(stack, line->time, UINT32_MAX);
    } else {
        stack->count++;
    }
    *line = (struct line){number + 1, ++stack->now};
    add(stack, stack->now, 1);
    stack->histogram[octave]++;
}

static struct stack *new_stack(void)
{
    struct stack *stack = zeroed(1, sizeof *stack);
    stack->size = FIRST_LINES;
    stack->lines = zeroed(stack->size, sizeof *stack->lines);
    stack->times = TIMES_PER_LINE * stack->size;
    stack->tree = zeroed(stack->times + 1, sizeof *stack->tree);
    return stack;
}

static void on_access(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *userdata)
{
    (void)userdata;
    if (stacks[vcpu] == NULL)
        stacks[vcpu] = new_stack();
    uint64_t last = address + (UINT64_C(1) << qemu_plugin_mem_size_shift(info)) - 1;
    for (uint64_t line = address >> 6; line <= last >> 6; line++)
        use(stacks[vcpu], line);
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
    (void)id;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(block); i++)
        qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(block, i), on_access,
                                         QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, NULL);
}

static void at_exit(qemu_plugin_id_t id, void *context)
{
    uint64_t total = 0;
    (void)id;
    (void)context;
    for (unsigned i = 0; i < THREADS_MAX; i++)
        for (unsigned octave = 0; octave < OCTAVES && stacks[i] != NULL; octave++)
            total += stacks[i]->histogram[octave];
    fprintf(stderr, "%" PRIu64 " accesses\n", total);
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    (void)info;
    (void)argc;
    (void)argv;
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_atexit_cb(id, at_exit, NULL);
    return 0;
}
