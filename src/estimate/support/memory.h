/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allocation for processes that are ours alone: it succeeds, or the program ends with one line and
 * status 1, after what atexit() was told. A request for nothing gets memory too. Nothing that runs
 * in a target may call it. Freed by free(). Safe in threads, not in signal handlers.
 */
#ifndef REUSE_SUPPORT_MEMORY_H
#define REUSE_SUPPORT_MEMORY_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/*
 * For a program that allocates and frees large arrays again and again: freed pages are kept, and
 * the heap is made of huge pages where the system grants them (madvise(2)). A page that is given
 * back and faulted in anew costs as much as reading it ten times. Once, before other threads.
 */
void memory_keep(void);

/* An array of count items of size bytes. */
void *allocate(size_t count, size_t size) __attribute__((malloc, returns_nonnull));
void *allocate_zeroed(size_t count, size_t size) __attribute__((malloc, returns_nonnull));
void *reallocate(void *pointer, size_t count, size_t size) __attribute__((returns_nonnull));
/* For what else returns a pointer, NULL for want of memory. */
void *or_out_of_memory(void *pointer) __attribute__((returns_nonnull));

/* A stream into a new string, which is complete when the stream is closed; the caller frees it. */
FILE *open_text(char **text, size_t *size) __attribute__((returns_nonnull));

char *copy_string(const char *text) __attribute__((returns_nonnull));

/* printf into a new string; the caller frees it. */
char *format_string(const char *format, ...) __attribute__((format(printf, 1, 2), returns_nonnull));

/* A growable array: ARRAY(int) numbers = {0}; ARRAY_PUSH(&numbers, 7); free(numbers.items); */
#define ARRAY(type)                                                                                \
    struct {                                                                                       \
        type *items;                                                                               \
        size_t count, capacity;                                                                    \
    }

#define ARRAY_PUSH(array, value)                                                                   \
    do {                                                                                           \
        if ((array)->count == (array)->capacity) {                                                 \
            (array)->capacity = (array)->capacity ? 2 * (array)->capacity : 8;                     \
            (array)->items =                                                                       \
                reallocate((array)->items, (array)->capacity, sizeof((array)->items[0]));          \
        }                                                                                          \
        (array)->items[(array)->count++] = (value);                                                \
    } while (0)

#endif
