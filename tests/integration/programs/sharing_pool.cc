// SPDX-License-Identifier: BSD-3-Clause
// Threads that take turns: each has an element of a vector of classes, beside those of the others,
// and a small block of its own, beside the others' blocks.
#include <atomic>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

class Worker
{
  public:
    virtual ~Worker() {}
    void step(long value)
    {
        total += value;
        done.fetch_add(1, std::memory_order_relaxed);
    }
    long total = 0;

  private:
    std::atomic<long> done{0};
};

class Pool
{
  public:
    explicit Pool(int threads) : workers_(threads), notes_(threads)
    {
        for (auto &note : notes_)
            note = std::make_unique<long>(0);
    }

    void run(int rounds)
    {
        std::vector<std::thread> threads;
        int count = static_cast<int>(workers_.size());

        for (int k = 0; k < count; k++)
            threads.emplace_back([=] {
                for (int i = 0; i < rounds; i++) {
                    while (turn_.value.load() != k)
                        std::this_thread::yield();
                    workers_[k].step(i);
                    ++*notes_[k];
                    turn_.value.store((k + 1) % count);
                }
            });
        for (auto &thread : threads)
            thread.join();
    }

    long total() const
    {
        long sum = 0;
        for (const Worker &worker : workers_)
            sum += worker.total;
        return sum;
    }

  private:
    struct alignas(64) Turn {
        std::atomic<int> value{0};
    };
    std::vector<Worker> workers_;
    std::vector<std::unique_ptr<long>> notes_;
    Turn turn_;
};

int main()
{
    auto pool = std::make_unique<Pool>(3);
    pool->run(1000);
    std::printf("%ld\n", pool->total());
}
