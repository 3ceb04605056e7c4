/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A library that disturbs the program it is preloaded into, in the way that $MISBEHAVE names. The
 * tests of transparency must notice every one of them; they are tested with it.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is(const char *what)
{
    const char *asked = getenv("MISBEHAVE");
    return asked != NULL && strcmp(asked, what) == 0;
}

static void swallow(int number)
{
    (void)number;
}

__attribute__((constructor)) static void begin(void)
{
    if (is("descriptor"))
        dup2(open("/dev/null", O_RDONLY), 8);
    if (is("sigtrap-handler"))
        signal(SIGTRAP, swallow);
    if (is("blocked-signal")) {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGTRAP);
        sigprocmask(SIG_BLOCK, &set, NULL);
    }
    if (is("survives"))
        signal(SIGSEGV, swallow), signal(SIGABRT, swallow);
    if (is("hang"))
        for (;;)
            pause();
}

__attribute__((destructor)) static void end(void)
{
    if (is("stdout") && write(1, "more\n", 5) != 5)
        _exit(98);
    if (is("stderr") && write(2, "more\n", 5) != 5)
        _exit(98);
    if (is("talks") && write(2, "libreuse: one\nlibreuse: two\n", 28) != 28)
        _exit(98);
    if (is("file"))
        close(open("left-behind", O_CREAT | O_WRONLY, 0600));
    if (is("garbage")) {
        int profile = open(getenv("REUSE_OUTPUT"), O_CREAT | O_WRONLY, 0600);
        if (write(profile, "this is no profile", 18) != 18)
            _exit(98);
    }
    if (is("status"))
        _exit(97);
}
