/* SPDX-License-Identifier: BSD-3-Clause */
/* A tiny debugger: runs a program and prints at which signals it stopped. */
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **arguments)
{
    int status, stops = 0;
    pid_t child;

    if (count < 2)
        return 99;
    child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execv(arguments[1], arguments + 1);
        _exit(127);
    }
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        stops++;
        printf("stop %d: signal %d\n", stops, WSTOPSIG(status));
        ptrace(PTRACE_CONT, child, NULL, NULL);
    }
    printf("ended: %x\n", (unsigned)status);
    return 0;
}
