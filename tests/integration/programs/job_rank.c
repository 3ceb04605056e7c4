/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One rank of a parallel job, for test_jobs.sh. All ranks sum a field that fits a first-level
 * cache; the rank named in the first argument also goes about a table of 64 MiB at random. The
 * second argument is the work in millions of accesses. With WITH_MPI the ranks meet at the end, as
 * those of an MPI program do.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef WITH_MPI
#include <mpi.h>
#endif

enum { FIELD = 1024, TABLE = 8 << 20 };

static uint64_t field[FIELD];
static uint64_t *table;

static uint64_t sum_field(uint64_t accesses)
{
    uint64_t sum = 0;

    for (uint64_t i = 0; i < accesses; i++)
        sum += *(volatile uint64_t *)&field[i % FIELD];
    return sum;
}

static uint64_t search_table(uint64_t accesses)
{
    uint64_t sum = 0, at = 1;

    for (uint64_t i = 0; i < accesses; i++) {
        at = at * UINT64_C(6364136223846793005) + 1442695040888963407;
        sum += *(volatile uint64_t *)&table[at >> 41];
    }
    return sum;
}

static const char *rank_of_environment(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i]))
            return getenv(names[i]);
    return "none";
}

int main(int argc, char **argv)
{
    const char *rank = rank_of_environment();
    uint64_t work = UINT64_C(1000000) * (argc > 2 ? strtoull(argv[2], NULL, 10) : 100), sum;

#ifdef WITH_MPI
    MPI_Init(&argc, &argv);
#endif
    table = malloc(TABLE * sizeof *table);
    if (!table)
        return 1;
    sum = sum_field(work);
    if (argc > 1 && strcmp(argv[1], rank) == 0) {
        memset(table, 1, TABLE * sizeof *table);
        sum += search_table(work / 4);
    }
#ifdef WITH_MPI
    uint64_t all;

    MPI_Reduce(&sum, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Finalize();
#endif
    printf("rank %s has ended\n", rank);
    return sum == 1;
}
