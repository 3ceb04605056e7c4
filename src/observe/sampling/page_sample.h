/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which pages some accesses touch: all of a few, of many a sample that is uniform among the
 * distinct ones, however often each is touched (Gibbons, Distinct sampling, VLDB 2001). Pure; no
 * allocation; signal-safe. 0.5 KiB.
 */
#ifndef REUSE_SAMPLING_PAGE_SAMPLE_H
#define REUSE_SAMPLING_PAGE_SAMPLE_H

#include <stdint.h>

enum { PAGE_SAMPLE_MAX = 32, PAGE_SAMPLE_SLOTS = 2 * PAGE_SAMPLE_MAX };

struct page_sample {
    uint64_t pages[PAGE_SAMPLE_SLOTS]; /* 1 + number, by a hash of it; 0: none */
    uint64_t last;                     /* that was added, 1 + number */
    uint32_t count;
    uint32_t each; /* what a page of the sample stands for, pages; a power of two */
};

void page_sample_begin(struct page_sample *);

/* The page of that number is touched. */
void page_sample_add(struct page_sample *, uint64_t page);

/* Their numbers, ascending; returns how many. */
uint32_t page_sample_list(const struct page_sample *, uint64_t pages[PAGE_SAMPLE_MAX]);

#endif
