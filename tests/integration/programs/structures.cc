// SPDX-License-Identifier: BSD-3-Clause
// Classes of which something is known: what --structs is tested on.
//
//     classes TURNS
#include <cstdlib>
#include <vector>

struct Base {
    virtual ~Base() {}
    long id = 0;
};

// A count of elements stands before them, as the class has a destructor.
class Body : public Base
{
  public:
    char flag = 0;
    long history[14] = {};
    int hits = 0;
    static int shared;
};
int Body::shared;

struct Pair {
    int key, value;
};

struct Node {
    Node *next;
    long key;
    long unused[6];
};

int main(int argc, char **argv)
{
    enum { BODIES = 4096 };
    long turns = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 1;
    Body *bodies = new Body[BODIES];
    std::vector<Pair> pairs(BODIES);
    unsigned long random = 1;
    long sum = 0;
    Node *list = nullptr;

    for (long i = 0; i < BODIES / 4; i++)
        list = new Node{list, i, {}};
    for (long turn = 0; turn < turns; turn++) {
        for (const Node *node = list; node != nullptr; node = node->next)
            sum += node->key;
        for (int i = 0; i < BODIES; i++) {
            random = random * 6364136223846793005UL + 1442695040888963407UL;
            Body &body = bodies[(random >> 33) % BODIES];
            body.flag ^= 1;
            sum += body.hits++;
            Pair &pair = pairs[(random >> 40) % BODIES];
            sum += pair.key + pair.value++;
        }
    }
    delete[] bodies;
    return sum == 1;
}
