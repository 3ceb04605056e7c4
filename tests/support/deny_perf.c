/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * deny_perf EPERM|ENOSYS|EACCES|E2BIG|kill|allow PROGRAM [ARGS]: runs a program under a seccomp
 * filter that answers perf_event_open as container run-times do. Needs no privileges. Exit status
 * 99: the filter cannot be installed.
 *
 * deny_perf blocking|trying PROGRAM [ARGS]: a kernel that kills where an event comes while SIGTRAP
 * is blocked, or where that cannot be tried. For the trial of runtime/interposition/blocked_trap.c:
 * it blocks SIGTRAP without asking for the old mask, which is answered and not done, so that the
 * event kills; and makes its child by a clone() without flags.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned answer_named(const char *name)
{
    if (strcmp(name, "EPERM") == 0)
        return SECCOMP_RET_ERRNO | EPERM;
    if (strcmp(name, "ENOSYS") == 0)
        return SECCOMP_RET_ERRNO | ENOSYS;
    if (strcmp(name, "EACCES") == 0)
        return SECCOMP_RET_ERRNO | EACCES;
    if (strcmp(name, "E2BIG") == 0)
        return SECCOMP_RET_ERRNO | E2BIG;
    return strcmp(name, "allow") == 0 ? SECCOMP_RET_ALLOW : SECCOMP_RET_KILL_PROCESS;
}

#define ARGUMENT(i) (offsetof(struct seccomp_data, args) + 8 * (i))

/* What the trial asks for: a call of that number whose two arguments are 0. */
static int install(unsigned number, unsigned first, unsigned second, unsigned answer)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 5),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT(first)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT(second)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | answer),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0;
}

static int run(char **command)
{
    execvp(command[0], command);
    perror(command[0]);
    return 99;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 99;
    if (strcmp(argv[1], "blocking") == 0)
        return install(SYS_rt_sigprocmask, 0, 2, 0) ? 99 : run(argv + 2);
    if (strcmp(argv[1], "trying") == 0)
        return install(SYS_clone, 0, 1, EAGAIN) ? 99 : run(argv + 2);
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, answer_named(argv[1])),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        perror("deny_perf: seccomp");
        return 99;
    }
    return run(argv + 2);
}
