/* SPDX-License-Identifier: BSD-3-Clause */
/* See exact_processes.h. */
#include "reuse/exact_processes.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>

enum {
    PROBES_MAX = 64, /* places that a line may have */
    /* A holder needs a microsecond; one that the scheduler has put aside is still there. */
    SPINS_UNTIL_ASKED = 10000,
};

struct last_access {
    uint16_t offset;
    uint8_t width;
};

struct process_copy {
    uint32_t pid; /* 0: free */
    int32_t tid;
    /* Holding the line: bytes accessed since it was got; else those that others wrote since it was
     * lost. */
    uint64_t bytes;
    struct last_access access, write;
    bool holds;
};

struct process_line {
    uint32_t lock; /* pid of the holder */
    uint32_t used;
    uint64_t device, inode, line;
    uint64_t ever_written;
    uint32_t last_writer; /* index of its copy + 1; 0: nobody yet */
    uint32_t count;
    struct process_copy copies[EXACT_PROCESSES_COPIES];
} __attribute__((aligned(64)));

struct exact_processes {
    struct process_line lines[EXACT_PROCESSES_LINES];
};

size_t exact_processes_bytes(void)
{
    return sizeof(struct exact_processes);
}

static void take_lock(struct process_line *line, uint32_t pid)
{
    for (unsigned spins = 1;; spins++) {
        uint32_t holder = 0;

        if (__atomic_compare_exchange_n(&line->lock, &holder, pid, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED))
            return;
        if (spins % 64 == 0)
            sched_yield();
        if (spins % SPINS_UNTIL_ASKED == 0 && kill((pid_t)holder, 0) != 0 && errno == ESRCH &&
            __atomic_compare_exchange_n(&line->lock, &holder, pid, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED))
            return;
    }
}

static void let_go(struct process_line *line)
{
    __atomic_store_n(&line->lock, 0, __ATOMIC_RELEASE);
}

static uint64_t hash_of(const struct process_access *access)
{
    uint64_t hash = (access->device * 31 + access->inode) * 0x9e3779b97f4a7c15u;

    hash = (hash ^ hash >> 29) + access->line;
    hash *= 0xbf58476d1ce4e5b9u;
    return hash ^ hash >> 32;
}

/* The line, locked; NULL: no room. */
static struct process_line *find_line(struct exact_processes *processes, uint32_t pid,
                                      const struct process_access *access)
{
    uint64_t hash = hash_of(access);

    for (uint64_t i = 0; i < PROBES_MAX; i++) {
        struct process_line *line = &processes->lines[(hash + i) % EXACT_PROCESSES_LINES];

        take_lock(line, pid);
        if (!line->used) {
            line->device = access->device;
            line->inode = access->inode;
            line->line = access->line;
            line->used = 1;
            return line;
        }
        if (line->device == access->device && line->inode == access->inode &&
            line->line == access->line)
            return line;
        let_go(line);
    }
    return NULL;
}

static struct process_copy *find_copy(struct process_line *line, uint32_t pid, int32_t tid,
                                      bool *had_one)
{
    uint32_t i = 0;

    while (i < line->count && (line->copies[i].pid != pid || line->copies[i].tid != tid))
        i++;
    *had_one = i < line->count;
    if (i == EXACT_PROCESSES_COPIES)
        return NULL;
    if (i == line->count) {
        line->copies[i] = (struct process_copy){.pid = pid, .tid = tid};
        line->count++;
    }
    return &line->copies[i];
}

static struct process_event event_of(const struct process_copy *source, enum transfer_kind kind,
                                     bool true_sharing)
{
    const struct last_access *last = kind == TRANSFER_WAR ? &source->access : &source->write;

    return (struct process_event){.source_pid = source->pid,
                                  .source_tid = source->tid,
                                  .source_offset = last->offset,
                                  .source_width = last->width,
                                  .kind = kind,
                                  .true_sharing = true_sharing};
}

bool exact_processes_access(struct exact_processes *processes, uint32_t pid, int32_t tid,
                            const struct process_access *access,
                            void (*tell)(void *, const struct process_event *), void *context)
{
    struct process_line *line = find_line(processes, pid, access);
    const struct last_access now = {access->offset, access->width};
    struct process_copy *mine;
    uint32_t number;
    bool had_one;

    if (!line)
        return false;
    mine = find_copy(line, pid, tid, &had_one);
    if (!mine) {
        let_go(line);
        return false;
    }
    number = (uint32_t)(mine - line->copies) + 1;
    if (!access->write && !mine->holds && line->last_writer && line->last_writer != number) {
        uint64_t news = had_one ? mine->bytes : line->ever_written;
        struct process_event event = event_of(&line->copies[line->last_writer - 1], TRANSFER_RAW,
                                              (access->bytes & news) != 0);

        tell(context, &event);
    }
    for (uint32_t i = 0; i < line->count && access->write; i++) {
        struct process_copy *copy = &line->copies[i];

        if (copy == mine)
            continue;
        if (copy->holds) {
            struct process_event event =
                event_of(copy, i + 1 == line->last_writer ? TRANSFER_WAW : TRANSFER_WAR,
                         (access->bytes & copy->bytes) != 0);

            tell(context, &event);
            copy->holds = false;
            copy->bytes = 0;
        }
        copy->bytes |= access->bytes;
    }
    mine->bytes = mine->holds ? mine->bytes | access->bytes : access->bytes;
    mine->holds = true;
    mine->access = now;
    if (access->write) {
        mine->write = now;
        line->last_writer = number;
        line->ever_written |= access->bytes;
    }
    let_go(line);
    return true;
}
