/* SPDX-License-Identifier: BSD-3-Clause */
/* See guest_memory.h. */
#include "config.h"

#include "guest_memory.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

uint64_t guest_memory_base(void)
{
    /* A variable of QEMU's, exported with all its symbols; absent means the default of zero. */
    const uint64_t *base = dlsym(RTLD_DEFAULT, "guest_base");
    return base != NULL ? *base : 0;
}

bool guest_memory_read(uint64_t address, void *into, size_t size)
{
    struct iovec here = {into, size}, there = {(void *)(address + guest_memory_base()), size};
    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)size;
}

bool guest_memory_text(uint64_t address, char *text, size_t size)
{
    size_t length = 0;
    /* Byte by byte: it may end just before memory that cannot be read. */
    while (length + 1 < size && guest_memory_read(address + length, &text[length], 1) &&
           text[length] != '\0')
        length++;
    bool any = length > 0 || guest_memory_read(address, text, 1);
    text[length] = '\0';
    return any;
}

bool guest_memory_mapping(uint64_t address, uint64_t *low, uint64_t *high)
{
    uint64_t base = guest_memory_base(), start, end;
    FILE *maps = fopen("/proc/self/maps", "re");
    bool found = false;
    if (maps == NULL)
        return false;
    while (!found && fscanf(maps, "%" SCNx64 "-%" SCNx64 "%*[^\n]\n", &start, &end) == 2) {
        found = start <= address + base && address + base < end;
        *low = start - base;
        *high = end - base;
    }
    fclose(maps);
    return found;
}
