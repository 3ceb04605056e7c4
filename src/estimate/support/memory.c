/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* vasprintf, program_invocation_short_name */
#include "support/memory.h"

#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    HUGE_PAGE = 2 << 20,
    HEAP_STEP = 32 << 20,       /* by which the heap grows, so that it is seldom asked for */
    LARGE_BLOCK = HUGE_PAGE / 8 /* smaller ones do not ask whether it grew */
};

/* Where the part of the heap ends that is asked to be of huge pages; 0: not wanted. Two threads
 * that see it grow ask twice. */
static _Atomic uintptr_t huge_end;

static void out_of_memory(size_t bytes) __attribute__((noreturn));

static void out_of_memory(size_t bytes)
{
    fprintf(stderr, "%s: out of memory", program_invocation_short_name);
    if (bytes >> 20 != 0)
        fprintf(stderr, ": no room for %zu MiB more", bytes >> 20);
    fprintf(stderr, "; use a machine with more, fewer profiles at once, or a shorter run\n");
    exit(EXIT_FAILURE);
}

void *or_out_of_memory(void *pointer)
{
    if (pointer == NULL)
        out_of_memory(0);
    return pointer;
}

/* Bytes of an array; those that cannot be counted are not there either. */
static size_t bytes_of(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        out_of_memory(SIZE_MAX);
    return bytes != 0 ? bytes : 1;
}

void memory_keep(void)
{
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, -1);
    mallopt(M_TOP_PAD, HEAP_STEP);
    huge_end = ((uintptr_t)sbrk(0) + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
}

/* Asks for huge pages where the heap has grown. An answer of no is none to the caller. */
static void ask_for_huge_pages(void)
{
    uintptr_t end = (uintptr_t)sbrk(0), asked = huge_end, first = asked / HUGE_PAGE * HUGE_PAGE;

    if (asked == 0 || end <= asked)
        return;
    huge_end = end;
    madvise((void *)first, end - first, MADV_HUGEPAGE);
}

void *allocate(size_t count, size_t size)
{
    return reallocate(NULL, count, size);
}

void *allocate_zeroed(size_t count, size_t size)
{
    size_t bytes = bytes_of(count, size);
    void *pointer = calloc(bytes, 1);
    if (pointer == NULL)
        out_of_memory(bytes);
    if (bytes >= LARGE_BLOCK)
        ask_for_huge_pages();
    return pointer;
}

void *reallocate(void *pointer, size_t count, size_t size)
{
    size_t bytes = bytes_of(count, size);
    void *larger = realloc(pointer, bytes);
    if (larger == NULL)
        out_of_memory(bytes);
    if (bytes >= LARGE_BLOCK)
        ask_for_huge_pages();
    return larger;
}

FILE *open_text(char **text, size_t *size)
{
    *text = NULL;
    *size = 0;
    return or_out_of_memory(open_memstream(text, size));
}

char *copy_string(const char *text)
{
    return or_out_of_memory(strdup(text));
}

char *format_string(const char *format, ...)
{
    va_list arguments;
    char *text = NULL;

    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    return or_out_of_memory(text);
}
