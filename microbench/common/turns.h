/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns that threads pass to one another, so that their accesses have one order, known beforehand.
 *
 * Every thread waits for a word of its own, on a line of its own, to change; who passes the turn
 * writes it. However long the wait, the words make one RAW (the waiting thread reads the new value)
 * and one WAR (its old copy is taken away) per turn, and one WAW when the writer is not the one of
 * the time before; turns_replay() tells them to the truth.
 */
#ifndef MICROBENCH_TURNS_H
#define MICROBENCH_TURNS_H

#include <stdint.h>

#include "communication_truth.h"

enum { TURN_NONE = 0 }; /* what the words hold at first; never passed */
#define TURN_STOP UINT64_MAX

/* Each thread, once, before its first wait: returns when `threads` threads have come here. */
void turns_start(size_t thread, size_t threads);

/* Waits until the word of `thread` is not `seen` any more; returns it. */
uint64_t turn_wait(size_t thread, uint64_t seen);

/* Gives the turn to another thread; value differs from the last one that it got. */
void turn_pass(size_t to, uint64_t value);

/* The words as an object of the truth, each read once by its thread: call before any replay. */
size_t turns_object(struct communication_truth *, size_t threads);

/* What turn_pass() by `from` and turn_wait() by `to` amount to. */
void turns_replay(struct communication_truth *, size_t turns_object, size_t from, size_t to);

#endif
