/* SPDX-License-Identifier: BSD-3-Clause */
/* The conditions of --fail-if on the run, or on the difference of two. See compare.h. */
#include <stdlib.h>

#include "report/compare/compare.h"

static const struct column columns[] = {
    {.key = "condition", .heading = "condition", .flexible = true},
    {.key = "outcome", .heading = "holds"},
    {.key = "value", .interval = INTERVAL_SUFFIXED},
    {.heading = "it is", .flexible = true},
};
enum { CONDITION, OUTCOME, VALUE, VALUE_TEXT, COLUMNS };

static const char *outcome_word(enum outcome outcome)
{
    return outcome == OUTCOME_TRUE ? "yes" : outcome == OUTCOME_FALSE ? "no" : "undecided";
}

static char *value_text(const struct condition *condition, const struct judgement *judgement)
{
    if (judgement->known)
        return condition_value_text(condition, judgement->value);
    return format_string("not known: %s", judgement->why);
}

static void say(const struct condition *condition, const struct judgement *judgement,
                const char *value, FILE *stream)
{
    if (judgement->outcome == OUTCOME_TRUE)
        fprintf(stream, "reuse-report: --fail-if '%s' holds: it is %s\n", condition->text, value);
    else if (judgement->outcome == OUTCOME_UNSURE)
        fprintf(stream, "reuse-report: --fail-if '%s' is undecided: it is %s\n", condition->text,
                value);
}

bool judge_conditions(const struct report_options *options, const struct run_figures *before,
                      const struct run_figures *after, struct document *document, FILE *stream)
{
    struct section *section;
    struct table *table;
    bool fails = false;

    if (options->conditions.count == 0)
        return false;
    section = document_section(document, "fail-if", "Conditions", true);
    table = document_table(document, "conditions", "What the command was asked to fail on",
                           "Undecided: the limit lies within the 95 % interval.", columns, COLUMNS);
    for (size_t i = 0; i < options->conditions.count; i++) {
        const struct condition *condition = &options->conditions.items[i];
        struct judgement judgement = condition_judge(condition, before, after);
        char *value = value_text(condition, &judgement);
        struct row *row = table_row(table);

        row->cells[CONDITION] = cell_text(document, condition->text);
        row->cells[OUTCOME] = cell_text(document, outcome_word(judgement.outcome));
        if (judgement.known)
            row->cells[VALUE] = cell_estimate(CELL_NUMBER, judgement.value);
        row->cells[VALUE_TEXT] = cell_text(document, value);
        say(condition, &judgement, value, stream);
        fails |= judgement.outcome == OUTCOME_TRUE ||
                 (judgement.outcome == OUTCOME_UNSURE && options->fail_if_unsure);
        free(value);
    }
    section_table(section, table);
    return fails;
}
