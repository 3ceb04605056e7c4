/* SPDX-License-Identifier: BSD-3-Clause */
#include "analysis/rates/shared_words.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* Its progress per access scatters by more than this part of its mean: others moved it. Where one
 * access in a thousand stores to it, 0.9 to 2.5; where one in nine does, 0.0 to 0.2. */
static const double steady = 0.5;

/* Others that move it while fewer bursts are looked at than the first part move it seldom; those
 * that move it as often as the thread itself do so while most are. */
static const double seldom = 0.1, mostly = 0.5;

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_word(const void *a, const void *b)
{
    const struct observation *x = a, *y = b;
    int order = compare(x->kind, y->kind);

    order = order ? order : compare(x->process, y->process);
    order = order ? order : compare(x->place, y->place);
    order = order ? order : compare(x->width, y->width);
    order = order ? order : compare(x->thread, y->thread);
    return order ? order : compare(x->order, y->order);
}

static bool is_one_word(const struct observation *x, const struct observation *y)
{
    return x->kind == y->kind && x->process == y->process && x->place == y->place &&
           x->width == y->width;
}

/* Part of the bursts while which others moved the word. */
static double shared_part(const struct observation *list, size_t n)
{
    size_t shared = 0;

    for (size_t i = 0; i < n; i++)
        shared += list[i].shared;
    return (double)shared / (double)n;
}

static bool is_steady(const struct observation *list, size_t n)
{
    double moved = 0, accesses = 0, squares = 0;

    for (size_t i = 0; i < n; i++) {
        moved += list[i].within;
        accesses += list[i].accesses;
    }
    for (size_t i = 0; i < n; i++) {
        double off = list[i].within - moved * list[i].accesses / fmax(1, accesses);

        squares += off * off;
    }
    return squares * (double)n <= steady * steady * moved * moved;
}

/* Threads that know the word, two at least: it is shared. */
static double sharers(const struct observation *list, size_t n)
{
    size_t threads = 1;

    for (size_t i = 1; i < n; i++)
        threads += list[i].thread != list[i - 1].thread;
    return fmax(2, (double)threads);
}

size_t shared_words_correct(struct observation *list, size_t n)
{
    size_t left = 0;

    qsort(list, n, sizeof *list, by_word);
    for (size_t i = 0, end; i < n; i = end) {
        double among = 1, part;

        for (end = i + 1; end < n && is_one_word(&list[end], &list[i]);)
            end++;
        part = shared_part(&list[i], end - i);
        if (part > seldom && (part < mostly || !is_steady(&list[i], end - i)))
            continue;
        if (part > seldom)
            among = sharers(&list[i], end - i);
        for (size_t k = i; k < end; k++) {
            list[left] = list[k];
            list[left].before /= among;
            list[left++].since /= among;
        }
    }
    return left;
}
