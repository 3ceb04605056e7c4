/* SPDX-License-Identifier: BSD-3-Clause */
/* See object_key.h. */
#include "objects/object_key.h"
#include "path_name.h"

#include <stddef.h>
#include <string.h>

static uint64_t add_bytes(uint64_t key, const void *bytes, size_t n)
{
    const unsigned char *byte = bytes;

    for (size_t i = 0; i < n; i++)
        key = (key ^ byte[i]) * UINT64_C(0x100000001b3);
    return key;
}

uint64_t object_key_begin(uint32_t kind)
{
    return add_bytes(UINT64_C(0xcbf29ce484222325), &kind, sizeof kind);
}

uint64_t object_key_text(uint64_t key, const char *text)
{
    return add_bytes(key, text, strlen(text) + 1);
}

uint64_t object_key_address(uint64_t key, const char *module_path, uint64_t offset)
{
    key = object_key_text(key, path_name(module_path));
    return add_bytes(key, &offset, sizeof offset);
}

uint32_t object_key_end(uint64_t key)
{
    return (uint32_t)(key ^ key >> 32);
}
