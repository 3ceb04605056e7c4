/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs that give up rights after they have started:
 * target_restrictions nobody|seccomp-errno|seccomp-kill|no-new-privileges|who
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "burn.h"

enum { NOBODY = 65534 };

static void *work(void *argument)
{
    burn(BURN_MS);
    return argument;
}

/* A thread started under the restriction works, too. */
static int work_in_threads(void)
{
    pthread_t thread;
    burn(BURN_MS);
    if (pthread_create(&thread, NULL, work, NULL) != 0)
        return 1;
    return pthread_join(thread, NULL);
}

static int become_nobody(void)
{
    burn(50);
    if (setgroups(0, NULL) != 0 || setgid(NOBODY) != 0 || setuid(NOBODY) != 0) {
        printf("setuid: %s\n", strerror(errno));
        return 1;
    }
    int result = work_in_threads();
    printf("worked as %u, %d\n", (unsigned)getuid(), result);
    printf("back to root: %s\n", setuid(0) == 0 ? "possible" : strerror(errno));
    return 0;
}

/* Forbids perf_event_open, open and openat from now on. */
static int forbid(unsigned action)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 2, 0),
#ifdef SYS_open
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_open, 1, 0),
#else
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 1, 0),
#endif
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int sandbox(bool deadly)
{
    burn(50);
    if (forbid(deadly ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM) != 0) {
        printf("seccomp: %s\n", strerror(errno));
        return 1;
    }
    int result = work_in_threads();
    printf("worked in the sandbox, %d\n", result);
    if (!deadly) {
        int descriptor = open("/dev/null", O_RDONLY);
        printf("open: %s\n", descriptor < 0 ? strerror(errno) : "allowed");
    }
    return 0;
}

/* Reading the processor's time stamp counter raises SIGSEGV from now on: where clocks are read by
 * it, reading a clock as well. */
static int forbid_counter(void)
{
    static volatile long numbers[4096];

    prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
    for (long i = 0; i < 100 * 1000 * 1000; i++)
        numbers[i % 4096] += i;
    printf("without the counter: %ld\n", numbers[7]);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "nobody") == 0)
        return become_nobody();
    if (strcmp(what, "seccomp-errno") == 0)
        return sandbox(false);
    if (strcmp(what, "seccomp-kill") == 0)
        return sandbox(true);
    if (strcmp(what, "no-new-privileges") == 0) {
        printf("%d\n", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
        return work_in_threads();
    }
    if (strcmp(what, "no-counter") == 0)
        return forbid_counter();
    if (strcmp(what, "who") == 0) {
        burn(BURN_MS);
        printf("%s\n", geteuid() == 0 ? "effective root" : "not root");
        return 0;
    }
    return 64;
}
