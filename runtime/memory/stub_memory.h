/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory for code that the runtime makes: two views of it, one to write by, one to run it in, so
 * that no page of the target is ever writable and executable at once. Signal-safe.
 */
#ifndef REUSE_RUNTIME_STUB_MEMORY_H
#define REUSE_RUNTIME_STUB_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

struct stub_memory {
    unsigned char *executable; /* NULL: there is none */
    ptrdiff_t to_writable;     /* from there to the same byte in the other view, bytes */
};

/* Zeroed, whole pages. Where executable memory is forbidden there is none; that is no error. Keeps
 * errno. */
struct stub_memory stub_memory_create(size_t bytes);

/* For the child after fork(), which has neither view: memory of its own, at the same places. False
 * if there is none. */
bool stub_memory_renew(const struct stub_memory *, size_t bytes);

#endif
