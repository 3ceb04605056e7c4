/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What programs do in odd corners, each with a result that does not depend on how fast the machine
 * is: target_hostile CASE [LIBRARY]
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "burn.h"

/* ---- cancellation ---- */

static volatile int computed, cleaned;
static volatile int started;

static void clean(void *unused)
{
    (void)unused;
    cleaned = 1;
}

/* No call in it is a cancellation point. */
static void *compute(void *unused)
{
    (void)unused;
    pthread_cleanup_push(clean, NULL);
    started = 1;
    burn(BURN_MS * 4);
    computed = 1;
    pthread_testcancel();
    pthread_cleanup_pop(0);
    return NULL;
}

static int run_cancel(void)
{
    pthread_t thread;
    void *result;

    pthread_create(&thread, NULL, compute, NULL);
    while (!started)
        usleep(1000);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    printf("cancelled %d, cleaned %d, computed %d\n", result == PTHREAD_CANCELED, cleaned,
           computed);
    return 0;
}

/* ---- the loader's locks ---- */

static const char *library; /* to be loaded and unloaded */
static volatile int stop;

static void *load_and_unload(void *unused)
{
    (void)unused;
    while (!stop) {
        void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);

        if (handle)
            dlclose(handle);
    }
    return NULL;
}

static void *volatile block;
static unsigned ways;

static void go_one_way(int depth);
static void go_another_way(int depth);

/* Allocates by a way that was hardly ever gone before. */
static __attribute__((noinline)) void allocate_by_ways(int depth)
{
    if (depth == 0) {
        block = malloc(32);
        free(block);
    } else if (ways >> depth & 1) {
        go_one_way(depth - 1);
    } else {
        go_another_way(depth - 1);
    }
}

static __attribute__((noinline)) void go_one_way(int depth)
{
    allocate_by_ways(depth);
    __asm__ volatile("");
}

static __attribute__((noinline)) void go_another_way(int depth)
{
    allocate_by_ways(depth);
    __asm__ volatile("nop");
}

static int allocate_in_callback(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)info, (void)size, (void)unused;
    for (int i = 0; i < 5; i++, ways++)
        allocate_by_ways(14);
    return 1;
}

enum { LOADERS = 3 };
static pthread_t loaders[LOADERS];

static void begin_loading(void)
{
    for (int i = 0; i < LOADERS; i++)
        pthread_create(&loaders[i], NULL, load_and_unload, NULL);
}

static void end_loading(void)
{
    stop = 1;
    for (int i = 0; i < LOADERS; i++)
        pthread_join(loaders[i], NULL);
}

/* Allocations with the lock that the loader's threads wait for. */
static int run_callback(void)
{
    long end = thread_cpu_ms() + BURN_MS * 2;

    begin_loading();
    while (thread_cpu_ms() < end)
        dl_iterate_phdr(allocate_in_callback, NULL);
    end_loading();
    puts("finished");
    return 0;
}

/* Children have the loader's lock as it was at the fork. */
static int run_fork_while_loading(void)
{
    int status, failed = 0;

    begin_loading();
    burn(BURN_MS);
    for (int i = 0; i < 200; i++) {
        pid_t child = fork();

        if (child == 0) {
            for (int way = 0; way < 50; way++, ways += 7)
                allocate_by_ways(14);
            _exit(0);
        }
        ways += 350;
        waitpid(child, &status, 0);
        failed += status != 0;
    }
    end_loading();
    printf("children that failed: %d\n", failed);
    return 0;
}

static pthread_mutex_t application_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int inside;

static int wait_in_callback(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)info, (void)size, (void)unused;
    inside = 1;
    pthread_mutex_lock(&application_lock);
    pthread_mutex_unlock(&application_lock);
    return 1;
}

static void *iterate(void *unused)
{
    dl_iterate_phdr(wait_in_callback, NULL);
    return unused;
}

static void exit_at_once(int number)
{
    (void)number;
    _exit(9);
}

/* _exit() in a handler, while another thread has the loader's lock and waits for one of ours. */
static int run_exit_in_handler(void)
{
    pthread_t thread;

    burn(BURN_MS);
    signal(SIGTERM, exit_at_once);
    dlopen(library, RTLD_NOW);
    pthread_mutex_lock(&application_lock);
    pthread_create(&thread, NULL, iterate, NULL);
    while (!inside)
        usleep(1000);
    dlopen(library, RTLD_NOW);
    raise(SIGTERM);
    return 1;
}

/* ---- forks while threads come and go ---- */

static void *do_little(void *unused)
{
    for (volatile int i = 0; i < 2000; i++)
        ;
    return unused;
}

static void *make_threads(void *unused)
{
    while (!stop) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, do_little, NULL) == 0)
            pthread_join(thread, NULL);
    }
    return unused;
}

static rlim_t open_files(void)
{
    struct rlimit limit;

    getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur;
}

static int run_fork_storm(void)
{
    enum { MAKERS = 3, CHILDREN = 400 };
    pthread_t makers[MAKERS];
    rlim_t before = open_files();
    int status, failed = 0, wrong = 0;

    for (int i = 0; i < MAKERS; i++)
        pthread_create(&makers[i], NULL, make_threads, NULL);
    for (int i = 0; i < CHILDREN; i++) {
        pid_t child = fork();

        if (child == 0)
            _exit(open_files() != before);
        waitpid(child, &status, 0);
        failed += status != 0;
        wrong += open_files() != before;
    }
    stop = 1;
    for (int i = 0; i < MAKERS; i++)
        pthread_join(makers[i], NULL);
    burn(BURN_MS);
    printf("children that failed: %d, limits that were wrong: %d\n", failed, wrong);
    return 0;
}

/* Numbers that the program chooses, where a profiler's are given out meanwhile. */
static int run_dup_storm(void)
{
    enum { MAKERS = 3, LOWEST = 2048, NUMBERS = 22, ROUNDS = 3000 };
    pthread_t makers[MAKERS];
    int failed = 0, zero = open("/dev/zero", O_RDONLY);
    char byte;

    for (int i = 0; i < MAKERS; i++)
        pthread_create(&makers[i], NULL, make_threads, NULL);
    for (int round = 0; round < ROUNDS; round++)
        for (int number = LOWEST; number < LOWEST + NUMBERS; number++) {
            failed += dup2(zero, number) != number;
            failed += read(number, &byte, 1) != 1;
            failed += close(number) != 0;
        }
    stop = 1;
    for (int i = 0; i < MAKERS; i++)
        pthread_join(makers[i], NULL);
    burn(BURN_MS);
    printf("calls that failed: %d\n", failed);
    return 0;
}

/* Children are not followed, but have the locks of those who mapped memory. */
static void *map_memory(void *unused)
{
    while (!stop)
        munmap(mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 65536);
    return unused;
}

static int run_fork_while_mapping(void)
{
    enum { MAPPERS = 3, CHILDREN = 200 };
    pthread_t mappers[MAPPERS];
    int status, failed = 0;

    for (int i = 0; i < MAPPERS; i++)
        pthread_create(&mappers[i], NULL, map_memory, NULL);
    for (int i = 0; i < CHILDREN; i++) {
        pid_t child = fork();

        if (child == 0)
            _exit(mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
        waitpid(child, &status, 0);
        failed += status != 0;
    }
    stop = 1;
    for (int i = 0; i < MAPPERS; i++)
        pthread_join(mappers[i], NULL);
    burn(BURN_MS);
    printf("children that failed: %d\n", failed);
    return 0;
}

/* ---- a handler that leaves a call half done ---- */

static sigjmp_buf before_mapping;
static volatile int jumps;

static void jump_out(int number)
{
    (void)number;
    jumps++;
    siglongjmp(before_mapping, 1);
}

/* Whatever lock the interrupted call held, the next one must not wait for it. */
static int run_jump_while_mapping(void)
{
    enum { JUMPS = 2000 };
    struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};

    signal(SIGALRM, jump_out);
    sigsetjmp(before_mapping, 1);
    if (jumps == 0)
        setitimer(ITIMER_REAL, &often, NULL);
    while (jumps < JUMPS)
        munmap(mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 65536);
    setitimer(ITIMER_REAL, &never, NULL);
    signal(SIGALRM, SIG_IGN);
    burn(BURN_MS);
    printf("finished after %s jumps\n", jumps >= JUMPS ? "all" : "some");
    return 0;
}

/* ---- vfork: the child has its own signals, but our memory ---- */

static void leave_with_3(int number)
{
    (void)number;
    _exit(3);
}

static int run_vfork(void)
{
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGTRAP};
    sigset_t mask;
    int status;

    burn(BURN_MS);
    for (int i = 0; i < 3; i++)
        signal(numbers[i], leave_with_3);
    pid_t child = vfork();
    if (child == 0) {
        struct sigaction nothing = {.sa_handler = SIG_DFL};

        for (int i = 0; i < 3; i++)
            sigaction(numbers[i], &nothing, NULL);
        sigemptyset(&mask);
        sigaddset(&mask, SIGTRAP);
        sigprocmask(SIG_BLOCK, &mask, NULL);
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    waitpid(child, &status, 0);
    sigprocmask(SIG_BLOCK, NULL, &mask);
    for (int i = 0; i < 3; i++) {
        struct sigaction now;

        sigaction(numbers[i], NULL, &now);
        printf("handler kept: %d, blocked: %d\n", now.sa_handler == leave_with_3,
               sigismember(&mask, numbers[i]));
    }
    fflush(stdout);
    raise(SIGSEGV);
    return 1;
}

/* ---- page faults that somebody serves ---- */

enum { PAGED = 40000, PAGE = 4096 };

static int fault_descriptor;

/* Takes a lock that the computing thread holds while it computes, never while it touches what is
 * paged. */
static void *serve_faults(void *unused)
{
    struct uffd_msg message;

    while (read(fault_descriptor, &message, sizeof message) == sizeof message) {
        struct uffdio_zeropage page = {
            .range = {.start = message.arg.pagefault.address & -(uint64_t)PAGE, .len = PAGE}};

        pthread_mutex_lock(&application_lock);
        ioctl(fault_descriptor, UFFDIO_ZEROPAGE, &page);
        pthread_mutex_unlock(&application_lock);
    }
    return unused;
}

static int run_paged(void)
{
    static volatile long values[65536];
    struct uffdio_api interface = {.api = UFFD_API};
    struct uffdio_register registration = {.mode = UFFDIO_REGISTER_MODE_MISSING};
    volatile char *paged = mmap(NULL, (size_t)PAGED * PAGE, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    pthread_t pager;
    long sum = 0;

    madvise((void *)paged, (size_t)PAGED * PAGE, MADV_NOHUGEPAGE);
    registration.range.start = (uintptr_t)paged;
    registration.range.len = (size_t)PAGED * PAGE;
    fault_descriptor = (int)syscall(SYS_userfaultfd, 0);
    if (fault_descriptor < 0 || ioctl(fault_descriptor, UFFDIO_API, &interface) != 0 ||
        ioctl(fault_descriptor, UFFDIO_REGISTER, &registration) != 0) {
        puts("no userfaultfd here");
        burn(BURN_MS);
        return 0;
    }
    pthread_create(&pager, NULL, serve_faults, NULL);
    for (int page = 0; page < PAGED; page++) {
        pthread_mutex_lock(&application_lock);
        for (int i = 0; i < 8000; i++)
            sum = (sum + values[(page * 64 + i * 8) & 65535]) * 3 ^ sum >> 7;
        pthread_mutex_unlock(&application_lock);
        sum += paged[(size_t)page * PAGE];
    }
    printf("all served, sum %ld\n", sum);
    return 0;
}

/* Maps parts of its memory again where it has unmapped them: nobody else can have come to lie
 * there meanwhile. */
static int run_map_again(void)
{
    enum { AREA = 64 << 20, PART = 16 << 20, ROUNDS = 8 };
    unsigned char *area = mmap(NULL, AREA, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    for (int round = 0; round < ROUNDS; round++) {
        unsigned char *part = area + AREA / 4 + (round % 2) * PART;
        char *small[1000];

        munmap(part, PART);
        for (int i = 0; i < 1000; i++)
            small[i] = strdup("tracked, some of them");
        burn(BURN_MS);
        for (int i = 0; i < 1000; i++)
            free(small[i]);
        if (mmap(part, PART, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                 0) != part)
            return 1;
        memset(part, 0xff, PART);
        burn(BURN_MS);
        if (part[0] != 0xff || memcmp(part, part + 1, PART - 1) != 0)
            return 1;
    }
    puts("mapped again");
    return 0;
}

static void end_with_7(int signal)
{
    (void)signal;
    _exit(7);
}

/* Allocates, and faults, where every system call but its own few would kill it. */
static int run_sandbox(void)
{
    static const struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    static const struct sock_fprog filter = {.len = sizeof rules / sizeof *rules,
                                             .filter = (struct sock_filter *)rules};
    static char *blocks[10000];
    struct sigaction action = {.sa_handler = end_with_7};

    sigaction(SIGSEGV, &action, NULL);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
            blocks[i] = malloc(32 + i % 64);
        for (size_t i = sizeof blocks / sizeof *blocks; i-- > 1;)
            free(blocks[i]);
        if (round > 0)
            continue;
        burn(BURN_MS);
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
            return 7; /* no filters here */
    }
    (void)!write(STDOUT_FILENO, "allocated\n", 10);
    *(volatile char *)NULL = 1;
    return 1;
}

static volatile char dispatch_selector = SYSCALL_DISPATCH_FILTER_ALLOW;
static volatile int served_calls;

static void serve_call(int signal)
{
    (void)signal;
    dispatch_selector = SYSCALL_DISPATCH_FILTER_ALLOW;
    served_calls++;
}

/* Has system calls sent to its own handler, as Wine does. */
static int run_dispatch(void)
{
    struct sigaction action = {.sa_handler = serve_call};

    burn(BURN_MS);
    sigaction(SIGSYS, &action, NULL);
    if (prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0, 0, &dispatch_selector) == 0) {
        dispatch_selector = SYSCALL_DISPATCH_FILTER_BLOCK;
        for (volatile int i = 0; i < 200 * 1000 * 1000; i++) /* burn() makes system calls */
            ;
        for (int i = 0; i < 1000; i++) {
            dispatch_selector = SYSCALL_DISPATCH_FILTER_BLOCK;
            free(malloc(32)); /* no system call */
            syscall(1000000);
        }
        prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0);
    } else {
        served_calls = 1000; /* the kernel has no such thing */
    }
    printf("served %d\n", served_calls);
    return 0;
}

static const struct {
    const char *name;
    int (*run)(void);
} cases[] = {
    {"cancel", run_cancel},
    {"callback", run_callback},
    {"fork-while-loading", run_fork_while_loading},
    {"exit-in-handler", run_exit_in_handler},
    {"fork-storm", run_fork_storm},
    {"dup-storm", run_dup_storm},
    {"fork-while-mapping", run_fork_while_mapping},
    {"jump-while-mapping", run_jump_while_mapping},
    {"vfork", run_vfork},
    {"paged", run_paged},
    {"map-again", run_map_again},
    {"sandbox", run_sandbox},
    {"dispatch", run_dispatch},
};

int main(int count, char **arguments)
{
    if (count == 3)
        library = arguments[2];
    for (size_t i = 0; count >= 2 && i < sizeof cases / sizeof *cases; i++)
        if (strcmp(arguments[1], cases[i].name) == 0)
            return cases[i].run();
    fputs("usage: target_hostile CASE [LIBRARY]\n", stderr);
    return 99;
}
