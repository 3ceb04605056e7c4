// SPDX-License-Identifier: BSD-3-Clause
// C++ exceptions across many frames, out of several threads, and one that nobody catches:
// target_exceptions [uncaught]
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "burn.h"

namespace
{

struct counted {
    explicit counted(int &count) : count_(count)
    {
        ++count_;
    }
    ~counted()
    {
        --count_;
    }
    counted(const counted &) = delete;
    counted &operator=(const counted &) = delete;

  private:
    int &count_;
};

__attribute__((noinline)) int descend(int depth, int &alive)
{
    counted here(alive);
    auto block = std::make_unique<std::vector<int>>(64, depth);
    if (depth == 0)
        throw std::runtime_error("bottom");
    return descend(depth - 1, alive) + block->front();
}

void throw_often(int *caught, int *leaked)
{
    int alive = 0;
    for (int i = 0; i < 2000; i++) {
        try {
            descend(i % 40, alive);
        } catch (const std::runtime_error &error) {
            *caught += std::string(error.what()) == "bottom";
        }
        *leaked += alive;
        if (i % 100 == 0)
            burn(8);
    }
}

} // namespace

int main(int argc, char **)
{
    int caught[3] = {}, leaked[3] = {};
    std::vector<std::thread> threads;
    for (int i = 1; i < 3; i++)
        threads.emplace_back(throw_often, &caught[i], &leaked[i]);
    throw_often(&caught[0], &leaked[0]);
    for (auto &thread : threads)
        thread.join();
    std::printf("caught %d %d %d, leaked %d\n", caught[0], caught[1], caught[2],
                leaked[0] + leaked[1] + leaked[2]);
    std::fflush(stdout);
    if (argc > 1)
        throw std::logic_error("uncaught");
    return 0;
}
