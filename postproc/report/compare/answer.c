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
    default:
        break;
    }
}

char *answer_text(struct answer *answer)
{
    char *text = format_string(
        "%s%s%s%s%s%s", answer->changed != NULL ? "Changed: " : "",
        answer->changed != NULL ? answer->changed : "", answer->changed != NULL ? ". " : "",
        answer->unchanged != NULL ? "No difference that these runs can show: " : "",
        answer->unchanged != NULL ? answer->unchanged : "", answer->unchanged != NULL ? "." : "");

    free(answer->changed);
    free(answer->unchanged);
    *answer = (struct answer){NULL, NULL};
    return text;
}
