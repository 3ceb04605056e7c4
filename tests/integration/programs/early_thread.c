/* SPDX-License-Identifier: BSD-3-Clause */
/* A library whose constructor creates a thread, as those of OpenBLAS do; it works on while the
 * program does. */
#include <pthread.h>

#include "burn.h"

static pthread_t thread;

static void *work(void *unused)
{
    burn(BURN_MS);
    return unused;
}

static void __attribute__((constructor)) begin(void)
{
    pthread_create(&thread, NULL, work, NULL);
}

static void __attribute__((destructor)) end(void)
{
    pthread_join(thread, NULL);
}
