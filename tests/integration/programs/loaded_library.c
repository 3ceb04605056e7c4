/* SPDX-License-Identifier: BSD-3-Clause */
/* What target_loader loads: a little work on data of the library's own, the thread's own at that,
 * which unloading gives back. */
int loaded_work(int);

static __thread volatile int numbers[16384];

int loaded_work(int seed)
{
    int sum = 0;
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 16384; i++)
            numbers[i] = seed + i % 7;
        for (int i = 0; i < 16384; i++)
            sum += numbers[i];
    }
    return sum / 16384;
}
