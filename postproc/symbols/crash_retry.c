/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbols/crash_retry.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/memory.h"

/* What has crashed so far goes to the next start in this variable: one path a line. */
#define VARIABLE "REUSE_REPORT_DISTRUSTED"
#define EVERY_MODULE "*"

extern char **environ;

static const int crashes[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
enum { CRASHES = sizeof(crashes) / sizeof(crashes[0]) };

static char **restart_arguments, **restart_environment;
static char distrusted[65536] = VARIABLE "=";
static char alternate_stack[65536]; /* recursion without end leaves no other */
static const char *volatile reading;
static volatile sig_atomic_t has_read; /* a damaged heap shows later */
static volatile sig_atomic_t final_status = -1;

static const char *list(void)
{
    return distrusted + sizeof(VARIABLE);
}

bool crash_retry_distrusts(const char *path)
{
    size_t length = strlen(path);

    for (const char *line = list(); *line != '\0';) {
        size_t size = strcspn(line, "\n");

        if ((size == length && memcmp(line, path, size) == 0) ||
            (size == 1 && *line == *EVERY_MODULE))
            return true;
        line += size + (line[size] == '\n');
    }
    return false;
}

/* Signal-safe, as all that follows. */
static void say(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        return; /* nowhere to say so */
}

/* A path comes from the profiled program: no control codes. */
static void say_path(const char *path)
{
    char shown[4096];
    size_t size = 0;

    for (; *path != '\0' && size < sizeof(shown) - 1; path++)
        shown[size++] = (unsigned char)*path < ' ' || *path == 0x7f ? '?' : *path;
    shown[size] = '\0';
    say(shown);
}

static void distrust(const char *path)
{
    size_t used = strlen(distrusted), length = strlen(path);

    if (strchr(path, '\n') != NULL || used + length + 2 > sizeof(distrusted) - 2) {
        path = EVERY_MODULE;
        length = 1;
    }
    memcpy(distrusted + used, path, length);
    distrusted[used + length] = '\n';
}

static void set_action(void (*action)(int), int flags)
{
    struct sigaction change = {.sa_handler = action, .sa_flags = flags};

    for (size_t i = 0; i < CRASHES; i++)
        sigaction(crashes[i], &change, NULL);
}

static void crashed(int number)
{
    const char *path = reading;
    sigset_t all;

    if (final_status >= 0)
        _exit(final_status);
    set_action(SIG_DFL, 0);
    sigemptyset(&all);
    for (size_t i = 0; i < CRASHES; i++)
        sigaddset(&all, crashes[i]);
    if (has_read && !crash_retry_distrusts(EVERY_MODULE)) {
        say("reuse-report: warning: debug information of ");
        say_path(path != NULL ? path : "some module");
        say(" crashes its reader: ");
        say(path != NULL ? "its names are those of the symbol table\n"
                         : "all names are those of symbol tables\n");
        distrust(path != NULL ? path : EVERY_MODULE);
        sigprocmask(SIG_UNBLOCK, &all, NULL);
        execve("/proc/self/exe", restart_arguments, restart_environment);
    }
    sigprocmask(SIG_UNBLOCK, &all, NULL);
    raise(number);
}

void crash_retry_begin(char **arguments)
{
    const stack_t stack = {.ss_sp = alternate_stack, .ss_size = sizeof(alternate_stack)};
    const char *earlier = getenv(VARIABLE);
    size_t count = 0, kept = 0;

    if (earlier != NULL && strlen(earlier) < sizeof(distrusted) - sizeof(VARIABLE) - 2)
        strcpy(distrusted + sizeof(VARIABLE), earlier);
    while (environ[count] != NULL)
        count++;
    restart_environment = allocate_zeroed(count + 2, sizeof(*restart_environment));
    restart_environment[kept++] = distrusted;
    for (size_t i = 0; i < count; i++)
        if (strncmp(environ[i], VARIABLE "=", sizeof(VARIABLE)) != 0)
            restart_environment[kept++] = environ[i];
    restart_arguments = arguments;
    if (sigaltstack(&stack, NULL) == 0)
        set_action(crashed, SA_ONSTACK | SA_NODEFER);
}

void crash_retry_reading(const char *path)
{
    reading = path;
    has_read = 1;
}

void crash_retry_done(void)
{
    reading = NULL;
}

void crash_retry_end(void)
{
    if (restart_arguments != NULL)
        set_action(SIG_DFL, 0);
}

void crash_retry_written(int status)
{
    if (restart_arguments == NULL)
        return;
    final_status = status;
    set_action(crashed, SA_ONSTACK | SA_NODEFER);
}
