/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether the thread pointer is the C library's. A program may set another one (on x86 the base of
 * FS) while it runs code that has a notion of its own of what lies there, as emulators do. Our
 * variables of threads, errno with them, are not there then: a handler that touched them would read
 * and write the program's memory, or none. Signal-safe.
 */
#ifndef REUSE_RUNTIME_THREAD_POINTER_H
#define REUSE_RUNTIME_THREAD_POINTER_H

#include <stdbool.h>
#include <stdint.h>

/* Once at start-up, in the thread that may have events before others have. */
void thread_pointer_begin(void);

/* The calling thread's is one of the C library's until it leaves. */
void thread_pointer_enter(void);
void thread_pointer_leave(void);

/* Touches no variable of the thread's. */
bool thread_pointer_is_known(void);

/* An event of ours came where it is not known, and was not looked at. Touches none, either. */
void thread_pointer_event_lost(void);
uint64_t thread_pointer_events_lost(void);

#endif
