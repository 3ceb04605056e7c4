/* SPDX-License-Identifier: BSD-3-Clause */
/* See section_measured.h. */
#include "report/sections/section_measured.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double measured_bytes(const struct traffic *traffic, size_t level,
                             const struct measured *measured)
{
    return measured->lines * traffic->machine->caches[level - 1].line_size;
}

static char *name_of(const struct traffic *traffic, size_t level)
{
    return level == traffic->levels ? copy_string("Mem")
                                    : format_string("L%u", traffic->machine->caches[level].level);
}

static const char *verdict_of(const struct traffic *traffic, size_t number)
{
    const struct traffic_level *level = &traffic->level[number];

    if (level->beyond)
        return "not compared: the prediction lies beyond what was watched";
    return measured_verdict(level->bytes, measured_bytes(traffic, number, &level->measured),
                            level->measured.flags, number == 1 ? traffic->level[0].conflicts : NAN);
}

/* Events with what they count beside what is predicted. */
static char *events_of(const struct measured *measured)
{
    const char *remark = measured_remark(measured->flags);

    return remark[0] != '\0' ? format_string("%s (%s)", measured->text, remark)
                             : copy_string(measured->text);
}

void fill_measured(const struct traffic *traffic, struct document *document, size_t number,
                   struct cell cells[5])
{
    const struct traffic_level *level = &traffic->level[number];
    const struct measured *fills = &level->measured, *back = &level->measured_back;
    double bytes;
    char *events;

    if (fills->any && fills->known) {
        bytes = measured_bytes(traffic, number, fills);
        events = events_of(fills);
        cells[0] = cell_value(CELL_BYTES, bytes);
        if (!level->beyond && level->bytes.value > 0 && !traffic_is_vague(level->bytes))
            cells[1] = cell_value(CELL_FACTOR, bytes / level->bytes.value);
        cells[3] = cell_text(document, events);
        cells[4] = cell_text(document, verdict_of(traffic, number));
        free(events);
    } else if (fills->any) {
        events = format_string("not trusted: %s", fills->text);
        cells[4] = cell_text(document, events);
        free(events);
    }
    if (back->any && back->known)
        cells[2] = cell_value(CELL_BYTES, measured_bytes(traffic, number, back));
}

/* What stands before the colon. */
static struct cell first_words(struct document *document, const char *verdict)
{
    size_t length = strcspn(verdict, ":");
    char *words = format_string("%.*s", (int)length, verdict);
    struct cell cell = cell_text(document, words);

    free(words);
    return cell;
}

/* The whole verdict of a level and its events; events NULL: none to be named. */
static char *with_details(char *before, const char *level, const char *verdict, const char *events)
{
    char *text;

    if (verdict[0] == '\0')
        return before;
    text = format_string("%s%s%s %s%s%s.", before, before[0] != '\0' ? " " : "", level, verdict,
                         events != NULL ? "; counted by " : "", events != NULL ? events : "");
    free(before);
    return text;
}

static const struct column measured_columns[] = {
    {.heading = "level\n"},
    {.heading = "predicted\n"},
    {.heading = "measured\n"},
    {.heading = "measured /\npredicted"},
    {.heading = "written back\nmeasured"},
    {.heading = "verdict\n"},
};

void add_measured_table(struct document *document, struct section *section,
                        const struct traffic *traffic)
{
    struct table *table = NULL;
    char *details = copy_string("");

    for (size_t i = 1; i <= traffic->levels; i++) {
        const struct traffic_level *level = &traffic->level[i];
        struct cell cells[5] = {{0}};
        struct row *row;
        const char *verdict;
        char *name;

        if (!level->measured.any && !level->measured_back.any)
            continue;
        if (table == NULL)
            table = document_table(document, NULL, "Bytes asked for, predicted and measured",
                                   "measured: hardware events of the whole process in user space",
                                   measured_columns,
                                   sizeof(measured_columns) / sizeof(*measured_columns));
        name = name_of(traffic, i);
        fill_measured(traffic, document, i, cells);
        row = table_row(table);
        row->cells[0] = cell_text(document, name);
        row->cells[1] = level->beyond ? cell_beyond()
                        : traffic_is_vague(level->bytes)
                            ? cell_below(CELL_BYTES, level->bytes)
                            : cell_value(CELL_BYTES, level->bytes.value);
        row->cells[2] = cells[0];
        row->cells[3] = cells[1];
        row->cells[4] = cells[2];
        verdict = cells[4].kind == CELL_TEXT ? cells[4].text : "";
        row->cells[5] = first_words(document, verdict);
        details = with_details(details, name, verdict, cells[3].text);
        free(name);
    }
    if (table != NULL) {
        table_remark(document, table, details);
        section_table(section, table);
    }
    free(details);
}

/* The least part of the time that an event was on a counter. */
static double least_share(const struct traffic *traffic)
{
    double least = 1;

    for (size_t i = 1; i <= traffic->levels; i++) {
        if (traffic->level[i].measured.known && traffic->level[i].measured.any)
            least = fmin(least, traffic->level[i].measured.share);
        if (traffic->level[i].measured_back.known && traffic->level[i].measured_back.any)
            least = fmin(least, traffic->level[i].measured_back.share);
    }
    return least;
}

void explain_measured(struct document *document, struct section *section,
                      const struct traffic *traffic)
{
    double share = least_share(traffic);
    char *text;

    if (!traffic->counted) {
        section_paragraph(document, section, "traffic_notes",
                          "Measured: nothing. The profile holds no hardware counts to compare the "
                          "predictions with.");
        return;
    }
    if (!traffic->comparable) {
        section_paragraph(document, section, "traffic_notes",
                          "Measured: not compared. Hardware counts are of the whole program, on "
                          "the machine of the run and in its lines.");
        return;
    }
    section_paragraph(document, section, NULL,
                      "Measured are the lines that came into the level inside, times its line "
                      "size; what the profiler itself fetched is among them.");
    if (share < 0.999) {
        text = format_string("Hardware counters were shared out: an event was on one for %.0f %% "
                             "of the time at the least, and is scaled up.",
                             100 * share);
        section_paragraph(document, section, "traffic_notes", text);
        free(text);
    }
}
