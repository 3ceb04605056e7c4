/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allocates in every way there is and asks the preloaded library of allocation_preload.c what it
 * knows of it. Speaks TAP. Run without the library it exits with 77.
 */
#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "allocation_preload.h"
#include "profile/format.h"

static __typeof__(allocation_test_ask) *ask;
static __typeof__(allocation_test_name) *name_object;
static __typeof__(allocation_test_pause) *pause_tracking;
static __typeof__(allocation_test_watch) *watch;
static __typeof__(allocation_test_released) *released;
static __typeof__(allocation_test_mappings) *mappings;

static int failures, tests;
static bool passing;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("# line %d: %s\n", __LINE__, #condition);                                       \
            passing = false;                                                                       \
        }                                                                                          \
    } while (0)

/* Keeps the compiler from leaving out allocations, and from tail calls. */
static __thread void *volatile keep;
#define KEPT(call)                                                                                 \
    ({                                                                                             \
        keep = (call);                                                                             \
        __asm__ volatile("" ::: "memory");                                                         \
        keep;                                                                                      \
    })

/* Whether an address lies in the code that starts at `function`; all of them are shorter. */
static bool is_in(uint64_t address, void *(*function)(size_t))
{
    return address - (uint64_t)(uintptr_t)function < 200;
}

/* One caller for each function of the family. */
#define CALLER(caller, call)                                                                       \
    __attribute__((noinline)) static void *caller(size_t size)                                     \
    {                                                                                              \
        return KEPT(call);                                                                         \
    }

static void *by_posix_memalign(size_t size);

CALLER(by_malloc, malloc(size))
CALLER(by_calloc, calloc(size / 10, 10))
CALLER(by_realloc, realloc(NULL, size))
CALLER(by_reallocarray, reallocarray(NULL, size / 10, 10))
CALLER(by_memalign, memalign(64, size))
CALLER(by_aligned_alloc, aligned_alloc(64, size))
CALLER(by_valloc, valloc(size))
CALLER(by_pvalloc, pvalloc(size))

__attribute__((noinline)) static void *by_posix_memalign(size_t size)
{
    void *pointer = NULL;
    if (posix_memalign(&pointer, 256, size) != 0)
        return NULL;
    return KEPT(pointer);
}

__attribute__((noinline)) static void *outer(void *(*function)(size_t), size_t size)
{
    return KEPT(function(size));
}

static void every_function(void)
{
    static const struct {
        void *(*function)(size_t);
        int allocator;
        size_t alignment;
    } family[] = {
        {by_malloc, ALLOCATOR_MALLOC, 16},
        {by_calloc, ALLOCATOR_CALLOC, 16},
        {by_realloc, ALLOCATOR_REALLOC, 16},
        {by_reallocarray, ALLOCATOR_REALLOC, 16},
        {by_memalign, ALLOCATOR_MEMALIGN, 64},
        {by_aligned_alloc, ALLOCATOR_ALIGNED_ALLOC, 64},
        {by_valloc, ALLOCATOR_VALLOC, 4096},
        {by_pvalloc, ALLOCATOR_PVALLOC, 4096},
        {by_posix_memalign, ALLOCATOR_POSIX_MEMALIGN, 256},
    };
    static const size_t sizes[] = {10, 100, 4000, 10000, 1000000, 50000000};
    /* jemalloc has no pvalloc, and does not know the blocks of the C library's. */
    const bool no_pvalloc = getenv("NO_PVALLOC") != NULL;
    for (unsigned f = 0; f < sizeof family / sizeof family[0]; f++) {
        if (no_pvalloc && family[f].function == by_pvalloc)
            continue;
        for (unsigned s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            struct allocation_test_answer answer;
            errno = 4711;
            char *block = outer(family[f].function, sizes[s]);
            CHECK(errno == 4711);
            CHECK(block != NULL);
            CHECK((uintptr_t)block % family[f].alignment == 0);
            CHECK(malloc_usable_size(block) >= sizes[s]);
            for (size_t offset = 0; offset < sizes[s]; offset += sizes[s] / 3) {
                CHECK(ask(block + offset, &answer));
                CHECK(answer.kind == OBJECT_HEAP);
                CHECK(answer.base == (uint64_t)(uintptr_t)block);
                CHECK(answer.size == sizes[s]);
                CHECK(answer.allocator == family[f].allocator);
                CHECK(is_in(answer.frames[0], family[f].function));
                CHECK(answer.frame_count >= 4);
                CHECK(answer.frames[1] - (uint64_t)(uintptr_t)outer < 200);
            }
            CHECK(answer.blocks == s + 1);
            CHECK(answer.largest == sizes[s]);
            memset(block, 1, sizes[s]);
            errno = 4711;
            free(block);
            CHECK(errno == 4711);
            CHECK(!ask(block, &answer) || answer.base == 0);
        }
    }
}

static void failures_change_nothing(void)
{
    struct allocation_test_answer answer;
    const volatile size_t too_much = (size_t)-1 / 2;
    void *pointer = &failures;
    errno = 0;
    CHECK(outer(by_malloc, too_much) == NULL && errno == ENOMEM);
    CHECK(KEPT(calloc(too_much, 16)) == NULL); /* not every allocator sets errno, here and below */
    errno = 0;
    CHECK(KEPT(reallocarray(NULL, too_much, 16)) == NULL && errno == ENOMEM);
    CHECK(posix_memalign(&pointer, 3, 10) == EINVAL && pointer == &failures);
    char *block = outer(by_malloc, 100);
    strcpy(block, "contents");
    CHECK(KEPT(realloc(block, too_much)) == NULL);
    CHECK(strcmp(block, "contents") == 0);
    CHECK(ask(block, &answer) && answer.size == 100 && answer.allocator == ALLOCATOR_MALLOC);
    free(block);
    free(NULL);
    errno = 0;
    CHECK(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, -1, 0) == MAP_FAILED && errno == EBADF);
    CHECK(munmap((void *)4097, 4096) == -1 && errno == EINVAL);
    CHECK(munmap((void *)4096, 0) == -1);
}

static void realloc_is_a_new_block(void)
{
    struct allocation_test_answer answer;
    char *block = outer(by_malloc, 1000);
    char *blocker = outer(by_malloc, 1000);
    strcpy(block, "contents");
    char *grown = KEPT(realloc(block, 300000));
    CHECK(grown != block && strcmp(grown, "contents") == 0);
    CHECK(ask(grown + 299999, &answer) && answer.base == (uint64_t)(uintptr_t)grown);
    CHECK(answer.allocator == ALLOCATOR_REALLOC && answer.size == 300000);
    CHECK(!ask(block, &answer) || answer.base != (uint64_t)(uintptr_t)block);
    char *shrunk = KEPT(realloc(grown, 64));
    CHECK(ask(shrunk, &answer) && answer.size == 64 && answer.allocator == ALLOCATOR_REALLOC);
    CHECK(!ask(shrunk + 64, &answer) || answer.base != (uint64_t)(uintptr_t)shrunk);
    CHECK(KEPT(realloc(shrunk, 0)) == NULL);
    CHECK(!ask(shrunk, &answer) || answer.base == 0);
    free(blocker);
}

__attribute__((noinline)) static void *map(void *address, size_t length, int flags, int descriptor)
{
    return KEPT(mmap(address, length, PROT_READ | PROT_WRITE, flags, descriptor, 4096));
}

static void mappings_and_their_parts(void)
{
    struct allocation_test_answer answer;
    const int anonymous = MAP_PRIVATE | MAP_ANONYMOUS;
    errno = 4711;
    char *pages = map(NULL, 10 * 4096 - 5, anonymous, -1);
    CHECK(errno == 4711);
    CHECK(ask(pages + 10 * 4096 - 1, &answer) && answer.kind == OBJECT_MAPPING);
    CHECK(answer.base == (uint64_t)(uintptr_t)pages && answer.size == 10 * 4096);
    CHECK(answer.frames[0] - (uint64_t)(uintptr_t)map < 200);
    CHECK(answer.allocator == ALLOCATOR_MMAP);
    const uint32_t site = answer.site;
    CHECK(munmap(pages + 3 * 4096, 2 * 4096) == 0);
    CHECK(ask(pages + 3 * 4096 - 1, &answer) && answer.size == 3 * 4096 && answer.site == site);
    CHECK(!ask(pages + 3 * 4096, &answer) && !ask(pages + 5 * 4096 - 1, &answer));
    CHECK(ask(pages + 5 * 4096, &answer) && answer.size == 5 * 4096 && answer.site == site);
    CHECK(answer.base == (uint64_t)(uintptr_t)pages + 5 * 4096);
    CHECK(map(pages + 7 * 4096, 4096, anonymous | MAP_FIXED, -1) == pages + 7 * 4096);
    CHECK(ask(pages + 6 * 4096, &answer) && answer.size == 2 * 4096);
    CHECK(ask(pages + 7 * 4096, &answer) && answer.size == 4096);
    CHECK(ask(pages + 8 * 4096, &answer) && answer.size == 2 * 4096);
    char *moved = KEPT(mremap(pages, 3 * 4096, 100 * 4096, MREMAP_MAYMOVE));
    CHECK(moved != MAP_FAILED && moved != pages);
    CHECK(!ask(pages, &answer));
    CHECK(ask(moved + 99 * 4096, &answer) && answer.size == 100 * 4096);
    CHECK(answer.allocator == ALLOCATOR_MREMAP);
    munmap(moved, 100 * 4096);
    munmap(pages, 10 * 4096);
    CHECK(!ask(moved, &answer));
    for (unsigned i = 0; i < 10; i++)
        CHECK(!ask(pages + i * 4096, &answer));

    char file[] = "/tmp/allocation-XXXXXX";
    const int descriptor = mkstemp(file);
    int seen_descriptor;
    uint64_t seen_offset;
    CHECK(ftruncate(descriptor, 100000) == 0);
    pages = map(NULL, 8192, MAP_SHARED, descriptor);
    CHECK(mappings(&seen_descriptor, &seen_offset) > 0);
    CHECK(seen_descriptor == descriptor && seen_offset == 4096);
    munmap(pages, 8192);
    close(descriptor);
    unlink(file);

    /* Reserving a lot of address space is cheap. */
    pages = mmap(NULL, (size_t)100 << 30, PROT_NONE, anonymous | MAP_NORESERVE, -1, 0);
    if (pages != MAP_FAILED) {
        CHECK(ask(pages + ((size_t)77 << 30), &answer) && answer.size == (size_t)100 << 30);
        munmap(pages, (size_t)100 << 30);
        CHECK(!ask(pages + ((size_t)77 << 30), &answer));
    }
}

static void names(void)
{
    static double global[1000];
    struct allocation_test_answer answer;
    char *block = outer(by_malloc, 5000);
    CHECK(name_object(block, 5000, "matrix"));
    CHECK(ask(block + 4999, &answer) && answer.kind == OBJECT_NAMED && answer.size == 5000);
    CHECK(strcmp(answer.name, "matrix") == 0 && answer.allocator == ALLOCATOR_API);
    free(block);
    CHECK(!ask(block, &answer) || answer.kind == OBJECT_HEAP_UNTRACKED);
    block = outer(by_malloc, 5000);
    CHECK(ask(block, &answer) && answer.kind == OBJECT_HEAP && answer.name[0] == '\0');
    CHECK(name_object(block + 1000, 2000, "row"));
    CHECK(ask(block + 999, &answer) && answer.kind == OBJECT_HEAP);
    CHECK(ask(block + 2999, &answer) && answer.kind == OBJECT_NAMED);
    CHECK(answer.base == (uint64_t)(uintptr_t)block + 1000 && answer.size == 2000);
    CHECK(ask(block + 3000, &answer) && answer.kind == OBJECT_HEAP);
    free(block);
    CHECK(!ask(block + 1500, &answer) || answer.kind == OBJECT_HEAP_UNTRACKED);
    CHECK(name_object(global + 1, sizeof global - 8, "global"));
    CHECK(ask(&global[999], &answer) && answer.kind == OBJECT_NAMED);
    CHECK(strcmp(answer.name, "global") == 0);
    CHECK(!ask(&global[0], &answer));
    CHECK(name_object(global + 1, 0, ""));
    CHECK(!ask(&global[999], &answer));
    char *pages = map(NULL, 8192, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    CHECK(name_object(pages, 8000, "pages"));
    CHECK(ask(pages + 8191, &answer) && answer.kind == OBJECT_NAMED);
    munmap(pages, 8192);
    CHECK(!ask(pages, &answer));
}

static void watched_releases(void)
{
    uint64_t base, size;
    char *blocks[3] = {outer(by_malloc, 100), outer(by_malloc, 100), outer(by_malloc, 1000000)};
    CHECK(released(&base, &size) == 0);
    watch(blocks[0] + 50, 1);
    watch(blocks[2] + 500000, 1);
    free(blocks[2]);
    CHECK(released(&base, &size) == 1);
    CHECK(base == (uint64_t)(uintptr_t)blocks[2] && size == 1000000);
    watch(blocks[2] + 500000, 0);
    /* The allocator hands it out again: what watches it goes on. */
    free(blocks[0]);
    CHECK(released(&base, &size) == 1);
    watch(blocks[0] + 50, 0);
    free(blocks[1]);
    CHECK(released(&base, &size) == 1);
    char *pages = map(NULL, 8192, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    watch(pages + 4096, 1);
    munmap(pages + 4096, 4096);
    CHECK(released(&base, &size) == 2 && base == (uint64_t)(uintptr_t)pages + 4096);
    watch(pages + 4096, 0);
    munmap(pages, 4096);
    CHECK(released(&base, &size) == 2);
}

static void pauses(void)
{
    struct allocation_test_answer answer;
    char *before = outer(by_malloc, 100);
    pause_tracking(1);
    char *during = outer(by_malloc, 100);
    CHECK(!ask(during, &answer) || answer.kind == OBJECT_HEAP_UNTRACKED);
    CHECK(ask(before, &answer) && answer.kind == OBJECT_HEAP);
    free(before);
    CHECK(!ask(before, &answer) || answer.kind == OBJECT_HEAP_UNTRACKED);
    pause_tracking(0);
    free(during);
    char *after = outer(by_malloc, 100);
    CHECK(ask(after, &answer) && answer.kind == OBJECT_HEAP);
    free(after);
}

__attribute__((noinline)) static void *counted(size_t size)
{
    return KEPT(malloc(size));
}

static void totals(void)
{
    static void *blocks[1000];
    struct allocation_test_answer answer;
    for (unsigned i = 0; i < 1000; i++)
        blocks[i] = counted(100 + i % 2);
    CHECK(ask(blocks[0], &answer));
    CHECK(answer.blocks == 1000 && answer.bytes == 100500 && answer.largest == 101);
    CHECK(answer.peak == 100500);
    for (unsigned i = 1; i < 1000; i++)
        free(blocks[i]);
    CHECK(ask(blocks[0], &answer));
    CHECK(answer.blocks == 1000 && answer.bytes == 100500);
    CHECK(answer.peak >= 100500 - 16384 && answer.peak <= 100500);
    free(blocks[0]);
}

/* Recursion: deeper than contexts are, and each level its own context while it is not. */
__attribute__((noinline)) static void *recurse(unsigned depth, size_t size)
{
    return depth == 0 ? KEPT(malloc(size)) : KEPT(recurse(depth - 1, size));
}

static void recursion(void)
{
    struct allocation_test_answer answer, again;
    for (unsigned depth = 0; depth < 100; depth++) {
        void *block = recurse(depth, 40);
        void *other = NULL;
        CHECK(ask(block, &answer));
        for (unsigned i = 1; i < answer.frame_count && i < depth; i++)
            CHECK(answer.frames[i] - (uint64_t)(uintptr_t)recurse < 200);
        if (depth >= 32)
            CHECK(answer.frame_count == 32);
        for (unsigned i = 0; i < 2; i++) {
            free(other);
            other = recurse(depth, 40);
            CHECK(ask(other, &again));
            /* Frames within this function differ by the call's place, all below must not. */
            CHECK(again.frame_count == answer.frame_count);
            CHECK(memcmp(again.frames, answer.frames, (depth < 32 ? depth : 32) * 8) == 0);
        }
        free(block);
        free(other);
    }
}

/* Alternating callers at one stack depth: a cache that trusts too much would mix them up. */
__attribute__((noinline)) static void *left(size_t size)
{
    return KEPT(counted(size));
}

__attribute__((noinline)) static void *right(size_t size)
{
    return KEPT(counted(size));
}

__attribute__((noinline)) static void *either(unsigned way, size_t size)
{
    return way == 0 ? KEPT(left(size)) : KEPT(right(size));
}

static void alternating_callers(void)
{
    struct allocation_test_answer answer;
    unsigned state = 1;
    for (unsigned i = 0; i < 20000; i++) {
        state = state * 1664525 + 1013904223;
        const unsigned way = state >> 31;
        void *block = either(way, 24);
        CHECK(ask(block, &answer));
        CHECK(is_in(answer.frames[0], counted));
        CHECK(is_in(answer.frames[1], way == 0 ? left : right));
        free(block);
        if (!passing)
            return;
    }
}

/* The same with frames of varying size, which leave old return addresses everywhere on the stack.
 */
__attribute__((noinline)) static void *variable(size_t bytes)
{
    char *volatile memory = alloca(bytes);
    void *block = counted(24);
    memory[bytes / 2] = 1;
    return KEPT(block);
}

__attribute__((noinline)) static void *variable_left(size_t bytes)
{
    return KEPT(variable(bytes));
}

__attribute__((noinline)) static void *variable_right(size_t bytes)
{
    return KEPT(variable(bytes));
}

static void varying_frames(void)
{
    struct allocation_test_answer answer;
    unsigned state = 1;
    for (unsigned i = 0; i < 50000; i++) {
        state = state * 1664525 + 1013904223;
        const unsigned way = state >> 31;
        const size_t bytes = 16 + (state >> 20 & 15) * 8;
        void *block = way == 0 ? variable_left(bytes) : variable_right(bytes);
        CHECK(ask(block, &answer));
        CHECK(is_in(answer.frames[1], variable));
        CHECK(is_in(answer.frames[2], way == 0 ? variable_left : variable_right));
        free(block);
        if (!passing)
            return;
    }
}

/* Threads: everyone finds exactly his own blocks, also those that another thread frees. */
enum { THREADS = 200, BLOCKS = 50, ROUNDS = 20 };
static void *exchange[BLOCKS]; /* swapped by several threads */

static void *thread_main(void *argument)
{
    unsigned state = (unsigned)(uintptr_t)argument * 2654435761u + 1;
    bool good = true;
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < BLOCKS; i++) {
            struct allocation_test_answer answer;
            state = state * 1664525 + 1013904223;
            const size_t size = 1 + (state >> 16) % (state >> 30 == 0 ? 20000 : 200);
            char *block = outer(by_malloc, size);
            memset(block, 7, size);
            if (i % 16 == 0)
                good &= ask(block + size - 1, &answer) &&
                        answer.base == (uint64_t)(uintptr_t)block && answer.size == size &&
                        is_in(answer.frames[0], by_malloc);
            free(__atomic_exchange_n(&exchange[i], block, __ATOMIC_ACQ_REL));
        }
    }
    return (void *)(uintptr_t)good;
}

static void threads(void)
{
    static pthread_t thread[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
        CHECK(pthread_create(&thread[i], NULL, thread_main, (void *)(uintptr_t)i) == 0);
    for (unsigned i = 0; i < THREADS; i++) {
        void *good;
        pthread_join(thread[i], &good);
        CHECK(good != NULL);
    }
    for (unsigned i = 0; i < BLOCKS; i++)
        free(exchange[i]);
}

static void children(void)
{
    static void *blocks[10];
    struct allocation_test_answer answer;
    for (unsigned i = 0; i < 10; i++)
        blocks[i] = counted(3000);
    const pid_t child = fork();
    if (child == 0) {
        bool good = ask(blocks[3], &answer) && answer.size == 3000 && answer.blocks == 0 &&
                    answer.peak >= 30000;
        for (unsigned i = 0; i < 10; i++)
            free(blocks[i]);
        good = good && (!ask(blocks[3] + 2000, &answer) || answer.base == 0);
        void *block = counted(500);
        good = good && ask(block, &answer) && answer.blocks == 1 && answer.bytes == 500;
        _exit(good ? 0 : 1);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(ask(blocks[3], &answer) && answer.blocks >= 10);
    for (unsigned i = 0; i < 10; i++)
        free(blocks[i]);
}

static void run(const char *name, void (*test)(void))
{
    passing = true;
    test();
    printf("%s %d - %s\n", passing ? "ok" : "not ok", ++tests, name);
    fflush(stdout);
    failures += !passing;
}

int main(void)
{
    *(void **)&ask = dlsym(RTLD_DEFAULT, "allocation_test_ask");
    *(void **)&name_object = dlsym(RTLD_DEFAULT, "allocation_test_name");
    *(void **)&pause_tracking = dlsym(RTLD_DEFAULT, "allocation_test_pause");
    *(void **)&watch = dlsym(RTLD_DEFAULT, "allocation_test_watch");
    *(void **)&released = dlsym(RTLD_DEFAULT, "allocation_test_released");
    *(void **)&mappings = dlsym(RTLD_DEFAULT, "allocation_test_mappings");
    if (ask == NULL)
        return 77;
    static char buffer[4096];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    printf("1..13\n");
    run("watched releases are reported", watched_releases);
    run("every function: block, site and context", every_function);
    run("failing calls change nothing", failures_change_nothing);
    run("realloc makes a new block", realloc_is_a_new_block);
    run("mappings, parts of them, moves, files", mappings_and_their_parts);
    run("names", names);
    run("pause and resume", pauses);
    run("totals of a site", totals);
    run("contexts of recursive callers", recursion);
    run("contexts of alternating callers", alternating_callers);
    run("contexts through frames of varying size", varying_frames);
    run("200 threads", threads);
    run("child of a fork", children);
    return failures != 0;
}
