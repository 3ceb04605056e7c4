/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/compare/judgement.h"

#include <math.h>
#include <stdlib.h>

#include "document/numbers.h"

struct figure condition_figure(const struct condition *condition, const struct run_figures *figures,
                               const char **why)
{
    size_t i = 0;

    *why = figures->why_no_transfers;
    switch (condition->metric) {
    case METRIC_CPU_TIME:
        *why = figures->why_no_time;
        return figures->cpu_ns;
    case METRIC_ACCESSES:
        return figures->accesses;
    case METRIC_TRANSFERS:
        return figures->transfers;
    case METRIC_TRUE_SHARING:
        return figures->true_sharing;
    case METRIC_FALSE_SHARING:
        return figures->false_sharing;
    default:
        break;
    }
    while (i < figures->levels && figures->level[i] != condition->level)
        i++;
    *why = "the machine has no such level";
    if (i == figures->levels)
        return (struct figure){0};
    *why = "farther than was watched";
    switch (condition->metric) {
    case METRIC_MISSES:
        return figures->misses[i];
    case METRIC_MISS_RATIO:
        return figures->miss_ratio[i];
    case METRIC_COLD:
        return figures->cold[i];
    case METRIC_CAPACITY:
        return figures->capacity[i];
    default:
        return figures->coherence[i];
    }
}

/* Whether a value meets the condition. */
static bool meets(const struct condition *condition, double value)
{
    if (value == condition->limit)
        return condition->or_equal;
    return condition->above ? value > condition->limit : value < condition->limit;
}

static struct judgement decide(const struct condition *condition, struct estimate value)
{
    struct judgement judgement = {.known = true, .value = value};
    bool lowest = meets(condition, value.lo), highest = meets(condition, value.hi);

    judgement.outcome = lowest != highest ? OUTCOME_UNSURE : lowest ? OUTCOME_TRUE : OUTCOME_FALSE;
    return judgement;
}

static struct judgement judge_difference(const struct condition *condition, struct figure before,
                                         struct figure after)
{
    struct change change = change_between(before, after);

    if (change.verdict == CHANGE_ONCE)
        return (struct judgement){.outcome = OUTCOME_UNSURE,
                                  .why = "how much runs vary is not known from one run: name "
                                         "several files on each side"};
    if (!condition->relative)
        return decide(condition, change.absolute);
    if (!(before.value.value > 0)) {
        /* From nothing to nothing is no change; more than nothing is infinitely more. */
        double relative = after.value.value > 0 ? INFINITY : 0;

        return decide(condition, (struct estimate){relative, after.value.lo > 0 ? INFINITY : 0,
                                                   after.value.hi > 0 ? INFINITY : 0});
    }
    return decide(condition, change.relative);
}

struct judgement condition_judge(const struct condition *condition,
                                 const struct run_figures *before, const struct run_figures *after)
{
    const char *why, *why_before = NULL;
    struct figure figure = condition_figure(condition, after, &why), other = {0};

    if (condition->difference)
        other = condition_figure(condition, before, &why_before);
    if (!figure.known || (condition->difference && !other.known))
        return (struct judgement){.outcome = OUTCOME_UNSURE,
                                  .why = figure.known ? why_before : why};
    if (condition->difference)
        return judge_difference(condition, other, figure);
    return decide(condition, figure.value);
}

static char *number_text(const struct condition *condition, double value)
{
    if (!isfinite(value))
        return copy_string(value > 0 ? "any amount" : "-");
    if (condition->relative)
        return format_string("%+.3g %%", 100 * value);
    switch (condition_unit(condition)) {
    case UNIT_SHARE:
        return format_string("%.3g %%", 100 * value);
    case UNIT_TIME:
        return number_time(value);
    case UNIT_NUMBER:
        break;
    }
    return number_count(value);
}

/* "0.9 to 1.2 s"; the caller frees it. */
static char *interval_text(const struct condition *condition, struct estimate value)
{
    enum unit unit = condition_unit(condition);
    char *lo, *hi, *text;

    if (isfinite(value.lo) && isfinite(value.hi) && !condition->relative && unit != UNIT_SHARE)
        return unit == UNIT_TIME ? number_time_range(value.lo, value.hi)
                                 : number_count_range(value.lo, value.hi);
    lo = number_text(condition, value.lo);
    hi = number_text(condition, value.hi);
    text = format_string("%s to %s", lo, hi);
    free(hi);
    free(lo);
    return text;
}

char *condition_value_text(const struct condition *condition, struct estimate value)
{
    char *middle = number_text(condition, value.value), *range = interval_text(condition, value);
    char *text = value.lo == value.hi ? copy_string(middle)
                                      : format_string("%s (95 %% interval %s)", middle, range);

    free(range);
    free(middle);
    return text;
}
