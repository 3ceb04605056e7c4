/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "output/profile_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "own/small_file.h"
#include "own/text.h"
#include "perf_events/timebase.h"
#include "process/tree.h"
#include "profile/format.h"

#include "signal_safe.h"

enum { NAMES_MAX = 1000 };

/* When this process was created (exec does not change it), CLOCK_REALTIME; 0 when unknown. */
static uint64_t process_start_ns(void)
{
    char text[1024];
    const char *at;
    uint64_t ticks, boot, per_second = (uint64_t)sysconf(_SC_CLK_TCK);

    small_file_read("/proc/self/stat", text, sizeof text);
    /* The name, in parentheses, may contain anything; field 22 is the start in ticks since boot. */
    at = strrchr(text, ')');
    for (int field = 2; at && field < 22; field++) {
        at = strchr(at, ' ');
        if (at)
            at++;
    }
    ticks = small_file_number(at);
    if (ticks == 0 || per_second == 0)
        return 0;
    boot = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME);
    return boot + ticks * (UINT64_C(1000000000) / per_second);
}

/* PATH.rprof becomes PATH.2.rprof; without that suffix the number goes to the end. */
static bool numbered(const char *path, unsigned number, char *out, size_t size)
{
    static const char suffix[] = ".rprof";
    size_t length = strlen(path), stem = length, n;
    char ending[24] = ".";

    if (length > sizeof suffix - 1 && strcmp(path + length - (sizeof suffix - 1), suffix) == 0)
        stem = length - (sizeof suffix - 1);
    n = (size_t)(put_number(ending + 1, number) - ending);
    if (length + n + 1 > size)
        return false;
    memcpy(out, path, stem);
    memcpy(out + stem, ending, n);
    memcpy(out + stem + n, path + stem, length - stem + 1);
    return true;
}

enum { SIGNATURE_MAX = 16 };

/* Ours to overwrite: empty, or with the signature at its beginning. */
static bool is_replaceable(int descriptor, const struct stat *status, const void *signature,
                           size_t size)
{
    unsigned char begin[SIGNATURE_MAX];

    if (status->st_uid != (uid_t)syscall(SYS_geteuid) || status->st_nlink != 1)
        return false;
    if (status->st_size == 0)
        return true;
    return syscall(SYS_pread64, descriptor, begin, size, 0L) == (long)size &&
           memcmp(begin, signature, size) == 0;
}

static bool is_device(int descriptor)
{
    struct stat status;

    return fstat(descriptor, &status) == 0 && S_ISCHR(status.st_mode);
}

/* What is there already, not followed if it is a link, not waited for if it is a pipe. */
static int open_existing(const char *path, const void *signature, size_t size, struct stat *status)
{
    int descriptor = (int)syscall(SYS_openat, AT_FDCWD, path,
                                  O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);

    if (descriptor < 0)
        return errno == EISDIR ? -EISDIR : -EEXIST;
    if (fstat(descriptor, status) == 0 &&
        (S_ISCHR(status->st_mode) ||
         (S_ISREG(status->st_mode) && is_replaceable(descriptor, status, signature, size)))) {
        if (S_ISREG(status->st_mode))
            syscall(SYS_fchmod, descriptor, 0600);
        syscall(SYS_fcntl, descriptor, F_SETFL, 0L);
        return descriptor;
    }
    syscall(SYS_close, descriptor);
    return -EEXIST;
}

static int open_file(const char *path, const void *signature, size_t size, struct stat *status)
{
    int descriptor =
        (int)syscall(SYS_openat, AT_FDCWD, path,
                     O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0600);

    if (descriptor >= 0)
        return fstat(descriptor, status) == 0 ? descriptor : -errno;
    return errno == EEXIST ? open_existing(path, signature, size, status) : -errno;
}

static int empty(int descriptor)
{
    int error;

    if (is_device(descriptor) || syscall(SYS_ftruncate, descriptor, 0) == 0)
        return descriptor;
    error = errno;
    syscall(SYS_close, descriptor);
    return -error;
}

int profile_file_open(const char *path, const void *signature, size_t size)
{
    struct stat status;
    int descriptor = open_file(path, signature, size, &status);

    return descriptor < 0 ? descriptor : empty(descriptor);
}

/* A descriptor, -errno, or -EEXIST for a file that must not be overwritten. */
static int try_name(const char *path, uint64_t since_ns, bool keep)
{
    struct stat status;
    int descriptor = open_file(path, PROFILE_MAGIC, sizeof PROFILE_MAGIC - 1, &status);
    uint64_t written;

    if (descriptor < 0 || !S_ISREG(status.st_mode))
        return descriptor;
    written =
        (uint64_t)status.st_mtim.tv_sec * UINT64_C(1000000000) + (uint64_t)status.st_mtim.tv_nsec;
    if ((syscall(SYS_flock, descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) ||
        (status.st_size > 0 && (keep || (since_ns != 0 && written >= since_ns)))) {
        syscall(SYS_close, descriptor);
        return -EEXIST;
    }
    return empty(descriptor);
}

/* When the run began, or this process did; 0 when unknown. */
static uint64_t begin_ns(void)
{
    uint64_t process = process_start_ns(), run = tree_start_ns();

    return run != 0 && (process == 0 || run < process) ? run : process;
}

int profile_file_create(char *path, size_t size, bool keep)
{
    char base[8192];
    uint64_t since = begin_ns();
    int descriptor = try_name(path, since, keep);

    if (descriptor != -EEXIST || strlen(path) >= sizeof base)
        return descriptor;
    memcpy(base, path, strlen(path) + 1);
    for (unsigned number = 2; descriptor == -EEXIST && number < NAMES_MAX; number++) {
        if (!numbered(base, number, path, size))
            return -ENAMETOOLONG;
        descriptor = try_name(path, since, keep);
    }
    return descriptor;
}
