/* SPDX-License-Identifier: BSD-3-Clause */
#include "heap_remedy.h"

#include <string.h>

static const char no_block[] =
    "huge pages can be tried for heap blocks alone, named by the MODULE+0xADDRESS that the report "
    "prints; for others the source must call madvise(MADV_HUGEPAGE)";
static const char no_place[] =
    "only heap blocks can be aligned from outside, named by the MODULE+0xADDRESS that the report "
    "prints; globals and what is on stacks need alignas in the source";

static int digit_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    if (digit >= 'a' && digit <= 'f')
        return digit - 'a' + 10;
    return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : 16;
}

/* The whole text from `at` to `end` as a number of that base, at most 16 digits. */
static bool read_number(const char *at, const char *end, int base, uint64_t *value)
{
    if (at == end || end - at > 16)
        return false;
    for (*value = 0; at < end; at++) {
        int digit = digit_value(*at);

        if (digit >= base)
            return false;
        *value = *value * (uint64_t)base + (uint64_t)digit;
    }
    return true;
}

/* The last "+0x" before `end`: names of files may have others. */
static const char *find_address(const char *text, const char *end)
{
    for (const char *at = end - 3; at > text; at--)
        if (memcmp(at, "+0x", 3) == 0)
            return at;
    return NULL;
}

/* The part of the text behind a verb that it begins with; NULL: it begins with another. */
static const char *behind(const char *text, const char *end, const char *verb)
{
    const size_t length = strlen(verb);

    return (size_t)(end - text) >= length && memcmp(text, verb, length) == 0 ? text + length : NULL;
}

static bool read_place(const char *text, const char *end, struct heap_remedy *remedy)
{
    const char *plus = end - text > 3 ? find_address(text, end) : NULL;

    if (plus == NULL || memchr(text, '/', (size_t)(plus - text)) != NULL ||
        plus - text > HEAP_REMEDY_MODULE_MAX || !read_number(plus + 3, end, 16, &remedy->address))
        return false;
    memcpy(remedy->module, text, (size_t)(plus - text));
    remedy->module[plus - text] = '\0';
    return true;
}

static const char *read_alignment(const char *text, const char *end, struct heap_remedy *remedy)
{
    const char *equals = NULL;
    uint64_t alignment;

    for (const char *at = text; at < end; at++)
        if (*at == '=')
            equals = at;
    if (equals == NULL)
        return "=BYTES is missing: the alignment, such as =64";
    if (!read_number(equals + 1, end, 10, &alignment) || alignment < HEAP_REMEDY_ALIGNMENT_MIN ||
        alignment > HEAP_REMEDY_ALIGNMENT_MAX || (alignment & (alignment - 1)) != 0)
        return "the alignment behind = must be a power of two from 16 to 4096 bytes";
    remedy->alignment = (uint32_t)alignment;
    remedy->huge_pages = false;
    return read_place(text, equals, remedy) ? NULL : no_place;
}

static const char *read_one(const char *text, const char *end, struct heap_remedy *remedy)
{
    const char *rest = behind(text, end, "align:");

    if (rest != NULL)
        return read_alignment(rest, end, remedy);
    rest = behind(text, end, "hugepages:");
    if (rest == NULL)
        return "what can be tried is align:MODULE+0xADDRESS=BYTES and "
               "hugepages:MODULE+0xADDRESS, which the report prints";
    remedy->alignment = HEAP_REMEDY_HUGE_PAGE;
    remedy->huge_pages = true;
    return read_place(rest, end, remedy) ? NULL : no_block;
}

const char *heap_remedies_read(const char *text, struct heap_remedies *remedies)
{
    remedies->count = 0;
    for (;;) {
        const char *end = text + strcspn(text, ","), *wrong;

        if (remedies->count == HEAP_REMEDY_MAX)
            return "at most 16 places can be tried at once";
        wrong = read_one(text, end, &remedies->items[remedies->count]);
        if (wrong != NULL)
            return wrong;
        remedies->count++;
        if (*end == '\0')
            return NULL;
        text = end + 1;
    }
}
