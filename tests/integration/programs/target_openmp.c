/* SPDX-License-Identifier: BSD-3-Clause */
/* OpenMP: loops, reductions, tasks and nested teams; the result does not depend on the schedule.
 *     target_openmp [ROUNDS]      of two loops; 60 */
#include <stdio.h>
#include <stdlib.h>

static long tasks(long n)
{
    long left, right;
    if (n < 12)
        return n < 2 ? n : tasks(n - 1) + tasks(n - 2);
#pragma omp task shared(left)
    left = tasks(n - 1);
#pragma omp task shared(right)
    right = tasks(n - 2);
#pragma omp taskwait
    return left + right;
}

int main(int argc, char **argv)
{
    enum { N = 1 << 19 };
    int rounds = argc > 1 ? atoi(argv[1]) : 60;
    int *numbers = malloc(N * sizeof *numbers);
    long sum = 0, result = 0, teams = 0;
    if (numbers == NULL)
        return 1;
    for (int round = 0; round < rounds; round++) {
#pragma omp parallel for schedule(dynamic, 4096) num_threads(4)
        for (int i = 0; i < N; i++)
            numbers[i] = i % 1000 + round;
#pragma omp parallel for reduction(+ : sum) num_threads(3)
        for (int i = 0; i < N; i++)
            sum += numbers[i];
    }
#pragma omp parallel num_threads(4)
#pragma omp single
    result = tasks(24);
#pragma omp parallel num_threads(2) reduction(+ : teams)
    {
#pragma omp parallel num_threads(2) reduction(+ : teams)
        teams++;
    }
    printf("%ld %ld %d\n", sum, result, teams > 0);
    free(numbers);
    return 0;
}
