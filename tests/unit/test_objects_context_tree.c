/* SPDX-License-Identifier: BSD-3-Clause */
/* The context tree: same frames, same number; every number announced with its frames; no more than
 * fit. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "objects/context_tree.h"

enum { CAPACITY = 50000 };

/* What was announced, by number. Each number is announced once, so no two threads share an element.
 */
static struct {
    uint64_t ip;
    uint32_t parent;
    _Atomic uint32_t times;
} announced[CAPACITY + 1];

static void created(void *user, uint32_t context_id, uint32_t parent_id, uint64_t ip)
{
    assert_ptr_equal(user, announced);
    announced[context_id].ip = ip;
    announced[context_id].parent = parent_id;
    atomic_fetch_add(&announced[context_id].times, 1);
}

static struct context_tree *new_tree(uint32_t capacity)
{
    for (unsigned i = 0; i <= CAPACITY; i++)
        atomic_store(&announced[i].times, 0);
    void *memory = mmap(NULL, context_tree_size(capacity), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    return context_tree_create(memory, capacity, created, announced);
}

/* Frames of the path that the digits of `path` (base 7) spell, outermost last. */
static size_t spell(unsigned path, uint64_t ips[16])
{
    size_t n = 0;
    do {
        ips[n++] = UINT64_C(0x555500000000) + path % 7 * 0x40;
        path /= 7;
    } while (path > 0);
    return n;
}

static void assert_spells(const struct context_tree *tree, uint32_t context, unsigned path)
{
    uint64_t ips[16];
    const size_t n = spell(path, ips);
    for (size_t i = 0; i < n; i++) {
        assert_int_not_equal(context, 0);
        assert_int_equal(announced[context].ip, ips[i]);
        assert_int_equal(atomic_load(&announced[context].times), 1);
        uint32_t parent;
        uint64_t ip;
        context_tree_node(tree, context, &parent, &ip);
        assert_int_equal(ip, ips[i]);
        assert_int_equal(parent, announced[context].parent);
        context = parent;
    }
    assert_int_equal(context, 0);
}

static void numbers_are_stable_and_announced(void **state)
{
    (void)state;
    struct context_tree *tree = new_tree(CAPACITY);
    static uint32_t number[20000];
    uint64_t ips[16];
    assert_int_equal(context_tree_intern(tree, ips, 0), 0);
    for (unsigned path = 0; path < 20000; path++)
        number[path] = context_tree_intern(tree, ips, spell(path, ips));
    const uint32_t count = context_tree_count(tree);
    for (unsigned path = 0; path < 20000; path++) {
        assert_int_equal(context_tree_intern(tree, ips, spell(path, ips)), number[path]);
        assert_spells(tree, number[path], path);
    }
    assert_int_equal(context_tree_count(tree), count);
    assert_int_equal(context_tree_overflows(tree), 0);
}

static void full_tree_says_so(void **state)
{
    (void)state;
    struct context_tree *tree = new_tree(100);
    for (uint64_t i = 1; i <= 100; i++)
        assert_int_equal(context_tree_child(tree, 0, i * 16), i);
    assert_int_equal(context_tree_child(tree, 0, 16 * 101), 0);
    assert_int_equal(context_tree_intern(tree, (uint64_t[]){1, 2, 16}, 3), 0);
    assert_int_equal(context_tree_overflows(tree), 2);
    assert_int_equal(context_tree_child(tree, 0, 16 * 100), 100);
    assert_int_equal(context_tree_count(tree), 100);
}

enum { THREADS = 4, PATHS = 6000 };
static uint32_t numbers[THREADS][PATHS];
static struct context_tree *shared_tree;

static void *intern_all(void *argument)
{
    uint32_t *mine = argument;
    uint64_t ips[16];
    for (unsigned path = 0; path < PATHS; path++)
        mine[path] = context_tree_intern(shared_tree, ips, spell(path, ips));
    return NULL;
}

static void threads_agree(void **state)
{
    (void)state;
    shared_tree = new_tree(CAPACITY);
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, intern_all, numbers[i]), 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (unsigned path = 0; path < PATHS; path++) {
        for (unsigned i = 0; i < THREADS; i++)
            assert_int_equal(numbers[i][path], numbers[0][path]);
        assert_spells(shared_tree, numbers[0][path], path);
    }
}

/* A signal handler may intern the very pair whose creation it interrupts. */
static void interrupted_creation(void *user, uint32_t context_id, uint32_t parent_id, uint64_t ip)
{
    struct context_tree **tree = user;
    if (context_id == 1)
        assert_int_equal(context_tree_child(*tree, parent_id, ip), 2);
}

static void creation_can_be_interrupted(void **state)
{
    (void)state;
    struct context_tree *tree = NULL;
    void *memory = mmap(NULL, context_tree_size(10), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    tree = context_tree_create(memory, 10, interrupted_creation, &tree);
    assert_int_equal(context_tree_child(tree, 0, 0x1000), 2);
    assert_int_equal(context_tree_child(tree, 0, 0x1000), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_stable_and_announced),
        cmocka_unit_test(full_tree_says_so),
        cmocka_unit_test(threads_agree),
        cmocka_unit_test(creation_can_be_interrupted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
