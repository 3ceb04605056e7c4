/* SPDX-License-Identifier: BSD-3-Clause */
/* A database's hash join: threads insert one table's rows into shared chains, then probe with the
 * other's. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "random.h"

enum { THREADS = 3, BUCKETS = 1 << 18, BUILD = 450 * 1000, PROBES = 75 * 1000 * 1000 };

struct row {
    struct row *next;
    uint64_t key, payload;
};

static _Atomic(struct row *) buckets[BUCKETS];
static struct row *rows;
static pthread_barrier_t built;
static _Atomic uint64_t total;

static size_t bucket_of(uint64_t key)
{
    return (size_t)(key * 0x9e3779b97f4a7c15u >> 46) % BUCKETS;
}

static void *work(void *number)
{
    size_t thread = (size_t)number;
    uint64_t state = 88172645463325252u + thread * 77, sum = 0;

    for (size_t i = thread; i < BUILD; i += THREADS) {
        struct row *row = &rows[i];
        _Atomic(struct row *) *bucket = &buckets[bucket_of(i)];
        row->key = i;
        row->payload = i * 3;
        row->next = atomic_load(bucket);
        while (!atomic_compare_exchange_weak(bucket, &row->next, row))
            ;
    }
    pthread_barrier_wait(&built);
    for (size_t i = 0; i < PROBES / THREADS; i++) {
        /* Half of the probes go to a twentieth of the keys. */
        uint64_t key = random_below(&state, i % 2 ? BUILD / 20 : 2 * BUILD);
        for (const struct row *row =
                 atomic_load_explicit(&buckets[bucket_of(key)], memory_order_relaxed);
             row; row = row->next) {
            if (row->key == key) {
                sum += row->payload;
                break;
            }
        }
    }
    atomic_fetch_add(&total, sum);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];

    rows = malloc(BUILD * sizeof *rows);
    if (!rows || pthread_barrier_init(&built, NULL, THREADS))
        return 1;
    for (size_t i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, work, (void *)i))
            return 1;
    }
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%llu\n", (unsigned long long)total);
    free(rows);
    return 0;
}
