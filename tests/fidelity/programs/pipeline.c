/* SPDX-License-Identifier: BSD-3-Clause */
/* Producer and consumers: one thread makes blocks of text, two count its words in tables of their
 * own. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

enum { CONSUMERS = 2, QUEUE = 8, BLOCK = 64 * 1024, BLOCKS = 4500, WORDS = 1 << 16 };

struct block {
    size_t length;
    char text[BLOCK];
};

static struct block *queue[QUEUE];
static size_t queued;
static int finished;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static struct block *make_block(uint64_t *state)
{
    struct block *block = malloc(sizeof *block);

    if (!block)
        exit(1);
    for (block->length = 0; block->length + 16 < BLOCK;) {
        /* The smaller of two: some words are frequent. */
        uint64_t a = random_below(state, 40000), b = random_below(state, 40000);
        uint64_t word = a < b ? a : b;
        do {
            block->text[block->length++] = (char)('a' + word % 26);
            word /= 26;
        } while (word);
        block->text[block->length++] = ' ';
    }
    return block;
}

static void push(struct block *block)
{
    pthread_mutex_lock(&lock);
    while (queued == QUEUE)
        pthread_cond_wait(&changed, &lock);
    if (block)
        queue[queued++] = block;
    else
        finished = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static struct block *pop(void)
{
    struct block *block = NULL;

    pthread_mutex_lock(&lock);
    while (queued == 0 && !finished)
        pthread_cond_wait(&changed, &lock);
    if (queued)
        block = queue[--queued];
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return block;
}

static void *consume(void *counts)
{
    uint32_t *table = counts;

    for (struct block *block; (block = pop()); free(block)) {
        uint64_t hash = 0;
        for (size_t i = 0; i < block->length; i++) {
            if (block->text[i] == ' ') {
                table[hash * 0x9e3779b97f4a7c15u >> 48]++;
                hash = 0;
            } else {
                hash = hash * 131 + (unsigned char)block->text[i];
            }
        }
    }
    return NULL;
}

int main(void)
{
    pthread_t consumers[CONSUMERS];
    static uint32_t counts[CONSUMERS][WORDS];
    uint64_t state = 123456789, sum = 0;

    for (int i = 0; i < CONSUMERS; i++) {
        if (pthread_create(&consumers[i], NULL, consume, counts[i]))
            return 1;
    }
    for (int i = 0; i < BLOCKS; i++)
        push(make_block(&state));
    push(NULL);
    for (int i = 0; i < CONSUMERS; i++)
        pthread_join(consumers[i], NULL);
    for (int i = 0; i < WORDS; i++)
        sum += (uint64_t)(counts[0][i] + counts[1][i]) * (uint64_t)i;
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
