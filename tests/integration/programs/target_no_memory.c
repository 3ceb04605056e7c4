/* SPDX-License-Identifier: BSD-3-Clause */
/* Leaves no memory to be mapped: "locked": by a limit of what may be locked, "full": no address is
 * left. Then it works in what it has. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { WORDS = 1 << 18, PASSES = 300 };
static volatile long words[WORDS];

static int lock(void)
{
    const struct rlimit limit = {8 << 20, 8 << 20};

    /* Root may lock anything. */
    if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
        return -1;
    return setrlimit(RLIMIT_MEMLOCK, &limit) || mlockall(MCL_FUTURE);
}

static int fill(void)
{
    for (size_t size = (size_t)1 << 46; size >= (size_t)1 << 16; size /= 2)
        while (mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) !=
               MAP_FAILED)
            continue;
    return 0;
}

int main(int count, char **arguments)
{
    int result = count > 1 && strcmp(arguments[1], "locked") == 0 ? lock() : fill();

    for (int i = 0; i < PASSES; i++)
        for (int k = 0; k < WORDS; k++)
            words[k] += i;
    printf("%d\n", result);
    return 0;
}
