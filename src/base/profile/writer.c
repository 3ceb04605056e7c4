/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The append side of the profile file. Signal-safe.
 *
 * The lock is held while a record is copied into the active half. Whoever finds that half full or
 * old swaps the halves under the lock, sets `writing`, and writes the full one without the lock;
 * `writing` keeps a second writer away, so the order in the file is the order of the sequence
 * numbers. Halves always begin and end at record boundaries.
 */
#include "profile/writer.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "profile/checksum.h"
#include "profile/schema.h"
#include "spin_hint.h"

#include "signal_safe.h"

enum {
    HALF = PROFILE_WRITER_BUFFER / 2,
    SPINS = 200,         /* before sleeping: a copy under the lock takes about as long */
    NAP_NS = 100 * 1000, /* one sleep while waiting for the lock or for room */
    LOCK_NAPS = 100,     /* long enough for a holder that the scheduler took off the CPU */
    ROOM_NAPS = 10,      /* a write(2) that takes longer is a slow disk: do not stop the target */
    OWNER_TRIES = 100,
    SETTLE_TRIES = 8,
    FLUSH_NAPS = 20000, /* a flush asked for by the owner may wait for a slow disk: 2 s */
};

static void nap(void)
{
    struct timespec time = {.tv_sec = 0, .tv_nsec = NAP_NS};
    (void)nanosleep(&time, NULL);
}

static bool try_lock(struct profile_writer *writer)
{
    return !__atomic_load_n(&writer->lock, __ATOMIC_RELAXED) &&
           !__atomic_exchange_n(&writer->lock, 1, __ATOMIC_ACQUIRE);
}

static bool take_lock(struct profile_writer *writer)
{
    for (int i = 0; i < SPINS; i++) {
        if (try_lock(writer))
            return true;
        spin_hint();
    }
    for (int i = 0; i < LOCK_NAPS; i++) {
        if (try_lock(writer))
            return true;
        nap();
    }
    return try_lock(writer);
}

/* For the owner's calls, which must not fail because many threads append: some 2 s. */
static bool take_lock_patiently(struct profile_writer *writer)
{
    for (int i = 0; i < OWNER_TRIES; i++) {
        if (take_lock(writer))
            return true;
    }
    return false;
}

static void release_lock(struct profile_writer *writer)
{
    __atomic_store_n(&writer->lock, 0, __ATOMIC_RELEASE);
}

static bool is_writing(const struct profile_writer *writer)
{
    return __atomic_load_n(&writer->writing, __ATOMIC_ACQUIRE);
}

/* Called and left with the lock held, unless it returns false: then the lock is not held. */
static bool wait_until_written(struct profile_writer *writer, int naps)
{
    while (is_writing(writer)) {
        release_lock(writer);
        if (naps-- == 0)
            return false;
        nap();
        if (!take_lock(writer))
            return false;
    }
    return true;
}

static int load_state(const struct profile_writer *writer)
{
    return __atomic_load_n(&writer->state, __ATOMIC_ACQUIRE);
}

static void fail(struct profile_writer *writer, int error)
{
    bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
    writer->error = error;
    __atomic_store_n(&writer->state, full ? WRITER_DISK_FULL : WRITER_FAILED, __ATOMIC_RELEASE);
}

static void count_lost(struct profile_writer *writer, uint64_t records)
{
    __atomic_fetch_add(&writer->lost_records, records, __ATOMIC_RELAXED);
    __atomic_fetch_add(&writer->unnumbered, records, __ATOMIC_RELAXED);
}

static bool descriptor_is_ours(const struct profile_writer *writer)
{
    struct stat status;
    return fstat(writer->descriptor, &status) == 0 && status.st_dev == writer->device &&
           status.st_ino == writer->inode;
}

/* How many of size bytes RLIMIT_FSIZE lets in: going over it would raise SIGXFSZ in the target. */
static size_t limited_size(const struct profile_writer *writer, size_t size)
{
    struct rlimit limit;
    if (!writer->regular || getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return size;
    uint64_t room = limit.rlim_cur > writer->written_bytes
                        ? (uint64_t)limit.rlim_cur - writer->written_bytes
                        : 0;
    return size < room ? size : (size_t)room;
}

/* Returns the bytes that the file took; *error is 0 if these are all. */
static size_t write_bytes(const struct profile_writer *writer, const unsigned char *data,
                          size_t size, int *error)
{
    size_t done = 0;
    *error = 0;
    if (!descriptor_is_ours(writer)) {
        *error = EBADF;
        return 0;
    }
    size_t allowed = limited_size(writer, size);
    while (done < allowed) {
        ssize_t n = write(writer->descriptor, data + done, allowed - done);
        if (n > 0) {
            done += (size_t)n;
        } else if (n == 0 || errno != EINTR) {
            *error = n == 0 ? ENOSPC : errno;
            return done;
        }
    }
    if (done < size)
        *error = EFBIG;
    return done;
}

/* Length of the whole records within the first `size` bytes of a half; *records counts them. */
static size_t whole_records(const unsigned char *data, size_t size, uint32_t *records)
{
    size_t end = 0;
    *records = 0;
    while (size - end >= sizeof(struct record_header)) {
        struct record_header header;
        memcpy(&header, data + end, sizeof(header));
        if (size - end - sizeof(header) < header.length)
            break;
        end += sizeof(header) + header.length;
        ++*records;
    }
    return end;
}

/* Writes a half that this thread owns (`writing` is set, the lock is not held). */
static void write_half(struct profile_writer *writer, const unsigned char *data, size_t size,
                       uint32_t records)
{
    int error;
    size_t done = write_bytes(writer, data, size, &error);
    if (error) {
        uint32_t kept_records;
        size_t kept = whole_records(data, done, &kept_records);
        if (kept < done && writer->regular)
            (void)!ftruncate(writer->descriptor, (off_t)(writer->written_bytes + kept));
        writer->written_bytes += kept;
        count_lost(writer, records - kept_records);
        fail(writer, error);
    } else {
        writer->written_bytes += size;
    }
}

/* The lock is held and `writing` is clear; the lock is not held afterwards. */
static void swap_and_write(struct profile_writer *writer, uint64_t now_ns)
{
    const unsigned char *full = writer->buffer + (size_t)writer->active * HALF;
    size_t size = writer->used;
    uint32_t records = writer->buffered_records;
    __atomic_store_n(&writer->writing, 1, __ATOMIC_RELAXED);
    writer->active ^= 1;
    writer->used = 0;
    writer->buffered_records = 0;
    writer->last_flush_ns = now_ns;
    release_lock(writer);

    /* Closed, too: the one who closes writes what had been accepted. */
    int state = load_state(writer);
    if (state == WRITER_OPEN || state == WRITER_CLOSED)
        write_half(writer, full, size, records);
    else
        count_lost(writer, records);
    /* A store, not the lock: that could time out, and `writing` has only this owner. */
    __atomic_store_n(&writer->writing, 0, __ATOMIC_RELEASE);
}

/* Copies one record into the active half, which has room for it. The lock is held. */
static void put_record(struct profile_writer *writer, enum record_type type, const void *fixed,
                       size_t fixed_size, const void *tail, size_t tail_size)
{
    size_t length = (fixed_size + tail_size + 7) & ~(size_t)7;
    unsigned char *start = writer->buffer + (size_t)writer->active * HALF + writer->used;
    unsigned char *payload = start + sizeof(struct record_header);
    /* Whatever was lost since the last record shows as a gap before this one. */
    writer->sequence += (uint32_t)__atomic_exchange_n(&writer->unnumbered, 0, __ATOMIC_RELAXED);
    struct record_header header = {
        .type = (uint16_t)type,
        .length = (uint32_t)length,
        .sequence = writer->sequence++,
    };
    if (fixed_size)
        memcpy(payload, fixed, fixed_size);
    if (tail_size)
        memcpy(payload + fixed_size, tail, tail_size);
    memset(payload + fixed_size + tail_size, 0, length - fixed_size - tail_size);
    header.checksum = checksum_crc32c(checksum_crc32c(0, &header, sizeof(header)), payload, length);
    memcpy(start, &header, sizeof(header));
    writer->used += sizeof(header) + length;
    writer->buffered_records++;
}

static bool append(struct profile_writer *writer, enum record_type type, const void *fixed,
                   size_t fixed_size, const void *tail, size_t tail_size, uint64_t now_ns)
{
    if (fixed_size > PROFILE_WRITER_PAYLOAD_MAX ||
        tail_size > PROFILE_WRITER_PAYLOAD_MAX - fixed_size)
        return false;
    size_t size = sizeof(struct record_header) + ((fixed_size + tail_size + 7) & ~(size_t)7);
    if (!take_lock(writer))
        return false;
    int waits = ROOM_NAPS;
    while (HALF - writer->used < size) {
        if (!wait_until_written(writer, waits))
            return false;
        /* Another thread may have made room while the lock was released. */
        if (HALF - writer->used >= size)
            break;
        swap_and_write(writer, now_ns);
        if (!take_lock(writer))
            return false;
        waits--;
    }
    if (load_state(writer) != WRITER_OPEN) { /* full, or closed, while the lock was free */
        release_lock(writer);
        return false;
    }
    put_record(writer, type, fixed, fixed_size, tail, tail_size);
    bool due = now_ns > writer->last_flush_ns &&
               now_ns - writer->last_flush_ns >= writer->flush_interval_ns;
    if (due && !is_writing(writer))
        swap_and_write(writer, now_ns);
    else
        release_lock(writer);
    return true;
}

bool profile_writer_append(struct profile_writer *writer, enum record_type type, const void *fixed,
                           size_t fixed_size, const void *tail, size_t tail_size, uint64_t now_ns)
{
    int saved_errno = errno;
    bool appended = writer->buffer && load_state(writer) == WRITER_OPEN &&
                    append(writer, type, fixed, fixed_size, tail, tail_size, now_ns);
    if (!appended)
        count_lost(writer, 1);
    errno = saved_errno;
    return appended;
}

static bool flush(struct profile_writer *writer, uint64_t now_ns)
{
    if (!writer->buffer || !take_lock_patiently(writer) || !wait_until_written(writer, FLUSH_NAPS))
        return false;
    if (writer->used > 0)
        swap_and_write(writer, now_ns);
    else
        release_lock(writer);
    return load_state(writer) == WRITER_OPEN;
}

bool profile_writer_flush(struct profile_writer *writer, uint64_t now_ns)
{
    int saved_errno = errno;
    bool open = flush(writer, now_ns);
    errno = saved_errno;
    return open;
}

void profile_writer_settle(struct profile_writer *writer, uint64_t now_ns)
{
    int saved_errno = errno;

    /* Once more for what others have appended meanwhile, who found this write under way. */
    for (int i = 0; i < SETTLE_TRIES && writer->buffer &&
                    __atomic_load_n(&writer->used, __ATOMIC_RELAXED) > 0 && try_lock(writer);
         i++) {
        bool writing = is_writing(writer);

        if (writer->used > 0 && !writing)
            swap_and_write(writer, now_ns);
        else
            release_lock(writer);
        if (writing)
            break;
    }
    errno = saved_errno;
}

bool profile_writer_set_descriptor(struct profile_writer *writer, int descriptor)
{
    int saved_errno = errno;
    bool set = false;
    /* The owner will close the old number next: nobody may be writing to it. */
    if (take_lock_patiently(writer) && wait_until_written(writer, FLUSH_NAPS)) {
        writer->descriptor = descriptor;
        release_lock(writer);
        set = true;
    }
    errno = saved_errno;
    return set;
}

void profile_writer_close(struct profile_writer *writer, uint64_t now_ns)
{
    int saved_errno = errno;
    int open = WRITER_OPEN;
    if (writer->buffer && writer->descriptor >= 0) {
        /* First the state, so that nobody appends any more; then what was accepted before. */
        (void)__atomic_compare_exchange_n(&writer->state, &open, WRITER_CLOSED, false,
                                          __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
        (void)flush(writer, now_ns);
        if (descriptor_is_ours(writer))
            (void)syscall(SYS_close, writer->descriptor);
        writer->descriptor = -1;
    }
    errno = saved_errno;
}

static void write_file_header(struct profile_writer *writer)
{
    struct profile_file_header header = {
        .byte_order = PROFILE_BYTE_ORDER,
        .version_major = PROFILE_VERSION_MAJOR,
        .version_minor = PROFILE_VERSION_MINOR,
        .header_size = sizeof(header),
    };
    memcpy(header.magic, PROFILE_MAGIC, sizeof(header.magic));
    int error;
    size_t done = write_bytes(writer, (const unsigned char *)&header, sizeof(header), &error);
    if (error) {
        if (done > 0 && writer->regular)
            (void)!ftruncate(writer->descriptor, 0);
        fail(writer, error);
    } else {
        writer->written_bytes = done;
    }
}

void profile_writer_open(struct profile_writer *writer, int descriptor, unsigned char *buffer,
                         uint64_t flush_interval_ns)
{
    int saved_errno = errno;
    struct stat status;
    *writer = (struct profile_writer){
        .descriptor = descriptor,
        .flush_interval_ns = flush_interval_ns,
        .buffer = buffer,
    };
    if (fstat(descriptor, &status) != 0) {
        fail(writer, EBADF);
    } else {
        writer->device = status.st_dev;
        writer->inode = status.st_ino;
        writer->regular = S_ISREG(status.st_mode);
        if (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode))
            fail(writer, ESPIPE);
        else
            write_file_header(writer);
    }
    if (load_state(writer) == WRITER_OPEN)
        (void)append(writer, RECORD_SCHEMA, profile_schema, profile_schema_size, NULL, 0, 0);
    errno = saved_errno;
}
