/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that copy one std::shared_ptr, or take it by reference: reference_counts copy|refer
 * TURNS.
 */
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

struct settings {
    int factor, offset;
};

static std::shared_ptr<settings> shared = std::make_shared<settings>(settings{3, 1});

__attribute__((noinline)) static int copied(std::shared_ptr<settings> mine, int i)
{
    return mine->factor * i + mine->offset;
}

__attribute__((noinline)) static int referred(const std::shared_ptr<settings> &mine, int i)
{
    return mine->factor * i + mine->offset;
}

static void work(bool copy, int turns, long *sum)
{
    long all = 0;

    for (int i = 0; i < turns; i++)
        all += copy ? copied(shared, i) : referred(shared, i); /* mark: use */
    *sum = all;
}

int main(int argc, char **argv)
{
    const bool copy = argc > 1 && strcmp(argv[1], "copy") == 0;
    const int turns = argc > 2 ? atoi(argv[2]) : 1000;
    long sums[2];
    std::thread first(work, copy, turns, &sums[0]), second(work, copy, turns, &sums[1]);

    first.join();
    second.join();
    return sums[0] != sums[1];
}
