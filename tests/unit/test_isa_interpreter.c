/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interpreter's contract, on hand-assembled code in this process: accesses and their order,
 * stops, poison, hooks, budgets, changing code, a small cache, no executable memory.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "isa/guarded_memory.h"
#include "isa/interpreter.h"
#include "isa/x86/processor.h"

enum { CAPACITY = 4096, CACHE = 1 << 18, STUBS = 1 << 16, PAGE = 4096 };

static struct interpreter *interpreter;
static void *cache, *stubs;
static uint8_t *code; /* two pages; the second is followed by nothing */
static uint64_t data[64] __attribute__((aligned(64)));
static uint64_t stack[512] __attribute__((aligned(64)));
static struct access out[CAPACITY];
static size_t count;
static enum interpreter_stop why;
static struct interpreter_registers at;

static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)info;
    greg_t *gregs = ((ucontext_t *)context)->uc_mcontext.gregs;
    uint64_t landing = guarded_memory_recover((uint64_t)gregs[REG_RIP]);
    if (landing)
        gregs[REG_RIP] = (greg_t)landing;
    else
        signal(number, SIG_DFL);
}

static uint64_t address_of(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

/* An empty cache, executable memory or not, zeroed memory, and a fault handler. */
static void fresh(size_t cache_size, bool executable)
{
    const struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    memset(cache, 0, CACHE);
    decode_cache_create(cache, cache_size, executable ? stubs : NULL, executable ? STUBS : 0, 0);
    const struct interpreter_options options = {.read = NULL};
    interpreter_set_options(interpreter, &options);
    memset(data, 0, sizeof data);
    memset(stack, 0, sizeof stack);
}

static void put(const void *bytes, size_t size)
{
    memset(code, 0x90, 2 * PAGE);
    memcpy(code, bytes, size);
}

/* rbx = data, rsp in the middle of the stack, others 0. */
static void begin(const void *extended)
{
    struct interpreter_registers registers = {.ip = address_of(code), .flags = 0x202};
    registers.general[3] = address_of(data);
    registers.general[INTERPRETER_STACK_POINTER] = address_of(stack + 256);
    interpreter_begin(interpreter, &registers, extended);
}

static void run(size_t capacity, uint64_t budget)
{
    count = interpreter_run(interpreter, out, capacity, budget, &why);
    interpreter_get_registers(interpreter, &at);
}

/* Assembles, starts and runs in one. */
#define RUN(budget, ...)                                                                           \
    do {                                                                                           \
        static const uint8_t assembled_[] = {__VA_ARGS__};                                         \
        put(assembled_, sizeof assembled_);                                                        \
        begin(NULL);                                                                               \
        run(CAPACITY, budget);                                                                     \
    } while (0)

static void expect_access(size_t i, const void *address, unsigned width, enum access_kind kind,
                          bool read_modify_write)
{
    assert_true(i < count);
    assert_int_equal(out[i].address, address_of(address));
    assert_int_equal(out[i].width, width);
    assert_int_equal(out[i].kind, kind);
    assert_int_equal(out[i].read_modify_write, read_modify_write);
}

static void test_accesses(void **state)
{
    (void)state;
    fresh(CACHE, true);
    data[0] = 41;
    /* add qword [rbx], 1; mov eax, [rbx]; push rax; call next; next: mov [rbx+8], ah */
    RUN(5, 0x48, 0x83, 0x03, 0x01, 0x8b, 0x03, 0x50, 0xe8, 0, 0, 0, 0, 0x88, 0x63, 0x08);
    assert_int_equal(why, INTERPRETER_BUDGET);
    assert_int_equal(count, 6);
    expect_access(0, data, 8, ACCESS_LOAD, true);
    expect_access(1, data, 8, ACCESS_STORE, true);
    expect_access(2, data, 4, ACCESS_LOAD, false);
    expect_access(3, stack + 255, 8, ACCESS_STORE, false);
    expect_access(4, stack + 254, 8, ACCESS_STORE, false);
    expect_access(5, data + 1, 1, ACCESS_STORE, false);
    assert_int_equal(out[0].ip, address_of(code));
    assert_int_equal(out[4].ip, address_of(code + 7));
    assert_int_equal(at.general[0], 42);
    assert_int_equal(interpreter_instructions(interpreter), 5);
    assert_int_equal(interpreter_accesses(interpreter), 6);
    /* Nothing was written; the interpreted program sees what it wrote. */
    uint64_t value;
    assert_int_equal(data[0], 41);
    assert_int_equal(stack[254], 0);
    assert_true(interpreter_peek(interpreter, address_of(data), 8, &value));
    assert_int_equal(value, 42);
    assert_true(interpreter_peek(interpreter, address_of(stack + 254), 8, &value));
    assert_int_equal(value, address_of(code + 12));
}

static unsigned avoided_reads;

static bool read_avoided(void *context, uint64_t address, void *buffer, size_t size)
{
    uint8_t *bytes = buffer;
    avoided_reads++;
    assert_int_equal(address, address_of(context));
    assert_int_equal(size, 64);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(0x80 + i);
    return true;
}

/* A line that must not be touched: read by other means, once, and only if it is needed. */
static void test_avoided_line(void **state)
{
    (void)state;
    fresh(CACHE, true);
    const struct interpreter_options options = {.read_avoided = read_avoided, .read_context = data};
    /* mov dword [rbx+4], 0x11223344; mov rax, [rbx]; mov ecx, [rbx+60]; mov rdx, [rbx+64] */
    static const uint8_t program[] = {0xc7, 0x43, 0x04, 0x44, 0x33, 0x22, 0x11, 0x48, 0x8b,
                                      0x03, 0x8b, 0x4b, 0x3c, 0x48, 0x8b, 0x53, 0x40};
    interpreter_set_options(interpreter, &options);
    data[8] = 77;
    put(program, sizeof program);
    begin(NULL);
    interpreter_avoid(interpreter, address_of(data) + 24);
    avoided_reads = 0;
    run(CAPACITY, 1);
    assert_int_equal(avoided_reads, 0);
    run(CAPACITY, 3);
    assert_int_equal(avoided_reads, 1);
    assert_int_equal(at.general[0], UINT64_C(0x1122334483828180));
    assert_int_equal(at.general[1], 0xbfbebdbcu);
    assert_int_equal(at.general[2], 77);
    /* A new look-ahead has forgotten it. */
    begin(NULL);
    run(CAPACITY, 4);
    assert_int_equal(avoided_reads, 1);
    assert_int_equal(at.general[0], UINT64_C(0x1122334400000000));
}

static void test_no_accesses(void **state)
{
    (void)state;
    fresh(CACHE, true);
    /* lea rax, [rbx+8]; prefetcht0 [rbx]; nop [rax+0]; clflush [rbx]; endbr64; pause */
    RUN(6, 0x48, 0x8d, 0x43, 0x08, 0x0f, 0x18, 0x0b, 0x0f, 0x1f, 0x40, 0x00, 0x0f, 0xae, 0x3b, 0xf3,
        0x0f, 0x1e, 0xfa, 0xf3, 0x90);
    assert_int_equal(why, INTERPRETER_BUDGET);
    assert_int_equal(count, 0);
    assert_int_equal(at.ip, address_of(code + 20));
    assert_int_equal(at.general[0], address_of(data + 1));
}

static void test_shadow_stack_pointer(void **state)
{
    (void)state;
    fresh(CACHE, true);
    uint64_t real = 5;
    __asm__ volatile("rdsspq %0" : "+r"(real)); /* does nothing where shadow stacks are off */
    RUN(2, 0xb8, 5, 0, 0, 0, 0xf3, 0x48, 0x0f, 0x1e, 0xc8); /* mov eax, 5; rdsspq rax */
    assert_int_equal(interpreter_poisoned_registers(interpreter), real != 5);
    if (real == 5)
        assert_int_equal(at.general[0], 5);
}

static void test_string_elements(void **state)
{
    (void)state;
    fresh(CACHE, true);
    memcpy(data, "abcdefgh", 8);
    /* mov rsi, rbx; lea rdi, [rbx+64]; mov ecx, 5; rep movsb */
    static const uint8_t bytes[] = {0x48, 0x89, 0xde, 0x48, 0x8d, 0x7b, 0x40,
                                    0xb9, 5,    0,    0,    0,    0xf3, 0xa4};
    put(bytes, sizeof bytes);
    begin(NULL);
    run(CAPACITY, 3 + 2); /* stops between elements */
    assert_int_equal(why, INTERPRETER_BUDGET);
    assert_int_equal(count, 4);
    assert_int_equal(at.ip, address_of(code + 12));
    assert_int_equal(at.general[1], 3);
    expect_access(2, (uint8_t *)data + 1, 1, ACCESS_LOAD, false);
    expect_access(3, (uint8_t *)data + 65, 1, ACCESS_STORE, false);
    run(CAPACITY, 3);
    assert_int_equal(count, 6);
    assert_int_equal(at.ip, address_of(code + 14));
    assert_int_equal(interpreter_instructions(interpreter), 8);
    uint64_t value;
    assert_true(interpreter_peek(interpreter, address_of(data + 8), 4, &value));
    assert_memory_equal(&value, "abcd", 4);
}

static void test_stops(void **state)
{
    (void)state;
    fresh(CACHE, true);
    RUN(10, 0x90, 0x0f, 0x05); /* syscall */
    assert_int_equal(why, INTERPRETER_SYSTEM_CALL);
    assert_int_equal(at.ip, address_of(code + 1));
    assert_int_equal(interpreter_instructions(interpreter), 1);
    RUN(10, 0x0f, 0x0b); /* ud2 */
    assert_int_equal(why, INTERPRETER_UNKNOWN);
    RUN(10, 0xf4); /* hlt: privileged */
    assert_int_equal(why, INTERPRETER_UNKNOWN);
    RUN(10, 0x31, 0xc9, 0xf7, 0xf1); /* xor ecx, ecx; div ecx */
    assert_int_equal(why, INTERPRETER_UNKNOWN);
    assert_int_equal(at.ip, address_of(code + 2));
    RUN(10, 0x31, 0xc0, 0x48, 0x8b, 0x00); /* xor eax, eax; mov rax, [rax] */
    assert_int_equal(why, INTERPRETER_UNREADABLE);
    assert_int_equal(at.ip, address_of(code + 2));
    assert_int_equal(count, 0);
    RUN(10, 0x31, 0xc0, 0xff, 0xe0); /* xor eax, eax; jmp rax */
    assert_int_equal(why, INTERPRETER_UNREADABLE);
    assert_int_equal(at.ip, 0);
    RUN(10, 0x0f, 0x31, 0xff, 0xe0); /* rdtsc; jmp rax */
    assert_int_equal(why, INTERPRETER_POISONED_BRANCH);
    RUN(10, 0x0f, 0x31, 0x85, 0xc0, 0x74, 0x00); /* rdtsc; test eax, eax; jz */
    assert_int_equal(why, INTERPRETER_POISONED_BRANCH);
    assert_int_equal(at.ip, address_of(code + 4));
    RUN(10, 0x0f, 0x31, 0x8b, 0x00); /* rdtsc; mov eax, [rax] */
    assert_int_equal(why, INTERPRETER_POISONED_ADDRESS);
    /* A read-modify-write whose target is missing reports neither half. */
    RUN(10, 0x31, 0xc0, 0xff, 0x00); /* xor eax, eax; inc dword [rax] */
    assert_int_equal(why, INTERPRETER_UNREADABLE);
    assert_int_equal(count, 0);
}

static void test_poison(void **state)
{
    (void)state;
    fresh(CACHE, true);
    /* rdtsc; mov [rbx], rax; mov ecx, [rbx]; mov [rbx], 7 (byte); mov sil, [rbx]; mov edi, [rbx] */
    RUN(6, 0x0f, 0x31, 0x48, 0x89, 0x03, 0x8b, 0x0b, 0xc6, 0x03, 0x07, 0x40, 0x8a, 0x33, 0x8b,
        0x3b);
    assert_int_equal(why, INTERPRETER_BUDGET);
    /* rax, rdx, rcx and rdi are unknown; rsi got the one known byte. */
    assert_int_equal(interpreter_poisoned_registers(interpreter), 0x87);
    assert_int_equal(at.general[6], 7);
    uint64_t value;
    assert_true(interpreter_peek(interpreter, address_of(data), 1, &value));
    assert_int_equal(value, 7);
    assert_false(interpreter_peek(interpreter, address_of(data), 2, &value));
    /* rdtsc; xor eax, eax; sub edx, edx: both known again, and ZF with them. */
    RUN(3, 0x0f, 0x31, 0x31, 0xc0, 0x29, 0xd2);
    assert_int_equal(interpreter_poisoned_registers(interpreter), 0);
    assert_int_equal(interpreter_poisoned_flags(interpreter), 0);
    /* rdtsc; mov al, 1: the rest of rax stays unknown; mov eax, 1: known. */
    RUN(2, 0x0f, 0x31, 0xb0, 0x01);
    assert_int_equal(interpreter_poisoned_registers(interpreter) & 1, 1);
    RUN(2, 0x0f, 0x31, 0xb8, 1, 0, 0, 0);
    assert_int_equal(interpreter_poisoned_registers(interpreter) & 1, 0);
    /* imul leaves SF, ZF, AF and PF undefined, CF and OF not. */
    RUN(1, 0x0f, 0xaf, 0xc3);
    assert_int_equal(interpreter_poisoned_flags(interpreter), 0xd4);
}

static void test_vector_poison(void **state)
{
    (void)state;
    fresh(CACHE, true);
    uint8_t bytes[64];
    /* Without extended state, vectors are unknown. pxor xmm1, xmm1; movaps xmm2, xmm1 */
    RUN(2, 0x66, 0x0f, 0xef, 0xc9, 0x0f, 0x28, 0xd1);
    assert_false(interpreter_get_vector(interpreter, 0, bytes));
    assert_true(interpreter_get_vector(interpreter, 1, bytes));
    assert_true(interpreter_get_vector(interpreter, 2, bytes));
    /* mov eax, 3; pxor xmm1, xmm1; cvtsi2sd xmm1, eax; addsd xmm1, xmm1; cvttsd2si ecx, xmm1 */
    static const uint8_t convert[] = {0xb8, 3,    0,    0,    0,    0x66, 0x0f,
                                      0xef, 0xc9, 0xf2, 0x0f, 0x2a, 0xc8, 0xf2,
                                      0x0f, 0x58, 0xc9, 0xf2, 0x0f, 0x2c, 0xc9};
    put(convert, sizeof convert);
    begin(NULL);
    run(CAPACITY, 5);
    assert_int_equal(at.general[1], 6);
    assert_int_equal(interpreter_poisoned_registers(interpreter), 0);
    /* Without executable memory the sum is unknown, and that is all that goes wrong. */
    fresh(CACHE, false);
    put(convert, sizeof convert);
    begin(NULL);
    run(CAPACITY, 5);
    assert_int_equal(why, INTERPRETER_BUDGET);
    assert_int_equal(interpreter_poisoned_registers(interpreter), 1 << 1);
}

static uint64_t peek(const void *address, unsigned width)
{
    uint64_t value = 0;
    assert_true(interpreter_peek(interpreter, address_of(address), width, &value));
    return value;
}

/* The second operand of a scalar EVEX move is its mask. No stub: also where no AVX-512 is. */
static void test_masked_encoding_without_mask(void **state)
{
    (void)state;
    fresh(CACHE, true);
    for (unsigned i = 0; i < 4; i++)
        data[i] = UINT64_C(0x0102030405060708) * (i + 1);
    /* vmovups xmm22, [rbx]; vmovsd [rbx+64], xmm22; vmovss [rbx+128], xmm22; vmovsd xmm23, [rbx+8];
     * vmovups [rbx+192], xmm23 */
    RUN(5, 0x62, 0xe1, 0x7c, 0x08, 0x10, 0x33, 0x62, 0xe1, 0xff, 0x08, 0x11, 0x73, 0x08, 0x62, 0xe1,
        0x7e, 0x08, 0x11, 0x73, 0x20, 0x62, 0xe1, 0xff, 0x08, 0x10, 0x7b, 0x01, 0x62, 0xe1, 0x7c,
        0x08, 0x11, 0x7b, 0x0c);
    assert_int_equal(why, INTERPRETER_BUDGET);
    assert_int_equal(count, 5);
    expect_access(1, data + 8, 8, ACCESS_STORE, false);
    expect_access(2, data + 16, 4, ACCESS_STORE, false);
    assert_int_equal(peek(data + 8, 8), data[0]);
    assert_int_equal(peek(data + 16, 8), (uint32_t)data[0]); /* what lies behind it stays */
    assert_int_equal(peek(data + 24, 8), data[1]);
    assert_int_equal(peek(data + 25, 8), 0);
}

/* movsd at 32-bit addresses is not modelled, and no scalar move, which has the same name. */
static void test_string_named_as_move(void **state)
{
    (void)state;
    fresh(CACHE, true);
    RUN(1, 0x67, 0xa5);
    assert_int_equal(why, INTERPRETER_BUDGET);
    assert_int_equal(interpreter_poisoned_registers(interpreter), 1 << 6 | 1 << 7);
}

static void test_capacity(void **state)
{
    (void)state;
    fresh(CACHE, true);
    /* loop: inc qword [rbx]; jmp loop */
    static const uint8_t bytes[] = {0x48, 0xff, 0x03, 0xeb, 0xfb};
    put(bytes, sizeof bytes);
    begin(NULL);
    run(64, UINT64_MAX);
    assert_int_equal(why, INTERPRETER_FULL);
    assert_int_equal(count, 64);
    run(65, UINT64_MAX);
    assert_int_equal(why, INTERPRETER_FULL);
    assert_int_equal(count, 64);
    assert_int_equal(interpreter_accesses(interpreter), 128);
    uint64_t value;
    assert_true(interpreter_peek(interpreter, address_of(data), 8, &value));
    assert_int_equal(value, 64);
    /* A budget ends a run within a block, and the next goes on there. */
    begin(NULL);
    run(CAPACITY, 1);
    assert_int_equal(at.ip, address_of(code + 3));
    run(CAPACITY, 4);
    assert_int_equal(interpreter_instructions(interpreter), 5);
    assert_int_equal(at.ip, address_of(code + 3));
}

static void test_store_buffer_full(void **state)
{
    (void)state;
    fresh(CACHE, true);
    /* loop: mov [rsi], al; add rsi, 64; jmp loop: stores to ever new lines, which need not exist */
    static const uint8_t bytes[] = {0x88, 0x06, 0x48, 0x83, 0xc6, 0x40, 0xeb, 0xf8};
    put(bytes, sizeof bytes);
    begin(NULL);
    uint64_t accesses = 0;
    do {
        run(CAPACITY, UINT64_MAX);
        accesses += count;
    } while (why == INTERPRETER_FULL);
    assert_int_equal(why, INTERPRETER_STORE_BUFFER);
    /* A burst of stores to ever new lines fits, and so do those of a pursuit of eight times that.
     */
    assert_true(accesses > 8 * 4096 - 256 && accesses <= 8 * 4096);
    for (uint64_t line = 0; line <= accesses; line += 97)
        assert_int_equal(interpreter_has_written(interpreter, 64 * line, 64), line < accesses);
    assert_true(interpreter_has_written(interpreter, 64 * (accesses - 1), 64));
    assert_false(interpreter_has_written(interpreter, 64 * accesses, 64));
    begin(NULL); /* empties it */
    run(CAPACITY, 30);
    assert_int_equal(why, INTERPRETER_BUDGET);
}

struct visits {
    unsigned count;
    uint64_t target, accesses, counter;
};

static void note_branch(void *context, const struct interpreter *it, uint64_t target,
                        uint64_t accesses)
{
    struct visits *visits = context;
    struct interpreter_registers registers;
    interpreter_get_registers(it, &registers);
    visits->count++;
    visits->target = target;
    visits->accesses = accesses;
    visits->counter = registers.general[1];
}

static void test_backward_branches(void **state)
{
    (void)state;
    fresh(CACHE, true);
    struct visits visits = {0};
    const struct interpreter_options options = {.backward_branch = note_branch,
                                                .branch_context = &visits};
    interpreter_set_options(interpreter, &options);
    /* mov ecx, 4; loop: mov rax, [rbx]; dec ecx; jnz loop; call f; ...; f: ret */
    RUN(15, 0xb9, 4, 0, 0, 0, 0x48, 0x8b, 0x03, 0xff, 0xc9, 0x75, 0xf9, 0xe8, 0x01, 0, 0, 0, 0x90,
        0xc3);
    assert_int_equal(visits.count, 3);
    assert_int_equal(visits.target, address_of(code + 5));
    assert_int_equal(visits.accesses, 3);
    assert_int_equal(visits.counter, 1);
}

static void test_changed_code(void **state)
{
    (void)state;
    fresh(CACHE, true);
    RUN(1, 0xb8, 1, 0, 0, 0, 0x90); /* mov eax, 1 */
    assert_int_equal(at.general[0], 1);
    RUN(1, 0xb8, 2, 0, 0, 0, 0x90); /* the same place, other code */
    assert_int_equal(at.general[0], 2);
    /* Code that the program itself writes and then runs: lea rax, [rip+6]; mov byte [rax], 0x90;
     * jmp there */
    RUN(10, 0x48, 0x8d, 0x05, 0x06, 0, 0, 0, 0xc6, 0x00, 0x90, 0xff, 0xe0, 0xcc, 0x90);
    assert_int_equal(why, INTERPRETER_UNKNOWN);
    assert_int_equal(at.ip, address_of(code + 13));
}

static void test_end_of_code(void **state)
{
    (void)state;
    fresh(CACHE, true);
    memset(code, 0x90, 2 * PAGE);
    struct interpreter_registers registers = {.ip = address_of(code + 2 * PAGE - 3)};
    interpreter_begin(interpreter, &registers, NULL);
    run(CAPACITY, 100);
    assert_int_equal(why, INTERPRETER_UNREADABLE);
    assert_int_equal(interpreter_instructions(interpreter), 3);
    assert_int_equal(at.ip, address_of(code + 2 * PAGE));
}

/* An operand that reaches into the last line of all addresses. */
static void test_end_of_addresses(void **state)
{
    (void)state;
    fresh(CACHE, true);
    /* mov rax, -66; mov ecx, [rax] */
    RUN(10, 0x48, 0xc7, 0xc0, 0xbe, 0xff, 0xff, 0xff, 0x8b, 0x08);
    assert_int_equal(why, INTERPRETER_UNREADABLE);
    assert_int_equal(interpreter_instructions(interpreter), 1);
}

static void test_small_cache(void **state)
{
    (void)state;
    struct decode_cache_statistics start, end;
    fresh(16384, true); /* room for a few blocks in each half */
    decode_cache_statistics(&start);
    /* 1000 blocks: jmp to the next instruction. */
    for (unsigned i = 0; i < 1000; i++)
        memcpy(code + (size_t)2 * i, "\xeb\x00", 2);
    for (unsigned round = 0; round < 3; round++) {
        begin(NULL);
        for (unsigned i = 0; i < 1000; i += 100)
            run(CAPACITY, 100);
        assert_int_equal(at.ip, address_of(code + 2000));
        assert_int_equal(interpreter_instructions(interpreter), 1000);
    }
    decode_cache_statistics(&end);
    assert_true(end.resets > start.resets);
    assert_true(end.blocks > start.blocks);
    /* No cache at all works, too. */
    decode_cache_create(NULL, 0, NULL, 0, 0);
    begin(NULL);
    run(CAPACITY, 1000);
    assert_int_equal(at.ip, address_of(code + 2000));
}

static bool is_zero(const unsigned char *from, const unsigned char *to)
{
    while (from < to && *from == 0)
        from++;
    return from == to;
}

/* Whoever makes resident what is told of has made all resident that is written to. */
static void test_memory_ahead(void **state)
{
    (void)state;
    enum { AHEAD = 64 << 10, BLOCKS = 50 };
    size_t size, more;

    fresh(CACHE, true);
    const unsigned char *ahead = decode_cache_ahead(AHEAD, &size);
    assert_true(ahead == cache && size > AHEAD && size < CACHE / 2);
    assert_null(decode_cache_ahead(AHEAD, &more));
    assert_int_equal(more, 0);
    unsigned i = 0;
    for (unsigned rounds = 0; more == 0 && rounds < 100; rounds++) {
        for (unsigned k = 0; k < BLOCKS; k++, i++)
            memcpy(code + (size_t)2 * i, "\xeb\x00", 2);
        begin(NULL);
        run(CAPACITY, i);
        assert_false(is_zero(cache, cache + size));
        assert_true(is_zero(cache + size, cache + CACHE));
        ahead = decode_cache_ahead(AHEAD, &more);
    }
    assert_true(ahead == cache + size && more > AHEAD / 2 && more <= AHEAD);
    decode_cache_create(NULL, 0, NULL, 0, 0);
    assert_null(decode_cache_ahead(AHEAD, &size));
    assert_int_equal(size, 0);
}

enum { THREADS = 4, THREAD_CODE = 8192 };

struct worker {
    pthread_t thread;
    struct interpreter *interpreter;
    uint8_t *code;
    bool failed;
};

/* Each thread runs its own chain of 2000 blocks again and again; the cache holds a fraction. */
static void *work(void *argument)
{
    struct worker *worker = argument;
    static _Thread_local struct access accesses[64];
    for (unsigned round = 0; round < 20 && !worker->failed; round++) {
        struct interpreter_registers registers = {.ip = address_of(worker->code)};
        enum interpreter_stop stop;
        interpreter_begin(worker->interpreter, &registers, NULL);
        for (unsigned i = 0; i < 40; i++)
            interpreter_run(worker->interpreter, accesses, 64, 100, &stop);
        interpreter_get_registers(worker->interpreter, &registers);
        worker->failed = registers.ip != address_of(worker->code + THREAD_CODE - 192) ||
                         registers.general[0] != 2000;
    }
    return NULL;
}

static void test_threads_share_a_small_cache(void **state)
{
    (void)state;
    struct decode_cache_statistics start, end;
    struct worker workers[THREADS];
    fresh(65536, true);
    decode_cache_statistics(&start);
    for (unsigned t = 0; t < THREADS; t++) {
        const int anonymous = MAP_PRIVATE | MAP_ANONYMOUS, rw = PROT_READ | PROT_WRITE;
        void *memory = mmap(NULL, interpreter_memory_size(), rw, anonymous, -1, 0);
        workers[t].code = mmap(NULL, THREAD_CODE, rw, anonymous, -1, 0);
        assert_true(memory != MAP_FAILED && (void *)workers[t].code != MAP_FAILED);
        for (unsigned i = 0; i < 2000; i++)
            memcpy(workers[t].code + (size_t)4 * i, "\xff\xc0\xeb\x00", 4); /* inc eax; jmp */
        const struct interpreter_options options = {.read = NULL};
        workers[t].interpreter = interpreter_create(memory, &options);
        workers[t].failed = false;
    }
    for (unsigned t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&workers[t].thread, NULL, work, &workers[t]), 0);
    for (unsigned t = 0; t < THREADS; t++)
        assert_int_equal(pthread_join(workers[t].thread, NULL), 0);
    for (unsigned t = 0; t < THREADS; t++) {
        assert_false(workers[t].failed);
        munmap(workers[t].code, THREAD_CODE);
        munmap(workers[t].interpreter, interpreter_memory_size());
    }
    decode_cache_statistics(&end);
    assert_true(end.resets > start.resets);
}

static void test_flags_in_memory(void **state)
{
    (void)state;
    fresh(CACHE, true);
    /* stc; pushfq; pop rax; push 0; popfq; setc cl; std; pushfq; pop rdx; cld */
    RUN(10, 0xf9, 0x9c, 0x58, 0x6a, 0x00, 0x9d, 0x0f, 0x92, 0xc1, 0xfd, 0x9c, 0x5a, 0xfc);
    assert_int_equal(why, INTERPRETER_BUDGET);
    assert_int_equal(at.general[0], 0x203);
    assert_int_equal(at.general[1], 0);
    assert_int_equal(at.general[2] & 0x400, 0x400);
    assert_int_equal(at.flags & 0x400, 0);
    /* stc; xtest, outside of any transaction; pushfq; pop rax */
    fresh(CACHE, true);
    RUN(4, 0xf9, 0x0f, 0x01, 0xd6, 0x9c, 0x58);
    assert_int_equal(why, INTERPRETER_BUDGET);
    assert_int_equal(at.general[0], 0x242);
}

static void test_instruction_accesses(void **state)
{
    (void)state;
    struct interpreter_registers registers = {.ip = 0x1000, .fs_base = 0x70000};
    struct access found[8];
    unsigned length;
    registers.general[INTERPRETER_STACK_POINTER] = 0x8000;
    registers.general[0] = 0x5000;
    registers.general[1] = 3;
    /* add [rax+rcx*8+16], edx */
    static const uint8_t add[] = {0x01, 0x54, 0xc8, 0x10};
    assert_int_equal(instruction_accesses(add, sizeof add, &registers, found, 8, &length), 2);
    assert_int_equal(length, 4);
    assert_int_equal(found[0].address, 0x5028);
    assert_int_equal(found[0].kind, ACCESS_LOAD);
    assert_int_equal(found[1].kind, ACCESS_STORE);
    assert_true(found[0].read_modify_write && found[1].read_modify_write);
    /* push qword fs:[0x28] */
    static const uint8_t push[] = {0x64, 0xff, 0x34, 0x25, 0x28, 0, 0, 0};
    assert_int_equal(instruction_accesses(push, sizeof push, &registers, found, 8, &length), 2);
    assert_int_equal(found[0].address, 0x70028);
    assert_int_equal(found[1].address, 0x7ff8);
    assert_false(found[0].read_modify_write);
    /* mov eax, [rip+4] */
    static const uint8_t relative[] = {0x8b, 0x05, 4, 0, 0, 0};
    assert_int_equal(instruction_accesses(relative, sizeof relative, &registers, found, 8, &length),
                     1);
    assert_int_equal(found[0].address, 0x100a);
    /* lea, and too few bytes */
    static const uint8_t lea[] = {0x48, 0x8d, 0x00};
    assert_int_equal(instruction_accesses(lea, sizeof lea, &registers, found, 8, &length), 0);
    assert_int_equal(instruction_accesses(lea, 2, &registers, found, 8, &length), -1);
}

static int setup(void **state)
{
    (void)state;
    const int anonymous = MAP_PRIVATE | MAP_ANONYMOUS, rw = PROT_READ | PROT_WRITE;
    void *memory = mmap(NULL, interpreter_memory_size(), rw, anonymous, -1, 0);
    cache = mmap(NULL, CACHE, rw, anonymous, -1, 0);
    stubs = mmap(NULL, STUBS, rw | PROT_EXEC, anonymous, -1, 0);
    code = mmap(NULL, (size_t)3 * PAGE, rw, anonymous, -1, 0);
    if (memory == MAP_FAILED || cache == MAP_FAILED || stubs == MAP_FAILED || code == MAP_FAILED)
        return -1;
    munmap(code + (size_t)2 * PAGE, PAGE);
    const struct interpreter_options options = {.read = NULL};
    interpreter = interpreter_create(memory, &options);
    assert_true(interpreter_memory_size() <= 5 << 20);
    return 0;
}

static void fill_with_ones(void *bytes, size_t size)
{
    memset(bytes, 0xff, size);
}

/* A recording says where its processor keeps registers; damaged, it must not lead out of what was
 * kept of them. */
static void test_damaged_processor(void **state)
{
    (void)state;
    interpreter_processor(fill_with_ones);
    assert_int_equal(x86_processor.ymm_high, 0);
    assert_int_equal(x86_processor.opmask, 0);
    assert_int_equal(x86_processor.zmm_high, 0);
    assert_int_equal(x86_processor.zmm_16_31, 0);
    assert_true(x86_processor_save_size(UINT64_MAX, false) <= INTERPRETER_STATE_MAX);
    assert_true(x86_processor_save_size(UINT64_MAX, true) <= INTERPRETER_STATE_MAX);
    x86_processor_detect();
    assert_true(x86_processor_save_size(UINT64_MAX, false) >= 576); /* FXSAVE area and header */
    assert_true(x86_processor_save_size(UINT64_MAX, false) <= INTERPRETER_STATE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accesses),
        cmocka_unit_test(test_avoided_line),
        cmocka_unit_test(test_no_accesses),
        cmocka_unit_test(test_shadow_stack_pointer),
        cmocka_unit_test(test_string_elements),
        cmocka_unit_test(test_stops),
        cmocka_unit_test(test_poison),
        cmocka_unit_test(test_vector_poison),
        cmocka_unit_test(test_masked_encoding_without_mask),
        cmocka_unit_test(test_string_named_as_move),
        cmocka_unit_test(test_capacity),
        cmocka_unit_test(test_store_buffer_full),
        cmocka_unit_test(test_backward_branches),
        cmocka_unit_test(test_changed_code),
        cmocka_unit_test(test_end_of_code),
        cmocka_unit_test(test_end_of_addresses),
        cmocka_unit_test(test_small_cache),
        cmocka_unit_test(test_memory_ahead),
        cmocka_unit_test(test_threads_share_a_small_cache),
        cmocka_unit_test(test_flags_in_memory),
        cmocka_unit_test(test_instruction_accesses),
        cmocka_unit_test(test_damaged_processor),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
