/* SPDX-License-Identifier: BSD-3-Clause */
/* Works for a while with a base of FS of its own, as emulators do that run other people's code. */
#include <stdio.h>

#include "burn.h"

#if defined(__x86_64__)
#include <asm/prctl.h>
#include <sys/syscall.h>

enum { BYTES = 65536, WORDS = 1 << 18 };
static unsigned char block[BYTES];
static volatile long words[WORDS];

static long set_base(unsigned long base)
{
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"((long)SYS_arch_prctl), "D"((long)ARCH_SET_FS), "S"(base)
                     : "rcx", "r11", "memory");
    return result;
}

/* Calls nothing: no function of the C library's may run now. */
static __attribute__((noinline, optimize("no-stack-protector"))) void work(long steps)
{
    for (long i = 0; i < steps; i++)
        words[i * 7919 % WORDS] += i;
}

int main(void)
{
    unsigned long own = (unsigned long)__builtin_thread_pointer();
    const unsigned long bases[] = {(unsigned long)(block + BYTES / 2), 0, 0x1234};
    int changed = 0;

    for (unsigned i = 0; i < sizeof bases / sizeof *bases; i++) {
        set_base(bases[i]);
        work(50000000);
        set_base(own);
    }
    for (unsigned i = 0; i < BYTES; i++)
        changed += block[i] != 0;
    burn(100);
    printf("%d bytes changed\n", changed);
    return 0;
}
#else
int main(void)
{
    burn(100);
    return 0;
}
#endif
