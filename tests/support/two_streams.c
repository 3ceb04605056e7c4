/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two arrays stream by two tables that are swept again and again: only a sector for both streams,
 * or for both tables, keeps the tables. With lines of 256 bytes each round misses 2048 lines of
 * `left` and as many of `right`, which are larger than any cache that is asked about; the tables
 * have 80 each.
 */
#include <stdint.h>
#include <stdio.h>

enum { ROUNDS = 10, STREAM = 2048 * 256 / 8, TABLE = 80 * 256 / 8 };

/* Not static, or the compiler would know what they hold. */
_Alignas(256) double left[STREAM], right[STREAM], sums[TABLE], products[TABLE];

__attribute__((noinline)) static void sweep(void)
{
    for (uint32_t i = 0; i < STREAM; i++) {
        sums[i % TABLE] += left[i] + right[i];
        products[i % TABLE] += left[i] * right[i];
    }
}

int main(void)
{
    for (int round = 0; round < ROUNDS; round++)
        sweep();
    return printf("%g %g\n", sums[0], products[0]) < 0;
}
