/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs that use signals themselves, those above all that a profiler wants for its own:
 * target_signals sigtrap|breakpoint|realtime|default-trap|ignored-trap|blocked-trap|wait|timer|
 *                alternate|longjmp|abort|segv|overflow|barrier|blocked-faults|ignored-fault|
 *                system-call|blocked-breakpoint|descriptor|descriptor-later|wait-elsewhere|
 *                unblocked-elsewhere|unblocked-elsewhere-often|next-program|jump-blocked|hang
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include "burn.h"

static int *volatile nowhere = (int *)(uintptr_t)16; /* an address that is never mapped */

static volatile sig_atomic_t seen, seen_code, seen_value, seen_from_me, mask_right;

static void note(int number, siginfo_t *info, void *context)
{
    (void)context;
    sigset_t now;
    seen++;
    seen_code = info->si_code;
    seen_value = info->si_value.sival_int;
    seen_from_me = info->si_pid == getpid();
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    mask_right = sigismember(&now, number) == 1 && sigismember(&now, SIGUSR2) == 1 &&
                 sigismember(&now, SIGUSR1) == 0;
}

static struct sigaction handler_of(void (*function)(int, siginfo_t *, void *), int flags)
{
    struct sigaction action = {.sa_sigaction = function, .sa_flags = SA_SIGINFO | flags};
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGUSR2);
    return action;
}

static const char *disposition(const struct sigaction *action)
{
    if (action->sa_sigaction == note)
        return "ours";
    if (action->sa_handler == SIG_DFL)
        return "default";
    return action->sa_handler == SIG_IGN ? "ignored" : "somebody else's";
}

/* An own handler: set, asked for, raised, queued, between work, and given back. */
static int own_handler(int number)
{
    struct sigaction action = handler_of(note, SA_RESTART), old, asked;
    if (sigaction(number, NULL, &asked) != 0 || sigaction(number, &action, &old) != 0)
        return 1;
    printf("before: %s, %s\n", disposition(&asked), disposition(&old));
    sigaction(number, NULL, &asked);
    printf("set: %s, flags %s, mask %d\n", disposition(&asked),
           asked.sa_flags & SA_RESTART ? "kept" : "lost", sigismember(&asked.sa_mask, SIGUSR2));
    burn(BURN_MS);
    printf("after work: seen %d\n", seen);
    raise(number);
    printf("raised: seen %d, code %s, from me %d, mask %d\n", seen,
           seen_code == SI_TKILL ? "tkill" : "other", seen_from_me, mask_right);
    kill(getpid(), number);
    printf("killed: seen %d, code %s\n", seen, seen_code == SI_USER ? "user" : "other");
    sigqueue(getpid(), number, (union sigval){.sival_int = 4711});
    printf("queued: seen %d, code %s, value %d\n", seen, seen_code == SI_QUEUE ? "queue" : "other",
           seen_value);
    for (int i = 0; i < 1000; i++) {
        raise(number);
        if (i % 100 == 0)
            burn(2);
    }
    printf("many: seen %d\n", seen);
    sigaction(number, &old, &asked);
    printf("given back: was %s\n", disposition(&asked));
    sigaction(number, NULL, &asked);
    printf("now: %s\n", disposition(&asked));
    return 0;
}

#if defined(__x86_64__)
enum { BREAKPOINT_CODE = SI_KERNEL };

static void plant_breakpoint(void)
{
    __asm__ volatile("int3");
}

static void note_breakpoint(int number, siginfo_t *info, void *context)
{
    note(number, info, context);
}
#else
enum { BREAKPOINT_CODE = TRAP_BRKPT };

static void plant_breakpoint(void)
{
    __asm__ volatile("brk #0");
}

/* The handler is called at the instruction, and has to pass over it. */
static void note_breakpoint(int number, siginfo_t *info, void *context)
{
    note(number, info, context);
    ((ucontext_t *)context)->uc_mcontext.pc += 4;
}
#endif

/* A breakpoint instruction, as debuggers and runtimes of languages plant it. */
static int breakpoint(void)
{
    struct sigaction action = handler_of(note_breakpoint, 0);
    sigaction(SIGTRAP, &action, NULL);
    burn(60);
    for (int i = 0; i < 100; i++) {
        plant_breakpoint();
        burn(1);
    }
    printf("seen %d, code %s\n", seen, seen_code == BREAKPOINT_CODE ? "breakpoint" : "other");
    return 0;
}

/* Kills, though there is a handler. */
static int blocked_breakpoint(void)
{
    struct sigaction action = handler_of(note_breakpoint, 0);
    sigset_t set;

    sigaction(SIGTRAP, &action, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGTRAP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    burn(BURN_MS);
    printf("worked\n");
    plant_breakpoint();
    printf("still here, seen %d\n", seen);
    return 0;
}

/* Blocked by the program: a raised one stays pending until it is let in. */
static int blocked_trap(int number)
{
    struct sigaction action = handler_of(note, 0);
    sigset_t set, pending, old;
    sigaction(number, &action, NULL);
    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(SIG_BLOCK, &set, &old);
    printf("was blocked: %d\n", sigismember(&old, number));
    burn(BURN_MS);
    raise(number);
    burn(20);
    sigpending(&pending);
    printf("blocked: seen %d, pending %d\n", seen, sigismember(&pending, number));
    sigprocmask(SIG_SETMASK, &old, &set);
    printf("let in: seen %d, was blocked %d\n", seen, sigismember(&set, number));
    return 0;
}

/* Taken synchronously. */
static int wait_for_signal(void)
{
    sigset_t set;
    siginfo_t info;
    sigemptyset(&set);
    sigaddset(&set, SIGTRAP);
    sigaddset(&set, SIGRTMIN);
    sigprocmask(SIG_BLOCK, &set, NULL);
    burn(BURN_MS);
    sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 11});
    raise(SIGTRAP);
    for (int i = 0; i < 2; i++) {
        int number = sigwaitinfo(&set, &info);
        printf("got %s, value %d\n", number == SIGTRAP ? "SIGTRAP" : "SIGRTMIN",
               info.si_code == SI_QUEUE ? info.si_value.sival_int : -1);
    }
    struct timespec none = {0};
    printf("more: %d\n", sigtimedwait(&set, &info, &none) == -1 && errno == EAGAIN ? 0 : 1);
    return 0;
}

static sigset_t block_trap(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTRAP);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return set;
}

/* Read instead of handled; made before the signal comes, or after. */
static int descriptor(bool later)
{
    sigset_t set = block_trap(), pending;
    int from = later ? -1 : signalfd(-1, &set, SFD_CLOEXEC);
    burn(BURN_MS);
    kill(getpid(), SIGTRAP);
    if (later)
        from = signalfd(-1, &set, SFD_CLOEXEC);
    struct pollfd poll_for = {.fd = from, .events = POLLIN};
    struct signalfd_siginfo info = {0};
    int ready = poll(&poll_for, 1, 2000);
    ssize_t size = ready == 1 ? read(from, &info, sizeof info) : 0;
    printf("ready %d, read %d, SIGTRAP %d, from me %d\n", ready, size == sizeof info,
           info.ssi_signo == SIGTRAP, info.ssi_pid == (uint32_t)getpid());
    sigpending(&pending);
    sigset_t old;
    pthread_sigmask(SIG_UNBLOCK, &set, &old);
    printf("pending %d, was blocked %d\n", sigismember(&pending, SIGTRAP),
           sigismember(&old, SIGTRAP));
    return 0;
}

static _Atomic bool ready_to_take;

static void *wait_here(void *set)
{
    siginfo_t info;
    struct timespec patience = {.tv_sec = 5};
    atomic_store(&ready_to_take, true);
    for (int i = 0; i < 50; i++)
        if (sigtimedwait(set, &info, &patience) != SIGTRAP || info.si_code != SI_USER)
            return NULL;
        else
            atomic_store(&ready_to_take, true);
    return set;
}

/* The process is sent one, and a thread that is not the first waits for it, or will soon. */
static int wait_elsewhere(void)
{
    sigset_t set = block_trap();
    pthread_t other;
    void *all;
    pthread_create(&other, NULL, wait_here, &set);
    for (int i = 0; i < 50; i++) {
        while (!atomic_exchange(&ready_to_take, false))
            ;
        burn(BURN_MS / 50);
        kill(getpid(), SIGTRAP);
    }
    pthread_join(other, &all);
    printf("%s\n", all ? "all taken" : "one was lost");
    return 0;
}

static int to_send;

static void *let_in(void *set)
{
    pthread_sigmask(SIG_UNBLOCK, set, NULL);
    atomic_store(&ready_to_take, true);
    while (seen < to_send)
        burn(1);
    return NULL;
}

/* All threads block it but one: that one handles it. The next is sent ms of work after it, at the
 * least: with 0 while the handler still runs. */
static int unblocked_elsewhere(int times, long ms)
{
    struct sigaction action = handler_of(note, 0);
    sigset_t set = block_trap();
    pthread_t other;
    to_send = times;
    sigaction(SIGTRAP, &action, NULL);
    pthread_create(&other, NULL, let_in, &set);
    while (!atomic_load(&ready_to_take))
        ;
    for (int i = 1; i <= times; i++) {
        kill(getpid(), SIGTRAP);
        while (seen < i)
            if (ms > 0)
                burn(ms);
    }
    pthread_join(other, NULL);
    printf("seen %d\n", seen);
    return 0;
}

/* What a program does to SIGTRAP is so for the next as well. */
static int next_program(char **argv)
{
    struct sigaction now;
    sigset_t set;
    if (argv[2]) {
        sigaction(SIGTRAP, NULL, &now);
        pthread_sigmask(SIG_BLOCK, NULL, &set);
        printf("%s, blocked %d\n", disposition(&now), sigismember(&set, SIGTRAP));
        burn(BURN_MS);
        return 0;
    }
    signal(SIGTRAP, SIG_IGN);
    block_trap();
    burn(BURN_MS);
    execl("/proc/self/exe", argv[0], argv[1], "again", (char *)NULL);
    return 1;
}

static jmp_buf without_mask;

static void leave_by_jump(int number)
{
    (void)number;
    _longjmp(without_mask, 1);
}

/* Handlers that block everything and are left without a mask: it stays blocked, the work goes on.
 */
static int jump_blocked(void)
{
    static const int numbers[] = {SIGALRM, SIGSEGV, SIGTRAP};
    static volatile int left;
    static volatile unsigned i;
    struct sigaction action = {.sa_handler = leave_by_jump};
    sigset_t set;
    sigfillset(&action.sa_mask);
    for (i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        sigset_t none;
        sigemptyset(&none);
        sigaction(numbers[i], &action, NULL);
        if (_setjmp(without_mask) == 0)
            raise(numbers[i]);
        else
            left++;
        sigprocmask(SIG_BLOCK, NULL, &set);
        printf("%d left, SIGUSR1 blocked: %d\n", left, sigismember(&set, SIGUSR1));
        if (i < 2)
            sigprocmask(SIG_SETMASK, &none, NULL);
    }
    printf("SIGTRAP blocked: %d\n", sigismember(&set, SIGTRAP));
    burn(BURN_MS);
    return 0;
}

/* An interval timer of 1 ms ticks through the work; sleep is only interrupted by it. */
static int timer(void)
{
    struct sigaction action = handler_of(note, SA_RESTART);
    struct itimerval tick = {{0, 1000}, {0, 1000}}, off = {{0, 0}, {0, 0}};
    sigaction(SIGALRM, &action, NULL);
    sigaction(SIGPROF, &action, NULL);
    setitimer(ITIMER_REAL, &tick, NULL);
    burn(BURN_MS);
    setitimer(ITIMER_REAL, &off, NULL);
    printf("real: %s\n", seen >= 10 ? "ticks" : "too few");
    seen = 0;
    setitimer(ITIMER_PROF, &tick, NULL);
    burn(BURN_MS);
    setitimer(ITIMER_PROF, &off, NULL);
    printf("prof: %s\n", seen >= 10 ? "ticks" : "too few");
    seen = 0;
    alarm(1);
    unsigned left = sleep(5);
    printf("alarm: seen %d, sleep was cut %d\n", seen, left >= 3);
    struct timespec nap = {.tv_nsec = 50000000}, rest = {0};
    printf("nap: %d\n", nanosleep(&nap, &rest));
    return 0;
}

static char *alternate_begin, *alternate_end;
static volatile sig_atomic_t on_alternate;

static void note_stack(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    (void)context;
    char here;
    stack_t current;
    sigaltstack(NULL, &current);
    on_alternate +=
        &here > alternate_begin && &here < alternate_end && (current.ss_flags & SS_ONSTACK) != 0;
    burn(1);
}

/* A small alternate stack of the program's own, used by its own handlers only. */
static int alternate(void)
{
    size_t size = (size_t)sysconf(_SC_MINSIGSTKSZ) + 8192;
    char *stack = mmap(NULL, size + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    alternate_begin = stack + 4096;
    alternate_end = alternate_begin + size / 4096 * 4096;
    mprotect(alternate_begin, (size_t)(alternate_end - alternate_begin), PROT_READ | PROT_WRITE);
    stack_t set = {.ss_sp = alternate_begin, .ss_size = (size_t)(alternate_end - alternate_begin)};
    stack_t old;
    if (sigaltstack(&set, &old) != 0)
        return 1;
    printf("before: %s\n", old.ss_flags & SS_DISABLE ? "none" : "one");
    struct sigaction action = handler_of(note_stack, SA_ONSTACK);
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < 50; i++) {
        burn(4);
        raise(SIGUSR1);
    }
    sigaltstack(NULL, &old);
    printf("on it: %d times, still set %d\n", on_alternate, old.ss_sp == alternate_begin);
    return 0;
}

static sigjmp_buf back;

static void jump_out(int number)
{
    siglongjmp(back, number);
}

static jmp_buf plain_back;

static void jump_back(void)
{
    longjmp(plain_back, 1);
}

static void (*volatile leave)(void) = jump_back;

__attribute__((noinline)) static void descend(int depth)
{
    volatile char frame[64];
    frame[0] = (char)depth;
    if (depth == 0) {
        leave();
        return;
    }
    descend(depth - 1);
    frame[1] = frame[0];
}

static int jump(void)
{
    static volatile int i, jumps, caught;
    signal(SIGUSR1, jump_out);
    signal(SIGSEGV, jump_out);
    for (i = 0; i < 2000; i++) {
        if (setjmp(plain_back) == 0)
            descend(i % 50);
        else
            jumps++;
        if (i % 100 == 0)
            burn(8);
    }
    for (i = 0; i < 100; i++) {
        switch (sigsetjmp(back, 1)) {
        case 0:
            if (i % 2)
                raise(SIGUSR1);
            else
                *nowhere = 0;
            break;
        default:
            caught++;
        }
        if (i % 10 == 0)
            burn(5);
    }
    printf("%d jumps, %d out of handlers\n", jumps, caught);
    return 0;
}

/* ---- faults ---- */

static volatile sig_atomic_t on_own_stack, address_right;
static char *volatile expected;

static void leave_overflow(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    char here;
    on_own_stack += &here > alternate_begin && &here < alternate_end;
    address_right += info->si_code > 0;
    siglongjmp(back, 1);
}

__attribute__((noinline)) static int bottomless(volatile int *depth)
{
    volatile char frame[4096];
    frame[0] = (char)++*depth;
    if (*depth < 0)
        return 0;
    return frame[0] + bottomless(depth) + frame[0];
}

/* Stack overflows, survived on an alternate stack; between them, work that is sampled. */
static int overflow(void)
{
    static char stack[65536];
    stack_t set = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = handler_of(leave_overflow, SA_ONSTACK), asked;
    static volatile int i, depth;
    alternate_begin = stack;
    alternate_end = stack + sizeof stack;
    sigaltstack(&set, NULL);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGSEGV, NULL, &asked);
    printf("flags %s\n", (asked.sa_flags & SA_ONSTACK) ? "kept" : "lost");
    for (i = 0; i < 20; i++) {
        if (sigsetjmp(back, 1) == 0)
            bottomless(&depth);
        burn(10);
    }
    printf("%d overflows on the alternate stack, %d faults\n", on_own_stack, address_right);
    return 0;
}

static void open_page(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    char *page = (char *)((uintptr_t)info->si_addr & ~(uintptr_t)4095);
    seen++;
    address_right += page == expected;
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

/* Pages that are closed and opened by faults, as garbage collectors do. */
static int barrier(void)
{
    enum { PAGES = 64 };
    char *block =
        mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct sigaction action = handler_of(open_page, SA_RESTART);
    volatile long sum = 0;
    sigaction(SIGSEGV, &action, NULL);
    for (int turn = 0; turn < 200; turn++) {
        mprotect(block, PAGES * 4096, PROT_NONE);
        for (int page = 0; page < PAGES; page++) {
            expected = block + page * 4096;
            for (int i = 0; i < 4096; i++)
                sum = sum + block[page * 4096 + i];
        }
        burn(1);
    }
    printf("%d faults, %d where they should be\n", seen, address_right);
    return 0;
}

static struct {
    atomic_flag lock;
    bool go;
    volatile long *place;
} shared = {.lock = ATOMIC_FLAG_INIT};
static _Atomic bool stop_switching;

static void lock_shared(void)
{
    while (atomic_flag_test_and_set_explicit(&shared.lock, memory_order_acquire))
        ;
}

/* Under a lock the pointer is good whenever it may be followed: who only looks sees it otherwise.
 */
static void *switch_pointer(void *good)
{
    bool on = false;
    while (!atomic_load(&stop_switching)) {
        lock_shared();
        on = !on;
        shared.go = on;
        shared.place = on ? good : (volatile long *)(uintptr_t)16;
        atomic_flag_clear_explicit(&shared.lock, memory_order_release);
    }
    return NULL;
}

static int blocked_faults(void)
{
    static long value;
    volatile long sum = 0;
    pthread_t other;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    pthread_create(&other, NULL, switch_pointer, &value);
    for (long end = thread_cpu_ms() + 600; thread_cpu_ms() < end;) {
        for (int i = 0; i < 10000; i++) {
            lock_shared();
            if (shared.go)
                sum = sum + *shared.place;
            atomic_flag_clear_explicit(&shared.lock, memory_order_release);
        }
        for (int i = 0; i < 20000; i++)
            sum = sum + i;
    }
    atomic_store(&stop_switching, true);
    pthread_join(other, NULL);
    printf("sum %ld\n", sum > 0 ? 1L : 0L);
    return 0;
}

/* What is ignored stays so in a program that exec brings. */
static int ignored_fault(void)
{
    signal(SIGSEGV, SIG_IGN);
    burn(BURN_MS);
    kill(getpid(), SIGSEGV);
    printf("ignored\n");
    fflush(stdout);
    execlp("sh", "sh", "-c", "kill -SEGV $$; echo still ignored", (char *)NULL);
    return 1;
}

struct kernel_action {
    void (*handler)(int, siginfo_t *, void *);
    unsigned long flags;
    void (*restorer)(void);
    unsigned long mask;
};

/* A disposition set behind the C library's back, with the help of what the library sets. */
static int system_call(void)
{
    struct sigaction action = handler_of(note, SA_RESTART);
    struct kernel_action raw;
    sigaction(SIGUSR1, &action, NULL);
    syscall(SYS_rt_sigaction, SIGUSR1, NULL, &raw, 8);
    syscall(SYS_rt_sigaction, SIGSEGV, &raw, NULL, 8);
    for (int i = 0; i < 50; i++) {
        burn(10);
        kill(getpid(), SIGSEGV);
    }
    sigaction(SIGSEGV, NULL, &action);
    printf("seen %d, %s\n", seen, disposition(&action));
    return 0;
}

/* Until somebody outside ends it. */
__attribute__((noreturn)) static void hang(void)
{
    printf("working\n");
    fflush(stdout);
    for (;;)
        burn(1000);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (strcmp(what, "sigtrap") == 0)
        return own_handler(SIGTRAP);
    if (strcmp(what, "realtime") == 0)
        return own_handler(SIGRTMIN) || own_handler(SIGRTMAX);
    if (strcmp(what, "breakpoint") == 0)
        return breakpoint();
    if (strcmp(what, "blocked-trap") == 0)
        return blocked_trap(SIGTRAP);
    if (strcmp(what, "blocked-breakpoint") == 0)
        return blocked_breakpoint();
    if (strcmp(what, "wait") == 0)
        return wait_for_signal();
    if (strcmp(what, "descriptor") == 0 || strcmp(what, "descriptor-later") == 0)
        return descriptor(what[strlen("descriptor")] != '\0');
    if (strcmp(what, "wait-elsewhere") == 0)
        return wait_elsewhere();
    if (strcmp(what, "unblocked-elsewhere") == 0)
        return unblocked_elsewhere(50, 1);
    if (strcmp(what, "unblocked-elsewhere-often") == 0)
        return unblocked_elsewhere(20000, 0);
    if (strcmp(what, "next-program") == 0)
        return next_program(argv);
    if (strcmp(what, "jump-blocked") == 0)
        return jump_blocked();
    if (strcmp(what, "timer") == 0)
        return timer();
    if (strcmp(what, "alternate") == 0)
        return alternate();
    if (strcmp(what, "longjmp") == 0)
        return jump();
    if (strcmp(what, "overflow") == 0)
        return overflow();
    if (strcmp(what, "barrier") == 0)
        return barrier();
    if (strcmp(what, "blocked-faults") == 0)
        return blocked_faults();
    if (strcmp(what, "ignored-fault") == 0)
        return ignored_fault();
    if (strcmp(what, "system-call") == 0)
        return system_call();
    if (strcmp(what, "hang") == 0)
        hang();
    if (strcmp(what, "ignored-trap") == 0)
        signal(SIGTRAP, SIG_IGN);
    burn(BURN_MS);
    printf("worked\n");
    if (strcmp(what, "default-trap") == 0 || strcmp(what, "ignored-trap") == 0)
        raise(SIGTRAP);
    else if (strcmp(what, "abort") == 0)
        abort();
    else if (strcmp(what, "segv") == 0)
        *nowhere = 0;
    else
        return 64;
    printf("still here\n");
    return 0;
}
