/* SPDX-License-Identifier: BSD-3-Clause */
/* Hands the environment that the kernel has put on the stack to what it starts, as Go does, and
 * collects what that writes: bytes on both outputs. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "burn.h"

static char shell[] = "/bin/sh", option[] = "-c", again[] = "exec /bin/sh -c 'exit 3'";

int main(int count, char **arguments)
{
    char *command[] = {shell, option, again, NULL}, text[4096];
    long all = 0, got;
    int ends[2], status = 0;

    burn(50);
    if (pipe(ends) != 0)
        return 1;
    if (fork() == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        execve(shell, command, arguments + count + 1);
        _exit(1);
    }
    close(ends[1]);
    while ((got = read(ends[0], text, sizeof text)) > 0)
        all += got;
    wait(&status);
    printf("%ld bytes, status %d\n", all, WEXITSTATUS(status));
    return 0;
}
