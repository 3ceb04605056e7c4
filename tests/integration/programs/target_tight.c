/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stacks that are small, lent, or gone: target_tight CASE
 *
 * Each stack has a page below it that cannot be touched: who needs more of it dies.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "burn.h"

enum { PAGE = 4096 };

/* Readable and writable bytes (whole pages), above a page that is neither. */
static char *stack_of(size_t bytes)
{
    char *memory = mmap(NULL, bytes + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED || mprotect(memory + PAGE, bytes, PROT_READ | PROT_WRITE) != 0) {
        perror("target_tight");
        exit(99);
    }
    return memory + PAGE;
}

static void use_alternate(void *memory, size_t bytes)
{
    stack_t stack = {.ss_sp = memory, .ss_size = bytes};

    if (sigaltstack(&stack, NULL) != 0) {
        perror("sigaltstack");
        exit(99);
    }
}

static ucontext_t outside, coroutine;

static void run_on(char *stack, size_t bytes, void (*function)(void))
{
    getcontext(&coroutine);
    coroutine.uc_stack.ss_sp = stack;
    coroutine.uc_stack.ss_size = bytes;
    coroutine.uc_link = &outside;
    makecontext(&coroutine, function, 0);
    swapcontext(&outside, &coroutine);
}

/* ---- alternate stacks that no signal ever uses ---- */

/* As small as a program that was built before version 2.34 of the C library may have it. */
static int run_small_alternate(void)
{
    use_alternate(stack_of(PAGE), 2048);
    burn(BURN_MS);
    puts("alive");
    return 0;
}

/* Freed without SS_DISABLE, and something else by now. */
static int run_freed_alternate(void)
{
    enum { BYTES = 16384, MARK = 0x5a };
    int changed = 0;
    char *memory = malloc(BYTES);
    unsigned char *next;

    use_alternate(memory, BYTES);
    free(memory);
    next = malloc(BYTES);
    memset(next, MARK, BYTES);
    burn(BURN_MS);
    for (int i = 0; i < BYTES; i++)
        changed += next[i] != MARK;
    printf("bytes changed: %d\n", changed);
    return 0;
}

/* ---- handlers that are moved to alternate stacks behind our back ---- */

#ifdef __x86_64__
struct kernel_action {
    void *handler;
    unsigned long flags;
    void *restorer;
    unsigned long mask;
};

/* Neither through the C library's sigaction() nor its syscall(). */
static long change_action(int signal, const struct kernel_action *new, struct kernel_action *old)
{
    register long size __asm__("r10") = sizeof new->mask;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"((long)SYS_rt_sigaction), "D"((long)signal), "S"(new), "d"(old), "r"(size)
                     : "rcx", "r11", "memory");
    return result;
}

/* f(turns, word): loads the word in each turn. */
static const unsigned char turns_code[] = {
    0x48, 0x8b, 0x06, /* mov (%rsi), %rax */
    0x48, 0xff, 0xcf, /* dec %rdi */
    0x75, 0xf8,       /* jnz, to the load */
    0xc3,             /* ret */
};

/*
 * As Erlang's BEAM: sets SA_ONSTACK in all handlers that it finds. Its code is nobody's, and ends
 * where memory does: who looks further has a fault.
 */
static int run_moved_handlers(void)
{
    static const int signals[] = {SIGTRAP, SIGSEGV, SIGBUS};
    unsigned char *memory = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char *code = memory + PAGE - sizeof turns_code;
    long word = 7;

    if (memory == MAP_FAILED || mprotect(memory + PAGE, PAGE, PROT_NONE) != 0)
        return 99;
    memcpy(code, turns_code, sizeof turns_code);
    use_alternate(stack_of(16 * PAGE), 16 * PAGE);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct kernel_action action;

        if (change_action(signals[i], NULL, &action) != 0)
            return 99;
        action.flags |= SA_ONSTACK;
        if (change_action(signals[i], &action, NULL) != 0)
            return 99;
    }
    printf("%ld\n", ((long (*)(long, long *))code)(400L * 1000 * 1000, &word));
    return 0;
}
#else
static int run_moved_handlers(void)
{
    burn(BURN_MS);
    puts("7");
    return 0;
}
#endif

/* ---- a little stack left ---- */

static void say(const char *text)
{
    if (write(STDOUT_FILENO, text, strlen(text)) < 0)
        _exit(98);
}

static void fork_here(void)
{
    int status;
    pid_t child = fork();

    if (child == 0)
        _exit(7);
    waitpid(child, &status, 0);
    say(WIFEXITED(status) && WEXITSTATUS(status) == 7 ? "child left with 7\n" : "child died\n");
}

static void exit_here(void)
{
    exit(5);
}

static void crash_exit(int number)
{
    (void)number;
    _exit(42);
}

static void crash_fork(int number)
{
    (void)number;
    fork_here();
    _exit(42);
}

static int crash(void (*handler)(int))
{
    enum { BYTES = 8192 };
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};

    use_alternate(stack_of(BYTES), BYTES);
    sigaction(SIGSEGV, &action, NULL);
    burn(BURN_MS);
    raise(SIGSEGV);
    return 1;
}

static int run_crash_exit(void)
{
    return crash(crash_exit);
}

static int run_crash_fork(void)
{
    return crash(crash_fork);
}

static int run_coroutine(void (*function)(void))
{
    enum { BYTES = 8192 };

    burn(BURN_MS);
    run_on(stack_of(BYTES), BYTES, function);
    return 0;
}

static int run_coroutine_exit(void)
{
    return run_coroutine(exit_here);
}

static int run_coroutine_fork(void)
{
    return run_coroutine(fork_here);
}

/* ---- stacks of two sizes at one address, one after the other ---- */

static int depth;
static void *volatile block;

static __attribute__((noinline)) void allocate(void)
{
    block = malloc(100);
    free(block);
}

static __attribute__((noinline)) void deep(int n)
{
    volatile char frame[2048];

    frame[0] = (char)n;
    allocate();
    if (n)
        deep(n - 1);
    (void)frame[0];
}

static void at_many_depths(void)
{
    for (int i = 0; i < 40; i++) {
        volatile char *space = __builtin_alloca((size_t)(16 * i + 1));

        space[0] = 1;
        deep(depth);
    }
}

static int run_stale(void)
{
    enum { BIG = 256 << 10, SMALL = 48 << 10 };

    for (int round = 0; round < 20; round++) {
        char *memory = mmap(NULL, BIG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        depth = 100;
        run_on(memory, BIG, at_many_depths);
        munmap(memory + SMALL, BIG - SMALL);
        depth = 12;
        run_on(memory, SMALL, at_many_depths);
        munmap(memory, SMALL);
    }
    burn(BURN_MS);
    puts("alive");
    return 0;
}

static const struct {
    const char *name;
    int (*run)(void);
} cases[] = {
    {"small-alternate", run_small_alternate}, {"freed-alternate", run_freed_alternate},
    {"moved-handlers", run_moved_handlers},   {"crash-exit", run_crash_exit},
    {"crash-fork", run_crash_fork},           {"coroutine-exit", run_coroutine_exit},
    {"coroutine-fork", run_coroutine_fork},   {"stale", run_stale},
};

int main(int count, char **arguments)
{
    for (size_t i = 0; count == 2 && i < sizeof cases / sizeof *cases; i++)
        if (strcmp(arguments[1], cases[i].name) == 0)
            return cases[i].run();
    fputs("usage: target_tight CASE\n", stderr);
    return 99;
}
