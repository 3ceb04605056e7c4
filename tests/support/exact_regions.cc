/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Enters and leaves functions in every way there is, for tests of regions of the exact engine.
 * work(n) stores n times to `data`, and nothing else does but where a comment says so.
 */
#include <pthread.h>

#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "../../runtime/reuse.h"

#define NOT_INLINED __attribute__((noinline, noclone))
enum { N = 1000 };

static volatile long data[4096];
static jmp_buf place;

namespace space
{
struct thing {
    void NOT_INLINED method(int n)
    {
        for (int i = 0; i < n; i++)
            data[i % 64] = i;
    }
};
} // namespace space

extern "C" {
void NOT_INLINED work(int n)
{
    for (int i = 0; i < n; i++)
        data[64 + i % 64] = i;
}
void NOT_INLINED outer(int n)
{
    work(n);
    for (int i = 0; i < n; i++) /* n by itself */
        data[128 + i % 64] = i;
    work(n);
    __asm__ volatile("");
}
void NOT_INLINED jumps(int n)
{
    work(n);
    longjmp(place, 1);
}
void NOT_INLINED throws(int n)
{
    work(n);
    throw std::runtime_error("out of here");
}
void NOT_INLINED tail(int n)
{
    return work(n);
}
int NOT_INLINED deep(int depth)
{
    if (depth > 0)
        return deep(depth - 1) + 1;
    work(N);
    return 0;
}
void NOT_INLINED handler(int)
{
    work(N);
}
void *NOT_INLINED in_thread(void *)
{
    outer(N);
    return nullptr;
}
}

int main()
{
    work(N);
    outer(N);
    if (setjmp(place) == 0)
        jumps(N);
    work(N);
    try {
        throws(N);
    } catch (const std::runtime_error &) {
    }
    work(N);
    tail(N);
    deep(10);

    stack_t alternate = {};
    alternate.ss_size = 1 << 16;
    alternate.ss_sp = malloc(alternate.ss_size);
    sigaltstack(&alternate, nullptr);
    struct sigaction action = {};
    action.sa_handler = handler;
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &action, nullptr);
    raise(SIGUSR1);
    work(N);

    space::thing thing;
    thing.method(700); /* 700 */
    pthread_t thread;
    if (pthread_create(&thread, nullptr, in_thread, nullptr) != 0)
        return 1;
    pthread_join(thread, nullptr);
    REUSE_REGION_BEGIN("phase");
    outer(N);
    REUSE_REGION_BEGIN("part of it");
    work(N);
    REUSE_REGION_END();
    REUSE_REGION_END();
    work(N);
    puts("done");
    return 0;
}
