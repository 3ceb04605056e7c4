/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/compare/condition.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    enum metric metric;
    enum unit unit;
} metrics[] = {
    {"cpu_time", METRIC_CPU_TIME, UNIT_TIME},
    {"accesses", METRIC_ACCESSES, UNIT_NUMBER},
    {"transfers", METRIC_TRANSFERS, UNIT_NUMBER},
    {"true_sharing.transfers", METRIC_TRUE_SHARING, UNIT_NUMBER},
    {"false_sharing.transfers", METRIC_FALSE_SHARING, UNIT_NUMBER},
    {"misses", METRIC_MISSES, UNIT_NUMBER},
    {"miss_ratio", METRIC_MISS_RATIO, UNIT_SHARE},
    {"cold", METRIC_COLD, UNIT_SHARE},
    {"capacity", METRIC_CAPACITY, UNIT_SHARE},
    {"coherence", METRIC_COHERENCE, UNIT_SHARE},
};
enum { METRICS = sizeof(metrics) / sizeof(*metrics) };

enum unit condition_unit(const struct condition *condition)
{
    for (size_t i = 0; i < METRICS; i++)
        if (metrics[i].metric == condition->metric)
            return metrics[i].unit;
    return UNIT_NUMBER;
}

/* What is still to be read, and where complaints go. */
struct parser {
    const char *at;
    struct condition *condition;
    char *message;
    size_t message_size;
};

static bool wrong(const struct parser *parser, const char *why)
{
    snprintf(parser->message, parser->message_size, "condition '%s': %s", parser->condition->text,
             why);
    return false;
}

static void skip_blanks(struct parser *parser)
{
    while (isspace((unsigned char)*parser->at))
        parser->at++;
}

static bool take(struct parser *parser, const char *text)
{
    size_t length = strlen(text);

    if (strncmp(parser->at, text, length) != 0)
        return false;
    parser->at += length;
    return true;
}

static bool take_metric(struct parser *parser)
{
    struct condition *condition = parser->condition;
    size_t length;

    condition->difference = take(parser, "diff.");
    if (parser->at[0] == 'l' && parser->at[1] >= '1' && parser->at[1] <= '4' &&
        parser->at[2] == '.') {
        condition->level = (unsigned)(parser->at[1] - '0');
        parser->at += 3;
    }
    length = strspn(parser->at, "abcdefghijklmnopqrstuvwxyz_.");
    for (size_t i = 0; i < METRICS; i++) {
        if (strlen(metrics[i].name) != length ||
            strncmp(parser->at, metrics[i].name, length) != 0 ||
            (metrics[i].metric >= METRIC_MISSES) != (condition->level > 0))
            continue;
        condition->metric = metrics[i].metric;
        parser->at += length;
        return true;
    }
    return wrong(parser, "no such metric; there are cpu_time, accesses, transfers, "
                         "true_sharing.transfers, false_sharing.transfers, and of l1 to l4 as in "
                         "l2.misses: misses, miss_ratio, cold, capacity, coherence; each also "
                         "after 'diff.'");
}

static bool take_operator(struct parser *parser)
{
    skip_blanks(parser);
    if (*parser->at != '>' && *parser->at != '<')
        return wrong(parser, "an operator is missing: >, >=, < or <=");
    parser->condition->above = *parser->at++ == '>';
    parser->condition->or_equal = take(parser, "=");
    skip_blanks(parser);
    return true;
}

/* Whether only this, and blanks, is left. */
static bool ends_with(const struct parser *parser, const char *text)
{
    struct parser rest = *parser;

    if (!take(&rest, text))
        return false;
    skip_blanks(&rest);
    return *rest.at == '\0';
}

static bool take_unit(struct parser *parser)
{
    static const struct {
        const char *name;
        enum unit unit;
        double factor;
    } units[] = {{"", UNIT_NUMBER, 1},    {"k", UNIT_NUMBER, 1e3},  {"M", UNIT_NUMBER, 1e6},
                 {"G", UNIT_NUMBER, 1e9}, {"T", UNIT_NUMBER, 1e12}, {"", UNIT_SHARE, 1},
                 {"%", UNIT_SHARE, 0.01}, {"ns", UNIT_TIME, 1},     {"us", UNIT_TIME, 1e3},
                 {"ms", UNIT_TIME, 1e6},  {"s", UNIT_TIME, 1e9}};
    static const char *const wanted[] = {
        [UNIT_NUMBER] = "the metric is an amount: a number, with k, M, G or T, is wanted",
        [UNIT_SHARE] = "the metric is a ratio: a share from 0 to 1, or percent, is wanted",
        [UNIT_TIME] = "the metric is a time: ns, us, ms or s is wanted",
    };
    struct condition *condition = parser->condition;
    enum unit unit = condition_unit(condition);

    skip_blanks(parser);
    if (condition->difference && ends_with(parser, "%")) {
        condition->relative = true;
        condition->limit /= 100;
        return true;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        if (units[i].unit == unit && ends_with(parser, units[i].name)) {
            condition->limit *= units[i].factor;
            return true;
        }
    }
    return wrong(parser, wanted[unit]);
}

static bool take_limit(struct parser *parser)
{
    struct condition *condition = parser->condition;
    char digits[32];
    size_t length = strspn(parser->at, "-0123456789."), given = length;
    char *end;

    if (length >= sizeof(digits))
        return wrong(parser, "the number is too long");
    memcpy(digits, parser->at, length);
    digits[length] = '\0';
    condition->limit = strtod(digits, &end);
    if (given == 0 || *end != '\0' || strpbrk(digits, "0123456789") == NULL)
        return wrong(parser, "a number is missing behind the operator");
    if (condition->limit < 0 && !condition->difference)
        return wrong(parser, "only a difference can be below zero");
    parser->at += length;
    return take_unit(parser);
}

bool condition_parse(const char *text, struct condition *condition, char *message,
                     size_t message_size)
{
    struct parser parser = {
        .at = text, .condition = condition, .message = message, .message_size = message_size};

    memset(condition, 0, sizeof(*condition));
    condition->text = text;
    skip_blanks(&parser);
    return take_metric(&parser) && take_operator(&parser) && take_limit(&parser);
}
