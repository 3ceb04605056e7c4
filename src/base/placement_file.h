/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mapping file: which thread of a program runs on which CPUs. `reuse-report --placement -o
 * FILE` writes it, `reuse-run --place FILE` applies it, people may write it (docs/placement.md).
 *
 *     # a comment, to the end of the line; empty lines mean nothing
 *     program NAME          only in processes that run an executable of this name
 *     thread NUMBER CPUS    the thread that was created as the NUMBER-th; 0 is the main thread
 *     others CPUS           all threads that no other line is about
 *
 * CPUS are the kernel's numbers, "3", "0-7" or "0-3,8", or "any" for all that the process may use.
 * A thread without a line, where there is no `others`, stays free, and a line on stderr says so.
 * Reading needs no memory but the caller's and is safe before main().
 */
#ifndef REUSE_PLACEMENT_FILE_H
#define REUSE_PLACEMENT_FILE_H

#include <stddef.h>
#include <stdint.h>

enum {
    PLACEMENT_CPU_MAX = 65535,
    PLACEMENT_THREAD_MAX = 10000000,
    PLACEMENT_OTHERS = -1, /* for a thread's number */
    PLACEMENT_PROGRAM_MAX = 255,
};

/* CPUs first .. last for a thread, first > last for any; a list makes several of them. */
struct placement_entry {
    int32_t thread; /* or PLACEMENT_OTHERS */
    uint32_t first, last;
};

struct placement_file {
    struct placement_entry *entries; /* the caller's, in the order of the file */
    size_t capacity;                 /* how many fit */
    size_t count;                    /* how many there are; more than capacity: not all are kept */
    char program[PLACEMENT_PROGRAM_MAX + 1]; /* empty: any */
};

/*
 * Reads a file's text. entries and capacity are set by the caller (0 to count only). Returns 0, or
 * -1 with one line in message that begins with the number of the line: "line 3: ...".
 */
int placement_file_read(const char *text, size_t size, struct placement_file *, char *message,
                        size_t message_size);

#endif
