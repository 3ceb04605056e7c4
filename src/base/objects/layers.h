/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocks lie over each other: allocators keep theirs in mappings, programs keep objects that they
 * name in blocks. Each layer has a map of its own (block_map.h); a lookup asks them in this order.
 */
#ifndef REUSE_OBJECTS_LAYERS_H
#define REUSE_OBJECTS_LAYERS_H

enum object_layer {
    LAYER_PART = 0,    /* parts of blocks, or of anything else, named through the API */
    LAYER_HEAP = 1,    /* what the allocator handed out */
    LAYER_MAPPING = 2, /* pages from mmap */
    LAYER_COUNT
};

#endif
