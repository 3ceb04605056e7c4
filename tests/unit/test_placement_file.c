/* SPDX-License-Identifier: BSD-3-Clause */
/* The mapping file: what it may say, and that nonsense gets its line number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "placement_file.h"
#include "sampling/random.h"

enum { ENTRIES = 16 };
static struct placement_entry entries[ENTRIES];
static char message[256];

static int read_text(const char *text, struct placement_file *file)
{
    memset(entries, 0xff, sizeof entries);
    message[0] = '\0';
    *file = (struct placement_file){.entries = entries, .capacity = ENTRIES};
    return placement_file_read(text, strlen(text), file, message, sizeof message);
}

static void check_entry(size_t index, int32_t thread, uint32_t first, uint32_t last)
{
    assert_int_equal(entries[index].thread, thread);
    assert_int_equal(entries[index].first, first);
    assert_int_equal(entries[index].last, last);
}

static void everything_is_read(void **state)
{
    struct placement_file file;

    (void)state;
    assert_int_equal(read_text("# made by hand\n\nprogram my app\n"
                               "thread 0 3\n\tthread 12   0-3,8,65535 # a comment\r\n"
                               "others 4-4\nthread 1 any",
                               &file),
                     0);
    assert_string_equal(file.program, "my app");
    assert_int_equal(file.count, 6);
    check_entry(0, 0, 3, 3);
    check_entry(1, 12, 0, 3);
    check_entry(2, 12, 8, 8);
    check_entry(3, 12, 65535, 65535);
    check_entry(4, PLACEMENT_OTHERS, 4, 4);
    assert_int_equal(entries[5].thread, 1);
    assert_true(entries[5].first > entries[5].last);
}

static void counting_needs_no_memory(void **state)
{
    static const char text[] = "thread 0 1,2,3\nothers 0\n";
    struct placement_file file = {0};

    (void)state;
    assert_int_equal(placement_file_read(text, strlen(text), &file, message, sizeof message), 0);
    assert_int_equal(file.count, 4);
    assert_string_equal(file.program, "");
}

static void mistakes_are_located(void **state)
{
    static const struct {
        const char *text;
        unsigned line;
    } wrong[] = {
        {"", 1},
        {"# nothing\n", 2},
        {"thread 0 1\nthread 0 2\n", 2},
        {"others 1\n\nothers 2", 3},
        {"thread\n", 1},
        {"thread x 1\n", 1},
        {"thread 0x1 1\n", 1},
        {"thread -1 1\n", 1},
        {"thread 10000001 1\n", 1},
        {"thread 99999999999999999999 1\n", 1},
        {"thread 0\n", 1},
        {"thread 0 \n", 1},
        {"thread 0 1,\n", 1},
        {"thread 0 ,1\n", 1},
        {"thread 0 3-1\n", 1},
        {"thread 0 1-\n", 1},
        {"thread 0 1-2-3\n", 1},
        {"thread 0 65536\n", 1},
        {"thread 0 1 2\n", 1},
        {"thread 0 all\n", 1},
        {"thread 0 1;2\n", 1},
        {"others\n", 1},
        {"program\nthread 0 1\n", 1},
        {"program a\nprogram b\nthread 0 1\n", 2},
        {"program a\n", 2},
        {"Thread 0 1\n", 1},
        {"== A report ==\nthread 0 1\n", 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct placement_file file;
        char start[32];

        if (read_text(wrong[i].text, &file) != -1)
            fail_msg("accepted: %s", wrong[i].text);
        snprintf(start, sizeof start, "line %u: ", wrong[i].line);
        if (strncmp(message, start, strlen(start)) != 0)
            fail_msg("'%s' gives '%s'", wrong[i].text, message);
        assert_null(strchr(message, '\n'));
    }
}

/* Any bytes are read or refused; what is kept is in range. */
static void any_bytes_are_survived(void **state)
{
    static const char alphabet[] = "thread others any program 0123456789-,#\n \t\r";
    enum { SEED = 7, ROUNDS = 20000, LENGTH = 60 };
    struct random random;
    size_t accepted = 0;

    (void)state;
    print_message("seed %d\n", SEED);
    random_seed(&random, SEED);
    for (int round = 0; round < ROUNDS; round++) {
        char text[LENGTH];
        struct placement_file file;
        size_t at = 0;

        if (round % 2 == 0)
            at = (size_t)snprintf(text, sizeof text, "thread %u %u\n", random_below(&random, 99),
                                  random_below(&random, 99));
        for (; at + 1 < sizeof text; at++)
            text[at] = round % 3 == 0 ? (char)random_below(&random, 256)
                                      : alphabet[random_below(&random, sizeof alphabet - 1)];
        text[at] = '\0';
        if (read_text(text, &file) != 0)
            continue;
        accepted++;
        for (size_t i = 0; i < file.count && i < ENTRIES; i++) {
            assert_true(entries[i].thread >= PLACEMENT_OTHERS);
            assert_true(entries[i].thread <= PLACEMENT_THREAD_MAX);
            assert_true(entries[i].last <= PLACEMENT_CPU_MAX);
        }
    }
    assert_true(accepted > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_read),
        cmocka_unit_test(counting_needs_no_memory),
        cmocka_unit_test(mistakes_are_located),
        cmocka_unit_test(any_bytes_are_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
