/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The unwinder against libunwind, from within signal handlers at every single instruction of calls
 * into the C library (prologues, epilogues, linkage stubs; where a program cannot step, at
 * instructions that a timer chooses), and from ordinary calls, of several threads at once as well;
 * and on stacks that are broken.
 */
#include <alloca.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include "unwinding/unwind.h"

/* Found by handlers; reported afterwards, as nothing may fail inside a handler. */
static volatile unsigned compared, differing;
static uint64_t first_ours[UNWIND_FRAMES_MAX], first_theirs[UNWIND_FRAMES_MAX];
static volatile size_t first_ours_count, first_theirs_count;

static size_t oracle(ucontext_t *context, uint64_t *ips, size_t max)
{
    unw_cursor_t cursor;
    unw_word_t ip;
    size_t n = 0;
    /* Its type is the kernel's here and one of its own there. */
    unw_init_local2(&cursor, (unw_context_t *)context, UNW_INIT_SIGNAL_FRAME);
    do {
        unw_get_reg(&cursor, UNW_REG_IP, &ip);
        if (ip == 0)
            break;
        ips[n++] = ip;
    } while (n < max && unw_step(&cursor) > 0);
    return n;
}

static void compare(ucontext_t *context)
{
    uint64_t ours[UNWIND_FRAMES_MAX], theirs[UNWIND_FRAMES_MAX];
    const struct unwind_start start = unwind_start_of_signal(context);
    const size_t n = unwind(&start, ours, UNWIND_FRAMES_MAX);
    const size_t m = oracle(context, theirs, UNWIND_FRAMES_MAX);
    compared++;
    /* libunwind 1.6 on arm64: at the first instruction of some functions it passes the caller over,
     * which the link register tells. */
    if (start.link != 0 && n == m + 1 && ours[1] == start.link && ours[0] == theirs[0] &&
        memcmp(ours + 2, theirs + 1, (m - 1) * sizeof ours[0]) == 0)
        return;
    if ((n != m || memcmp(ours, theirs, n * sizeof ours[0]) != 0) && differing++ == 0) {
        first_ours_count = n;
        first_theirs_count = m;
        memcpy(first_ours, ours, sizeof ours);
        memcpy(first_theirs, theirs, sizeof theirs);
    }
}

static void assert_all_equal(unsigned at_least)
{
    if (differing != 0) {
        for (size_t i = 0; i < first_ours_count || i < first_theirs_count; i++)
            printf("# frame %zu: ours %#llx libunwind %#llx\n", i,
                   (unsigned long long)(i < first_ours_count ? first_ours[i] : 0),
                   (unsigned long long)(i < first_theirs_count ? first_theirs[i] : 0));
        const unsigned bad = differing, all = compared;
        differing = compared = 0;
        fail_msg("%u of %u contexts differ from libunwind's", bad, all);
    }
    assert_true(compared >= at_least);
    compared = 0;
}

#if defined(__x86_64__)
static void next_strike(void) {}

/* The trap flag: SIGTRAP after every instruction. */
static void single_step(bool on)
{
    if (on)
        __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "cc", "memory");
    else
        __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "cc", "memory");
}

/* SIGTRAP at each instruction of function(argument). */
static void observe(void (*function)(unsigned), unsigned argument, unsigned at_least)
{
    (void)at_least;
    single_step(true);
    function(argument);
    single_step(false);
}
#else
static timer_t striking;
static volatile bool observing;

/* Once more, when some instructions have been executed after the handler. */
static void next_strike(void)
{
    static uint32_t state = 1;
    state = state * 1664525 + 1013904223;
    const struct itimerspec soon = {.it_value.tv_nsec = 1000 + (state >> 16)};
    if (observing)
        timer_settime(striking, 0, &soon, NULL);
}

/* SIGTRAP anywhere in function(argument), so often. */
static void observe(void (*function)(unsigned), unsigned argument, unsigned at_least)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGTRAP};
    event._sigev_un._tid = gettid();
    assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &striking), 0);
    observing = true;
    next_strike();
    while (compared < at_least)
        function(argument);
    observing = false;
    timer_delete(striking);
}
#endif

static void on_trap(int number, siginfo_t *information, void *context)
{
    (void)number;
    (void)information;
    const int saved_errno = errno;
    compare(context);
    next_strike();
    errno = saved_errno;
}

static void handle(int number, void (*handler)(int, siginfo_t *, void *), int flags)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | flags;
    sigaction(number, &action, NULL);
}

/* Functions with frames of every kind. */

static volatile double sink;

__attribute__((noinline)) static int by_value(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

__attribute__((noinline)) static void library_calls(void)
{
    int values[] = {5, 3, 9, 1, 7};
    char text[64];
    qsort(values, 5, sizeof values[0], by_value);
    snprintf(text, sizeof text, "%d %.3f %s", values[0], 3.25 + values[1], "text");
    sink = strtod(text, NULL);
    sink += (double)strlen(strstr(text, "text"));
    free(malloc(1000));
}

__attribute__((noinline)) static void variable_frame(unsigned size)
{
    char *memory = alloca(size);
    memset(memory, 1, size);
    library_calls();
    sink += memory[size / 2];
}

__attribute__((noinline)) static void aligned_frame(unsigned size)
{
    _Alignas(64) char memory[256];
    memset(memory, (int)size, sizeof memory);
    variable_frame(size);
    sink += memory[size % 256];
}

__attribute__((noinline)) static void kept_frame(unsigned depth)
{
    if (depth == 0)
        aligned_frame(200);
    else
        kept_frame(depth - 1);
    sink += depth + (double)(uintptr_t)__builtin_frame_address(0);
}

__attribute__((noinline)) static void recursive_frame(unsigned depth)
{
    if (depth == 0)
        kept_frame(3);
    else
        recursive_frame(depth - 1);
    sink += depth;
}

/* ThreadSanitizer hands a signal on when it sees fit, not where it came. */
static void skip_where_signals_are_put_off(void)
{
#if defined(__SANITIZE_THREAD__)
    skip();
#endif
}

static void every_instruction(void **state)
{
    (void)state;
    skip_where_signals_are_put_off();
    handle(SIGTRAP, on_trap, 0);
    observe(recursive_frame, 2, 3000);
    assert_all_equal(3000);
}

static void every_instruction_on_a_signal_stack(void **state)
{
    (void)state;
    skip_where_signals_are_put_off();
    const stack_t signal_stack = {.ss_sp = malloc(1 << 17), .ss_size = 1 << 17};
    assert_int_equal(sigaltstack(&signal_stack, NULL), 0);
    handle(SIGTRAP, on_trap, SA_ONSTACK);
    observe(recursive_frame, 30, 3000);
    assert_all_equal(3000);
    const stack_t off = {.ss_flags = SS_DISABLE};
    sigaltstack(&off, NULL);
    free(signal_stack.ss_sp);
}

static void library_frame(unsigned unused)
{
    (void)unused;
    library_calls();
}

/* The handler of another signal is stepped through: contexts cross its trampoline. */
static void on_user_signal(int number, siginfo_t *information, void *context)
{
    (void)number;
    (void)information;
    (void)context;
    observe(library_frame, 0, 1000);
}

static void through_a_signal_frame(void **state)
{
    (void)state;
    skip_where_signals_are_put_off();
    handle(SIGTRAP, on_trap, 0);
    handle(SIGUSR1, on_user_signal, 0);
    raise(SIGUSR1);
    assert_all_equal(1000);
    const stack_t signal_stack = {.ss_sp = malloc(1 << 17), .ss_size = 1 << 17};
    assert_int_equal(sigaltstack(&signal_stack, NULL), 0);
    handle(SIGUSR1, on_user_signal, SA_ONSTACK);
    raise(SIGUSR1);
    assert_all_equal(1000);
    const stack_t off = {.ss_flags = SS_DISABLE};
    sigaltstack(&off, NULL);
    free(signal_stack.ss_sp);
}

/* A program that has called what is no code is in its handler of the fault: the place that was
 * interrupted cannot be read. */
static sigjmp_buf after_fault;
static uint64_t fault_ips[UNWIND_FRAMES_MAX];
static volatile size_t fault_count;

__attribute__((noinline)) static void note_caller(void)
{
    const struct unwind_start start = UNWIND_START_OF_CALLER();
    fault_count = unwind(&start, fault_ips, UNWIND_FRAMES_MAX);
}

static void on_fault(int number, siginfo_t *information, void *context)
{
    (void)number;
    (void)information;
    (void)context;
    note_caller();
    siglongjmp(after_fault, 1);
}

static void after_a_call_of_no_code(void **state)
{
    (void)state;
    void *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    const uint64_t places[] = {16, (uint64_t)(uintptr_t)page, (uint64_t)(uintptr_t)page + 4092};
    handle(SIGSEGV, on_fault, 0);
    for (unsigned i = 0; i < sizeof places / sizeof places[0]; i++) {
        void (*volatile nowhere)(void) = (void (*)(void))(uintptr_t)places[i];
        bool found = false;
        fault_count = 0;
        if (sigsetjmp(after_fault, 1) == 0)
            nowhere();
        for (size_t j = 0; j < fault_count; j++)
            found |= fault_ips[j] == places[i];
        assert_true(found);
    }
    signal(SIGSEGV, SIG_DFL);
    munmap(page, 4096);
}

static void *stepping_thread(void *argument)
{
    observe(recursive_frame, 1, 3000);
    return argument;
}

static void in_a_thread(void **state)
{
    (void)state;
    skip_where_signals_are_put_off();
    handle(SIGTRAP, on_trap, 0);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, stepping_thread, NULL), 0);
    pthread_join(thread, NULL);
    assert_all_equal(3000);
}

/* The return addresses beyond the function that took the context, which is still under way. */
static size_t callers_of(unw_context_t *context, uint64_t *ips)
{
    unw_cursor_t cursor;
    unw_word_t ip;
    size_t count = 0;
    unw_init_local(&cursor, context);
    while (count < UNWIND_FRAMES_MAX && unw_step(&cursor) > 0) {
        unw_get_reg(&cursor, UNW_REG_IP, &ip);
        if (ip != 0)
            ips[count++] = ip;
    }
    return count;
}

/* The caller's context, as a wrapper takes it. */
static uint64_t caller_ips[UNWIND_FRAMES_MAX], oracle_ips[UNWIND_FRAMES_MAX];
static size_t caller_count, oracle_count;
static struct walk_memory walks;
static uint64_t again_ips[UNWIND_FRAMES_MAX];
static size_t again_count;

__attribute__((noinline)) static int wrapper(int argument)
{
    const struct unwind_start start = UNWIND_START_OF_CALLER();
    caller_count = unwind(&start, caller_ips, UNWIND_FRAMES_MAX);
    const struct walk *walk = unwind_again(&start, &walks);
    again_count = walk->frames;
    for (unsigned i = 0; i < walk->frames; i++)
        again_ips[i] = walk->frame[i].ip;
    unw_context_t context;
    unw_getcontext(&context);
    oracle_count = callers_of(&context, oracle_ips);
    return argument + 1;
}

__attribute__((noinline)) static int call_wrapper(unsigned depth)
{
    const int below = depth == 0 ? wrapper(1) : call_wrapper(depth - 1);
    __asm__ volatile("" ::: "memory"); /* no loop instead of the recursion */
    return below + 1;
}

static void from_a_call(void **state)
{
    (void)state;
    for (unsigned depth = 0; depth < 60; depth++) {
        sink = call_wrapper(depth);
        assert_int_equal(caller_count, oracle_count);
        assert_memory_equal(caller_ips, oracle_ips, caller_count * sizeof caller_ips[0]);
        assert_int_equal(again_count, oracle_count);
        assert_memory_equal(again_ips, oracle_ips, again_count * sizeof again_ips[0]);
        /* The wrapper's caller is new, its callers are not; but the first walk to the limit leaves
         * what the next one needs. */
        if (depth > 40)
            assert_in_range(walks.walked, 1, 3);
    }
    assert_int_equal(caller_count, UNWIND_FRAMES_MAX);
}

/* Calls from ever other places of a tree of calls, in frames of different sizes and kinds, which
 * hold ever other numbers where others have their return addresses. */
typedef void wanderer(unsigned way, unsigned depth, uint64_t noise);
static wanderer wander_small, wander_large, wander_sized, wander_twice;
static wanderer *const volatile wanderers[] = {wander_small, wander_large, wander_sized,
                                               wander_twice};
static unsigned told_wrong;
static uint64_t frames_in_all, frames_walked;

static void look(void)
{
    sink = wrapper(1);
    frames_in_all += again_count;
    frames_walked += walks.walked;
    told_wrong += again_count != oracle_count ||
                  memcmp(again_ips, oracle_ips, again_count * sizeof again_ips[0]) != 0;
}

static void wander_on(unsigned way, unsigned depth, uint64_t noise)
{
    if (depth == 0)
        look();
    else
        wanderers[way % 4](way / 4, depth - 1, noise * UINT64_C(0x9e3779b97f4a7c15));
}

#define WANDERER(name, words, times)                                                               \
    __attribute__((noinline)) static void name(unsigned way, unsigned depth, uint64_t noise)       \
    {                                                                                              \
        volatile uint64_t *numbers = alloca((words) * sizeof *numbers);                            \
        for (unsigned i = 0; i < (words); i++)                                                     \
            numbers[i] = i % 3 == 0 ? again_ips[noise % UNWIND_FRAMES_MAX] : noise * (i + 1);      \
        for (unsigned i = 0; i < (times); i++)                                                     \
            wander_on(way + i, depth, noise + numbers[0]);                                         \
        __asm__ volatile("# " #name ::: "memory");                                                 \
    }

WANDERER(wander_small, 1, 1)
WANDERER(wander_large, 17, 1)
WANDERER(wander_sized, 2 + noise % 30, 1)
WANDERER(wander_twice, 6, depth < 5 ? 2 : 1)

static void from_everywhere(void **state)
{
    (void)state;
    uint64_t random = 88172645463325252u;
    frames_in_all = frames_walked = told_wrong = 0;
    for (unsigned i = 0; i < 3000; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        wander_small((unsigned)(random >> 20), (unsigned)(random >> 56) % (i % 3 == 0 ? 40 : 6),
                     random);
    }
    assert_int_equal(told_wrong, 0);
    assert_true(frames_walked < frames_in_all / 2);
}

/* Several threads take their contexts at once, while the rules that they share are forgotten again
 * and again, as after dlclose. */
enum { WALKERS = 4, WALKS = 500, WALK_DEPTHS = 24 };

struct walker {
    pthread_t thread;
    unsigned walks, differing;
    uint64_t ours[UNWIND_FRAMES_MAX], theirs[UNWIND_FRAMES_MAX];
};

static _Atomic unsigned walkers_at_work;

__attribute__((noinline)) static void walk_and_compare(struct walker *walker)
{
    const struct unwind_start start = UNWIND_START_OF_CALLER();
    unw_context_t context;
    unw_getcontext(&context);
    const size_t m = callers_of(&context, walker->theirs);
    const size_t n = unwind(&start, walker->ours, UNWIND_FRAMES_MAX);
    walker->walks++;
    walker->differing +=
        n != m || memcmp(walker->ours, walker->theirs, n * sizeof walker->ours[0]) != 0;
}

__attribute__((noinline)) static void walk_from(struct walker *walker, unsigned depth)
{
    volatile char *memory = alloca(depth % 3 * 100 + 16);
    memory[0] = 1;
    if (depth == 0)
        walk_and_compare(walker);
    else
        walk_from(walker, depth - 1);
    memory[1] = memory[0];
}

static void *walking_thread(void *argument)
{
    struct walker *walker = argument;
    for (unsigned i = 0; i < WALKS; i++)
        walk_from(walker, i % WALK_DEPTHS);
    atomic_fetch_sub(&walkers_at_work, 1);
    return NULL;
}

static void from_threads_at_once(void **state)
{
    (void)state;
    static struct walker walkers[WALKERS];
    unsigned forgotten = 0;
    atomic_store(&walkers_at_work, WALKERS);
    for (unsigned i = 0; i < WALKERS; i++)
        assert_int_equal(pthread_create(&walkers[i].thread, NULL, walking_thread, &walkers[i]), 0);
    for (; atomic_load(&walkers_at_work) > 0; forgotten++) {
        unwind_loader_enter();
        unwind_loader_leave(true);
        sched_yield();
    }
    assert_true(forgotten > 0);
    for (unsigned i = 0; i < WALKERS; i++) {
        pthread_join(walkers[i].thread, NULL);
        assert_int_equal(walkers[i].walks, WALKS);
        assert_int_equal(walkers[i].differing, 0);
    }
}

/* A call that never returns may be the last instruction of its function. */
static jmp_buf back;

__attribute__((noinline, noreturn)) static void never_returns(unsigned depth)
{
    sink = call_wrapper(depth);
    longjmp(back, 1);
}

__attribute__((noinline)) static void last_call(unsigned depth)
{
    never_returns(depth);
}

/* A different frame layout, so that the wrong function's rule leads astray. */
__attribute__((noinline)) static void after_last_call(void)
{
    char memory[1000];
    memset(memory, 1, sizeof memory);
    library_calls();
    sink += memory[7];
}

static void from_a_last_call(void **state)
{
    (void)state;
    if (setjmp(back) == 0)
        last_call(1);
    /* Make the rules known for what lies right behind each call. */
    for (size_t i = 0; i < caller_count; i++) {
        uint64_t ips[2];
        const struct unwind_start behind = {.ip = caller_ips[i],
                                            .stack_pointer = (uint64_t)(uintptr_t)&behind & -8ul};
        unwind(&behind, ips, 2);
    }
    if (setjmp(back) == 0)
        last_call(1);
    after_last_call();
    assert_int_equal(caller_count, oracle_count);
    assert_memory_equal(caller_ips, oracle_ips, caller_count * sizeof caller_ips[0]);
    assert_true(caller_count > 6);
}

/* Starts whose registers are nonsense, and stacks that end in an unmapped page. */
static void broken_stacks(void **state)
{
    (void)state;
    char *pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    assert_int_equal(mprotect(pages + 2 * 4096, 4096, PROT_NONE), 0);
    const uint64_t low = (uint64_t)(uintptr_t)pages;
    uint64_t seed = 88172645463325252u;
    uint64_t ips[UNWIND_FRAMES_MAX];
    const uint64_t code[] = {(uint64_t)(uintptr_t)library_calls + 9,
                             (uint64_t)(uintptr_t)kept_frame + 12,
                             (uint64_t)(uintptr_t)variable_frame + 20,
                             (uint64_t)(uintptr_t)snprintf + 30,
                             0,
                             8,
                             UINT64_MAX,
                             low};
    errno = 4711;
    for (unsigned i = 0; i < 20000; i++) {
        for (unsigned j = 0; j < 2 * 4096; j += 8) {
            seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
            const uint64_t choice = seed % 4;
            const uint64_t word = choice == 0   ? code[seed / 4 % 8]
                                  : choice == 1 ? low + seed / 4 % (4 * 4096)
                                                : seed;
            if (i % 100 == 0 || j / 8 % 100 == i % 100)
                memcpy(pages + j, &word, 8);
        }
        const uint64_t wild[] = {0, 8, UINT64_MAX - 7, low - 4096, low + 2 * 4096, seed};
        const struct unwind_start start = {
            .ip = code[i % 8],
            .stack_pointer = i % 3 == 0 ? wild[i % 6] : low + seed % 8192 / 8 * 8,
            .frame_pointer = i % 5 == 0 ? wild[i % 6] : low + seed / 8192 % 8192,
            .is_call = i % 2 == 0,
        };
        const size_t n = unwind(&start, ips, UNWIND_FRAMES_MAX);
        assert_in_range(n, 1, UNWIND_FRAMES_MAX);
        assert_int_equal(ips[0], start.ip);
    }
    assert_int_equal(errno, 4711);
    assert_true(unwind_truncated() > 0);
    munmap(pages, 3 * 4096);
}

static void readable_or_not(void **state)
{
    (void)state;
    char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    assert_true(unwind_is_readable((uint64_t)(uintptr_t)page));
    mprotect(page, 4096, PROT_NONE);
    assert_false(unwind_is_readable((uint64_t)(uintptr_t)page));
    munmap(page, 4096);
    assert_false(unwind_is_readable((uint64_t)(uintptr_t)page));
    assert_false(unwind_is_readable(0));
}

int main(int argc, char **argv)
{
    /* The loader's binding of functions at their first call keeps its CFA in a register that we do
     * not follow: the context then lacks one frame. Here everything is to be equal. */
    if (argc == 1 && getenv("LD_BIND_NOW") == NULL) {
        setenv("LD_BIND_NOW", "1", 1);
        execv("/proc/self/exe", argv);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(from_a_call),
        cmocka_unit_test(from_everywhere),
        cmocka_unit_test(from_threads_at_once),
        cmocka_unit_test(from_a_last_call),
        cmocka_unit_test(every_instruction),
        cmocka_unit_test(every_instruction_on_a_signal_stack),
        cmocka_unit_test(through_a_signal_frame),
        cmocka_unit_test(after_a_call_of_no_code),
        cmocka_unit_test(in_a_thread),
        cmocka_unit_test(broken_stacks),
        cmocka_unit_test(readable_or_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
