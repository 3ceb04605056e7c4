/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Of samples that lie in D distinct lines, f1 of them seen once and f2 twice, about
 * D + f1 (f1 - 1) / (2 (f2 + 1)) lines were used (Chao 1984, as corrected for bias; Chao and Chiu,
 * "Species Richness", Wiley StatsRef 2016). This falls short where lines are used unequally often:
 * without the correction it tells D + (sum of p)^2 / sum of p^2 of the unseen lines, p the chance
 * to see each. By Cauchy and Schwarz that of two parts of an object, added up, is never less than
 * that of the whole, and it is still no more than the lines there are.
 *
 * So parts that are used unlike each other are estimated apart: a table that is looked up in, and
 * a buffer behind it that is filled once. Where the parts lie is found by halving the seen lines,
 * and joining halves again in which lines were seen once, twice and more often in the same
 * proportions. Only neighbours are joined: parts put together because their counts are alike, from
 * anywhere, would collect those that by chance saw no line twice, and tell far too many.
 *
 * Samples come at regular times. A buffer that is filled once has all accesses to a line within
 * less than a period, no line is seen twice, and the estimate has no bound. But no part has more
 * lines than lie between the first and the last one seen of it and, at either end, about as far
 * beyond as from one to the next.
 */
#include "analysis/curves/line_richness.h"

#include <math.h>
#include <stdbool.h>

#include "analysis/curves/homogeneity.h"

enum {
    SEEN_MIN = 64, /* lines seen in a part that may stand alone */
    CLASSES = 16,  /* seen once, twice, up to 4 times, 8 times ... */
};

struct part {
    uint32_t lines[CLASSES]; /* seen so often */
    double likely;           /* lines used */
    bool whole;              /* of one kind, as far as can be told */
};

static unsigned class_of(uint32_t times)
{
    unsigned class = times > 1 ? 32 - (unsigned)__builtin_clz(times - 1) : 0;

    return class < CLASSES ? class : CLASSES - 1;
}

static double chao(const uint32_t *lines)
{
    double seen = 0, once = lines[0], twice = lines[1];

    for (unsigned i = 0; i < CLASSES; i++)
        seen += lines[i];
    return seen + once * (once - 1) / (2 * (twice + 1));
}

static double most_lines(const struct seen_line *seen, size_t n)
{
    double span = n > 0 ? (double)(seen[n - 1].line - seen[0].line) : 0;

    return n > 1 ? span + 1 + 2 * (span / (double)(n - 1) - 1) : (double)n;
}

static struct part estimate(const struct seen_line *seen, size_t n)
{
    struct part part = {.whole = true};

    if (n >= (size_t)2 * SEEN_MIN) {
        struct part low = estimate(seen, n / 2);
        struct part high = estimate(seen + n / 2, n - n / 2);

        for (unsigned i = 0; i < CLASSES; i++)
            part.lines[i] = low.lines[i] + high.lines[i];
        part.whole = low.whole && high.whole &&
                     homogeneity_deviate(low.lines, high.lines, CLASSES) <= HOMOGENEITY_DIFFERENT;
        part.likely = low.likely + high.likely;
    } else {
        for (size_t i = 0; i < n; i++)
            part.lines[class_of(seen[i].times)]++;
    }
    if (part.whole)
        part.likely = fmin(chao(part.lines), most_lines(seen, n));
    return part;
}

double lines_likely_used(const struct seen_line *seen, size_t n)
{
    return estimate(seen, n).likely;
}
