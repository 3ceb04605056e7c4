/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads, uses and unloads a library again and again, in two threads: target_loader LIBRARY */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#include "burn.h"

static const char *path;

static void *load_and_unload(void *argument)
{
    long *sum = argument;
    for (int i = 0; i < 200; i++) {
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) {
            printf("%s\n", dlerror());
            return NULL;
        }
        int (*work)(int);
        *(void **)&work = dlsym(library, "loaded_work");
        *sum += work != NULL ? work(i) : -1;
        if (dlclose(library) != 0)
            printf("%s\n", dlerror());
    }
    return NULL;
}

int main(int argc, char **argv)
{
    long sums[2] = {0, 0};
    pthread_t thread;
    if (argc != 2)
        return 64;
    path = argv[1];
    if (pthread_create(&thread, NULL, load_and_unload, &sums[0]) != 0)
        return 1;
    load_and_unload(&sums[1]);
    pthread_join(thread, NULL);
    burn(50);
    printf("%ld %ld\n", sums[0], sums[1]);
    return 0;
}
