/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists, trees and hash tables in several threads, with a preloaded library that tracks a sample of
 * their nodes (ALLOCATION_SAMPLE). Every node is then visited once, and what the library tells of
 * those that it knows, weighed, is compared with all of them, and with what it knows when it tracks
 * every block. Speaks TAP. Bounds are those that chance breaks once in a million runs.
 */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocation_preload.h"
#include "profile/format.h"

enum { THREADS = 3, LIST = 60000, TREE = 50000, ENTRIES = 50000, BUCKETS = 1 << 14 };

struct node {
    struct node *left, *right;
    uint64_t key;
    char payload[24];
};

struct structures {
    struct node *list, *tree, **buckets;
    uint64_t random;
};

static __typeof__(allocation_test_ask) *ask;
static __typeof__(allocation_test_find) *find;
static int failures, tests;

static void result(bool passed, const char *name)
{
    printf("%sok %d - %s\n", passed ? "" : "not ", ++tests, name);
    failures += !passed;
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
    return *state;
}

/* One function for each kind of node, by which they are told apart. */
#define NEW_NODE(name)                                                                             \
    __attribute__((noinline)) static struct node *name(uint64_t key)                               \
    {                                                                                              \
        struct node *volatile node = malloc(sizeof *node);                                         \
        memset(node, 0, sizeof *node);                                                             \
        node->key = key;                                                                           \
        return node;                                                                               \
    }
NEW_NODE(new_list_node)
NEW_NODE(new_tree_node)
NEW_NODE(new_entry)

__attribute__((noinline)) static struct node *insert_into_tree(struct node *tree, uint64_t key)
{
    if (tree == NULL)
        return new_tree_node(key);
    if (key < tree->key)
        tree->left = insert_into_tree(tree->left, key);
    else
        tree->right = insert_into_tree(tree->right, key);
    return tree;
}

/* All kinds in turns, with nodes that go again in between. */
static void *build(void *argument)
{
    struct structures *structures = argument;
    structures->buckets = calloc(BUCKETS, sizeof *structures->buckets);
    for (unsigned i = 0; i < LIST; i++) {
        struct node *node = new_list_node(i);
        node->left = structures->list;
        structures->list = node;
        if (i < TREE)
            structures->tree = insert_into_tree(structures->tree, next_random(&structures->random));
        if (i < ENTRIES) {
            struct node *entry = new_entry(next_random(&structures->random));
            struct node **bucket = &structures->buckets[entry->key % BUCKETS];
            entry->left = *bucket;
            *bucket = entry;
        }
        if (i % 3 == 0) { /* the oldest of a bucket goes */
            struct node **last = &structures->buckets[next_random(&structures->random) % BUCKETS];
            while (*last != NULL && (*last)->left != NULL)
                last = &(*last)->left;
            free(*last);
            *last = NULL;
        }
    }
    return NULL;
}

/* What is found at the nodes of one kind. */
struct sum {
    unsigned nodes, tracked, unknown, wrong;
    double estimate, variance;
    const struct node *one; /* a tracked one */
    uint64_t function;
};

static void visit(const struct node *node, struct sum *sum)
{
    struct allocation_test_answer answer;
    sum->nodes++;
    if (!find(node->payload, &answer)) {
        sum->unknown++;
        return;
    }
    if (answer.kind == OBJECT_HEAP_UNTRACKED)
        return;
    const double weight = ldexp(1, answer.tracked_log2);
    sum->wrong += answer.kind != OBJECT_HEAP || answer.base != (uint64_t)(uintptr_t)node ||
                  answer.size != sizeof *node || answer.frames[0] - sum->function >= 100;
    sum->tracked++;
    sum->estimate += weight;
    sum->variance += (weight - 1) * weight;
    sum->one = node;
}

static void visit_list(const struct node *list, struct sum *sum)
{
    for (; list != NULL; list = list->left)
        visit(list, sum);
}

static void visit_tree(const struct node *tree, struct sum *sum)
{
    if (tree == NULL)
        return;
    visit_tree(tree->left, sum);
    visit(tree, sum);
    visit_tree(tree->right, sum);
}

static void free_list(struct node *list)
{
    while (list != NULL) {
        struct node *next = list->left;
        free(list);
        list = next;
    }
}

static void check(const char *kind, const struct sum *sum, bool sampled)
{
    char name[100];
    printf("# %s: %u nodes, %u tracked, %.0f +- %.0f estimated, %u unknown, %u wrong\n", kind,
           sum->nodes, sum->tracked, sum->estimate, sqrt(sum->variance), sum->unknown, sum->wrong);
    snprintf(name, sizeof name, "%s: what is tracked is right", kind);
    result(sum->wrong == 0, name);
    snprintf(name, sizeof name, "%s: nodes that are not tracked are small blocks", kind);
    result(sum->unknown <= sum->nodes / 1000, name);
    snprintf(name, sizeof name, "%s: the tracked ones stand for all", kind);
    result(fabs(sum->estimate - sum->nodes) <= 5 * sqrt(sum->variance), name);
    snprintf(name, sizeof name, "%s: a sample", kind);
    result(sampled ? sum->tracked < sum->nodes / 4 : sum->tracked == sum->nodes, name);
}

int main(void)
{
    *(void **)&ask = dlsym(RTLD_DEFAULT, "allocation_test_ask");
    *(void **)&find = dlsym(RTLD_DEFAULT, "allocation_test_find");
    if (ask == NULL || find == NULL)
        return 77;
    const bool sampled = getenv("ALLOCATION_SAMPLE") != NULL;
    static struct structures structures[THREADS];
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        structures[i].random = i + 1;
        pthread_create(&threads[i], NULL, build, &structures[i]);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);

    struct sum list = {.function = (uintptr_t)new_list_node},
               tree = {.function = (uintptr_t)new_tree_node},
               entries = {.function = (uintptr_t)new_entry};
    for (unsigned i = 0; i < THREADS; i++) {
        visit_list(structures[i].list, &list);
        visit_tree(structures[i].tree, &tree);
        for (unsigned bucket = 0; bucket < BUCKETS; bucket++)
            visit_list(structures[i].buckets[bucket], &entries);
    }
    check("list", &list, sampled);
    check("tree", &tree, sampled);
    check("table", &entries, sampled);
    struct allocation_test_answer answer;
    result(ask(list.one, &answer) &&
               fabs((double)answer.blocks - THREADS * LIST) <= 5 * sqrt(list.variance),
           "totals of the list's site");

    struct sum gone = {0};
    struct node *const copies[] = {structures[0].list, structures[1].list, structures[2].list};
    for (unsigned i = 0; i < THREADS; i++)
        free_list(copies[i]);
    for (unsigned i = 0; i < 1000; i++) {
        gone.wrong += find((const char *)copies[i % THREADS] + 8, &answer) && answer.base != 0;
    }
    result(gone.wrong == 0, "released nodes are forgotten");
    printf("1..%d\n", tests);
    return failures != 0;
}
