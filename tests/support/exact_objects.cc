/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allocates in the ways of C and C++ and uses each object a known number of times, for tests of the
 * exact engine: the objects of its profile must have these names, sizes and counts of stores.
 */
#include <pthread.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "../../runtime/reuse.h"

enum { STORES = 10000 };

static void store(volatile long *object, int words, int count)
{
    for (int i = 0; i < count; i++)
        object[i % words] = i;
}

/* Exceptions and longjmp leave frames behind: later contexts must not show them. */
static void __attribute__((noinline)) throw_deep(int depth)
{
    if (depth == 0)
        throw std::runtime_error("deep");
    throw_deep(depth - 1);
}

static void *in_thread(void *)
{
    long *from_thread = new long[1000];
    store(from_thread, 1000, 3 * STORES);
    delete[] from_thread;
    return nullptr;
}

int main()
{
    try {
        throw_deep(10);
    } catch (const std::runtime_error &) {
    }
    long *from_malloc = static_cast<long *>(malloc(100 * sizeof(long)));
    store(from_malloc, 100, STORES);
    long *from_new = new long[5000];
    store(from_new, 5000, 2 * STORES);
    pthread_t thread;
    if (pthread_create(&thread, nullptr, in_thread, nullptr) != 0)
        return 1;
    pthread_join(thread, nullptr);

    long *grown = static_cast<long *>(malloc(64));
    store(grown, 8, STORES);
    long *regrown = static_cast<long *>(realloc(grown, 1 << 20));
    store(regrown, 1000, 4 * STORES);
    void *area = mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    store(static_cast<long *>(area), 8192, 5 * STORES);
    munmap(static_cast<char *>(area) + 4096, 4096);
    store(static_cast<long *>(area), 512, STORES);
    REUSE_NAME_OBJECT(from_new, 8 * 1000, "first thousand");
    store(from_new, 1000, 6 * STORES);
    REUSE_PAUSE();
    store(from_new + 2000, 1000, 7 * STORES);
    REUSE_RESUME();
    puts("done");
    free(regrown);
    delete[] from_new;
    return 0;
}
