/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that goes back to the kernel and is had again, or is kept: page_faults KIND TURNS.
 * again: given back after each turn; keep: kept; heap: a block of malloc() in each turn.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, BYTES = 16 << 20 };

__attribute__((noinline)) static long touch(char *memory, long turn)
{
    for (size_t i = 0; i < BYTES; i += PAGE)
        memory[i] += (char)turn; /* mark: touch */
    return memory[BYTES / 2];
}

__attribute__((noinline)) static long in_new_block(long turn)
{
    char *block = malloc(BYTES);
    long value;

    if (block == NULL)
        return 0;
    memset(block, (int)turn, BYTES); /* mark: block */
    value = block[turn];
    free(block);
    return value;
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "keep";
    long turns = argc > 2 ? atol(argv[2]) : 10, sum = 0;
    char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return 1;
    /* A page each: huge ones would come in one fault. */
    madvise(memory, BYTES, MADV_NOHUGEPAGE);
    for (long turn = 0; turn < turns; turn++) {
        if (strcmp(kind, "heap") == 0)
            sum += in_new_block(turn);
        else
            sum += touch(memory, turn);
        if (strcmp(kind, "again") == 0)
            madvise(memory, BYTES, MADV_DONTNEED);
    }
    return sum == 1;
}
