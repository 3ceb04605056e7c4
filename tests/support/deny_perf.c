/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * deny_perf EPERM|ENOSYS|EACCES|E2BIG|kill PROGRAM [ARGS]: runs a program under a seccomp filter
 * that answers perf_event_open as container run-times do. Needs no privileges. Exit status 99: the
 * filter cannot be installed.
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
    return SECCOMP_RET_KILL_PROCESS;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 99;
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
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 99;
}
