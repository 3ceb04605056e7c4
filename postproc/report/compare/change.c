/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/compare/change.h"

#include <math.h>

/* What lies below and above the value, where nothing is known infinitely much. */
static double below(struct estimate estimate)
{
    return fmax(0, estimate.value - estimate.lo);
}

static double above(struct estimate estimate)
{
    return fmax(0, estimate.hi - estimate.value);
}

struct estimate estimate_difference(struct estimate a, struct estimate b)
{
    double value = a.value - b.value;

    return (struct estimate){value, value - hypot(below(a), above(b)),
                             value + hypot(above(a), below(b))};
}

/*
 * The limits are those R at which the limit of a - R * b is zero: so the ratio's interval holds 1
 * exactly where that of the difference holds 0.
 */
struct estimate estimate_ratio(struct estimate a, struct estimate b)
{
    double product = a.value * b.value, square = product * product;
    double low_a = fmax(0, a.lo) * (2 * a.value - fmax(0, a.lo));
    double high_b = b.hi * (2 * b.value - b.hi);
    double high_a = a.hi * (2 * a.value - a.hi);
    double low_b = fmax(0, b.lo) * (2 * b.value - fmax(0, b.lo));
    struct estimate ratio = {a.value / b.value, 0, INFINITY};

    if (low_a > 0 && isfinite(high_b))
        ratio.lo = low_a / (product + sqrt(fmax(0, square - low_a * high_b)));
    if (low_b > 0 && isfinite(high_a))
        ratio.hi = (product + sqrt(fmax(0, square - high_a * low_b))) / low_b;
    return ratio;
}

struct estimate estimate_product(struct estimate a, struct estimate b)
{
    double value = a.value * b.value;
    double low = hypot(below(a) * b.value, below(b) * a.value);

    /* First-order terms vanish where a value is zero: upwards one side's spread counts at the upper
     * end of the other. */
    return (struct estimate){value, fmax(0, value - low),
                             value + hypot(above(a) * b.hi, above(b) * a.value)};
}

/* What multiplying and dividing exact numbers leaves of a difference of zero. */
#define ROUNDING 1e-9

/* Both are exact, and the same. */
static bool is_same(struct estimate a, struct estimate b)
{
    return isfinite(a.hi) && isfinite(b.hi) && a.hi - a.lo <= ROUNDING * a.hi &&
           b.hi - b.lo <= ROUNDING * b.hi &&
           fabs(a.value - b.value) <= ROUNDING * fmax(a.value, b.value);
}

static enum change_verdict verdict_of(const struct change *change)
{
    if (change->before.once || change->after.once)
        return CHANGE_ONCE;
    if (is_same(change->before.value, change->after.value))
        return CHANGE_NONE;
    if (change->absolute.lo > 0)
        return CHANGE_MORE;
    return change->absolute.hi < 0 ? CHANGE_LESS : CHANGE_NOT_SEEN;
}

struct change change_between(struct figure before, struct figure after)
{
    struct change change = {.before = before, .after = after, .relative = {NAN, -1, INFINITY}};

    if (!before.known || !after.known)
        return change;
    change.absolute = estimate_difference(after.value, before.value);
    change.verdict = verdict_of(&change);
    if (before.value.value > 0) {
        change.relative = estimate_ratio(after.value, before.value);
        change.relative.value -= 1;
        change.relative.lo -= 1;
        change.relative.hi -= 1;
    }
    return change;
}

const char *change_word(enum change_verdict verdict)
{
    switch (verdict) {
    case CHANGE_LESS:
        return "less";
    case CHANGE_MORE:
        return "more";
    case CHANGE_NONE:
        return "the same";
    case CHANGE_NOT_SEEN:
        return "none shown";
    case CHANGE_FEW:
        return "too few bursts";
    case CHANGE_ONCE:
        return "one run";
    case CHANGE_UNKNOWN:
        break;
    }
    return "not known";
}
