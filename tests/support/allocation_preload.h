/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a test program can ask the library of allocation_preload.c that is preloaded into it. The
 * functions are found with dlsym().
 */
#ifndef REUSE_TESTS_ALLOCATION_PRELOAD_H
#define REUSE_TESTS_ALLOCATION_PRELOAD_H

#include <stddef.h>
#include <stdint.h>

struct allocation_test_answer {
    int kind;      /* enum object_kind */
    int allocator; /* enum allocator */
    uint64_t base, size;
    uint32_t site;
    unsigned tracked_log2; /* tracked with probability 2^-tracked_log2 */
    unsigned frame_count;
    uint64_t frames[32];                   /* innermost first: return addresses */
    uint64_t blocks, bytes, largest, peak; /* of the site */
    char name[64];
};

/* 1 if the address lies in something known, and the answer describes it. */
int allocation_test_ask(const void *address, struct allocation_test_answer *answer);

/* The same in less time: without totals, name and allocator, and of the frames the innermost. */
int allocation_test_find(const void *address, struct allocation_test_answer *answer);

int allocation_test_name(const void *pointer, size_t size, const char *name);
void allocation_test_pause(int on);
void allocation_test_watch(const void *address, int on);

/* How often the hook for releases was called, and its last arguments. */
unsigned allocation_test_released(uint64_t *base, uint64_t *size);

/* How often the hook for mappings was called, and what the last one said. */
unsigned allocation_test_mappings(int *descriptor, uint64_t *offset);

#endif
