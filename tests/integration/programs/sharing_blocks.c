/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two threads take turns at a block that is then freed, and at another one in the same place (both
 * addresses are printed): 200 and 600 transfers. Then at a variable of one structure: false sharing
 * between its members.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

struct state {
    long ready;
    long done[3];
};

static struct state state __attribute__((aligned(64)));
static long *volatile block __attribute__((aligned(64)));
static struct {
    int value;
    char rest[60];
} turn __attribute__((aligned(64)));

static void wait_for(int mine)
{
    while (__atomic_load_n(&turn.value, __ATOMIC_ACQUIRE) != mine)
        sched_yield();
}

static void pass_on(int mine)
{
    __atomic_store_n(&turn.value, 1 - mine, __ATOMIC_RELEASE);
}

/* In its turn, each thread stores to the block; the last turn is thread 1's. */
static void take_turns(int mine, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        wait_for(mine);
        __atomic_store_n(&block[3], i, __ATOMIC_RELAXED);
        pass_on(mine);
    }
}

static void store_members(int mine, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        wait_for(mine);
        if (mine == 0)
            __atomic_store_n(&state.ready, i, __ATOMIC_RELAXED);
        else
            __atomic_store_n(&state.done[1], i, __ATOMIC_RELAXED);
        pass_on(mine);
    }
}

static void *other(void *argument)
{
    take_turns(1, 100);
    take_turns(1, 300);
    store_members(1, 1500);
    return argument;
}

int main(void)
{
    pthread_t thread;
    long *first_block = malloc(256);
    block = first_block;
    (void)printf("%p\n", (void *)first_block);
    if (first_block == NULL || pthread_create(&thread, NULL, other, NULL) != 0)
        return 1;
    take_turns(0, 100);
    wait_for(0);
    free(first_block);
    long *second_block = malloc(256);
    if (second_block == NULL)
        return 1;
    block = second_block;
    (void)printf("%p\n", (void *)second_block);
    take_turns(0, 300);
    store_members(0, 1500);
    pthread_join(thread, NULL);
    free(second_block);
    return 0;
}
