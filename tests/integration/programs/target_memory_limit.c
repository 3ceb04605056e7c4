/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets a limit on its own memory, uses all that it leaves, and starts a program under it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "burn.h"

enum { MEGABYTE = 1 << 20, LIMIT = 300, WITHOUT = 20 /* what the program itself takes */ };

static void show(const char *when, int resource)
{
    struct rlimit limit;

    getrlimit((__rlimit_resource_t)resource, &limit);
    printf("%s: %ld of %ld\n", when, (long)limit.rlim_cur, (long)limit.rlim_max);
}

static int megabytes(void)
{
    int got = 0;

    while (mmap(NULL, MEGABYTE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
           MAP_FAILED)
        got++;
    return got;
}

/* The second program sees the same. */
static void start_another(char *self, char *kind)
{
    char again[] = "again", *arguments[] = {self, kind, again, NULL};

    fflush(stdout);
    if (fork() == 0) {
        execv("/there/is/no/such/program", arguments);
        show("after a failure", strcmp(kind, "data") == 0 ? RLIMIT_DATA : RLIMIT_AS);
        fflush(stdout);
        execv(self, arguments);
        _exit(1);
    }
    wait(NULL);
}

int main(int count, char **arguments)
{
    int resource = count > 1 && strcmp(arguments[1], "data") == 0 ? RLIMIT_DATA : RLIMIT_AS;
    struct rlimit limit = {LIMIT * MEGABYTE, (rlim_t)2 * LIMIT * MEGABYTE}, old;

    if (count > 2) {
        show("started", resource);
        return 0;
    }
    burn(50);
    prlimit(getpid(), (__rlimit_resource_t)resource, &limit, &old);
    printf("was unlimited: %d\n", old.rlim_cur == RLIM_INFINITY);
    show("set", resource);
    limit.rlim_max = limit.rlim_cur - 1;
    printf("refused: %d\n",
           setrlimit((__rlimit_resource_t)resource, &limit) != 0 && errno == EINVAL);
    start_another(arguments[0], arguments[1]);
    printf("enough: %d\n", megabytes() > LIMIT - WITHOUT);
    return 0;
}
