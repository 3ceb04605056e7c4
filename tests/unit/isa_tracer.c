/* SPDX-License-Identifier: BSD-3-Clause */
/* See isa_tracer.h. */
#include "config.h"

#include "isa_tracer.h"

#include <Zydis/Zydis.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    CACHED_PAGES = 256,
    EXTENDED_SIZE = 16384,
    RUNS_MAX = 65536,
    ACCESSES_MAX = 1 << 17,
    INSTRUCTIONS_PER_ACCESS = 12, /* some loops hardly touch memory: enough is enough */
    FLAGS_COMPARED = 0x8d5 | 0x400,
    TRAP_FLAG = 0x100,
};

/* The child's memory while it stands still, page by page. */
struct memory {
    pid_t child;
    uint64_t page[CACHED_PAGES]; /* address | 1 */
    uint8_t data[CACHED_PAGES][PAGE];
};

struct snapshot {
    uint64_t instructions;
    struct interpreter_registers registers;
    uint32_t poisoned;
    uint64_t poisoned_flags;
};

static struct interpreter *interpreter;
static struct memory memory;
static struct snapshot snapshots[RUNS_MAX];
static struct access predicted[ACCESSES_MAX];
static uint8_t extended[EXTENDED_SIZE] __attribute__((aligned(64)));

static bool read_child(void *context, uint64_t address, void *buffer, size_t size)
{
    struct memory *m = context;
    uint64_t page = address & ~(uint64_t)(PAGE - 1);
    unsigned slot = (unsigned)(page / PAGE * 0x9E3779B97F4A7C15 >> 56) % CACHED_PAGES;
    if (m->page[slot] != (page | 1)) {
        struct iovec local = {m->data[slot], PAGE};
        struct iovec remote = {(void *)(uintptr_t)page, PAGE};
        m->page[slot] = 0;
        if (process_vm_readv(m->child, &local, 1, &remote, 1, 0) != PAGE)
            return false;
        m->page[slot] = page | 1;
    }
    memcpy(buffer, m->data[slot] + address % PAGE, size);
    return true;
}

void tracer_setup(void)
{
    const size_t cache_size = 4 << 20, code_size = 1 << 20;
    void *cache =
        mmap(NULL, cache_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *code = mmap(NULL, code_size, PROT_READ | PROT_WRITE | PROT_EXEC,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *state = mmap(NULL, interpreter_memory_size(), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (cache == MAP_FAILED || code == MAP_FAILED || state == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    decode_cache_create(cache, cache_size, code, code_size, 0);
    const struct interpreter_options options = {.read = read_child, .read_context = &memory};
    interpreter = interpreter_create(state, &options);
}

static pid_t stopped_child(pid_t child)
{
    int status;
    if (child > 0 && (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)))
        return -1;
    return child;
}

pid_t tracer_start(void (*body)(void))
{
    pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        body();
        _exit(0);
    }
    return stopped_child(child);
}

pid_t tracer_start_program(char *const argv[])
{
    pid_t child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_RDWR);
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execvp(argv[0], argv);
        _exit(127);
    }
    return stopped_child(child);
}

/* xorshift64*: Vigna, 2014. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545F4914F6CDD1D;
}

static void get_registers(pid_t child, struct interpreter_registers *registers,
                          bool *in_system_call)
{
    struct user_regs_struct u;
    ptrace(PTRACE_GETREGS, child, NULL, &u);
    const unsigned long long general[16] = {u.rax, u.rcx, u.rdx, u.rbx, u.rsp, u.rbp, u.rsi, u.rdi,
                                            u.r8,  u.r9,  u.r10, u.r11, u.r12, u.r13, u.r14, u.r15};
    for (unsigned i = 0; i < 16; i++)
        registers->general[i] = general[i];
    registers->ip = u.rip;
    registers->flags = u.eflags & ~(uint64_t)TRAP_FLAG;
    registers->fs_base = u.fs_base;
    registers->gs_base = u.gs_base;
    if (in_system_call)
        *in_system_call = (long long)u.orig_rax >= 0;
}

/* In the layout of a signal frame, which differs in the bytes for software. */
static void get_extended(pid_t child)
{
    struct iovec area = {extended, sizeof extended};
    ptrace(PTRACE_GETREGSET, child, NT_X86_XSTATE, &area);
    uint64_t components;
    const uint32_t magic = 0x46505853, size = (uint32_t)area.iov_len;
    memcpy(&components, extended + 464, 8);
    memcpy(extended + 464, &magic, 4);
    memcpy(extended + 468, &size, 4);
    memcpy(extended + 472, &components, 8);
}

static bool step(pid_t child)
{
    int status;
    if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) != 0)
        return false;
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
        return false;
    return WSTOPSIG(status) == SIGTRAP;
}

/* Lets the child run for a random while; false if it ended. */
static bool run_freely(pid_t child, unsigned pause_us)
{
    int status;
    if (ptrace(PTRACE_CONT, child, NULL, NULL) != 0)
        return false;
    usleep(pause_us);
    kill(child, SIGSTOP);
    for (;;) {
        if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
            return false;
        if (WSTOPSIG(status) == SIGSTOP)
            return true;
        ptrace(PTRACE_CONT, child, NULL, (void *)(long)WSTOPSIG(status));
    }
}

static void describe(char *text, size_t size, const char *what, uint64_t ip, uint64_t expected,
                     uint64_t got)
{
    uint8_t code[16] = {0};
    ZydisDisassembledInstruction instruction;
    for (unsigned i = 0; i < sizeof code && read_child(&memory, ip + i, &code[i], 1); i++)
        ;
    const char *name = "?";
    if (ZYAN_SUCCESS(
            ZydisDisassembleIntel(ZYDIS_MACHINE_MODE_LONG_64, ip, code, sizeof code, &instruction)))
        name = instruction.text;
    int at = snprintf(text, size, "%s: expected %#llx, got %#llx; at %#llx: %s  [", what,
                      (unsigned long long)expected, (unsigned long long)got, (unsigned long long)ip,
                      name);
    for (unsigned i = 0; i < sizeof code && at > 0 && (size_t)at < size; i++)
        at += snprintf(text + at, size - (size_t)at, "%02x", code[i]);
}

static void mismatch(struct tracer_result *result, const struct tracer_options *options,
                     const char *what, uint64_t ip, uint64_t expected, uint64_t got)
{
    char text[sizeof result->first_mismatch];
    describe(text, sizeof text, what, ip, expected, got);
    if (result->mismatches++ == 0)
        memcpy(result->first_mismatch, text, sizeof text);
    if (options->verbose && result->mismatches < 50)
        fprintf(stderr, "# %s\n", text);
}

static bool compare_registers(struct tracer_result *result, const struct tracer_options *options,
                              const struct snapshot *snapshot,
                              const struct interpreter_registers *real, uint64_t previous_ip)
{
    static const char *const names[16] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                          "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
    unsigned before = result->mismatches;
    if (snapshot->registers.ip != real->ip)
        mismatch(result, options, "ip", previous_ip, real->ip, snapshot->registers.ip);
    for (unsigned i = 0; i < 16; i++) {
        if (snapshot->poisoned >> i & 1) {
            result->poisoned++;
            continue;
        }
        result->compared++;
        if (snapshot->registers.general[i] != real->general[i])
            mismatch(result, options, names[i], previous_ip, real->general[i],
                     snapshot->registers.general[i]);
    }
    /* Between the elements of a repeated string instruction processors differ in the flags that
     * they show: those before it, or those of the element. Nothing can see them but who steps
     * through. */
    bool repeating = real->ip == previous_ip;
    uint64_t flags = repeating ? 0 : FLAGS_COMPARED & ~snapshot->poisoned_flags;
    if ((snapshot->registers.flags ^ real->flags) & flags)
        mismatch(result, options, "flags", previous_ip, real->flags & flags,
                 snapshot->registers.flags & flags);
    return result->mismatches == before;
}

/* Every byte that the window stored, unless unknown. */
static void compare_memory(struct tracer_result *result, const struct tracer_options *options,
                           size_t accesses)
{
    for (size_t i = 0; i < accesses; i++) {
        if (predicted[i].kind != ACCESS_STORE)
            continue;
        for (unsigned byte = 0; byte < predicted[i].width; byte++) {
            uint64_t address = predicted[i].address + byte, got;
            uint8_t real;
            if (interpreter_peek(interpreter, address, 1, &got) &&
                read_child(&memory, address, &real, 1) && real != got) {
                mismatch(result, options, "stored byte", predicted[i].ip, real, got);
                return;
            }
        }
    }
}

static void compare_vectors(struct tracer_result *result, const struct tracer_options *options,
                            pid_t child, uint64_t ip)
{
    static uint8_t mine[32][64];
    bool known[32];
    for (unsigned i = 0; i < 32; i++)
        known[i] = interpreter_get_vector(interpreter, i, mine[i]);
    struct interpreter_registers registers;
    get_registers(child, &registers, NULL);
    get_extended(child);
    /* The loader of the state is the oracle's own here: only what it agrees with is compared. */
    interpreter_begin(interpreter, &registers, extended);
    for (unsigned i = 0; i < 32; i++) {
        uint8_t real[64];
        interpreter_get_vector(interpreter, i, real);
        if (!known[i]) {
            result->poisoned++;
            continue;
        }
        result->compared++;
        for (unsigned byte = 0; byte < 64; byte += 8) {
            uint64_t a, b;
            memcpy(&a, real + byte, 8);
            memcpy(&b, mine[i] + byte, 8);
            if (a != b) {
                char name[32];
                snprintf(name, sizeof name, "zmm%u[%u]", i, byte);
                mismatch(result, options, name, ip, a, b);
            }
        }
    }
}

/* Whether a mask or a vector of indices selects what the instruction at ip touches. */
static bool selects_elements(uint64_t ip)
{
    uint8_t code[16] = {0};
    for (unsigned i = 0; i < sizeof code && read_child(&memory, ip + i, &code[i], 1); i++)
        ;
    ZydisDisassembledInstruction d;
    if (!ZYAN_SUCCESS(ZydisDisassembleIntel(ZYDIS_MACHINE_MODE_LONG_64, ip, code, sizeof code, &d)))
        return false;
    return d.info.avx.mask.reg > ZYDIS_REGISTER_K0 || strstr(d.text, "maskmov") != NULL ||
           strstr(d.text, "gather") != NULL || strstr(d.text, "scatter") != NULL;
}

/* CPUID traps to the hypervisor, and some hypervisors forget the single step that was asked for:
 * the child stops an instruction later. */
static bool step_was_lost(uint64_t previous_ip, uint64_t ip)
{
    static const uint8_t cpuid[2] = {0x0f, 0xa2};
    uint8_t code[sizeof cpuid];

    for (unsigned i = 0; i < sizeof code; i++)
        if (!read_child(&memory, previous_ip + i, &code[i], 1) || code[i] != cpuid[i])
            return false;
    return ip != previous_ip + sizeof cpuid;
}

/* The accesses of the instruction that the child is about to execute. */
static size_t real_accesses(const struct interpreter_registers *registers, struct access *out)
{
    uint8_t code[16];
    unsigned length;
    size_t size = 0;
    while (size < sizeof code && read_child(&memory, registers->ip + size, &code[size], 1))
        size++;
    int count = instruction_accesses(code, size, registers, out, 64, &length);
    return count < 0 ? 0 : (size_t)count;
}

static bool same_access(const struct access *a, const struct access *b)
{
    return a->ip == b->ip && a->address == b->address && a->width == b->width &&
           a->kind == b->kind && a->read_modify_write == b->read_modify_write;
}

static size_t interpret(const struct tracer_options *options, uint64_t *random, size_t *runs,
                        enum interpreter_stop *why)
{
    size_t accesses = 0;
    *runs = 0;
    do {
        uint64_t budget = options->every_instruction ? 1 : 1 + next_random(random) % 200;
        size_t room = options->accesses - accesses;
        if (room < 64)
            room = 64;
        accesses += interpreter_run(interpreter, predicted + accesses, room, budget, why);
        struct snapshot *snapshot = &snapshots[(*runs)++];
        snapshot->instructions = interpreter_instructions(interpreter);
        interpreter_get_registers(interpreter, &snapshot->registers);
        snapshot->poisoned = interpreter_poisoned_registers(interpreter);
        snapshot->poisoned_flags = interpreter_poisoned_flags(interpreter);
    } while ((*why == INTERPRETER_BUDGET || *why == INTERPRETER_FULL) &&
             accesses < options->accesses && *runs < RUNS_MAX &&
             interpreter_instructions(interpreter) <
                 (uint64_t)options->accesses * INSTRUCTIONS_PER_ACCESS);
    return accesses;
}

/* The clock of the vdso is in pages that another process may not read: to the tracer it is a system
 * call. Our fork has it at our address. */
static bool stopped_in_vdso(void)
{
    enum { VDSO_BYTES = 2 * PAGE };
    struct interpreter_registers at;

    interpreter_get_registers(interpreter, &at);
    return at.ip - getauxval(AT_SYSINFO_EHDR) < VDSO_BYTES;
}

/* One window; false if the child is gone. */
static bool window(pid_t child, const struct tracer_options *options, uint64_t *random,
                   struct tracer_result *result)
{
    struct interpreter_registers registers;
    bool in_system_call;
    get_registers(child, &registers, &in_system_call);
    for (unsigned tries = 0; in_system_call; tries++) {
        /* Between system call and user code: registers are not yet what they will be. */
        if (tries == 16 || !step(child))
            return false;
        get_registers(child, &registers, &in_system_call);
    }
    get_extended(child);
    memset(memory.page, 0, sizeof memory.page);
    interpreter_begin(interpreter, &registers, extended);
    enum interpreter_stop why;
    size_t runs, accesses = interpret(options, random, &runs, &why);
    if (why == INTERPRETER_UNREADABLE && stopped_in_vdso())
        why = INTERPRETER_SYSTEM_CALL;
    result->windows++;
    if (why == INTERPRETER_FULL || why == INTERPRETER_BUDGET)
        result->full++;
    else
        result->stops[why]++;
    result->instructions += interpreter_instructions(interpreter);
    result->accesses += accesses;
    if (options->verbose && why != INTERPRETER_FULL && why != INTERPRETER_BUDGET) {
        char text[256];
        struct interpreter_registers at;
        interpreter_get_registers(interpreter, &at);
        describe(text, sizeof text, interpreter_stop_name(why), at.ip, accesses,
                 interpreter_instructions(interpreter));
        if (why != INTERPRETER_SYSTEM_CALL)
            fprintf(stderr, "# stop %s\n", text);
    }
    if (interpreter_accesses(interpreter) != accesses)
        mismatch(result, options, "count of accesses", 0, accesses,
                 interpreter_accesses(interpreter));

    uint64_t stepped = 0, previous_ip = registers.ip;
    size_t seen = 0;
    for (size_t i = 0; i < runs; i++) {
        while (stepped < snapshots[i].instructions) {
            struct access real[64];
            size_t count = real_accesses(&registers, real);
            if (selects_elements(registers.ip)) {
                /* Which elements is not known from outside; those predicted must be inside. */
                for (; seen < accesses && predicted[seen].ip == registers.ip; seen++) {
                    if (count > 0 && (predicted[seen].address < real[0].address ||
                                      predicted[seen].address + predicted[seen].width >
                                          real[0].address + real[0].width))
                        mismatch(result, options, "masked access", registers.ip, real[0].address,
                                 predicted[seen].address);
                }
                count = 0;
            }
            for (size_t j = 0; j < count; j++, seen++) {
                if (seen >= accesses || !same_access(&real[j], &predicted[seen])) {
                    mismatch(result, options, "access", registers.ip, real[j].address,
                             seen < accesses ? predicted[seen].address : 0);
                    return true;
                }
            }
            previous_ip = registers.ip;
            if (!step(child))
                return false;
            stepped++;
            get_registers(child, &registers, NULL);
            if (step_was_lost(previous_ip, registers.ip))
                return true;
        }
        if (!compare_registers(result, options, &snapshots[i], &registers, previous_ip))
            return true;
    }
    if (seen != accesses)
        mismatch(result, options, "accesses", previous_ip, seen, accesses);
    memset(memory.page, 0, sizeof memory.page);
    compare_memory(result, options, accesses);
    compare_vectors(result, options, child, previous_ip);
    return true;
}

struct tracer_result tracer_run(pid_t child, const struct tracer_options *options)
{
    struct tracer_result result = {0};
    uint64_t random = options->seed | 1;
    memory.child = child;
    while (result.windows < options->windows && result.mismatches == 0) {
        if (!run_freely(child, (unsigned)(next_random(&random) % options->pause_us_max)) ||
            !window(child, options, &random, &result))
            break;
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return result;
}
