/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which pages of the process a store would have to fetch first: what the kernel says of them in
 * /proc/self/pagemap (Documentation/admin-guide/mm/pagemap.rst). One descriptor of a process is
 * kept for it, from the first question on. Signal-safe and thread-safe.
 */
#ifndef REUSE_RUNTIME_PAGE_MAP_H
#define REUSE_RUNTIME_PAGE_MAP_H

#include <stddef.h>
#include <stdint.h>

/*
 * How many page faults stores to n pages (of settings.page_size; their numbers, ascending) would
 * take now: of pages that are not there, that read as zeros and have no memory yet, or that are
 * copied when they are written to. Where the kernel hands out huge pages unasked, those of an empty
 * one take one fault together. 0 as well where the kernel does not tell.
 */
uint32_t page_map_store_faults(const uint64_t *pages, uint32_t n);

/* How many pages of that memory are there, by mincore(2), which does without the kernel's look at
 * each page; 0 as well where the kernel does not tell of pages. */
uint32_t page_map_present(const void *memory, size_t bytes);

/* In the child, which has another map. */
void page_map_after_fork(void);

#endif
