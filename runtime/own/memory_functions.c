/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signal-safe. The C library's functions on memory and text, for this library alone: hidden. The
 * target, a sanitizer of its own or another preloaded library may define them, and what is called
 * by name finds theirs; compilers call the first four by themselves.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "signal_safe.h"

/* A loop that copies is not to be compiled into a call of the function that it is in. */
#if defined(__clang__)
#define LOOPS_STAY __attribute__((no_builtin))
#else
#define LOOPS_STAY __attribute__((optimize("no-tree-loop-distribute-patterns")))
#endif

typedef uint64_t __attribute__((may_alias, aligned(1))) unaligned_word;

LOOPS_STAY static void copy_up(unsigned char *to, const unsigned char *from, size_t size)
{
    for (; size >= 8; size -= 8, to += 8, from += 8)
        *(unaligned_word *)to = *(const unaligned_word *)from;
    for (; size > 0; size--)
        *to++ = *from++;
}

LOOPS_STAY static void copy_down(unsigned char *to, const unsigned char *from, size_t size)
{
    for (; size >= 8; size -= 8)
        *(unaligned_word *)(to + size - 8) = *(const unaligned_word *)(from + size - 8);
    for (; size > 0; size--)
        to[size - 1] = from[size - 1];
}

LOOPS_STAY void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
#if defined(__x86_64__)
    enum { WORTH_A_STRING_INSTRUCTION = 256 };

    if (size >= WORTH_A_STRING_INSTRUCTION) {
        void *end = to;

        __asm__ volatile("rep movsb" : "+D"(end), "+S"(from), "+c"(size) : : "memory");
        return to;
    }
#endif
    copy_up(to, from, size);
    return to;
}

LOOPS_STAY void *memmove(void *to, const void *from, size_t size)
{
    if ((uintptr_t)to - (uintptr_t)from >= size)
        copy_up(to, from, size);
    else
        copy_down(to, from, size);
    return to;
}

LOOPS_STAY void *memset(void *to, int value, size_t size)
{
#if defined(__x86_64__)
    void *end = to;

    __asm__ volatile("rep stosb" : "+D"(end), "+c"(size) : "a"(value) : "memory");
#else
    unsigned char *at = to;
    uint64_t word = (unsigned char)value * UINT64_C(0x0101010101010101);

    for (; size >= 8; size -= 8, at += 8)
        *(unaligned_word *)at = word;
    for (; size > 0; size--)
        *at++ = (unsigned char)value;
#endif
    return to;
}

LOOPS_STAY int memcmp(const void *left, const void *right, size_t size)
{
    const unsigned char *a = left, *b = right;

    for (; size >= 8 && *(const unaligned_word *)a == *(const unaligned_word *)b;
         size -= 8, a += 8, b += 8)
        ;
    for (; size > 0; size--, a++, b++)
        if (*a != *b)
            return *a - *b;
    return 0;
}

LOOPS_STAY void *memchr(const void *memory, int wanted, size_t size)
{
    const unsigned char *at = memory;

    for (; size > 0; size--, at++)
        if (*at == (unsigned char)wanted)
            return (void *)(uintptr_t)at;
    return NULL;
}

LOOPS_STAY size_t strlen(const char *text)
{
    size_t length = 0;

    while (text[length])
        length++;
    return length;
}

LOOPS_STAY char *strchr(const char *text, int wanted)
{
    for (;; text++) {
        if (*text == (char)wanted)
            return (char *)(uintptr_t)text;
        if (!*text)
            return NULL;
    }
}

LOOPS_STAY char *strrchr(const char *text, int wanted)
{
    char *last = NULL;

    for (;; text++) {
        if (*text == (char)wanted)
            last = (char *)(uintptr_t)text;
        if (!*text)
            return last;
    }
}

LOOPS_STAY int strncmp(const char *left, const char *right, size_t size)
{
    for (; size > 0; size--, left++, right++)
        if (*left != *right || !*left)
            return (unsigned char)*left - (unsigned char)*right;
    return 0;
}

LOOPS_STAY int strcmp(const char *left, const char *right)
{
    while (*left && *left == *right)
        left++, right++;
    return (unsigned char)*left - (unsigned char)*right;
}

LOOPS_STAY char *strncpy(char *restrict to, const char *restrict from, size_t size)
{
    size_t i = 0;

    for (; i < size && from[i]; i++)
        to[i] = from[i];
    for (; i < size; i++)
        to[i] = '\0';
    return to;
}

LOOPS_STAY size_t strspn(const char *text, const char *among)
{
    size_t n = 0;

    while (text[n] && strchr(among, text[n]))
        n++;
    return n;
}

LOOPS_STAY size_t strcspn(const char *text, const char *stops)
{
    size_t n = 0;

    while (text[n] && !strchr(stops, text[n]))
        n++;
    return n;
}
