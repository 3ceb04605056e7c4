/* SPDX-License-Identifier: BSD-3-Clause */
/* How long x86 code would take: loops of this process whose time per turn follows from the
 * latencies of their instructions, interpreted with the model of a processor beside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/mman.h>

#include "isa/interpreter.h"
#include "isa/line_times.h"
#include "isa/pipeline.h"

enum {
    TURNS = 500,
    CAPACITY = 4096,
    CACHE = 1 << 18,
    STUBS = 1 << 16,
    NODE = 4096 + 128,
    NODES = 1024
};

static struct interpreter *interpreter;
static struct pipeline pipeline;
static struct access out[CAPACITY];
static uint64_t stack[512] __attribute__((aligned(64)));
static uint64_t nodes[NODES * NODE / 8] __attribute__((aligned(64)));

/* A loop of TURNS turns, counted in rcx, that ends where nothing can be interpreted. */
#define LOOP(name, body)                                                                           \
    void name(void);                                                                               \
    __asm__(".text\n" #name ":\n1:\n" body "\n\tdec %rcx\n\tjne 1b\n\tud2\n")

LOOP(loop_of_nothing, "");
LOOP(loop_of_products, "imul %rax, %rax");
LOOP(loop_of_two_products, "imul %rax, %rax\n imul %rdx, %rdx");
LOOP(loop_of_quotients, "xor %edx, %edx\n div %rbx");
LOOP(loop_of_sums, "addsd %xmm1, %xmm0");
LOOP(loop_of_sums_from_memory, "addsd (%rsi), %xmm0");
LOOP(loop_of_logic, "pxor %xmm1, %xmm0");
LOOP(loop_of_roots, "sqrtsd %xmm0, %xmm0");
LOOP(loop_of_moves, "cmp %rax, %rbx\n cmove %rdx, %rax");
LOOP(loop_of_carries, "adc %rax, %rax");
LOOP(loop_over_nodes, "mov (%rsi), %rsi");
LOOP(loop_on_the_stack, "push %rax\n pop %rax\n inc %rax");
LOOP(loop_of_atomic_increments, "lock incq (%rsi)");
LOOP(loop_of_exchanges, "xchg %rax, (%rsi)");
LOOP(loop_of_increments_and_products, "lock incq (%rsi)\n imul %rax, %rax\n imul %rax, %rax");
LOOP(loop_of_calls, "call 2f\n jmp 3f\n2: ret\n3:");

static void begin(void)
{
    pipeline_begin(&pipeline, pipeline_pace_of((struct pipeline_width){4, 2}),
                   &pipeline_usual_costs);
    pipeline_time_from_here(&pipeline);
}

static struct pipeline_time time_with(void (*loop)(void), struct interpreter_options options)
{
    struct interpreter_registers registers = {.ip = (uintptr_t)loop, .flags = 0x202};
    enum interpreter_stop why;

    options.pipeline = &pipeline;

    registers.general[0] = 3;
    registers.general[1] = TURNS;
    registers.general[3] = 1;
    registers.general[6] = (uintptr_t)nodes;
    registers.general[INTERPRETER_STACK_POINTER] = (uintptr_t)(stack + 256);
    interpreter_set_options(interpreter, &options);
    interpreter_begin(interpreter, &registers, NULL);
    begin();
    interpreter_run(interpreter, out, CAPACITY, UINT64_MAX, &why);
    assert_int_equal(why, INTERPRETER_UNKNOWN);
    return pipeline_time(&pipeline);
}

static struct pipeline_time time_of(void (*loop)(void))
{
    return time_with(loop, (struct interpreter_options){0});
}

static void expect(void (*loop)(void), double per_turn)
{
    double found = time_of(loop).cycles[PIPELINE_NEAR] / (double)TURNS;

    if (found < 0.95 * per_turn || found > 1.05 * per_turn + 0.1)
        fail_msg("%.2f cycles a turn instead of %.2f", found, per_turn);
}

static void integers(void **state)
{
    (void)state;
    expect(loop_of_nothing, 1);
    expect(loop_of_products, 3);
    expect(loop_of_two_products, 3);
    expect(loop_of_quotients, 15);
    expect(loop_of_moves, 2);
    expect(loop_of_carries, 1);
}

static void vectors(void **state)
{
    (void)state;
    expect(loop_of_sums, 4);
    expect(loop_of_sums_from_memory, 4);
    expect(loop_of_logic, 1);
    expect(loop_of_roots, 14);
}

/* The word, and 20 cycles: one after the other, beside what needs no memory. */
static void atomic_accesses(void **state)
{
    (void)state;
    expect(loop_of_atomic_increments, 25);
    expect(loop_of_exchanges, 24);
    expect(loop_of_increments_and_products, 25);
}

/* Each node in a page of its own. */
static void memory(void **state)
{
    struct pipeline_time time;

    (void)state;
    for (size_t i = 0; i < NODES; i++)
        nodes[i * NODE / 8] = (uintptr_t)&nodes[(i + 37) % NODES * NODE / 8];
    time = time_of(loop_over_nodes);
    assert_int_equal(time.accesses, TURNS);
    assert_int_equal(time.instructions, 3 * TURNS);
    for (unsigned i = 0; i < PIPELINE_SOURCES; i++) {
        static const double latency[] = {4, 4 + 14, 4 + 350};

        assert_true(time.cycles[i] >= 0.98 * latency[i] * TURNS);
        assert_true(time.cycles[i] <= 1.02 * latency[i] * TURNS);
    }
    /* From store to load, and a cycle to count. */
    expect(loop_on_the_stack, 5);
}

static void calls_and_returns_are_foreseen(void **state)
{
    (void)state;
    /* Four times on at another place, once a cycle; meanwhile all the rest is done. */
    expect(loop_of_calls, 4);
    assert_int_equal(pipeline_time(&pipeline).accesses, 2 * TURNS);
}

static bool read_own(void *context, uint64_t address, void *buffer, size_t size)
{
    (void)context;
    memcpy(buffer, (const void *)(uintptr_t)address, size);
    return true;
}

/* Who reads memory by a function of its own may have to: nothing is loaded besides. */
static void loads_are_timed_unless_memory_must_not_be_touched(void **state)
{
    struct line_times times = {.pipeline = &pipeline};

    (void)state;
    time_with(loop_over_nodes, (struct interpreter_options){.times = &times, .read = read_own});
    assert_int_equal(times.count, 0);
    time_with(loop_over_nodes, (struct interpreter_options){.times = &times});
    assert_in_range(times.count, 1, LINE_TIMES_MAX);
}

static int setup(void **state)
{
    const int anonymous = MAP_PRIVATE | MAP_ANONYMOUS, rw = PROT_READ | PROT_WRITE;
    const struct interpreter_options options = {.read = NULL};
    void *memory_of = mmap(NULL, interpreter_memory_size(), rw, anonymous, -1, 0);
    void *cache = mmap(NULL, CACHE, rw, anonymous, -1, 0);
    void *stubs = mmap(NULL, STUBS, rw | PROT_EXEC, anonymous, -1, 0);

    (void)state;
    if (memory_of == MAP_FAILED || cache == MAP_FAILED || stubs == MAP_FAILED)
        return -1;
    decode_cache_create(cache, CACHE, stubs, STUBS, 0);
    interpreter = interpreter_create(memory_of, &options);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers),
        cmocka_unit_test(vectors),
        cmocka_unit_test(atomic_accesses),
        cmocka_unit_test(memory),
        cmocka_unit_test(calls_and_returns_are_foreseen),
        cmocka_unit_test(loads_are_timed_unless_memory_must_not_be_touched),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
