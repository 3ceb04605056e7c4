/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One thing that reuse-doctor tried: what, with which result, what that means for the user, and the
 * command that would change it. Plain memory without pointers, so that a probe may fill one in from
 * a child process through shared memory (probe.h).
 */
#ifndef REUSE_DOCTOR_FINDING_H
#define REUSE_DOCTOR_FINDING_H

enum finding_state {
    FINDING_MISSING, /* does not work, or is not there; also: the probe did not finish */
    FINDING_LIMITED, /* works with a restriction that the user should know */
    FINDING_WORKS,
    FINDING_INFORMATION, /* neither good nor bad */
};

/* In the order in which they are printed. */
enum finding_id {
    FINDING_SYSTEM,
    FINDING_PERMISSION, /* may this process call perf_event_open at all, and who forbids it */
    FINDING_PARANOID,
    FINDING_CAPABILITY,
    FINDING_SECCOMP,
    FINDING_DESCRIPTORS,
    FINDING_CLOCK,
    FINDING_REGISTERS, /* how many watchpoints can be armed */
    FINDING_TRAP,      /* one of them really traps, and at what cost */
    FINDING_INHERITED, /* one event arms the register of every thread */
    FINDING_COUNTING,
    FINDING_PRECISE,
    FINDING_QEMU,
    FINDING_LIBC,
    FINDING_PROGRAM,
    FINDING_COUNT
};

struct finding {
    enum finding_state state;
    char tried[256];
    char result[512];
    char meaning[512];
    char remedy[512]; /* commands; empty: nothing to change, or nothing that would help */
};

/* Stable name for JSON, and title for people. */
const char *finding_name(enum finding_id);
const char *finding_title(enum finding_id);

/* Each sets one field; texts beyond its size are cut. */
void finding_tried(struct finding *, const char *format, ...) __attribute__((format(printf, 2, 3)));
void finding_result(struct finding *, enum finding_state, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void finding_meaning(struct finding *, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void finding_remedy(struct finding *, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
