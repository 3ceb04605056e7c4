// SPDX-License-Identifier: BSD-3-Clause
// C++: operators new and delete reach us through malloc, and exceptions, whose objects and
// unwinding use the same stack and tables as we do, work as ever. Prints a checksum of what it did.
#include <cstdio>
#include <dlfcn.h>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "allocation_preload.h"
#include "profile/format.h"

static unsigned long thrower(unsigned depth, unsigned seed)
{
    std::vector<std::unique_ptr<std::string>> held;
    for (unsigned i = 0; i < 5; i++)
        held.push_back(std::make_unique<std::string>(100 + i, 'x'));
    if (depth == 0)
        throw std::runtime_error(std::to_string(seed));
    return thrower(depth - 1, seed) + held.size();
}

static unsigned long work(unsigned seed)
{
    unsigned long sum = 0;
    std::map<std::string, std::vector<int>> tree;
    for (unsigned i = 0; i < 300; i++) {
        try {
            sum += thrower(i % 40, seed + i);
        } catch (const std::exception &error) {
            auto &vector = tree[error.what()];
            vector.resize(i);
            sum += std::stoul(error.what()) + vector.size();
        }
    }
    try {
        std::string text(static_cast<std::size_t>(-1) / 4, 'x');
        sum += text.size();
    } catch (const std::bad_alloc &) {
        sum += 1;
    }
    return sum;
}

__attribute__((noinline)) static int *by_new(std::size_t n)
{
    int *volatile pointer = new int[n];
    return pointer;
}

int main()
{
    auto ask = reinterpret_cast<decltype(&allocation_test_ask)>(
        dlsym(RTLD_DEFAULT, "allocation_test_ask"));
    int *block = by_new(1000);
    if (ask != nullptr) {
        allocation_test_answer answer;
        const bool good = ask(block + 999, &answer) &&
                          answer.base == reinterpret_cast<uint64_t>(block) && answer.size == 4000 &&
                          answer.allocator == ALLOCATOR_MALLOC && answer.frame_count > 2 &&
                          answer.frames[1] - reinterpret_cast<uint64_t>(by_new) < 200;
        if (!good) {
            std::puts("the block of operator new is not known");
            return 1;
        }
    }
    delete[] block;
    unsigned long sums[8];
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 8; i++)
        threads.emplace_back([&sums, i] { sums[i] = work(i * 1000); });
    for (auto &thread : threads)
        thread.join();
    for (auto sum : sums)
        std::printf("%lu\n", sum);
    return 0;
}
