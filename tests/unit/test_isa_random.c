/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random single instructions on random registers, interpreted and then executed by the processor;
 * all that the interpreter claims to know must agree.
 *
 * The processor's turn: a signal handler fills the whole saved context (general registers, flags,
 * extended state), returns into a page that holds the instruction and int3, and is entered again
 * with the result. Instructions that touch anything outside a sandbox, or that would change more
 * than this process can stand, are not tried.
 *
 * Environment: ISA_RANDOM_SEED, ISA_RANDOM_COUNT (instructions).
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <Zydis/Zydis.h>
#include <asm/prctl.h>
#include <cpuid.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "isa/guarded_memory.h"
#include "isa/interpreter.h"
#include "support/instrumented.h"

enum {
    SANDBOX = 1 << 13,
    CODE_OFFSET = 64,
    EXTENDED_MAX = 16384,
    FLAGS_COMPARED = 0x8d5 | 0x400,
    MNEMONICS = ZYDIS_MNEMONIC_MAX_VALUE + 1,
    MISMATCHES_SHOWN = 100000,
};

struct state {
    struct interpreter_registers registers;
    uint8_t vector[32][64];
    uint32_t mxcsr;
};

static struct interpreter *interpreter;
static uint8_t *sandbox, *code;
static struct state before, after;
static uint8_t extended[EXTENDED_MAX] __attribute__((aligned(64)));
static uint8_t original_sandbox[SANDBOX];
static ZydisDecodedInstruction instruction;
static struct access accesses[256];
static size_t access_count;
static sigjmp_buf next_test;
static ucontext_t home;
static volatile sig_atomic_t phase; /* 0: ours, 1: entering, 2: the instruction runs */
static uint64_t random_state;
static unsigned offsets[8]; /* of XSAVE components */
static bool has_zmm, has_ymm;
static unsigned tried[MNEMONICS], known[MNEMONICS];
static unsigned mismatches;

static uint64_t next_random(void)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * 0x2545F4914F6CDD1D;
}

static unsigned below(unsigned limit)
{
    return (unsigned)(next_random() >> 33) % limit;
}

static void detect_extended(void)
{
    unsigned a, b, c, d;
    for (unsigned i = 2; i < 8; i++) {
        __cpuid_count(0xd, i, a, b, c, d);
        offsets[i] = a ? b : 0;
    }
    has_ymm = offsets[2] && __builtin_cpu_supports("avx");
    has_zmm = offsets[7] && __builtin_cpu_supports("avx512f");
}

/* Writes the vectors and MXCSR of state into a signal frame's area. */
static void fill_extended(uint8_t *area, const struct state *state)
{
    uint64_t components = 2 | (has_ymm ? 4 : 0) | (has_zmm ? 0xe0 : 0);
    uint64_t used;
    memcpy(area + 24, &state->mxcsr, 4);
    memcpy(&used, area + 512, 8);
    used |= components;
    memcpy(area + 512, &used, 8);
    for (unsigned i = 0; i < 16; i++) {
        memcpy(area + 160 + 16 * i, state->vector[i], 16);
        if (has_ymm)
            memcpy(area + offsets[2] + 16 * i, state->vector[i] + 16, 16);
        if (has_zmm) {
            memcpy(area + offsets[6] + 32 * i, state->vector[i] + 32, 32);
            memcpy(area + offsets[7] + 64 * i, state->vector[16 + i], 64);
        }
    }
    if (has_zmm) {
        for (unsigned i = 0; i < 8; i++) {
            /* Masks: the low words of vectors 8..15, so that they vary. */
            memcpy(area + offsets[5] + 8 * i, state->vector[8 + i], 8);
        }
    }
}

static void read_extended(const uint8_t *area, struct state *state)
{
    uint64_t used;
    memcpy(&used, area + 512, 8);
    memset(state->vector, 0, sizeof state->vector);
    memcpy(&state->mxcsr, area + 24, 4);
    for (unsigned i = 0; i < 16; i++) {
        if (used & 2)
            memcpy(state->vector[i], area + 160 + 16 * i, 16);
        if (has_ymm && used & 4)
            memcpy(state->vector[i] + 16, area + offsets[2] + 16 * i, 16);
        if (has_zmm && used & 0x40)
            memcpy(state->vector[i] + 32, area + offsets[6] + 32 * i, 32);
        if (has_zmm && used & 0x80)
            memcpy(state->vector[16 + i], area + offsets[7] + 64 * i, 64);
    }
}

static const int greg_order[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                   REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                   REG_R12, REG_R13, REG_R14, REG_R15};

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)info;
    ucontext_t *uc = context;
    greg_t *gregs = uc->uc_mcontext.gregs;
    if (phase == 0) {
        uint64_t landing = guarded_memory_recover((uint64_t)gregs[REG_RIP]);
        if (landing) {
            gregs[REG_RIP] = (greg_t)landing;
            return;
        }
        signal(number, SIG_DFL);
        return;
    }
    if (phase == 1 && number == SIGTRAP) {
        /* Keep the way back; go into the test. */
        memcpy(&home, uc, sizeof home);
        for (unsigned i = 0; i < 16; i++)
            gregs[greg_order[i]] = (greg_t)before.registers.general[i];
        gregs[REG_RIP] = (greg_t)before.registers.ip;
        gregs[REG_EFL] = (greg_t)before.registers.flags;
        fill_extended((uint8_t *)uc->uc_mcontext.fpregs, &before);
        phase = 2;
        return;
    }
    bool completed = number == SIGTRAP &&
                     (uint64_t)gregs[REG_RIP] == before.registers.ip + instruction.length + 1;
    if (completed) {
        for (unsigned i = 0; i < 16; i++)
            after.registers.general[i] = (uint64_t)gregs[greg_order[i]];
        after.registers.ip = (uint64_t)gregs[REG_RIP] - 1;
        after.registers.flags = (uint64_t)gregs[REG_EFL];
        read_extended((const uint8_t *)uc->uc_mcontext.fpregs, &after);
    }
    phase = 0;
    siglongjmp(next_test, completed ? 1 : 2);
}

/* A frame's extended area to hand to the interpreter, as the kernel would. */
static void capture_extended(void)
{
    memset(extended, 0, sizeof extended);
    const uint32_t magic = 0x46505853;
    const uint16_t control = 0x37f;
    const uint64_t components = 3 | (has_ymm ? 4 : 0) | (has_zmm ? 0xe0 : 0);
    memcpy(extended, &control, 2);
    memcpy(extended + 464, &magic, 4);
    memcpy(extended + 472, &components, 8);
    fill_extended(extended, &before);
}

static bool is_excluded(const ZydisDecodedInstruction *i)
{
    switch (i->meta.category) {
    case ZYDIS_CATEGORY_CALL:
    case ZYDIS_CATEGORY_RET:
    case ZYDIS_CATEGORY_UNCOND_BR:
    case ZYDIS_CATEGORY_COND_BR:
    case ZYDIS_CATEGORY_SYSCALL:
    case ZYDIS_CATEGORY_SYSRET:
    case ZYDIS_CATEGORY_SYSTEM:
    case ZYDIS_CATEGORY_INTERRUPT:
    case ZYDIS_CATEGORY_IO:
    case ZYDIS_CATEGORY_IOSTRINGOP:
    case ZYDIS_CATEGORY_CET:
    case ZYDIS_CATEGORY_XSAVE:
    case ZYDIS_CATEGORY_XSAVEOPT:
    case ZYDIS_CATEGORY_SEGOP:
    case ZYDIS_CATEGORY_VTX:
    case ZYDIS_CATEGORY_SGX:
    case ZYDIS_CATEGORY_RDWRFSGS:
    case ZYDIS_CATEGORY_PKU:
    case ZYDIS_CATEGORY_CLZERO:
    case ZYDIS_CATEGORY_MOVDIR:
    case ZYDIS_CATEGORY_ENQCMD:
    case ZYDIS_CATEGORY_PADLOCK:
    case ZYDIS_CATEGORY_XOP:
    case ZYDIS_CATEGORY_MISC:
        return i->mnemonic != ZYDIS_MNEMONIC_LEA && i->mnemonic != ZYDIS_MNEMONIC_LEAVE;
    default:
        break;
    }
    switch (i->mnemonic) {
    case ZYDIS_MNEMONIC_POPFQ: /* may set the trap flag */
    case ZYDIS_MNEMONIC_POPF:
    case ZYDIS_MNEMONIC_PUSHFQ: /* shows flags that the kernel keeps */
    case ZYDIS_MNEMONIC_PUSHF:
    case ZYDIS_MNEMONIC_FXRSTOR:
    case ZYDIS_MNEMONIC_FXRSTOR64:
    case ZYDIS_MNEMONIC_FLDENV:
    case ZYDIS_MNEMONIC_FRSTOR:
    case ZYDIS_MNEMONIC_LDMXCSR:
    case ZYDIS_MNEMONIC_VLDMXCSR:
    case ZYDIS_MNEMONIC_FLDCW:
    case ZYDIS_MNEMONIC_MASKMOVDQU: /* hidden store */
    case ZYDIS_MNEMONIC_VMASKMOVDQU:
    case ZYDIS_MNEMONIC_MASKMOVQ:
    case ZYDIS_MNEMONIC_RDSSPQ:
    case ZYDIS_MNEMONIC_RDSSPD:
    case ZYDIS_MNEMONIC_FEMMS:
        return true;
    default:
        return (i->attributes & ZYDIS_ATTRIB_IS_PRIVILEGED) != 0 ||
               i->meta.isa_ext == ZYDIS_ISA_EXT_KNC || i->meta.isa_ext == ZYDIS_ISA_EXT_KNCE ||
               i->meta.isa_ext == ZYDIS_ISA_EXT_KNCV || i->meta.isa_ext == ZYDIS_ISA_EXT_UINTR;
    }
}

/* Bytes that are likely to be an instruction. */
static void random_code(uint8_t *bytes)
{
    unsigned at = 0;
    for (unsigned i = 0; i < 16; i++)
        bytes[i] = (uint8_t)next_random();
    switch (below(8)) {
    case 0:
    case 1: /* one-byte map */
        if (below(4) == 0)
            bytes[at++] = below(2) ? 0x66 : 0xf0;
        if (below(2))
            bytes[at++] = 0x40 | below(16);
        break;
    case 2:
    case 3:
    case 4: { /* two-byte and three-byte maps */
        static const uint8_t prefixes[4] = {0x66, 0xf2, 0xf3, 0};
        uint8_t prefix = prefixes[below(4)];
        if (prefix)
            bytes[at++] = prefix;
        if (below(2))
            bytes[at++] = 0x40 | below(16);
        bytes[at++] = 0x0f;
        if (below(3) == 0)
            bytes[at++] = below(2) ? 0x38 : 0x3a;
        break;
    }
    case 5: /* VEX */
        if (below(2)) {
            bytes[at] = 0xc5;
        } else {
            bytes[at] = 0xc4;
            bytes[at + 1] = (bytes[at + 1] & 0xe0) | (1 + below(3));
        }
        break;
    case 6: /* EVEX */
        bytes[at] = 0x62;
        bytes[at + 1] = (bytes[at + 1] & 0xf0) | (1 + below(3));
        bytes[at + 2] |= 4;
        if (below(2))
            bytes[at + 3] &= 0xf8; /* no mask */
        break;
    default:
        break;
    }
}

static void random_registers(void)
{
    struct interpreter_registers *r = &before.registers;
    for (unsigned i = 0; i < 16; i++) {
        switch (below(4)) {
        case 0:
        case 1:
            r->general[i] = (uint64_t)(uintptr_t)sandbox + SANDBOX / 2 + below(256);
            break;
        case 2:
            r->general[i] = below(256);
            break;
        default:
            r->general[i] = next_random() >> below(64);
            break;
        }
    }
    r->flags = (next_random() & 0x8d5) | 0x202;
    r->ip = (uint64_t)(uintptr_t)code;
    for (unsigned i = 0; i < 32; i++) {
        unsigned kind = below(5);
        for (unsigned at = 0; at < 64; at += 4) {
            uint32_t word = (uint32_t)next_random();
            float small = (float)below(2000) - 1000;
            double wide = (double)below(2000) / 16;
            if (kind == 1)
                word = below(512);
            else if (kind == 2)
                memcpy(&word, &small, 4);
            else if (kind == 3)
                memcpy(&word, (const uint8_t *)&wide + at % 8, 4);
            else if (kind == 4)
                word = below(2) ? UINT32_MAX : 0;
            memcpy(before.vector[i] + at, &word, 4);
        }
        if (!has_ymm)
            memset(before.vector[i] + 16, 0, 48);
        else if (!has_zmm)
            memset(before.vector[i] + 32, 0, 32);
        if (i >= 16 && !has_zmm)
            memset(before.vector[i], 0, 64);
    }
    before.mxcsr = 0x1f80 | (below(4) ? 0 : below(4) << 13) | (below(8) ? 0 : 0x8040);
}

static bool inside(uint64_t address, unsigned width)
{
    uint64_t start = (uint64_t)(uintptr_t)sandbox;
    return address >= start && address + width <= start + SANDBOX;
}

/* Prepares an instruction and registers that can be tried; false if not found this time. */
static bool prepare(void)
{
    ZydisDecoder decoder;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    uint8_t bytes[16];
    random_code(bytes);
    if (!ZYAN_SUCCESS(
            ZydisDecoderDecodeFull(&decoder, bytes, sizeof bytes, &instruction, operands)) ||
        is_excluded(&instruction))
        return false;
    memcpy(code, bytes, instruction.length);
    code[instruction.length] = 0xcc;
    for (unsigned tries = 0; tries < 8; tries++) {
        random_registers();
        struct access explicit[64];
        unsigned length;
        int count = instruction_accesses(code, 16, &before.registers, explicit, 64, &length);
        bool contained = count >= 0;
        for (int i = 0; contained && i < count; i++)
            contained = inside(explicit[i].address, explicit[i].width);
        bool repeats = instruction.attributes &
                       (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
        if (repeats && before.registers.general[1] > 255)
            contained = false;
        if (contained)
            return true;
    }
    return false;
}

static void complain(const char *what, uint64_t real, uint64_t mine)
{
    ZydisDisassembledInstruction d;
    uint8_t bytes[16];
    memcpy(bytes, code, sizeof bytes);
    ZydisDisassembleIntel(ZYDIS_MACHINE_MODE_LONG_64, before.registers.ip, bytes, sizeof bytes, &d);
    static bool shown[MNEMONICS];
    if (mismatches++ >= MISMATCHES_SHOWN || shown[instruction.mnemonic])
        return;
    shown[instruction.mnemonic] = true;
    fprintf(stderr, "# %s: %s is %#llx, interpreted as %#llx  [", d.text, what,
            (unsigned long long)real, (unsigned long long)mine);
    for (unsigned i = 0; i < instruction.length; i++)
        fprintf(stderr, "%02x", bytes[i]);
    fprintf(stderr, "]\n");
}

static void compare(void)
{
    struct interpreter_registers mine;
    interpreter_get_registers(interpreter, &mine);
    uint32_t poisoned = interpreter_poisoned_registers(interpreter);
    if (mine.ip != after.registers.ip)
        complain("ip", after.registers.ip, mine.ip);
    for (unsigned i = 0; i < 16; i++) {
        char name[8];
        snprintf(name, sizeof name, "r%u", i);
        if (!(poisoned >> i & 1) && mine.general[i] != after.registers.general[i])
            complain(name, after.registers.general[i], mine.general[i]);
    }
    uint64_t flags = FLAGS_COMPARED & ~interpreter_poisoned_flags(interpreter);
    if ((mine.flags ^ after.registers.flags) & flags)
        complain("flags", after.registers.flags & flags, mine.flags & flags);
    bool all_known = poisoned == 0;
    for (unsigned i = 0; i < 32; i++) {
        uint8_t bytes[64];
        if (!interpreter_get_vector(interpreter, i, bytes)) {
            all_known = false;
            continue;
        }
        for (unsigned at = 0; at < 64; at += 8) {
            uint64_t a, b;
            char name[16];
            memcpy(&a, after.vector[i] + at, 8);
            memcpy(&b, bytes + at, 8);
            snprintf(name, sizeof name, "v%u[%u]", i, at);
            if (a != b)
                complain(name, a, b);
        }
    }
    known[instruction.mnemonic] += all_known;
    /* Every byte of the sandbox: a store that was not foreseen shows, too. */
    for (unsigned i = 0; memcmp(sandbox, original_sandbox, SANDBOX) != 0 && i < SANDBOX; i++) {
        if (sandbox[i] == original_sandbox[i])
            continue;
        uint64_t value;
        uint8_t real = sandbox[i];
        uint64_t address = (uint64_t)(uintptr_t)sandbox + i;
        sandbox[i] = original_sandbox[i];
        bool is_known = interpreter_peek(interpreter, address, 1, &value);
        if (is_known && value != real)
            complain("stored byte", real, value);
    }
    for (size_t i = 0; i < access_count; i++) {
        if (!inside(accesses[i].address, accesses[i].width))
            complain("access", 0, accesses[i].address);
    }
}

static void run_one(void)
{
    if (!prepare())
        return;
    const struct interpreter_options options = {.read = NULL};
    interpreter_set_options(interpreter, &options);
    capture_extended();
    enum interpreter_stop why;
    uint64_t budget = 1;
    interpreter_begin(interpreter, &before.registers, extended);
    access_count = 0;
    do {
        access_count = interpreter_run(interpreter, accesses, 256, budget, &why);
        struct interpreter_registers mine;
        interpreter_get_registers(interpreter, &mine);
        if (mine.ip != before.registers.ip)
            break;
    } while (why == INTERPRETER_BUDGET || why == INTERPRETER_FULL);
    if (why != INTERPRETER_BUDGET && why != INTERPRETER_FULL)
        return;
    for (size_t i = 0; i < access_count; i++) {
        if (!inside(accesses[i].address, accesses[i].width))
            return;
    }
    switch (sigsetjmp(next_test, 1)) {
    case 0:
        phase = 1;
        __asm__ volatile("int3");
        break;
    case 1:
        tried[instruction.mnemonic]++;
        compare();
        break;
    default: /* it raised an exception: nothing to compare */
        memcpy(sandbox, original_sandbox, SANDBOX);
        break;
    }
}

/* cmocka has handlers of its own during a test. */
static void install_handlers(void)
{
    const struct sigaction action = {.sa_sigaction = on_signal,
                                     .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    const int numbers[] = {SIGTRAP, SIGSEGV, SIGBUS, SIGILL, SIGFPE};
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction(numbers[i], &action, NULL);
}

static void test_random_instructions(void **state)
{
    (void)state;
    install_handlers();
    const char *seed = getenv("ISA_RANDOM_SEED"), *count = getenv("ISA_RANDOM_COUNT");
    uint64_t start = seed ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL);
    unsigned long instructions = count ? strtoul(count, NULL, 0) : INSTRUMENTED ? 30000 : 120000;
    random_state = start | 1;
    fprintf(stderr, "# ISA_RANDOM_SEED=%llu\n", (unsigned long long)start);
    for (unsigned i = 0; i < SANDBOX; i++)
        original_sandbox[i] = (uint8_t)next_random();
    memcpy(sandbox, original_sandbox, SANDBOX);
    for (unsigned long i = 0; i < instructions; i++)
        run_one();
    unsigned total = 0, different = 0, complete = 0;
    for (unsigned i = 0; i < MNEMONICS; i++) {
        total += tried[i];
        different += tried[i] != 0;
        complete += known[i];
        if (getenv("ISA_RANDOM_VERBOSE") && tried[i])
            fprintf(stderr, "# %-16s tried %6u known %6u\n",
                    ZydisMnemonicGetString((ZydisMnemonic)i), tried[i], known[i]);
    }
    fprintf(stderr, "# %u instructions of %u kinds compared, all registers known after %u\n", total,
            different, complete);
    assert_int_equal(mismatches, 0);
    assert_true(total > instructions / 100);
}

static int setup(void **state)
{
    (void)state;
    const int anonymous = MAP_PRIVATE | MAP_ANONYMOUS, rw = PROT_READ | PROT_WRITE;
    const size_t cache_size = 1 << 20, stub_size = 1 << 18;
    void *cache = mmap(NULL, cache_size, rw, anonymous, -1, 0);
    void *stubs = mmap(NULL, stub_size, rw | PROT_EXEC, anonymous, -1, 0);
    void *memory = mmap(NULL, interpreter_memory_size(), rw, anonymous, -1, 0);
    sandbox = mmap(NULL, SANDBOX, rw, anonymous, -1, 0);
    code = mmap(NULL, 4096, rw | PROT_EXEC, anonymous, -1, 0);
    void *stack = mmap(NULL, 1 << 18, rw, anonymous, -1, 0);
    if (cache == MAP_FAILED || stubs == MAP_FAILED || memory == MAP_FAILED ||
        sandbox == MAP_FAILED || code == MAP_FAILED || stack == MAP_FAILED)
        return -1;
    detect_extended();
    decode_cache_create(cache, cache_size, stubs, stub_size, 0);
    const struct interpreter_options options = {.read = NULL};
    interpreter = interpreter_create(memory, &options);
    syscall(SYS_arch_prctl, ARCH_GET_FS, &before.registers.fs_base);
    syscall(SYS_arch_prctl, ARCH_GET_GS, &before.registers.gs_base);
    code += CODE_OFFSET;
    const stack_t alternate = {.ss_sp = stack, .ss_size = 1 << 18};
    sigaltstack(&alternate, NULL);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_instructions)};
    return cmocka_run_group_tests(tests, setup, NULL);
}
