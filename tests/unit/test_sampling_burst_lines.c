/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines that a burst uses most, against brute force; that shares are probabilities; that two bursts
 * list the same of what they have in common. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sampling/burst_lines.h"
#include "sampling/line_mask.h"
#include "sampling/shared_use.h"
#include "support/burst_oracle.h"

enum { LINE = 64 };

/* Accesses that touch the line. */
static uint32_t brute_uses(uint64_t line)
{
    uint32_t uses = 0;

    for (uint32_t i = 0; i < oracle.count; i++)
        uses += oracle.stream[i].address < line + LINE &&
                oracle.stream[i].address + oracle.stream[i].width > line;
    return uses;
}

/* What the burst does there, access by access. */
static struct record_shared_use brute_use(uint64_t line)
{
    struct record_shared_use use = {.line = line};
    uint32_t load = 0, store = 0, last_load = 0, last_store = 0; /* first and last of a visit */

    for (uint32_t i = 0; i < oracle.count; i++) {
        const struct access *access = &oracle.stream[i];
        uint64_t mask = 0;

        for (uint64_t byte = access->address; byte < access->address + access->width; byte++)
            if (byte - line < LINE)
                mask |= line_mask(line, LINE, byte, 1);
        if (mask == 0)
            continue;
        if (access->kind == ACCESS_STORE) {
            use.written |= mask;
            if (use.stores == 0 || i >= store + LINE_VISIT_ACCESSES ||
                i > last_store + LINE_VISIT_GAP) {
                use.store_ip = use.stores ? use.store_ip : access->ip;
                use.stores++;
                store = i;
            }
            last_store = i;
        } else {
            use.read |= mask;
            if (access->read_modify_write)
                continue;
            if (use.loads == 0 || i >= load + LINE_VISIT_ACCESSES ||
                i > last_load + LINE_VISIT_GAP) {
                use.load_ip = use.loads ? use.load_ip : access->ip;
                use.loads++;
                load = i;
            }
            last_load = i;
        }
    }
    return use;
}

static void what_is_listed_is_what_the_burst_does(void **state)
{
    static struct burst_lines lines;
    struct random random;

    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        random_seed(&random, seed);
        oracle_make_stream(&random, seed % 4 ? 4096 : 50, 2 + random_below(&random, 60), true);
        oracle_feed(&random, LINE, seed % 2);
        burst_lines_find(oracle.burst, seed << 40, &lines);
        assert_true(lines.count > 0);
        for (unsigned i = 0; i < lines.count; i++) {
            const struct burst_line *line = &lines.lines[i];
            struct record_shared_use use = brute_use(line->use.line);

            assert_memory_equal(&use.read, &line->use.read, sizeof use.read);
            assert_true(use.written == line->use.written);
            assert_int_equal(use.loads, line->use.loads);
            assert_int_equal(use.stores, line->use.stores);
            assert_true(use.load_ip == line->use.load_ip && use.store_ip == line->use.store_ip);
            assert_int_equal(line->uses, brute_uses(line->use.line));
            assert_true(i == 0 || lines.lines[i - 1].rank <= line->rank);
            assert_true(line->rank < lines.next_rank);
        }
    }
}

static int compare_lines(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static uint32_t brute_line_count(void)
{
    static uint64_t lines[BRUTE_TOUCHES];
    uint32_t count = 1;

    for (uint32_t i = 0; i < oracle.touch_count; i++)
        lines[i] = oracle.touches[i].line;
    qsort(lines, oracle.touch_count, sizeof *lines, compare_lines);
    for (uint32_t i = 1; i < oracle.touch_count; i++)
        count += lines[i] != lines[i - 1];
    return count;
}

/* Each listed line stands for one over its share (Horvitz and Thompson): over many windows that
 * adds up to the lines that there are, and to their uses. */
static void shares_are_probabilities(void **state)
{
    enum { WINDOWS = 400 };
    static struct burst_lines lines;
    double count = 0, uses = 0;
    struct random random;

    (void)state;
    random_seed(&random, 3);
    oracle_make_stream(&random, 4096, 60, true);
    oracle_feed(&random, LINE, false);
    oracle_find_all(LINE);
    for (uint64_t window = 1; window <= WINDOWS; window++) {
        burst_lines_find(oracle.burst, window << SHARED_USE_WINDOW_LOG2, &lines);
        assert_int_equal(lines.count, BURST_LINES_MAX);
        for (unsigned i = 0; i < lines.count; i++) {
            double share = burst_lines_share(lines.lines[i].uses, lines.next_rank);

            assert_true(share > 0 && share <= 1);
            count += 1 / share / WINDOWS;
            uses += lines.lines[i].uses / share / WINDOWS;
        }
    }
    assert_true(count > 0.9 * brute_line_count() && count < 1.1 * brute_line_count());
    assert_true(uses > 0.97 * oracle.touch_count && uses < 1.03 * oracle.touch_count);
}

/* Of lines that two bursts use equally often both list the same, in one window; in another one
 * others. What a burst uses all the time is always listed. */
static void bursts_list_what_they_have_in_common(void **state)
{
    enum { SHARED = 500, HOT = 1 << 20 };
    static struct burst_lines first, second;
    struct random random;
    unsigned common = 0, again = 0, hot = 0;
    uint64_t seen[BURST_LINES_MAX];

    (void)state;
    random_seed(&random, 4);
    memset(seen, 0, sizeof seen);
    for (unsigned window = 0; window < 50; window++) {
        for (unsigned who = 0; who < 2; who++) {
            for (uint32_t i = 0; i < 4096; i++)
                oracle.stream[i] = (struct access){
                    .ip = 1,
                    .width = 8,
                    .kind = ACCESS_LOAD,
                    .address =
                        i % 16 == 0 ? HOT : (uint64_t)LINE * (who ? i * 7 % SHARED : i % SHARED)};
            oracle.count = 4096;
            oracle_feed(&random, LINE, false);
            burst_lines_find(oracle.burst, (uint64_t)window << SHARED_USE_WINDOW_LOG2 | who << 9,
                             who ? &second : &first);
        }
        for (unsigned i = 0; i < first.count; i++) {
            hot += first.lines[i].use.line == HOT;
            for (unsigned k = 0; k < second.count; k++)
                common += first.lines[i].use.line == second.lines[k].use.line;
            for (unsigned k = 0; k < BURST_LINES_MAX && window > 0; k++)
                again += seen[k] == first.lines[i].use.line && seen[k] != HOT;
        }
        for (unsigned i = 0; i < first.count; i++)
            seen[i] = first.lines[i].use.line;
    }
    assert_int_equal(hot, 50);
    assert_true(common > 50 * BURST_LINES_MAX * 0.9);
    assert_true(again < 50 * BURST_LINES_MAX * 0.25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_listed_is_what_the_burst_does),
        cmocka_unit_test(shares_are_probabilities),
        cmocka_unit_test(bursts_list_what_they_have_in_common),
    };

    oracle.burst = calloc(1, burst_memory_size());
    return oracle.burst == NULL ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
