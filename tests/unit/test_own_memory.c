/* SPDX-License-Identifier: BSD-3-Clause */
/* The runtime's memory functions, under other names, beside those of the C library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

void *own_memcpy(void *restrict to, const void *restrict from, size_t size);
void *own_memmove(void *to, const void *from, size_t size);
void *own_memset(void *to, int value, size_t size);
int own_memcmp(const void *left, const void *right, size_t size);
void *own_memchr(const void *memory, int wanted, size_t size);
size_t own_strlen(const char *text);
char *own_strchr(const char *text, int wanted);
char *own_strrchr(const char *text, int wanted);
int own_strncmp(const char *left, const char *right, size_t size);
int own_strcmp(const char *left, const char *right);
char *own_strncpy(char *restrict to, const char *restrict from, size_t size);
size_t own_strspn(const char *text, const char *among);
size_t own_strcspn(const char *text, const char *stops);

enum { ROOM = 4096, PLACES = 17, SIZES = 200 };

/* Every size up to SIZES, and some around those from which on other instructions are used. */
static size_t size_number(unsigned i)
{
    static const size_t large[] = {255, 256, 257, 1023, 1024, 1025, 2047, 3000};

    return i < SIZES ? i : large[i - SIZES];
}

enum { SIZE_COUNT = SIZES + 8 };

static void fill(unsigned char *memory, unsigned seed)
{
    for (unsigned i = 0; i < ROOM; i++)
        memory[i] = (unsigned char)((i * 2654435761u + seed) >> 13);
}

static void test_copies(void **state)
{
    static unsigned char from[ROOM], to[ROOM], wanted[ROOM];

    (void)state;
    fill(from, 1);
    for (unsigned i = 0; i < SIZE_COUNT; i++)
        for (unsigned at = 0; at < PLACES; at++) {
            size_t size = size_number(i);

            fill(to, 2);
            fill(wanted, 2);
            memcpy(wanted + at, from + 16 - at % 5, size);
            assert_ptr_equal(own_memcpy(to + at, from + 16 - at % 5, size), to + at);
            assert_memory_equal(to, wanted, ROOM);
        }
}

static void test_moves_within_itself(void **state)
{
    static unsigned char memory[ROOM], wanted[ROOM];

    (void)state;
    for (unsigned i = 0; i < SIZE_COUNT; i++)
        for (int by = -40; by <= 40; by++) {
            size_t size = size_number(i);

            fill(memory, 3);
            fill(wanted, 3);
            memmove(wanted + 100 + by, wanted + 100, size);
            assert_ptr_equal(own_memmove(memory + 100 + by, memory + 100, size), memory + 100 + by);
            assert_memory_equal(memory, wanted, ROOM);
        }
}

static void test_sets(void **state)
{
    static unsigned char memory[ROOM], wanted[ROOM];

    (void)state;
    for (unsigned i = 0; i < SIZE_COUNT; i++)
        for (unsigned at = 0; at < PLACES; at++) {
            size_t size = size_number(i);

            fill(memory, 4);
            fill(wanted, 4);
            memset(wanted + at, 0x1a5, size);
            assert_ptr_equal(own_memset(memory + at, 0x1a5, size), memory + at);
            assert_memory_equal(memory, wanted, ROOM);
        }
}

static int sign(int value)
{
    return (value > 0) - (value < 0);
}

static void test_compares(void **state)
{
    static unsigned char left[ROOM], right[ROOM];

    (void)state;
    fill(left, 5);
    for (size_t size = 0; size < SIZES; size++) {
        fill(right, 5);
        assert_int_equal(own_memcmp(left, right, size), 0);
        for (size_t other = 0; other < size; other++) {
            right[other] ^= 0x80;
            assert_int_equal(sign(own_memcmp(left, right, size)), sign(memcmp(left, right, size)));
            right[other] ^= 0x80;
        }
    }
}

/* All texts of up to five letters from three; the last is not in "ab". */
static void test_texts(void **state)
{
    enum { LETTERS = 3, TEXTS = 243, LENGTH = 6 };
    static char texts[TEXTS][LENGTH];

    (void)state;
    for (unsigned i = 0; i < TEXTS; i++)
        for (unsigned rest = i, at = 0; at < LENGTH - 1; at++, rest /= LETTERS)
            texts[i][at] = "\0a\xe9"[rest % LETTERS];
    for (unsigned i = 0; i < TEXTS; i++) {
        const char *text = texts[i];

        assert_int_equal(own_strlen(text), strlen(text));
        assert_int_equal(own_strspn(text, "ab"), strspn(text, "ab"));
        assert_int_equal(own_strcspn(text, "ab"), strcspn(text, "ab"));
        for (const char *wanted = "a\xe9z"; *wanted; wanted++) {
            assert_ptr_equal(own_strchr(text, *wanted), strchr(text, *wanted));
            assert_ptr_equal(own_strrchr(text, *wanted), strrchr(text, *wanted));
            assert_ptr_equal(own_memchr(text, *wanted, LENGTH), memchr(text, *wanted, LENGTH));
        }
        assert_ptr_equal(own_strchr(text, 0), strchr(text, 0));
        assert_ptr_equal(own_strrchr(text, 0), strrchr(text, 0));
        for (unsigned other = 0; other < TEXTS; other++) {
            assert_int_equal(sign(own_strcmp(text, texts[other])),
                             sign(strcmp(text, texts[other])));
            assert_int_equal(sign(own_strncmp(text, texts[other], 3)),
                             sign(strncmp(text, texts[other], 3)));
        }
        for (size_t size = 0; size <= 8; size++) {
            char to[8] = "zzzzzzz", wanted[8] = "zzzzzzz";

            own_strncpy(to, text, size);
            for (size_t at = 0; at < size; at++)
                wanted[at] = at < strlen(text) ? text[at] : '\0';
            assert_memory_equal(to, wanted, sizeof to);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies), cmocka_unit_test(test_moves_within_itself),
        cmocka_unit_test(test_sets),   cmocka_unit_test(test_compares),
        cmocka_unit_test(test_texts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Last, for what it includes forbids much, and under other names. */
#define memcpy own_memcpy
#define memmove own_memmove
#define memset own_memset
#define memcmp own_memcmp
#define memchr own_memchr
#define strlen own_strlen
#define strchr own_strchr
#define strrchr own_strrchr
#define strncmp own_strncmp
#define strcmp own_strcmp
#define strncpy own_strncpy
#define strspn own_strspn
#define strcspn own_strcspn
#include "own/memory_functions.c"
