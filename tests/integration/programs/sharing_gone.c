/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sharing_gone FILE1 FILE2 LIBRARY1 LIBRARY2 THREADS: two threads take turns in words of two files
 * that are mapped at one address one after the other (300 and 700 rounds), in two libraries that
 * are loaded and unloaded one after the other (200 and 500 rounds), and then so many short threads
 * add to one sum. All that was shared is gone before the end.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static _Alignas(256) atomic_long turn;
static _Alignas(256) atomic_long sum;

struct player {
    volatile long *words;
    long rounds, number;
};

static void *play(void *argument)
{
    struct player *player = argument;

    for (long i = 0; i < player->rounds; i++) {
        while (atomic_load(&turn) % 2 != player->number)
            sched_yield();
        player->words[player->number]++;
        atomic_fetch_add(&turn, 1);
    }
    return NULL;
}

/* Each thread adds to a word of its own, in turns. */
static void take_turns(volatile long *words, long rounds)
{
    pthread_t threads[2];
    struct player players[2];

    for (long i = 0; i < 2; i++) {
        players[i] = (struct player){words, rounds, i};
        if (pthread_create(&threads[i], NULL, play, &players[i]))
            exit(1);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

static void *map(const char *path, void *where)
{
    int file = open(path, O_RDWR | O_CREAT, 0600);
    void *mapped;

    if (file < 0 || ftruncate(file, 4096))
        exit(1);
    mapped =
        mmap(where, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | (where ? MAP_FIXED : 0), file, 0);
    close(file);
    if (mapped == MAP_FAILED)
        exit(1);
    return mapped;
}

static void *load_and_share(const char *library, long rounds)
{
    void *handle = dlopen(library, RTLD_NOW), *words = handle ? dlsym(handle, "words") : NULL;

    if (!words)
        exit(1);
    take_turns(words, rounds);
    dlclose(handle);
    return words;
}

static void *add(void *unused)
{
    for (int i = 0; i < 100; i++)
        atomic_fetch_add(&sum, 1);
    return unused;
}

int main(int argc, char **argv)
{
    if (argc != 6)
        return 2;
    void *place = map(argv[1], NULL);

    take_turns(place, 300);
    munmap(place, 4096);
    place = map(argv[2], place);
    take_turns(place, 700);
    munmap(place, 4096);
    void *first = load_and_share(argv[3], 200), *second = load_and_share(argv[4], 500);

    int threads = atoi(argv[5]);
    pthread_t *created = calloc((size_t)threads, sizeof *created);
    for (int i = 0; i < threads; i++) {
        if (pthread_create(&created[i], NULL, add, NULL))
            return 1;
        if (i % 8 == 7)
            for (int k = i - 7; k <= i; k++)
                pthread_join(created[k], NULL);
    }
    for (int k = threads / 8 * 8; k < threads; k++)
        pthread_join(created[k], NULL);
    free(created);
    printf("%s %ld\n", first == second ? "same place" : "other place", (long)sum);
    return 0;
}
