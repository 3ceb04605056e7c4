/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe but for opening. See tape.h. */
#include "recording/tape.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interposition/interpose_signal.h"
#include "isa/guarded_memory.h"
#include "memory/forbidden.h"
#include "memory/memory.h"
#include "output/say.h"
#include "recording/tape_file.h"
#include "recording/tape_format.h"

#include "signal_safe.h"

enum {
    /* Lines of the target's memory that both sides remember. */
    LINES_BITS = 13,
    LINES = 1 << LINES_BITS,
};

_Atomic(enum tape_mode) tape_mode;
__thread bool tape_inside __attribute__((tls_model("initial-exec")));

/* This thread has the lock, and its signals were blocked by it. */
static __thread bool holds __attribute__((tls_model("initial-exec")));
static __thread sigset_t mask_before __attribute__((tls_model("initial-exec")));

/* All below is under it while recording; replaying is one thread. */
static atomic_flag lock = ATOMIC_FLAG_INIT;

static struct tape_reader reader; /* of the tape that is replayed */
static void (*on_record)(unsigned, const unsigned char *, size_t);

/* What both sides know of the target's memory. The same lines fall out of it on both, so that a
 * line that has not changed need not be on the tape again. */
static struct remembered {
    uint64_t address; /* 0 none */
    uint64_t look;    /* in which it was last read: within one, memory stands still */
    unsigned char bytes[TAPE_LINE_BYTES];
} * lines;
static uint64_t look;

/* ---- writing ---- */

static void put_tag(enum tape_tag tag)
{
    unsigned char byte = (unsigned char)tag;

    tape_file_put(&byte, 1);
}

static void put_sized(enum tape_tag tag, const void *bytes, size_t size)
{
    uint32_t length = (uint32_t)size;

    put_tag(tag);
    tape_file_put(&length, sizeof length);
    tape_file_put(bytes, size);
}

static void take_lock(void)
{
    signals_block(&mask_before);
    while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
        syscall(SYS_sched_yield);
    holds = true;
}

/* A tape that takes no more is no reason to go on one thread at a time: this is the last section.
 */
static void release_lock(void)
{
    sigset_t before = mask_before;

    if (tape_file_failed())
        tape_mode = TAPE_OFF;
    holds = false;
    atomic_flag_clear_explicit(&lock, memory_order_release);
    signals_restore(&before);
}

/* Whether this thread may write to the tape now. It then has the lock. */
static bool begin_writing(void)
{
    take_lock();
    if (tape_mode == TAPE_RECORDS)
        return true;
    release_lock();
    return false;
}

bool tape_begin(enum tape_tag section, uint32_t thread, const void *data, size_t size)
{
    if (__builtin_expect(tape_mode != TAPE_RECORDS, true) || holds || !begin_writing())
        return false;
    put_sized(section, &thread, sizeof thread);
    put_sized(TAPE_BYTES, data, size);
    tape_inside = true;
    return true;
}

void tape_end(void)
{
    tape_inside = false;
    put_tag(TAPE_END);
    tape_file_flush_much();
    release_lock();
}

bool tape_record(unsigned type, const void *fixed, size_t size, const void *tail, size_t tail_size)
{
    bool locked = !holds;
    uint32_t length = (uint32_t)(sizeof type + size + tail_size);

    if (__builtin_expect(tape_mode != TAPE_RECORDS, true) || tape_inside)
        return false;
    if (locked && !begin_writing())
        return false;
    put_tag(TAPE_RECORD);
    tape_file_put(&length, sizeof length);
    tape_file_put(&type, sizeof type);
    tape_file_put(fixed, size);
    if (tail_size)
        tape_file_put(tail, tail_size);
    return locked;
}

void tape_record_done(void)
{
    release_lock();
}

static bool prepare(void)
{
    lines = memory_map(LINES * sizeof *lines);
    return lines != NULL;
}

static void tell(const char *what, const char *path, int error)
{
    struct line line;

    line_begin(&line);
    line_text(&line, what);
    line_text(&line, path);
    line_text(&line, " (");
    line_error(&line, error);
    line_text(&line, ")");
    say_error(&line);
}

bool tape_record_to(const char *path)
{
    const struct tape_head head = tape_head();
    int error = prepare() ? tape_file_create(path) : ENOMEM;

    if (error) {
        tell("no recording: cannot create ", path, error);
        return false;
    }
    tape_file_put(&head, sizeof head);
    tape_mode = TAPE_RECORDS;
    return true;
}

void tape_flush(void)
{
    if (tape_mode != TAPE_RECORDS || !begin_writing())
        return;
    tape_file_flush();
    release_lock();
}

void tape_forget(void)
{
    if (tape_mode != TAPE_RECORDS)
        return;
    tape_mode = TAPE_OFF;
    tape_file_forget();
    tape_inside = holds = false;
    atomic_flag_clear(&lock);
}

/* ---- reading ---- */

bool tape_replay_from(const char *path)
{
    int opened = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    void *bytes = MAP_FAILED;
    const char *wrong;

    if (opened < 0 || fstat(opened, &status) != 0) {
        tell("no replay: cannot read ", path, errno);
        return false;
    }
    if (status.st_size > 0)
        bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, opened, 0);
    syscall(SYS_close, opened);
    if (bytes == MAP_FAILED || !prepare())
        wrong = status.st_size > 0 ? "cannot be mapped" : "is empty, or no ordinary file";
    else
        wrong = tape_reader_begin(&reader, bytes, (size_t)status.st_size);
    if (wrong) {
        struct line line;

        line_begin(&line);
        line_text(&line, "no replay: ");
        line_text(&line, path);
        line_text(&line, " ");
        line_text(&line, wrong);
        say_error(&line);
        return false;
    }
    tape_mode = TAPE_REPLAYS;
    return true;
}

/* Records of the profile that lie between are written on the way. */
static bool take(enum tape_tag wanted, struct tape_item *item)
{
    while (tape_reader_peek(&reader, item) && item->tag == TAPE_RECORD) {
        bool inside = tape_step_out();
        unsigned type;

        tape_reader_take(&reader, item);
        if (item->size >= sizeof type) {
            memcpy(&type, item->bytes, sizeof type);
            on_record(type, item->bytes + sizeof type, item->size - sizeof type);
        }
        tape_step_in(inside);
    }
    return tape_reader_expect(&reader, wanted, item);
}

bool tape_next(struct tape_section *section,
               void (*record)(unsigned, const unsigned char *, size_t))
{
    struct tape_item item;

    on_record = record;
    if (!take(0, &item) || item.tag >= TAPE_SECTIONS || item.size != sizeof section->thread)
        return false;
    section->tag = item.tag;
    memcpy(&section->thread, item.bytes, sizeof section->thread);
    if (!take(TAPE_BYTES, &item))
        return false;
    section->data = item.bytes;
    section->size = item.size;
    tape_inside = true;
    return true;
}

void tape_leave(void)
{
    struct tape_item item;

    take(TAPE_END, &item);
    tape_inside = false;
}

int64_t tape_diverged(void)
{
    return reader.diverged ? (int64_t)reader.at : -1;
}

/* ---- both ---- */

uint64_t tape_pass(enum tape_tag tag, uint64_t value)
{
    struct tape_item item;

    if (tape_mode == TAPE_RECORDS) {
        put_tag(tag);
        tape_file_put(&value, sizeof value);
        return value;
    }
    return take(tag, &item) ? item.value : 0;
}

void tape_pass_bytes(void *bytes, size_t size)
{
    struct tape_item item;

    if (tape_mode == TAPE_RECORDS) {
        put_sized(TAPE_BYTES, bytes, size);
        return;
    }
    memset(bytes, 0, size);
    if (take(TAPE_BYTES, &item))
        memcpy(bytes, item.bytes, item.size < size ? item.size : size);
}

void tape_memory_may_change(void)
{
    look++;
}

static struct remembered *remembered(uint64_t address)
{
    return &lines[(address / TAPE_LINE_BYTES * UINT64_C(0x9E3779B97F4A7C15)) >> (64 - LINES_BITS)];
}

static bool record_line(struct remembered *line, uint64_t address)
{
    unsigned char now[TAPE_LINE_BYTES];

    if (forbidden_at(address, sizeof now) || !guarded_memory_read(address, now, sizeof now)) {
        put_tag(TAPE_LINE_FAULT);
        return false;
    }
    if (line->address == address && memcmp(line->bytes, now, sizeof now) == 0) {
        put_tag(TAPE_LINE_SAME);
        return true;
    }
    memcpy(line->bytes, now, sizeof now);
    put_tag(TAPE_LINE);
    tape_file_put(now, sizeof now);
    return true;
}

static bool replay_line(struct remembered *line, uint64_t address)
{
    struct tape_item item;

    if (!tape_reader_peek(&reader, &item))
        return false;
    if (item.tag == TAPE_LINE_SAME && line->address == address)
        return take(TAPE_LINE_SAME, &item);
    if (item.tag == TAPE_LINE_FAULT) {
        take(TAPE_LINE_FAULT, &item);
        return false;
    }
    if (!take(TAPE_LINE, &item))
        return false;
    memcpy(line->bytes, item.bytes, TAPE_LINE_BYTES);
    return true;
}

bool tape_read_memory(void *unused, uint64_t address, void *out, size_t size)
{
    uint64_t start = address - address % TAPE_LINE_BYTES;
    unsigned char *to = out;

    (void)unused;
    if (!tape_inside) /* a forked child */
        return guarded_memory_read(address, out, size);
    for (; start < address + size; start += TAPE_LINE_BYTES) {
        struct remembered *line = remembered(start);
        uint64_t from = start > address ? start : address;
        uint64_t end =
            start + TAPE_LINE_BYTES < address + size ? start + TAPE_LINE_BYTES : address + size;

        if (line->address != start || line->look != look) {
            if (!(tape_mode == TAPE_RECORDS ? record_line(line, start) : replay_line(line, start)))
                return false;
            line->address = start;
            line->look = look;
        }
        memcpy(to + (from - address), line->bytes + (from - start), end - from);
    }
    return true;
}
