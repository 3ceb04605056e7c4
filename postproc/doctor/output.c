/* SPDX-License-Identifier: BSD-3-Clause */
/* See output.h. */
#include "doctor/output.h"

#include <jansson.h>
#include <string.h>

enum { COLUMNS = 96, INDENT = 17 };

static const char *state_name(enum finding_state state)
{
    switch (state) {
    case FINDING_WORKS:
        return "works";
    case FINDING_LIMITED:
        return "limited";
    case FINDING_INFORMATION:
        return "information";
    case FINDING_MISSING:
        break;
    }
    return "missing";
}

/* One labelled paragraph, broken between words; commands are not broken, so that they can be
 * copied. */
static void print_field(FILE *file, const char *label, const char *text, bool broken)
{
    int column = INDENT;
    if (*text == '\0')
        return;
    fprintf(file, "    %-*s", INDENT - 4, label);
    if (!broken) {
        fprintf(file, "%s\n", text);
        return;
    }
    while (*text) {
        int word = (int)strcspn(text, " ");
        if (column > INDENT && column + 1 + word > COLUMNS) {
            fprintf(file, "\n%*s", INDENT, "");
            column = INDENT;
        } else if (column > INDENT) {
            fputc(' ', file);
            column++;
        }
        fprintf(file, "%.*s", word, text);
        column += word;
        text += word;
        text += strspn(text, " ");
    }
    fputc('\n', file);
}

void output_text(FILE *file, const struct finding *findings, int count,
                 const struct verdict *verdicts, int verdict_count)
{
    for (int id = 0; id < count; id++) {
        const struct finding *finding = &findings[id];
        fprintf(file, "%-12s %s\n",
                finding->state == FINDING_INFORMATION ? "-" : state_name(finding->state),
                finding_title((enum finding_id)id));
        print_field(file, "tried", finding->tried, true);
        print_field(file, "found", finding->result, true);
        print_field(file, "means", finding->meaning, true);
        print_field(file, "to change", finding->remedy, false);
    }
    fputs("\nEngines\n", file);
    for (int i = 0; i < verdict_count; i++)
        fprintf(file, "    %-12s %-8s %s\n", verdicts[i].engine, state_name(verdicts[i].state),
                verdicts[i].reason);
}

bool output_json(FILE *file, const struct finding *findings, int count,
                 const struct verdict *verdicts, int verdict_count)
{
    json_t *list = json_array(), *engines = json_object();
    for (int id = 0; id < count; id++) {
        const struct finding *finding = &findings[id];
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "id",
                                              finding_name((enum finding_id)id), "title",
                                              finding_title((enum finding_id)id), "state",
                                              state_name(finding->state), "tried", finding->tried,
                                              "result", finding->result, "meaning",
                                              finding->meaning, "remedy", finding->remedy));
    }
    for (int i = 0; i < verdict_count; i++)
        json_object_set_new(engines, verdicts[i].engine,
                            json_pack("{s:s, s:s}", "state", state_name(verdicts[i].state),
                                      "reason", verdicts[i].reason));
    json_t *document = json_pack("{s:s, s:o, s:o}", "schema", "reuse-doctor/1", "findings", list,
                                 "engines", engines);
    bool written = document && json_dumpf(document, file, JSON_INDENT(2)) == 0;
    json_decref(document);
    fputc('\n', file);
    return written;
}
