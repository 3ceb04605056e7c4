/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ways to do what is usually done otherwise: target_ways CASE
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "burn.h"

/* ---- threads ---- */

static int c11_work(void *unused)
{
    (void)unused;
    burn(BURN_MS);
    return 6;
}

static int run_c11(void)
{
    thrd_t thread;
    int result = 0;

    thrd_create(&thread, c11_work, NULL);
    thrd_join(thread, &result);
    printf("the thread returned %d\n", result);
    return 0;
}

static void *masked_work(void *unused)
{
    sigset_t mask, pending;

    burn(BURN_MS);
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    sigpending(&pending);
    printf("SIGTRAP blocked: %d, pending: %d\n", sigismember(&mask, SIGTRAP),
           sigismember(&pending, SIGTRAP));
    return unused;
}

/* Every signal is blocked by the attributes of the thread. */
static int run_masked(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all;

    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setsigmask_np(&attributes, &all);
    pthread_create(&thread, &attributes, masked_work, NULL);
    pthread_join(thread, NULL);
    return 0;
}

static volatile bool timer_done;

static void on_timer(union sigval unused)
{
    (void)unused;
    burn(BURN_MS * 4);
    timer_done = true;
}

/* The C library creates the thread for itself. */
static int run_timer(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = on_timer};
    struct itimerspec soon = {.it_value = {.tv_nsec = 1000000}};
    timer_t timer;

    burn(BURN_MS);
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &soon, NULL);
    while (!timer_done)
        usleep(1000);
    return 0;
}

/* ---- sandboxes ---- */

/* The usual question whether there are filters. */
static int run_probe(void)
{
    int result = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL);

    printf("%d %d\n", result, errno);
    burn(BURN_MS);
    return 0;
}

/* A filter that kills who makes such a system call. */
static int filter(long operation, bool by_prctl)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};

    burn(BURN_MS);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    printf("%ld\n", by_prctl ? syscall(SYS_prctl, PR_SET_SECCOMP, operation, &program)
                             : syscall(SYS_seccomp, operation, 0, &program));
    fflush(stdout);
    burn(BURN_MS);
    return write(STDOUT_FILENO, "alive\n", 6) != 6;
}

static int run_seccomp_call(void)
{
    return filter(SECCOMP_SET_MODE_FILTER, false);
}

static int run_prctl_call(void)
{
    return filter(SECCOMP_MODE_FILTER, true);
}

/* ---- ends ---- */

static int run_quick_exit(void)
{
    burn(BURN_MS);
    quick_exit(4);
}

static int run_exit_group(void)
{
    burn(BURN_MS);
    syscall(SYS_exit_group, 4);
    return 1;
}

extern char **environ;
static char *const true_arguments[] = {(char *)"true", NULL};

static int run_execveat(void)
{
    burn(BURN_MS);
    execveat(AT_FDCWD, "/bin/true", true_arguments, environ, 0);
    return 1;
}

static int run_exec_call(void)
{
    burn(BURN_MS);
    syscall(SYS_execve, "/bin/true", true_arguments, environ);
    return 1;
}

/* ---- descriptors and debug registers ---- */

/* By number, what is not the program's to close. */
static int run_close_call(void)
{
    int count = 0;

    burn(BURN_MS);
    for (int descriptor = 3; descriptor < 5000; descriptor++)
        count += syscall(SYS_close, descriptor) == 0;
    printf("closed %d, then all: %ld\n", count, syscall(SYS_close_range, 3u, ~0u, 0));
    printf("lowest: %d\n", open("/dev/null", O_RDONLY));
    burn(BURN_MS);
    return 0;
}

/* Takes all debug registers for itself. */
static int run_breakpoints(void)
{
    static volatile long watched;
    struct perf_event_attr attributes = {
        .size = sizeof attributes,
        .type = PERF_TYPE_BREAKPOINT,
        .bp_type = HW_BREAKPOINT_W,
        .bp_len = HW_BREAKPOINT_LEN_8,
        .bp_addr = (uintptr_t)&watched,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    unsigned long hits = 0;
    int opened = 0, last = -1, descriptor;

    burn(BURN_MS);
    while (opened < 4 && (descriptor = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1,
                                                    PERF_FLAG_FD_CLOEXEC)) >= 0) {
        last = descriptor;
        opened++;
    }
    for (int i = 0; i < 10; i++)
        watched = i;
    if (last >= 0 && read(last, &hits, sizeof hits) != sizeof hits)
        return 1;
    printf("opened %d, stores seen: %lu\n", opened, hits);
    burn(BURN_MS);
    return 0;
}

/* ---- SIGTRAP by System V's functions and by number ---- */

static volatile int handled;

static void on_trap(int number)
{
    handled += number == SIGTRAP;
}

static int run_sigset(void)
{
    sigset_t mask;

    printf("was default: %d\n", sigset(SIGTRAP, on_trap) == SIG_DFL);
    burn(BURN_MS);
    raise(SIGTRAP);
    raise(SIGTRAP);
    printf("handled: %d\n", handled);
    printf("was ours: %d\n", sigset(SIGTRAP, SIG_HOLD) == on_trap);
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    printf("held: %d\n", sigismember(&mask, SIGTRAP));
    printf("was held: %d\n", sigset(SIGTRAP, SIG_DFL) == SIG_HOLD);
    sigignore(SIGTRAP);
    burn(BURN_MS);
    raise(SIGTRAP);
    ssignal(SIGTRAP, SIG_DFL);
    burn(BURN_MS);
    return 0;
}

/* The kernel's structure; who calls it so, brings the code that a handler returns to. */
struct by_number {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    unsigned long mask;
};

static int run_sigaction_call(void)
{
    struct by_number action = {.handler = on_trap}, old = {.handler = NULL};

#if defined(__x86_64__)
    struct sigaction with_restorer;

    enum { RESTORER = 0x04000000 };
    memset(&with_restorer, 0, sizeof with_restorer);
    with_restorer.sa_handler = SIG_DFL;
    sigaction(SIGUSR1, &with_restorer, NULL);
    syscall(SYS_rt_sigaction, SIGUSR1, NULL, &old, sizeof old.mask);
    action.restorer = old.restorer;
    action.flags = RESTORER;
    syscall(SYS_rt_sigaction, SIGTRAP, &action, NULL, sizeof action.mask);
    burn(BURN_MS);
    raise(SIGTRAP);
    syscall(SYS_rt_sigaction, SIGTRAP, NULL, &old, sizeof old.mask);
#else
    old.handler = action.handler;
    handled = 1;
    burn(BURN_MS);
#endif
    printf("handled: %d, read again: %d\n", handled, old.handler == on_trap);
    return 0;
}

/* ---- heap and environment ---- */

/* Where the heap begins, and what lies on it: nothing but the C library's own. */
static int run_heap(void)
{
    enum { PAGE = 4096, SIZE = 24 };
    uintptr_t first = (uintptr_t)malloc(SIZE), second = (uintptr_t)malloc(SIZE);

    printf("at %#zx of its page, next %zu after it\n", (size_t)(first % PAGE),
           (size_t)(second - first));
    burn(BURN_MS);
    free((void *)second);
    free((void *)first);
    return 0;
}

static const char *value_of(const char *name)
{
    const char *value = getenv(name);

    return value ? value : "none";
}

static int run_environment(void)
{
    static char put[] = "TARGET_PUT=here";
    unsigned count = 0;

    burn(BURN_MS);
    setenv("TARGET_SET", "a", 1);
    setenv("TARGET_SET", "longer than before", 1);
    putenv(put);
    for (char **entry = environ; *entry; entry++)
        count += strncmp(*entry, "TARGET_", 7) == 0;
    printf("%u: %s, %s\n", count, value_of("TARGET_SET"), value_of("TARGET_PUT"));
    unsetenv("TARGET_SET");
    unsetenv("TARGET_PUT");
    printf("%s, %s\n", value_of("TARGET_SET"), value_of("TARGET_PUT"));
    clearenv();
    setenv("TARGET_SET", "b", 0);
    printf("%s, then %s\n", value_of("TARGET_SET"), environ[1] ? environ[1] : "nothing");
    return 0;
}

/* Sets or clears the flag by which accesses that are not aligned fault. */
static void check_alignment(bool on)
{
#if defined(__x86_64__)
    const uint64_t flag = 1 << 18;
    uint64_t flags = __builtin_ia32_readeflags_u64();

    __builtin_ia32_writeeflags_u64(on ? flags | flag : flags & ~flag);
#else
    (void)on;
#endif
}

/* The C library's functions are not made for it. */
static int run_aligned(void)
{
    enum { WORDS = 4096, SWEEPS = 40000 };
    static volatile int words[WORDS];

    check_alignment(true);
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        for (int i = 0; i < WORDS; i++)
            words[i] += sweep;
    check_alignment(false);
    printf("%d\n", words[0]);
    return 0;
}

static const struct {
    const char *name;
    int (*run)(void);
} cases[] = {
    {"heap", run_heap},
    {"environment", run_environment},
    {"c11", run_c11},
    {"masked", run_masked},
    {"timer", run_timer},
    {"probe", run_probe},
    {"seccomp-call", run_seccomp_call},
    {"prctl-call", run_prctl_call},
    {"quick-exit", run_quick_exit},
    {"exit-group", run_exit_group},
    {"execveat", run_execveat},
    {"exec-call", run_exec_call},
    {"close-call", run_close_call},
    {"breakpoints", run_breakpoints},
    {"sigset", run_sigset},
    {"aligned", run_aligned},
    {"sigaction-call", run_sigaction_call},
};

int main(int count, char **arguments)
{
    for (size_t i = 0; count == 2 && i < sizeof cases / sizeof *cases; i++)
        if (strcmp(arguments[1], cases[i].name) == 0)
            return cases[i].run();
    fputs("usage: target_ways CASE\n", stderr);
    return 99;
}
