/* SPDX-License-Identifier: BSD-3-Clause */
/* Lays out the first screen: as many findings as fit, and what has to stand below them. */
#include "report/findings/findings_screen.h"

#include <stdlib.h>
#include <string.h>

#include "report/findings/finding_text.h"

enum { SCREEN = 24, LINES_BELOW = 6, SHOWN_MAX = 4 };

/* Colour tells at a glance what the title says in words. */
static enum tone tone_of(const struct finding *finding)
{
    if (finding_is_certain(finding))
        return TONE_CERTAIN;
    return finding->weight == FINDING_CLEAR && finding->verdict.belief == BELIEF_LIKELY
               ? TONE_LIKELY
               : TONE_OPEN;
}

/* What is hardly known is where to look, and not what to change. */
static void say_candidate(struct model *model, const struct finding *finding, const char *time_word,
                          struct paragraph *screen)
{
    char *title = finding_candidate_text(finding, time_word);
    char *where = finding_where_text(model, finding);
    char *text = format_string("%s At %s.", title, where);

    paragraph_add_toned(screen, 0, 0, text, TONE_OPEN);
    free(text);
    free(where);
    free(title);
}

static void say_finding(struct model *model, const struct finding *finding, size_t number,
                        const char *time_word, struct paragraph *screen)
{
    char *where = finding_where_text(model, finding), *title, *text;

    title = finding_title_text(finding, time_word);
    text = format_string("%zu. %s", number, title);
    paragraph_add_toned(screen, 0, 3, text, tone_of(finding));
    free(text);
    free(title);
    text = format_string("At %s.", where);
    paragraph_add(screen, 3, 3, text);
    free(text);
    free(where);
    if (*finding->remedy != '\0') {
        size_t length = strlen(finding->remedy);

        text = format_string("Do: %s%s", finding->remedy,
                             finding->remedy[length - 1] == '.' ? "" : ".");
        paragraph_add(screen, 3, 7, text);
        free(text);
    }
    text = finding->bursts > 0
               ? format_string("Why: %s [%zu bursts]. Check: %s", finding->reason, finding->bursts,
                               finding->check)
               : format_string("Why: %s [exact]. Check: %s", finding->reason, finding->check);
    paragraph_add(screen, 3, 8, text);
    free(text);
}

/* Beside whatever was found: threads may cost each other more than all of it. */
static void say_unseen_sharing(const struct findings *findings, struct paragraph *screen)
{
    const struct sight *sight = &findings->sight;
    char *text;

    if (sight->misses_sharing)
        text = format_string("Not observed: sharing between threads, and what it costs (%s). What "
                             "would show it: %s.",
                             sight->cause, sight->way_out);
    else if (sight->models_sharing)
        text = format_string("Sharing between threads is modelled, from lines at which their "
                             "bursts met (%s). What would observe it: %s.",
                             sight->cause, sight->way_out);
    else
        return;
    paragraph_add(screen, 0, 0, text);
    free(text);
}

static char *below_text(const struct model *model, const struct findings *findings, size_t shown,
                        size_t uncertain)
{
    char *costs = access_costs_text(&findings->costs, &model->machine);
    size_t left = findings->items.count - shown - uncertain;
    char *more =
        left > 0 ? format_string("%zu more finding%s (--format json). ", left, left == 1 ? "" : "s")
                 : copy_string("");
    char *few = uncertain > 0 ? format_string("%zu more with too few samples to tell. ", uncertain)
                              : copy_string("");
    char *text = format_string("%s%sLatencies: %s. Shares of time are modelled, at 95 %%; what "
                               "overlaps in time is not ranked.",
                               more, few, costs);

    free(few);
    free(more);
    free(costs);
    return text;
}

static bool says_something(const struct findings *findings, size_t i)
{
    return finding_has_evidence(&findings->items.items[i]) || i == 0;
}

void findings_screen_put(struct model *model, const struct findings *findings,
                         const char *time_word, const char *conclusion, struct paragraph *screen)
{
    size_t shown = 0, uncertain = 0;
    char *text;

    for (size_t i = 0; i < findings->items.count; i++) {
        struct paragraph one = {.text = NULL};

        if (!says_something(findings, i)) {
            uncertain++;
            continue;
        }
        if (shown == SHOWN_MAX)
            continue;
        if (finding_is_advised(&findings->items.items[i], i == 0))
            say_finding(model, &findings->items.items[i], shown + 1, time_word, &one);
        else
            say_candidate(model, &findings->items.items[i], time_word, &one);
        if (shown == 0 || screen->lines + one.lines + LINES_BELOW <= SCREEN) {
            paragraph_append(screen, &one);
            shown++;
        }
        paragraph_free(&one);
    }
    if (conclusion != NULL)
        paragraph_add_toned(screen, 0, 0, conclusion, TONE_TITLE);
    say_unseen_sharing(findings, screen);
    text = below_text(model, findings, shown, uncertain);
    paragraph_add(screen, 0, 0, text);
    free(text);
}
