/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "output/say.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "own/c_library.h"
#include "own/raw_call.h"

#include "signal_safe.h"

/* Written once by say_begin(). */
static bool is_quiet, is_verbose, is_speaker, has_stderr;
static pid_t started;
static dev_t stderr_device;
static ino_t stderr_inode;
static const int *copy_of_stderr; /* NULL: there is none */

void line_begin(struct line *line)
{
    line->length = 0;
    line_text(line, "libreuse: ");
}

void line_text(struct line *line, const char *text)
{
    size_t n = strlen(text), room = sizeof line->text - 1 - line->length;

    if (n > room)
        n = room;
    memcpy(line->text + line->length, text, n);
    line->length += n;
    line->text[line->length] = '\0';
}

void line_number(struct line *line, uint64_t number)
{
    line_fixed(line, number, 0);
}

void line_fixed(struct line *line, uint64_t value, unsigned decimals)
{
    char digits[32];
    size_t at = sizeof digits;

    digits[--at] = '\0';
    for (unsigned i = 0; value > 0 || i <= decimals; i++) {
        if (decimals > 0 && i == decimals)
            digits[--at] = '.';
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    }
    line_text(line, digits + at);
}

void line_error(struct line *line, int error)
{
    const char *name = strerrorname_np(error);

    if (name)
        line_text(line, name);
    else
        line_number(line, (uint64_t)error);
}

/* The process that reuse-run has become, as it says in the environment; 0: unknown. */
static pid_t read_started(void)
{
    static const char variable[] = "REUSE_PROCESS=";
    pid_t pid = 0;

    for (char **entry = environ; entry && *entry; entry++) {
        const char *digit = *entry + sizeof variable - 1;

        if (strncmp(*entry, variable, sizeof variable - 1) != 0)
            continue;
        for (pid = 0; *digit >= '0' && *digit <= '9'; digit++)
            pid = pid * 10 + (*digit - '0');
    }
    return pid;
}

void say_begin(bool quiet, bool verbose, bool speaks)
{
    struct stat status;

    started = read_started();

    is_quiet = quiet;
    is_verbose = verbose;
    is_speaker = speaks;
    has_stderr = fstat(STDERR_FILENO, &status) == 0;
    if (has_stderr) {
        stderr_device = status.st_dev;
        stderr_inode = status.st_ino;
    }
}

/* Whether a line can be written now. A pipe that says so has room for PIPE_BUF bytes, which is more
 * than a line has; files always say so. The program is not to wait for a reader of our lines, who
 * perhaps waits for the program. */
static bool has_room(int descriptor)
{
    struct timespec now = {0}; /* what is left of it is written there */
    struct pollfd wanted = {.fd = descriptor, .events = POLLOUT};

    /* Where there is an error instead of room, the write meets it at once, and so it does where the
     * call is refused. */
    return raw_call(SYS_ppoll, (long)&wanted, 1, (long)&now, 0, 0, 0) != 0;
}

/* A pipe that nobody reads, or a full file, is no reason for the target to die: what the write
 * raises is taken before anybody sees it. */
static void write_without_signals(int descriptor, const char *text, size_t size)
{
    static const struct timespec now = {0};
    const unsigned long raised = 1UL << (SIGPIPE - 1) | 1UL << (SIGXFSZ - 1);
    unsigned long before = 0, pending = 0, ours;
    long result = 0;

    raw_call(SYS_rt_sigprocmask, SIG_BLOCK, (long)&raised, (long)&before, sizeof before, 0, 0);
    raw_call(SYS_rt_sigpending, (long)&pending, sizeof pending, 0, 0, 0, 0);
    if (has_room(descriptor))
        result = raw_call(SYS_write, descriptor, (long)text, (long)size, 0, 0, 0);
    ours = result == -EPIPE || result == -EFBIG ? raised & ~pending : 0;
    while (ours && raw_call(SYS_rt_sigtimedwait, (long)&ours, 0, (long)&now, sizeof ours, 0, 0) > 0)
        ;
    raw_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof before, 0, 0);
}

_Static_assert(sizeof(struct line) <= PIPE_BUF, "a pipe takes a line whole");

static bool is_stderr(int descriptor)
{
    struct stat status;

    return has_stderr && fstat(descriptor, &status) == 0 && status.st_dev == stderr_device &&
           status.st_ino == stderr_inode;
}

bool say_needs_stderr(void)
{
    return !is_quiet && is_stderr(STDERR_FILENO);
}

void say_to_copy(const int *descriptor)
{
    copy_of_stderr = descriptor;
}

static void print(const struct line *line)
{
    struct line copy = *line;
    int saved = errno;
    int descriptor = !copy_of_stderr || is_stderr(STDERR_FILENO) ? STDERR_FILENO : *copy_of_stderr;

    if (is_stderr(descriptor)) {
        copy.text[copy.length] = '\n';
        write_without_signals(descriptor, copy.text, copy.length + 1);
    }
    errno = saved;
}

void say(const struct line *line)
{
    if (!is_quiet && (is_speaker || is_verbose))
        print(line);
}

bool say_is_named(void)
{
    return started == (pid_t)raw_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

void say_error(const struct line *line)
{
    if (!is_quiet || started == 0 || say_is_named())
        print(line);
}

void say_for_job(const struct line *line)
{
    if (is_speaker)
        say_error(line);
}

void say_verbose(const struct line *line)
{
    if (is_verbose)
        print(line);
}
