/* SPDX-License-Identifier: BSD-3-Clause */
/* main() and a thread hand data to each other and make few accesses. A third thread makes most and
 * shares nothing; a fourth does nothing. */
#include <pthread.h>
#include <stddef.h>

enum { ROUNDS = 200, WORDS = 64, BUSY = 20000000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static int whose_turn;
static long data[WORDS];
static volatile long counter;

static void *hand_over(void *argument)
{
    int me = argument != NULL;

    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&lock);
        while (whose_turn != me)
            pthread_cond_wait(&moved, &lock);
        for (int k = 0; k < WORDS; k++)
            data[k]++;
        whose_turn = !me;
        pthread_cond_signal(&moved);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void *be_busy(void *argument)
{
    for (int i = 0; i < BUSY; i++)
        counter++;
    return argument;
}

static void *be_idle(void *argument)
{
    return argument;
}

int main(void)
{
    pthread_t threads[3];

    pthread_create(&threads[0], NULL, be_busy, NULL);
    pthread_create(&threads[1], NULL, be_idle, NULL);
    pthread_create(&threads[2], NULL, hand_over, NULL);
    hand_over(&lock);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
