/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tape: everything that comes from outside into a sampled run, in order, so that the run can be
 * repeated without its program, its processor and its PMU (docs/replay.md has the format).
 *
 * The runtime's own code runs in sections (a signal, the start of a thread ...), one at a time
 * while a tape is recorded. Within a section each thing that the machine tells (a clock, the result
 * of a system call, bytes of the target's memory, a PMU's ring buffer) passes through here:
 * recording writes it down, replaying gives it back and leaves the machine alone. All else follows
 * from the code, which is the same. Profile records that other code writes are on the tape as they
 * are.
 *
 * Signal-safe but for tape_record_to() and tape_replay_from(). Off, the cost is one test of a
 * thread's flag.
 */
#ifndef REUSE_RUNTIME_TAPE_H
#define REUSE_RUNTIME_TAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tape_mode { TAPE_OFF, TAPE_RECORDS, TAPE_REPLAYS };

enum tape_tag {
    /* sections: their own data, items, and an end */
    TAPE_START = 1,    /* environment of the run */
    TAPE_THREAD_BEGIN, /* its stack */
    TAPE_THREAD_END,   /* why */
    TAPE_SIGNAL,       /* cookie and registers */
    TAPE_BLOCK_FREED,  /* base and size */
    TAPE_REGION,       /* of the API: whether it begins, and its number */
    TAPE_PAUSE,        /* of the API: whether it pauses */
    TAPE_SHARED_OPEN,
    TAPE_SECTIONS,
    /* items with eight bytes */
    TAPE_CLOCK = 32,
    TAPE_CALL, /* result of a system call */
    TAPE_SETTING,
    TAPE_COUNT,       /* of a hardware counter */
    TAPE_ATTRIBUTION, /* context, object or processor of a sample */
    /* items with as many bytes as they say */
    TAPE_BYTES = 48,
    TAPE_RECORD, /* of the profile; type, then its bytes */
    TAPE_LINE,   /* 64 bytes of the target's memory */
    /* items without */
    TAPE_LINE_SAME = 64, /* ... as when they were last on the tape */
    TAPE_LINE_FAULT,     /* ... cannot be read */
    TAPE_END,
};

/* Written at start-up, by a forked child, and at the end of the section in which a tape took no
 * more. */
extern _Atomic(enum tape_mode) tape_mode;
/* This thread is in a section. Written by its own thread. */
extern __thread bool tape_inside __attribute__((tls_model("initial-exec")));

/* Starts recording into a new file. False after one line to the user. */
bool tape_record_to(const char *path);
/* Writes what is buffered. */
void tape_flush(void);
/* In a forked child, which is not recorded. */
void tape_forget(void);

/* Opens a section, if a tape is recorded and this thread is in none; signals stay blocked in it. */
bool tape_begin(enum tape_tag section, uint32_t thread, const void *data, size_t size);
void tape_end(void);

/* Whether the machine must not be asked: the tape has the answer. */
static inline bool tape_supplies(void)
{
    return tape_inside && tape_mode == TAPE_REPLAYS;
}

uint64_t tape_pass(enum tape_tag, uint64_t value);
void tape_pass_bytes(void *bytes, size_t size);

/* The value, written down; or, if the tape supplies it, the one that was. */
static inline uint64_t tape_value(enum tape_tag item, uint64_t value)
{
    return __builtin_expect(tape_inside, false) ? tape_pass(item, value) : value;
}

static inline void tape_bytes(void *bytes, size_t size)
{
    if (__builtin_expect(tape_inside, false))
        tape_pass_bytes(bytes, size);
}

/* Out of the section for a while: what happens there is not taped. Back with the answer. */
static inline bool tape_step_out(void)
{
    bool inside = tape_inside;

    tape_inside = false;
    return inside;
}

static inline void tape_step_in(bool inside)
{
    tape_inside = inside;
}

/* A record of the profile that no section gives. True: tape_record_done() must follow. */
bool tape_record(unsigned type, const void *fixed, size_t size, const void *tail, size_t tail_size);
void tape_record_done(void);

/* The target's memory for the interpreter (interpreter_read), while a tape is in use; and the
 * moment from which it may have changed. */
bool tape_read_memory(void *unused, uint64_t address, void *buffer, size_t size);
void tape_memory_may_change(void);

/* ---- replaying ---- */

/* A section's beginning. */
struct tape_section {
    enum tape_tag tag;
    uint32_t thread;
    const unsigned char *data;
    size_t size;
};

/* Opens a tape for tape_next(). False after one line to the user. */
bool tape_replay_from(const char *path);

/* Goes to the next section; records on the way go to `record`. False at the end of the tape. */
bool tape_next(struct tape_section *,
               void (*record)(unsigned type, const unsigned char *bytes, size_t size));

/* Leaves the section: it must have been used up. */
void tape_leave(void);

/* Where the code asked for something else than the tape has, in bytes; -1 nowhere. */
int64_t tape_diverged(void);

#endif
