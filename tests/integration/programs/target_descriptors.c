/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs that look at, close or use up file descriptors:
 * target_descriptors
 * list|close-loop|closefrom|close-range|range-cloexec|exhaust|duplicate|full-disk| file-size
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "burn.h"

enum { LOOKED_AT = 256 };

/* Which of the first numbers are open, and which the next open() gives. */
static void list(const char *when)
{
    printf("%s:", when);
    for (int i = 0; i < LOOKED_AT; i++) {
        if (fcntl(i, F_GETFD) >= 0)
            printf(" %d", i);
    }
    int next = open("/dev/null", O_RDONLY);
    printf("; next %d\n", next);
    close(next);
}

/* What the program would do with a standard output of its own that survives the closing. */
static void keep_output(void)
{
    fflush(stdout);
    dup2(1, 3);
}

static int restore_output(const char *when)
{
    char text[64];
    int length = snprintf(text, sizeof text, "%s\n", when);
    return write(3, text, (size_t)length) == length ? 0 : 1;
}

static int close_all(const char *how)
{
    list("before");
    burn(50);
    keep_output();
    int last = (int)sysconf(_SC_OPEN_MAX), errors = 0;
    if (strcmp(how, "close-loop") == 0) {
        if (last > 65536)
            last = 65536;
        for (int i = 0; i < last; i++) {
            if (i != 3 && close(i) != 0 && errno != EBADF)
                errors++;
        }
    } else if (strcmp(how, "closefrom") == 0) {
        close(0);
        close(1);
        close(2);
        closefrom(4);
    } else {
        errors += close_range(0, 2, 0) != 0;
        errors += close_range(4, ~0U, 0) != 0;
    }
    burn(BURN_MS);
    int first = open("/dev/null", O_RDWR), second = open("/dev/null", O_RDWR);
    restore_output("closed everything");
    char text[64];
    snprintf(text, sizeof text, "errors %d, then %d and %d", errors, first, second);
    return restore_output(text);
}

static int range_cloexec(const char *self)
{
    list("before");
    fflush(stdout);
    if (close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) != 0)
        return 1;
    burn(BURN_MS);
    execl(self, self, "list", (char *)NULL);
    return 1;
}

/* Opens until there are no more. */
static int exhaust(void)
{
    int count = 0, last = -1, descriptor;
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    burn(50);
    while ((descriptor = open("/dev/null", O_RDONLY)) >= 0) {
        last = descriptor;
        count++;
    }
    int error = errno;
    burn(BURN_MS);
    for (int i = 3; i <= last; i++)
        close(i);
    printf("limit %ld: %d opened, last %d, then %s\n", (long)limit.rlim_cur, count, last,
           strerror(error));
    burn(BURN_MS);
    list("after");
    return 0;
}

/* The program chooses numbers itself, high ones too. */
static int duplicate(void)
{
    int wrong = 0;
    burn(50);
    for (int i = 4; i < 1000; i++)
        wrong += dup2(1, i) != i;
    burn(BURN_MS);
    for (int i = 4; i < 1000; i++)
        wrong += fcntl(i, F_GETFD) < 0;
    for (int i = 4; i < 1000; i++)
        wrong += close(i) != 0;
    int high = fcntl(1, F_DUPFD, 900);
    printf("%d wrong, then %d\n", wrong, high);
    burn(50);
    return 0;
}

static int full_disk(void)
{
    char block[4096];
    memset(block, 'x', sizeof block);
    FILE *file = fopen("/dev/full", "w");
    if (file == NULL)
        return 1;
    burn(BURN_MS);
    size_t written = fwrite(block, 1, sizeof block, file);
    int flushed = fflush(file);
    printf("%zu, %d: %s\n", written, flushed, strerror(errno));
    return 0;
}

/* Under a limit on the size of files; without a handler SIGXFSZ would end the program. */
static int file_size(void)
{
    burn(3 * BURN_MS);
    printf("small\n");
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "list") == 0) {
        list("now");
        burn(BURN_MS);
        list("later");
        return 0;
    }
    if (strcmp(what, "close-loop") == 0 || strcmp(what, "closefrom") == 0 ||
        strcmp(what, "close-range") == 0)
        return close_all(what);
    if (strcmp(what, "range-cloexec") == 0)
        return range_cloexec(argv[0]);
    if (strcmp(what, "exhaust") == 0)
        return exhaust();
    if (strcmp(what, "duplicate") == 0)
        return duplicate();
    if (strcmp(what, "full-disk") == 0)
        return full_disk();
    if (strcmp(what, "file-size") == 0)
        return file_size();
    return 64;
}
