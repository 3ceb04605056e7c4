/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Damaged and foreign files: truncation at every byte, flipped bits, random changes, files that are
 * no profile at all. The reader gives what was whole before the damage, or one line that says what
 * to do.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "profile/schema.h"
#include "sampling/random.h"
#include "support/profile_builder.h"
#include "support/profile_mutator.h"

static char path[] = "/tmp/reuse-damage-XXXXXX";
static unsigned char *original; /* a file with every type of record */
static size_t original_size;
static char message[512];

static struct profile *parse(const void *data, size_t size)
{
    message[0] = '\0';
    return profile_parse(data, size, "x.rprof", message, sizeof(message));
}

static size_t record_count(const struct profile *profile)
{
    return profile->run.count / 2 + profile->caches.count + profile->modules.count +
           profile->module_ends.count + profile->mappings.count + profile->threads.count +
           profile->thread_ends.count + profile->contexts.count + profile->sites.count +
           profile->site_totals.count + profile->bursts.count + profile->samples.count +
           profile->watch_ends.count + profile->invalidations.count + profile->line_watches.count +
           profile->line_events.count + profile->line_ends.count + profile->turns.count +
           profile->shared_mappings.count + profile->shared_uses.count +
           profile->process_transfers.count + profile->served.count + profile->progress.count +
           profile->totals.count + profile->notes.count + profile->histograms.count +
           profile->transfers.count + profile->regions.count + profile->origins.count +
           profile->counters.count + profile->steps.count + profile->timed_loads.count +
           profile->complete;
}

/* Whole records within size bytes, by the layout alone; the schema does not count. */
static size_t whole_records(const unsigned char *data, size_t size, size_t *end)
{
    size_t count = 0;
    *end = sizeof(struct profile_file_header);
    for (;;) {
        struct record_header header;
        if (size - *end < sizeof(header))
            return count;
        memcpy(&header, data + *end, sizeof(header));
        if (size - *end - sizeof(header) < header.length)
            return count;
        *end += sizeof(header) + header.length;
        count += header.type != RECORD_SCHEMA;
    }
}

static void test_truncation_at_every_byte(void **state)
{
    (void)state;
    for (size_t size = 0; size <= original_size; size++) {
        /* An allocation of exactly this size, so that tools see a read beyond it. */
        unsigned char *copy = malloc(size ? size : 1);
        memcpy(copy, original, size);
        struct profile *profile = parse(copy, size);
        if (size < sizeof(struct profile_file_header)) {
            assert_null(profile);
            assert_non_null(strstr(message, "x.rprof"));
        } else {
            size_t end;
            size_t expected = whole_records(copy, size, &end);
            assert_non_null(profile);
            assert_int_equal(record_count(profile), expected);
            assert_int_equal(profile->dropped_bytes, size - end);
            assert_int_equal(profile->complete, size == original_size);
            assert_int_equal(profile->lost_records, 0);
        }
        profile_free(profile);
        free(copy);
    }
}

/* Any single flipped bit in a record is found: what follows it is dropped, what precedes it stays.
 */
static void test_every_flipped_bit_is_found(void **state)
{
    (void)state;
    size_t first = sizeof(struct profile_file_header);
    first += sizeof(struct record_header) + ((profile_schema_size + 7) & ~(size_t)7);
    unsigned char *copy = malloc(original_size);
    memcpy(copy, original, original_size);
    for (size_t bit = 8 * first; bit < 8 * original_size; bit++) {
        copy[bit / 8] ^= (unsigned char)(1u << bit % 8);
        size_t end;
        size_t expected = whole_records(original, bit / 8, &end);
        struct profile *profile = parse(copy, original_size);
        assert_non_null(profile);
        assert_int_equal(record_count(profile), expected);
        assert_int_equal(profile->dropped_bytes, original_size - end);
        profile_free(profile);
        copy[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    free(copy);
}

static void test_lost_records_are_counted(void **state)
{
    (void)state;
    size_t end;
    size_t second;
    /* Cuts the third and fourth record after the schema out of the file. */
    size_t schema = sizeof(struct record_header) + ((profile_schema_size + 7) & ~(size_t)7);
    size_t cut = sizeof(struct profile_file_header) + schema;
    struct record_header header;
    for (int i = 0; i < 2; i++) {
        memcpy(&header, original + cut, sizeof(header));
        cut += sizeof(header) + header.length;
    }
    second = cut;
    for (int i = 0; i < 2; i++) {
        memcpy(&header, original + second, sizeof(header));
        second += sizeof(header) + header.length;
    }
    unsigned char *copy = malloc(original_size);
    memcpy(copy, original, cut);
    memcpy(copy + cut, original + second, original_size - second);
    struct profile *profile = parse(copy, original_size - (second - cut));
    assert_non_null(profile);
    assert_int_equal(profile->lost_records, 2);
    assert_int_equal(record_count(profile), whole_records(original, original_size, &end) - 2);
    assert_true(profile->complete);
    profile_free(profile);
    free(copy);
}

/* Random changes, half of them with checksums put right again so that they get past the first
 * gate. It is enough that nothing crashes and that the guarantees of reader.h hold. */
static void test_random_changes(void **state)
{
    (void)state;
    struct random random;
    uint64_t seed = (uint64_t)getpid();
    print_message("seed %llu\n", (unsigned long long)seed);
    random_seed(&random, seed);
    for (int i = 0; i < 3000; i++) {
        size_t size;
        unsigned char *copy = mutate_profile(&random, original, original_size, &size);
        profile_mutator_check(copy, size);
        free(copy);
    }
}

static void expect_message(const void *data, size_t size, const char *text)
{
    struct profile *profile = parse(data, size);
    assert_null(profile);
    if (!strstr(message, text))
        fail_msg("'%s' does not say '%s'", message, text);
    assert_non_null(strstr(message, "'x.rprof'"));
    assert_null(strchr(message, '\n'));
}

static void test_messages_for_foreign_bytes(void **state)
{
    (void)state;
    expect_message("", 0, "is empty");
    expect_message("#!/bin/sh\nexit 0\n", 17, "is not a libreuse profile (no RPROF signature)");
    expect_message("a", 1, "is not a libreuse profile (no RPROF signature)");
    expect_message("\x89RPROF\n\n0123456789abcdef", 24, "text mode");
    expect_message(original, 10, "cut short within its header");

    struct profile_file_header header;
    memcpy(&header, original, sizeof(header));
    header.version_major = 5;
    expect_message(&header, sizeof(header),
                   "was written by a newer libreuse (format 5, this one reads 4): update "
                   "reuse-report");
    header.version_major = 1;
    expect_message(&header, sizeof(header),
                   "was written by an older libreuse (format 1, this one reads 4): profile the "
                   "program again, or use the reuse-report of that version");
    memcpy(&header, original, sizeof(header));
    header.byte_order = 0x04030201;
    expect_message(&header, sizeof(header), "other byte order");
    header.byte_order = 0x01020305;
    expect_message(&header, sizeof(header), "damaged header");
    memcpy(&header, original, sizeof(header));
    header.version_major = 0;
    expect_message(&header, sizeof(header), "damaged header");
    memcpy(&header, original, sizeof(header));
    header.header_size = 1000;
    expect_message(&header, sizeof(header), "damaged header");
    header.header_size = 8;
    expect_message(&header, sizeof(header), "damaged header");
}

/* A newer minor version may have a longer header and records that nobody knows here. */
static void test_newer_minor_version_is_read(void **state)
{
    (void)state;
    size_t old = sizeof(struct profile_file_header);
    unsigned char *copy = calloc(1, original_size + 16);
    struct profile_file_header header;
    memcpy(&header, original, sizeof(header));
    header.version_minor = 7;
    header.header_size = (uint32_t)old + 16;
    memcpy(copy, &header, sizeof(header));
    memcpy(copy + old + 16, original + old, original_size - old);
    struct profile *profile = parse(copy, original_size + 16);
    assert_non_null(profile);
    assert_true(profile->complete);
    profile_free(profile);
    free(copy);
}

static void expect_load_failure(const char *name, const char *text)
{
    struct profile *profile = profile_load(name, message, sizeof(message));
    assert_null(profile);
    if (!strstr(message, text))
        fail_msg("'%s' does not say '%s'", message, text);
    assert_null(strchr(message, '\n'));
}

static void test_messages_for_files(void **state)
{
    (void)state;
    expect_load_failure("/nonexistent/x.rprof", "No such file or directory; check the name");
    expect_load_failure("/", "Is a directory; name a profile in it");
    expect_load_failure("/dev/null", "is empty");
    if (geteuid() != 0) {
        assert_int_equal(chmod(path, 0), 0);
        expect_load_failure(path, "Permission denied; ask its owner");
        assert_int_equal(chmod(path, 0600), 0);
    }
    /* A buffer that is too small is cut, not overrun. */
    char small[8] = "1234567";
    assert_null(profile_load("/nonexistent/x.rprof", small, sizeof(small)));
    assert_string_equal(small, "cannot ");
}

static int make_original(void **state)
{
    (void)state;
    int descriptor = mkstemp(path);
    if (descriptor < 0 || close(descriptor) != 0)
        return 1;
    write_every_record(path);
    original = read_whole_file(path, &original_size);
    return original == NULL;
}

static int remove_original(void **state)
{
    (void)state;
    free(original);
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_truncation_at_every_byte),
        cmocka_unit_test(test_every_flipped_bit_is_found),
        cmocka_unit_test(test_lost_records_are_counted),
        cmocka_unit_test(test_random_changes),
        cmocka_unit_test(test_messages_for_foreign_bytes),
        cmocka_unit_test(test_newer_minor_version_is_read),
        cmocka_unit_test(test_messages_for_files),
    };
    return cmocka_run_group_tests(tests, make_original, remove_original);
}
