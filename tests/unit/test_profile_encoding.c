/* SPDX-License-Identifier: BSD-3-Clause */
/* Checksums against the published values, and the histogram's bins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "profile/checksum.h"
#include "profile/histogram_bin.h"
#include "profile/reader.h"
#include "sampling/random.h"

typedef uint32_t checksum_function(uint32_t, const void *, size_t);

/* RFC 3720, appendix B.4; and the check value of the CRC catalogue for "123456789". */
static void check_published_values(checksum_function *crc32c)
{
    unsigned char data[32];
    assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
    assert_int_equal(crc32c(0, "", 0), 0);
    memset(data, 0, sizeof(data));
    assert_int_equal(crc32c(0, data, sizeof(data)), 0x8a9136aa);
    memset(data, 0xff, sizeof(data));
    assert_int_equal(crc32c(0, data, sizeof(data)), 0x62a8ab43);
    for (unsigned i = 0; i < sizeof(data); i++)
        data[i] = (unsigned char)i;
    assert_int_equal(crc32c(0, data, sizeof(data)), 0x46dd794e);
    for (unsigned i = 0; i < sizeof(data); i++)
        data[i] = (unsigned char)(31 - i);
    assert_int_equal(crc32c(0, data, sizeof(data)), 0x113fdb5c);
}

static void test_checksum_published_values(void **state)
{
    (void)state;
    check_published_values(checksum_crc32c);
    check_published_values(checksum_crc32c_portable);
}

static void test_checksum_in_pieces_and_both_ways(void **state)
{
    (void)state;
    unsigned char data[300];
    struct random random;
    uint64_t seed = (uint64_t)getpid();
    print_message("seed %llu\n", (unsigned long long)seed);
    random_seed(&random, seed);
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (unsigned char)random_next(&random);
    for (size_t start = 0; start < 9; start++) {
        for (size_t size = 0; size <= sizeof(data) - start; size++) {
            uint32_t whole = checksum_crc32c(0, data + start, size);
            size_t cut = random_below(&random, (uint32_t)size + 1);
            uint32_t pieces = checksum_crc32c(checksum_crc32c(0, data + start, cut),
                                              data + start + cut, size - cut);
            assert_int_equal(whole, checksum_crc32c_portable(0, data + start, size));
            assert_int_equal(whole, pieces);
        }
    }
}

static void test_bins_cover_every_value(void **state)
{
    (void)state;
    for (uint32_t bin = 0; bin < HISTOGRAM_BIN_COUNT; bin++) {
        uint64_t low = histogram_bin_low(bin);
        uint64_t next = histogram_bin_low(bin + 1);
        assert_true(low < next);
        assert_int_equal(histogram_bin_of(low), bin);
        assert_int_equal(histogram_bin_of(next - 1), bin);
        assert_int_equal(histogram_bin_of(low + (next - low) / 2), bin);
        /* One value, or at most 1/64 of the lowest one wide. */
        assert_true(next - low == 1 || (next - low) * 64 <= low);
    }
}

static void test_bin_edges(void **state)
{
    (void)state;
    assert_int_equal(histogram_bin_of(0), 0);
    assert_int_equal(histogram_bin_of(127), 127);
    assert_int_equal(histogram_bin_of(128), 128);
    assert_int_equal(histogram_bin_of(129), 128);
    assert_int_equal(histogram_bin_of(130), 129);
    assert_int_equal(histogram_bin_of(255), 191);
    assert_int_equal(histogram_bin_of(256), 192);
    assert_int_equal(histogram_bin_of(INT64_MAX), HISTOGRAM_BIN_COUNT - 1);
    assert_int_equal(histogram_bin_of(UINT64_MAX), HISTOGRAM_BIN_COUNT - 1);
    assert_true(histogram_bin_low(HISTOGRAM_BIN_COUNT) == (uint64_t)1 << 63);
    assert_true(histogram_bin_low(UINT32_MAX) == (uint64_t)1 << 63);
    assert_int_equal(histogram_bin_low(0), 0);
    assert_int_equal(histogram_bin_low(192), 256);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_checksum_published_values),
        cmocka_unit_test(test_checksum_in_pieces_and_both_ways),
        cmocka_unit_test(test_bins_cover_every_value),
        cmocka_unit_test(test_bin_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
