/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dense matrix transposed vector multiplication as in Breiter's sector-cache study (LMU Munich
 * 2022): the program whose misses with and without isolation are published. Static arrays, so that
 * each is an object without help from an allocator.
 */
enum { ROWS = 500, COLUMNS = 5000 };

static double m[ROWS * COLUMNS] __attribute__((aligned(256)));
static double b[ROWS] __attribute__((aligned(256)));
static double x[COLUMNS] __attribute__((aligned(256)));

__attribute__((noinline)) static void init(void)
{
    for (int i = 0; i < ROWS * COLUMNS; i++)
        m[i] = i;
    for (int i = 0; i < ROWS; i++)
        b[i] = i;
    for (int j = 0; j < COLUMNS; j++)
        x[j] = 0;
}

__attribute__((noinline)) static void dmtvm(void)
{
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            x[j] += m[i * COLUMNS + j] * b[i];
}

int main(void)
{
    init();
    dmtvm();
    return x[3] < 0;
}
