/* SPDX-License-Identifier: BSD-3-Clause */
/* The order of a structure's members in which those that are used most lie together. */
#ifndef REUSE_POSTPROC_MEMBER_ORDER_H
#define REUSE_POSTPROC_MEMBER_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ordered_member {
    uint64_t size, alignment; /* bytes; alignment a power of two */
    bool hot;
    bool placed;     /* set by order_members() */
    uint64_t offset; /* bytes from the start of the structure; set by order_members() */
};

/*
 * Hot members first, largest alignment first: no padding between them if each size is a multiple of
 * its alignment. The others fill what padding there would be. Returns the size of the structure.
 */
uint64_t order_members(struct ordered_member *, size_t count);

#endif
