/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* vasprintf, program_invocation_short_name */
#include "support/memory.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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
    return pointer;
}

void *reallocate(void *pointer, size_t count, size_t size)
{
    size_t bytes = bytes_of(count, size);
    void *larger = realloc(pointer, bytes);
    if (larger == NULL)
        out_of_memory(bytes);
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
