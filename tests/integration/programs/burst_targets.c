/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs that a look-ahead of 4096 accesses cannot pass without help.
 *
 * burst_targets calls MS          a system call every 300 accesses
 * burst_targets unknown MS        an instruction that the interpreter does not know, as often
 * burst_targets rewrites MS       code that is written anew, and run, as often
 * burst_targets copies MS         messages that the program fills a part of, and the kernel takes
 * burst_targets sends MS          the same, beside a thread that sleeps
 * burst_targets waits MS          waits for a child 20 000 times a second and oftener; prints 1
 * burst_targets jumps MS          system calls from which a signal handler jumps away
 * burst_targets pages MS          writes to memory that is new; prints how many words
 * burst_targets brief MS          threads of 5 ms, four at a time
 * burst_targets many THREADS      so many threads at once, each for 5 ms
 * burst_targets forks MS          forked children of 50 ms, that run other code than their parent;
 *                                 prints their number
 *
 * MS: milliseconds of CPU time to spend, about. unknown and rewrites: x86-64 only; exit status 77.
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORDS = 1 << 16, STEPS = 75, THREAD_STACK = 64 * 1024, BRIEF_MS = 5, CHILD_MS = 50 };

static uint64_t table[WORDS];
static int null_device;

static double cpu_ms(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* Some 300 accesses, as compiled without optimization of `sum` away. */
static uint64_t work(uint64_t *state)
{
    volatile uint64_t sum = 0;

    for (int i = 0; i < STEPS; i++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        sum += table[*state >> 48];
        table[*state >> 40 & (WORDS - 1)] = sum;
    }
    return sum;
}

static void stop_by_call(void)
{
    if (write(null_device, "x", 1) != 1)
        exit(1);
}

#ifdef __x86_64__
/* No compiler nests frames this way. */
static void stop_by_unknown(void)
{
    __asm__ volatile("lea -128(%%rsp), %%rsp\n\tenter $32, $1\n\tleave\n\tlea 128(%%rsp), %%rsp" ::
                         : "memory");
}

static void stop_by_rewriting(void)
{
    static unsigned char *code;
    static unsigned char number;
    /* mov $number, %eax; ret */
    const unsigned char function[] = {0xb8, ++number, 0, 0, 0, 0xc3};

    if (!code)
        code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                    0);
    if (code == MAP_FAILED)
        exit(77);
    memcpy(code, function, sizeof function);
    if (((int (*)(void))(uintptr_t)code)() != number)
        exit(1);
}
#endif

static int stop_often(void (*stop)(void), double ms)
{
    uint64_t state = 1, sum = 0;

    while (cpu_ms(CLOCK_PROCESS_CPUTIME_ID) < ms)
        for (int i = 0; i < 500; i++) {
            sum += work(&state);
            stop();
        }
    printf("%d\n", sum != 0);
    return 0;
}

static int send_often(double ms)
{
    enum { LINES = 256, FILLED = 16 };
    static uint64_t message[LINES][8];
    struct iovec vector = {message, sizeof message};
    unsigned sent = 0;

    while (cpu_ms(CLOCK_PROCESS_CPUTIME_ID) < ms)
        for (int i = 0; i < 500; i++, sent++) {
            for (unsigned line = 0; line < FILLED; line++)
                message[(sent * FILLED + line) % LINES][0]++;
            if ((sent & 1 ? writev(null_device, &vector, 1)
                          : write(null_device, message, sizeof message)) != sizeof message)
                return 1;
        }
    printf("%d\n", message[0][0] > 0);
    return 0;
}

static void *sleep_on(void *unused)
{
    for (;;)
        pause();
    return unused;
}

static int send_beside_another(double ms)
{
    pthread_t thread;

    return pthread_create(&thread, NULL, sleep_on, NULL) != 0 || send_often(ms);
}

static sigjmp_buf out;

static void jump_away(int number)
{
    (void)number;
    siglongjmp(out, 1);
}

/* pause() never returns: whoever waits behind it waits for ever. */
static int jump(double ms)
{
    struct sigaction action = {.sa_handler = jump_away};
    struct itimerval soon = {.it_value = {.tv_usec = 100}};
    static uint64_t state = 1, sum; /* kept over jumps */
    volatile unsigned jumps = 0;

    sigaction(SIGALRM, &action, NULL);
    while (cpu_ms(CLOCK_PROCESS_CPUTIME_ID) < ms) {
        if (sigsetjmp(out, 1) == 0) {
            setitimer(ITIMER_REAL, &soon, NULL);
            for (;;)
                pause();
        }
        jumps++;
        for (int i = 0; i < 50; i++)
            sum += work(&state);
    }
    printf("%d %d\n", sum != 0, jumps > 10);
    return 0;
}

static void *be_brief(void *argument)
{
    uint64_t state = (uintptr_t)argument, sum = 0;
    double end = cpu_ms(CLOCK_THREAD_CPUTIME_ID) + BRIEF_MS;

    do {
        for (int i = 0; i < 50; i++)
            sum += work(&state);
    } while (cpu_ms(CLOCK_THREAD_CPUTIME_ID) < end);
    return sum ? NULL : argument;
}

static int run_threads(unsigned count)
{
    pthread_t *threads = calloc(count, sizeof *threads);
    pthread_attr_t attributes;
    unsigned made = 0;

    if (!threads)
        return 1;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, THREAD_STACK);
    while (made < count && pthread_create(&threads[made], &attributes, be_brief,
                                          (void *)(uintptr_t)(made + 1)) == 0)
        made++;
    for (unsigned i = 0; i < made; i++)
        pthread_join(threads[i], NULL);
    pthread_attr_destroy(&attributes);
    free(threads);
    return made == count ? 0 : 1;
}

static int run_brief(double ms)
{
    int status = 0;

    while (status == 0 && cpu_ms(CLOCK_PROCESS_CPUTIME_ID) < ms)
        status = run_threads(4);
    printf("%d\n", status);
    return status;
}

static int write_new_pages(double ms)
{
    enum { PAGED_WORDS = 4 << 20 };
    uint64_t written = 0;

    while (cpu_ms(CLOCK_PROCESS_CPUTIME_ID) < ms) {
        volatile uint64_t *words = mmap(NULL, PAGED_WORDS * sizeof *words, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (words == MAP_FAILED)
            return 1;
        madvise((void *)(uintptr_t)words, PAGED_WORDS * sizeof *words, MADV_NOHUGEPAGE);
        for (size_t i = 0; i < PAGED_WORDS; i++)
            words[i] = i;
        written += PAGED_WORDS;
        munmap((void *)(uintptr_t)words, PAGED_WORDS * sizeof *words);
    }
    printf("%llu words\n", (unsigned long long)written);
    return 0;
}

/* Other code than work(). The table is the child's own before its time begins: expiries in the
 * kernel, which copies it page by page, give no signal. */
static int sum_up(double ms)
{
    volatile uint64_t sum = 0;
    double end;

    for (size_t i = 0; i < WORDS; i += 512)
        table[i]++;
    end = cpu_ms(CLOCK_PROCESS_CPUTIME_ID) + ms;
    while (cpu_ms(CLOCK_PROCESS_CPUTIME_ID) < end)
        for (int i = 0; i < WORDS; i++)
            sum += table[i];
    return 0;
}

/* A byte goes to a child and back, between pieces of work. */
static int wait_often(double ms)
{
    uint64_t state = 1;
    int there[2], back[2];
    char byte = 1;

    if (pipe(there) || pipe(back))
        return 1;
    if (fork() == 0) {
        close(there[1]);
        while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1)
            ;
        _exit(0);
    }
    while (cpu_ms(CLOCK_PROCESS_CPUTIME_ID) < ms) {
        for (int i = 0; i < 100; i++)
            work(&state);
        if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
            return 1;
    }
    printf("%d\n", byte);
    return 0;
}

static int fork_often(double ms)
{
    uint64_t state = 1, sum = 0;
    int children = 0;

    while (cpu_ms(CLOCK_PROCESS_CPUTIME_ID) < ms) {
        double end = cpu_ms(CLOCK_PROCESS_CPUTIME_ID) + CHILD_MS;
        int status = 1;
        pid_t child;

        while (cpu_ms(CLOCK_PROCESS_CPUTIME_ID) < end)
            for (int i = 0; i < 500; i++)
                sum += work(&state);
        child = fork();
        if (child == 0)
            _exit(sum_up(CHILD_MS));
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
            return 1;
        children++;
    }
    printf("%d children, %d ms each, %d\n", children, CHILD_MS, sum != 0);
    return 0;
}

int main(int argc, char **argv)
{
    double number = argc == 3 ? atof(argv[2]) : 0;
    const char *what = argc == 3 ? argv[1] : "";

    null_device = open("/dev/null", O_WRONLY);
    if (strcmp(what, "calls") == 0)
        return stop_often(stop_by_call, number);
    if (strcmp(what, "copies") == 0)
        return send_often(number);
    if (strcmp(what, "sends") == 0)
        return send_beside_another(number);
    if (strcmp(what, "waits") == 0)
        return wait_often(number);
    if (strcmp(what, "jumps") == 0)
        return jump(number);
    if (strcmp(what, "pages") == 0)
        return write_new_pages(number);
    if (strcmp(what, "brief") == 0)
        return run_brief(number);
    if (strcmp(what, "many") == 0)
        return run_threads((unsigned)number);
    if (strcmp(what, "forks") == 0)
        return fork_often(number);
#ifdef __x86_64__
    if (strcmp(what, "unknown") == 0)
        return stop_often(stop_by_unknown, number);
    if (strcmp(what, "rewrites") == 0)
        return stop_often(stop_by_rewriting, number);
#else
    if (strcmp(what, "unknown") == 0 || strcmp(what, "rewrites") == 0)
        return 77;
#endif
    fprintf(stderr, "usage: burst_targets "
                    "calls|unknown|rewrites|copies|waits|jumps|pages|brief|many|forks NUMBER\n");
    return 2;
}
