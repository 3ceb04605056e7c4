/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints the CPUs that each of its threads may use. Usage: target_affinity THREADS [fork]
 * "before N": CPUs of the main thread before it makes others; then "thread I LIST" in order of
 * creation; with fork, "child LIST" for the main thread of a child made at the end.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS_MAX = 64, TEXT = 256 };

static char lists[THREADS_MAX][TEXT];

static void list_cpus(char text[TEXT])
{
    cpu_set_t set;
    size_t used = 0;

    text[0] = '\0';
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return;
    for (int cpu = 0; cpu < CPU_SETSIZE && used + 8 < TEXT; cpu++)
        if (CPU_ISSET(cpu, &set))
            used += (size_t)snprintf(text + used, TEXT - used, "%s%d", used ? "," : "", cpu);
}

static void *run(void *argument)
{
    list_cpus(argument);
    return NULL;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 2;
    pthread_t others[THREADS_MAX];
    cpu_set_t set;

    if (threads < 1 || threads > THREADS_MAX)
        return 2;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        printf("before %d\n", CPU_COUNT(&set));
    for (int i = 1; i < threads; i++)
        if (pthread_create(&others[i], NULL, run, lists[i]) != 0)
            return 1;
    for (int i = 1; i < threads; i++)
        pthread_join(others[i], NULL);
    list_cpus(lists[0]);
    for (int i = 0; i < threads; i++)
        printf("thread %d %s\n", i, lists[i]);
    fflush(stdout);
    if (argc > 2 && strcmp(argv[2], "fork") == 0 && fork() == 0) {
        list_cpus(lists[0]);
        printf("child %s\n", lists[0]);
        return 0;
    }
    wait(NULL);
    return 0;
}
