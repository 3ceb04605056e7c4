// SPDX-License-Identifier: BSD-3-Clause
// Programs that spend their time in the allocator, or in containers that grow, and the same
// without: what reuse-report's findings are tested on.
//
//     allocating churn|kept|growing|reserved SECONDS_OF_CPU_TIME
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <unordered_map>

static double until;
static volatile long sink;

static bool goes_on()
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec < until;
}

struct message {
    long length;
    char text[56];
};

__attribute__((noinline)) static long fill(message *message, long i)
{
    message->length = i;
    std::memset(message->text, (int)i, 16);
    return message->text[3];
}

static void churn()
{
    for (long i = 0; i < 20000; i++) {
        message *one = static_cast<message *>(std::malloc(sizeof(message))); // mark: churn
        sink = fill(one, i);
        std::free(one); // mark: free
    }
}

static void kept()
{
    static message one;

    for (long i = 0; i < 20000; i++)
        sink = fill(&one, i);
}

static void insert(std::unordered_map<uint64_t, uint64_t> &table)
{
    uint64_t state = 88172645463325252u;

    for (long i = 0; i < 100000; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        table[state]++; // mark: growing
    }
    sink = (long)table.size();
}

static void growing()
{
    std::unordered_map<uint64_t, uint64_t> table;

    insert(table);
}

static void reserved()
{
    std::unordered_map<uint64_t, uint64_t> table;

    table.reserve(100000);
    insert(table);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)();
    } kinds[] = {{"churn", churn}, {"kept", kept}, {"growing", growing}, {"reserved", reserved}};

    until = argc > 2 ? std::atof(argv[2]) : 1;
    for (const auto &kind : kinds)
        if (argc > 1 && std::strcmp(kind.name, argv[1]) == 0) {
            while (goes_on())
                kind.run();
            return 0;
        }
    return 2;
}
