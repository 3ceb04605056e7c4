/* SPDX-License-Identifier: BSD-3-Clause */
/* As report_names.c, in C++; compiled with optimisation, so that the library is inlined. */
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

static void *volatile sink;

__attribute__((noinline)) static void keep(const void *p)
{
    sink = const_cast<void *>(p);
}

struct Grid {
    double *cells;
    std::vector<int> index;
    explicit Grid(int n)
    {
        cells = new double[n]; /* name: cells */
        index.resize(n);       /* name: index */
        keep(cells), keep(index.data());
    }
};

int main(int argc, char **)
{
    int n = argc * 1000;
    double *numbers = new double[n]; /* name: numbers */
    keep(numbers);
    std::vector<double> filled(n, 1.0); /* name: filled */
    keep(filled.data());
    std::vector<int> grown;
    grown.reserve(n); /* name: grown */
    keep(grown.data());
    auto owned = std::make_unique<int[]>(n); /* name: owned */
    keep(owned.get());
    std::unique_ptr<long[]> given(new long[n]); /* name: given */
    keep(given.get());
    float *cast = static_cast<float *>(std::malloc(n)); /* name: cast */
    keep(cast);
    Grid grid(n);
    keep(&grid);
    return 0;
}
