/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a Go program looks like to us, with its note: it computes on a stack without room for a
 * signal frame (a page that cannot be touched follows), and has an alternate one for signals.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

__asm__(".pushsection .note.go.buildid, \"a\", %note\n"
        ".balign 4\n .long 4, 4, 4\n .ascii \"Go\\0\\0test\"\n"
        ".popsection\n");

enum { PAGE = 4096, ALTERNATE = 65536, GOROUTINE = 2048 };

static ucontext_t outside, goroutine;

static void compute(void)
{
    static volatile int block[65536];

    for (int round = 0; round < 50000; round++)
        for (size_t i = 0; i < sizeof block / sizeof *block; i += 16)
            block[i] = round;
}

int main(void)
{
    char *alternate =
        mmap(NULL, ALTERNATE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *stack = mmap(NULL, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t other = {.ss_sp = alternate, .ss_size = ALTERNATE};

    mprotect(stack + PAGE, PAGE, PROT_READ | PROT_WRITE);
    sigaltstack(&other, NULL);
    getcontext(&goroutine);
    goroutine.uc_stack.ss_sp = stack + PAGE;
    goroutine.uc_stack.ss_size = GOROUTINE;
    goroutine.uc_link = &outside;
    makecontext(&goroutine, compute, 0);
    swapcontext(&outside, &goroutine);
    puts("alive");
    return 0;
}
