/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/compare/answer.h"

#include <stdlib.h>

#include "support/memory.h"

/* Appends to a list with commas; takes over the text. */
static void append(char **list, char *text)
{
    char *longer;

    if (*list == NULL) {
        *list = text;
        return;
    }
    longer = format_string("%s, %s", *list, text);
    free(*list);
    free(text);
    *list = longer;
}

/* How much one side varies is not known, and the other one's interval leaves out that nothing
 * changed. */
static bool changes_for_one_side(const struct change *change)
{
    const struct estimate *relative = &change->relative;

    return relative->lo < relative->hi && (relative->lo > 0 || relative->hi < 0) &&
           !(change->before.once && change->after.once);
}

void answer_add(struct answer *answer, const char *what, const struct change *change,
                const char *amount)
{
    switch (change->verdict) {
    case CHANGE_LESS:
    case CHANGE_MORE:
        append(&answer->changed, format_string("%s %s", what, amount));
        break;
    case CHANGE_NONE:
    case CHANGE_NOT_SEEN:
        append(&answer->unchanged, copy_string(what));
        break;
    case CHANGE_ONCE:
        if (changes_for_one_side(change))
            append(&answer->changed,
                   format_string("%s %s, with a single run on one side", what, amount));
        else
            append(&answer->unknown, format_string("%s (%s, from too few runs)", what, amount));
        break;
    default:
        append(&answer->unknown, copy_string(what));
        break;
    }
}

/* Appends a sentence, whose list it frees. */
static void add_sentence(char **text, const char *start, char *list)
{
    char *longer;

    if (list == NULL)
        return;
    longer = format_string("%s%s%s: %s.", *text, **text != '\0' ? " " : "", start, list);
    free(*text);
    free(list);
    *text = longer;
}

char *answer_text(struct answer *answer)
{
    char *text = copy_string("");

    add_sentence(&text, "Changed", answer->changed);
    add_sentence(&text, "No difference that these runs can show", answer->unchanged);
    add_sentence(&text, "Not known", answer->unknown);
    *answer = (struct answer){.changed = NULL};
    return text;
}
