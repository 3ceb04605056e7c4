/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REUSE_RUNTIME_PRELOAD_H
#define REUSE_RUNTIME_PRELOAD_H

#include <stddef.h>

/*
 * Takes this library out of LD_PRELOAD in the process's environment, so that programs that are
 * started from here run without it, whoever starts them; other libraries stay. Once at start-up.
 */
void preload_leave(void);

/* The same for a sanitizer's library that reuse-run has put before this one, for this program. */
void preload_leave_sanitizer(void);

/*
 * Where the loader of the next program would not find this library (after chroot, in another mount
 * namespace), it would say so on standard error. How many bytes an environment without it takes; 0:
 * it is found, or not preloaded. Then that environment, in so much room; NULL: the given one.
 */
size_t preload_room_without(char *const *environment);
char *const *preload_without(char *const *environment, void *room);

#endif
