/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guest's death by a signal: QEMU then restores the signal's default action and sends it to
 * itself, without a word to plugins. reuse-run preloads this plugin into QEMU, so that its kill()
 * is this one.
 */
#include <signal.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "output.h"
#include "qemu_api.h"

/* True if the process ends when it gets the signal now. */
static bool is_fatal(int number)
{
    struct sigaction action;
    if (number == SIGKILL)
        return true;
    if (number <= 0 || number == SIGCHLD || number == SIGURG || number == SIGWINCH ||
        number == SIGCONT || number == SIGSTOP || number == SIGTSTP || number == SIGTTIN ||
        number == SIGTTOU)
        return false;
    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_DFL;
}

QEMU_PLUGIN_EXPORT int kill(pid_t process, int number)
{
    if (process == getpid() && is_fatal(number))
        output_killed(number);
    return (int)syscall(SYS_kill, process, number);
}
