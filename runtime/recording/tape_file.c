/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe but for creating. See tape_file.h. */
#include "recording/tape_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interposition/descriptors.h"
#include "interposition/interpose_signal.h"
#include "memory/memory.h"
#include "output/profile_file.h"
#include "output/say.h"
#include "recording/tape_format.h"

#include "signal_safe.h"

enum {
    BUFFER = 1 << 18,
    MUCH = 1 << 16, /* of it */
};

static int descriptor = -1;
static bool regular; /* a regular file: RLIMIT_FSIZE applies */
static uint64_t written;
static unsigned char *buffer;
static size_t used;

int tape_file_create(const char *path)
{
    /* It holds the target's memory, which is nobody else's to read. */
    const struct tape_head head = tape_head();
    int opened = profile_file_open(path, head.magic, sizeof head.magic - 1);
    struct stat status;

    if (opened < 0)
        return -opened;
    buffer = memory_map(BUFFER);
    if (!buffer) {
        syscall(SYS_close, opened);
        return ENOMEM;
    }
    regular = fstat(opened, &status) == 0 && S_ISREG(status.st_mode);
    descriptor_adopt(opened, &descriptor);
    return 0;
}

static void give_up(int error)
{
    struct line line;

    line_begin(&line);
    line_text(&line, "the recording ends here: cannot write it (");
    line_error(&line, error);
    line_text(&line, "); what is written can be replayed");
    say_error(&line);
    descriptor_release(&descriptor);
}

/* How many of `size` bytes the limit of the file size lets in: one more would raise SIGXFSZ in the
 * target. */
static size_t allowed(size_t size)
{
    struct rlimit limit;
    uint64_t room;

    if (!regular || syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) != 0 ||
        limit.rlim_cur == RLIM_INFINITY)
        return size;
    room = limit.rlim_cur > written ? (uint64_t)limit.rlim_cur - written : 0;
    return size < room ? size : (size_t)room;
}

/* To that file and no other, should another thread want its number. */
static long write_held(const void *bytes, size_t size)
{
    sigset_t before;
    long result;

    signals_block(&before);
    descriptors_hold_limit();
    result = syscall(SYS_write, descriptor, bytes, size);
    descriptors_let_limit_go();
    signals_restore(&before);
    return result;
}

void tape_file_flush(void)
{
    size_t done = 0;
    int saved = errno;

    while (done < used && descriptor >= 0) {
        size_t size = allowed(used - done);
        long n = size ? write_held(buffer + done, size) : -1;

        if (n > 0) {
            done += (size_t)n;
            written += (uint64_t)n;
        } else if (size == 0) {
            give_up(EFBIG);
        } else if (n == 0 || errno != EINTR) {
            give_up(n == 0 ? EIO : errno);
        }
    }
    used = 0;
    errno = saved;
}

void tape_file_flush_much(void)
{
    if (used >= MUCH)
        tape_file_flush();
}

void tape_file_put(const void *bytes, size_t size)
{
    const unsigned char *from = bytes;

    while (size > 0) {
        size_t piece = size < BUFFER - used ? size : BUFFER - used;

        memcpy(buffer + used, from, piece);
        used += piece;
        from += piece;
        size -= piece;
        if (used == BUFFER)
            tape_file_flush();
    }
}

bool tape_file_failed(void)
{
    return descriptor < 0;
}

void tape_file_forget(void)
{
    descriptor = -1;
}
