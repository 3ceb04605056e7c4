/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* vasprintf, program_invocation_short_name */
#include "support/memory.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *or_out_of_memory(void *pointer)
{
    if (pointer == NULL) {
        fprintf(stderr, "%s: out of memory\n", program_invocation_short_name);
        exit(EXIT_FAILURE);
    }
    return pointer;
}

void *allocate_zeroed(size_t count, size_t size)
{
    return or_out_of_memory(calloc(count ? count : 1, size));
}

void *reallocate(void *pointer, size_t count, size_t size)
{
    if (size != 0 && count > SIZE_MAX / size)
        or_out_of_memory(NULL);
    return or_out_of_memory(realloc(pointer, count != 0 && size != 0 ? count * size : 1));
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
