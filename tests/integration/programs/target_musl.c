/* SPDX-License-Identifier: BSD-3-Clause */
/* Built with musl-gcc: calls what libreuse.so wraps, where the C library is another one. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t trapped;

static void on_trap(int signal)
{
    trapped += signal == SIGTRAP;
}

static void *allocate(void *count)
{
    for (int i = 0; i < *(int *)count; i++)
        free(realloc(calloc(8, (size_t)i + 1), (size_t)i * 16 + 1));
    return count;
}

static void threads(void)
{
    enum { THREADS = 4 };
    pthread_t thread[THREADS];
    int count = 1000, joined = 0;
    void *result;

    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, allocate, &count);
    for (int i = 0; i < THREADS; i++)
        joined += pthread_join(thread[i], &result) == 0 && result == &count;
    printf("%d threads\n", joined);
}

static void signals(void)
{
    struct sigaction action, old;
    jmp_buf here;
    sigset_t set;

    memset(&action, 0, sizeof action);
    action.sa_handler = on_trap;
    sigaction(SIGTRAP, &action, &old);
    raise(SIGTRAP);
    sigemptyset(&set);
    sigaddset(&set, SIGTRAP);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    raise(SIGTRAP);
    sigpending(&set);
    printf("%d, pending %d, was default %d\n", (int)trapped, sigismember(&set, SIGTRAP),
           old.sa_handler == SIG_DFL);
    if (setjmp(here) == 0)
        longjmp(here, 1);
}

static void memory_and_descriptors(void)
{
    void *memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int descriptor = open("/dev/null", O_RDONLY), moved = dup2(descriptor, 100);
    struct rlimit limit;
    void *aligned = NULL;

    posix_memalign(&aligned, 256, 10000);
    printf("%d %d %d %d\n", memory != MAP_FAILED, moved, fcntl(100, F_GETFD),
           getrlimit(RLIMIT_NOFILE, &limit));
    munmap(memory, 1 << 20);
    close(moved);
    free(aligned);
}

int main(int count, char **arguments)
{
    int status = 0;

    if (count > 1)
        return puts("again") < 0;
    threads();
    signals();
    memory_and_descriptors();
    fflush(stdout);
    if (fork() == 0) {
        execl(arguments[0], arguments[0], "again", (char *)NULL);
        _exit(1);
    }
    wait(&status);
    printf("child %d\n", status);
    return 3;
}
