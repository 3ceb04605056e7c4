/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs random instructions on an A64 processor, real or emulated, and writes what they changed:
 * a64_recorder FILE COUNT SEED. tests/support/record-a64 runs it.
 *
 * A signal handler fills the whole saved context, returns into the code page, and is entered again
 * with the result. Which instructions can be tried is asked of the interpreter: those that stay in
 * the sandbox. It has no say in the results.
 *
 * File, little-endian: for each instruction word (4 bytes), seed (4), number of entries (2); an
 * entry is key (2) and contents (2): a digest, or the byte.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "isa/a64/scalable.h"
#include "isa/a64/system.h"
#include "unit/a64_machine.h"

enum {
    ENTRIES_MAX = 4096,
    ATTEMPTS = 8,
    HANDLER_STACK = 1 << 16,
    ACCESSES_MAX = 256,
    LONGEST_SECONDS = 2
};

static struct interpreter *interpreter;
static struct a64_machine before, after;
static sigjmp_buf finished;
static volatile sig_atomic_t phase; /* 0: nothing, 1: entering, 2: the instruction runs */
static uint16_t entries[ENTRIES_MAX][2];
static unsigned entry_count;

static void to_context(ucontext_t *context)
{
    mcontext_t *machine = &context->uc_mcontext;
    for (unsigned i = 0; i < 31; i++)
        machine->regs[i] = before.registers.general[i];
    machine->sp = before.registers.general[INTERPRETER_STACK_POINTER];
    machine->pc = before.registers.ip;
    machine->pstate = (machine->pstate & ~UINT64_C(0xf0000000)) | before.registers.flags;
    a64_machine_to_frame(&before, (uint8_t *)machine->__reserved);
}

static void from_context(const ucontext_t *context)
{
    const mcontext_t *machine = &context->uc_mcontext;
    for (unsigned i = 0; i < 31; i++)
        after.registers.general[i] = machine->regs[i];
    after.registers.general[INTERPRETER_STACK_POINTER] = machine->sp;
    after.registers.ip = machine->pc;
    after.registers.flags = machine->pstate & 0xf0000000;
    a64_machine_from_frame(&after, (const uint8_t *)machine->__reserved);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)info;
    if (phase == 1) {
        to_context(context);
        phase = 2;
        return;
    }
    bool completed = phase == 2 && number == SIGTRAP;
    if (phase == 0)
        return;
    if (completed)
        from_context(context);
    phase = 0;
    siglongjmp(finished, completed ? 1 : 2);
}

/* Words of the classes that programs consist of. */
static uint32_t random_word(uint64_t *state)
{
    static const uint8_t classes[] = {8, 9,  5, 13, 5, 13, 4,  6,  12, 14, 12, 14,
                                      7, 15, 7, 15, 7, 15, 10, 11, 2,  2,  2,  2};
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    uint32_t word = (uint32_t)(*state >> 32), choice = (uint32_t)(*state >> 8) & 0xffff;
    uint32_t class = classes[choice % sizeof classes];
    word = (word & ~UINT32_C(0x1e000000)) | class << 25;
    if (class == 10 || class == 11) /* short distances */
        word &= choice & 0x100 ? 0xff003fff : 0xffffffff;
    if (class == 2 && choice & 0x1000) /* scalable memory */
        word |= 0x80000000;
    return word;
}

static bool can_be_tried(uint32_t word, uint32_t seed)
{
    struct a64_operation op;
    struct a64_scalable_memory memory;
    struct access accesses[ACCESSES_MAX];
    a64_decode(word, &op);
    if (op.code == A64_UNKNOWN || op.code == A64_SYSTEM_CALL ||
        (op.code == A64_WRITE_SYSTEM && op.immediate == A64_TPIDR) ||
        (op.code == A64_READ_SYSTEM && op.immediate == A64_TPIDR))
        return false;
    if (op.code == A64_POISON && word >> 20 == 0xd53) /* counters and identification */
        return false;
    /* QEMU itself ends at some undefined ones of these, of half precision. */
    if ((word & 0x8f7e0c00) == 0x0e780800)
        return false;
    /* Such loads may end at any element for reasons of the processor's own. */
    if (a64_scalable_memory(word, &memory) && memory.forgives)
        return false;
    /* Some vector instructions of QEMU leave the upper part of a scalable register as it is, where
     * the architecture clears it. */
    if ((op.code == A64_STRUCTURE || op.code == A64_VECTOR) && seed & 1)
        return false;
    uint8_t frame[A64_EXTENDED_SIZE] __attribute__((aligned(16)));
    enum interpreter_stop why;
    a64_machine_to_frame(&before, frame);
    a64_machine_reset(word);
    interpreter_begin(interpreter, &before.registers, frame);
    size_t count = interpreter_run(interpreter, accesses, ACCESSES_MAX, 1, &why);
    for (size_t i = 0; i < count; i++)
        if (!a64_machine_contains(accesses[i].address, accesses[i].width))
            return false;
    struct interpreter_registers next;
    interpreter_get_registers(interpreter, &next);
    return why == INTERPRETER_BUDGET && next.ip != A64_INSTRUCTION; /* not a loop of its own */
}

static void add(unsigned key, uint16_t contents)
{
    if (entry_count < ENTRIES_MAX) {
        entries[entry_count][0] = (uint16_t)key;
        entries[entry_count++][1] = contents;
    }
}

static void collect(void)
{
    const uint8_t *sandbox = (const uint8_t *)A64_SANDBOX;
    entry_count = 0;
    for (unsigned i = 0; i < INTERPRETER_REGISTERS; i++)
        if (after.registers.general[i] != before.registers.general[i])
            add(i, a64_digest(&after.registers.general[i], 8));
    if (after.registers.ip != A64_INSTRUCTION + 4)
        add(A64_KEY_IP, a64_digest(&after.registers.ip, 8));
    if (after.registers.flags != before.registers.flags)
        add(A64_KEY_FLAGS, (uint16_t)(after.registers.flags >> 28));
    for (unsigned i = 0; i < 32; i++)
        if (memcmp(after.vector[i], before.vector[i], A64_VECTOR_LENGTH) != 0)
            add(A64_KEY_VECTOR + i, a64_digest(after.vector[i], A64_VECTOR_LENGTH));
    for (unsigned i = 0; i < A64_PREDICATES; i++)
        if (after.predicate[i] != before.predicate[i])
            add(A64_KEY_PREDICATE + i, a64_digest(&after.predicate[i], 8));
    for (unsigned i = 0; i < A64_SANDBOX_SIZE; i++)
        if (sandbox[i] != a64_machine_original(i))
            add(A64_KEY_MEMORY + i, sandbox[i]);
}

/* Whether it completed. */
static bool run(uint32_t word)
{
    __builtin___clear_cache((char *)A64_CODE, (char *)A64_CODE + A64_CODE_SIZE);
    after = before;
    alarm(LONGEST_SECONDS);
    switch (sigsetjmp(finished, 1)) {
    case 0:
        phase = 1;
        __asm__ volatile("brk #0");
        return false;
    case 1:
        return true;
    default:
        return false;
    }
}

static void install_handlers(void)
{
    static uint8_t stack[HANDLER_STACK];
    const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    const struct sigaction action = {.sa_sigaction = on_signal,
                                     .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    const int numbers[] = {SIGTRAP, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGALRM};
    sigaltstack(&alternate, NULL);
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction(numbers[i], &action, NULL);
}

int main(int argc, char **argv)
{
    FILE *file = argc == 4 ? fopen(argv[1], "wb") : NULL;
    if (!file) {
        fprintf(stderr, "usage: a64_recorder FILE COUNT SEED\n");
        return 1;
    }
    unsigned long count = strtoul(argv[2], NULL, 0), recorded = 0;
    uint64_t state = strtoull(argv[3], NULL, 0) * 2 + 1;
    interpreter = a64_machine_create();
    if (!interpreter) {
        fprintf(stderr, "a64_recorder: no memory at the places that instructions are to use\n");
        return 1;
    }
    install_handlers();
    while (recorded < count) {
        uint32_t word = random_word(&state), seed = 0;
        unsigned attempts = 0;
        do {
            seed = (uint32_t)(state >> 16) + attempts;
            a64_machine_random(&before, seed);
        } while (!can_be_tried(word, seed) && ++attempts < ATTEMPTS);
        if (attempts == ATTEMPTS || !run(word))
            continue;
        collect();
        uint32_t head[2] = {word, seed};
        uint16_t entry_count_written = (uint16_t)entry_count;
        fwrite(head, sizeof head, 1, file);
        fwrite(&entry_count_written, sizeof entry_count_written, 1, file);
        fwrite(entries, sizeof *entries, entry_count, file);
        recorded++;
    }
    return fclose(file) != 0;
}
