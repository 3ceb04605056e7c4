/* SPDX-License-Identifier: BSD-3-Clause */
/* Lays out the first screen: as many findings as fit, and what has to stand below them. */
#include "report/findings/findings_screen.h"

#include <stdlib.h>
#include <string.h>

#include "report/findings/finding_text.h"
#include "report/findings/hot_code.h"
#include "report/findings/nameless_code.h"
#include "report/findings/unseen_sharing.h"

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
static void say_candidate(struct model *model, const struct findings *findings, size_t i,
                          const char *time_word, struct paragraph *screen)
{
    const struct finding *finding = &findings->items.items[i];
    char *title = finding_candidate_text(finding, i > 0, time_word);
    char *where = finding_where_text(model, finding);
    /* What takes most time may be something else. */
    char *hot = hot_code_text(model, findings);
    char *text = format_string("%s At %s.%s", title, where, hot);

    paragraph_add_toned(screen, 0, 0, text, TONE_OPEN);
    free(text);
    free(hot);
    free(where);
    free(title);
}

static bool ends_in(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);

    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* Has a full stop, or ends in a command, which a full stop would become part of when copied. */
static bool ends_whole(const char *remedy)
{
    return ends_in(remedy, ".") || ends_in(remedy, " PROGRAM");
}

static void say_finding(struct model *model, const struct finding *finding, size_t number,
                        bool advised, const char *time_word, struct paragraph *screen)
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
    if (advised && *finding->remedy != '\0') {
        text = format_string("Do: %s%s", finding->remedy, ends_whole(finding->remedy) ? "" : ".");
        paragraph_add(screen, 3, 7, text);
        free(text);
    }
    text = finding->bursts > 0
               ? format_string("Why: %s [%zu burst%s]. Check: %s", finding->reason, finding->bursts,
                               finding->bursts == 1 ? "" : "s", finding->check)
               : format_string("Why: %s [%s]. Check: %s", finding->reason,
                               model->line_rate > 1 ? "from a part of the lines" : "exact",
                               finding->check);
    paragraph_add(screen, 3, 8, text);
    free(text);
}

static void say_unseen_sharing(const struct findings *findings, struct paragraph *screen)
{
    char *text = unseen_sharing_text(findings);

    if (text != NULL)
        paragraph_add(screen, 0, 0, text);
    free(text);
}

static char *below_text(const struct model *model, const struct findings *findings, size_t shown,
                        size_t uncertain)
{
    char *costs = access_costs_text(&findings->costs, &model->machine);
    size_t left = findings->items.count - shown - uncertain;
    char *more = left > 0 ? format_string("%zu more finding%s (-v). ", left, left == 1 ? "" : "s")
                          : copy_string("");
    char *few = uncertain > 0
                    ? format_string("%zu more with too few samples to tell (-v). ", uncertain)
                    : copy_string("");
    char *text = format_string("%s%sLatencies: %s. Shares of time are modelled, with 95 %% "
                               "intervals; those of several findings may overlap. A change that "
                               "spares instructions as well saves more.",
                               more, few, costs);

    free(few);
    free(more);
    free(costs);
    return text;
}

static bool says_something(const struct findings *findings, size_t i)
{
    return finding_has_evidence(&findings->items.items[i]) ||
           i == findings_first_of_accesses(findings);
}

static bool has_room(const struct paragraph *screen, const struct paragraph *one, size_t shown)
{
    return shown == 0 || (shown < SHOWN_MAX && screen->lines + one->lines + LINES_BELOW <= SCREEN);
}

/* What is too uncertain to advise says where to look: the first one as that, others, which only -v
 * lists, without a remedy. */
static void say(struct model *model, const struct findings *findings, size_t i, size_t number,
                const char *time_word, struct paragraph *one)
{
    const struct finding *finding = &findings->items.items[i];
    bool first = i == findings_first_of_accesses(findings);

    if (!first || finding_is_advised(finding, true))
        say_finding(model, finding, number, finding_is_advised(finding, first), time_word, one);
    else
        say_candidate(model, findings, i, time_word, one);
}

void findings_screen_put(struct model *model, const struct findings *findings,
                         const char *time_word, const char *conclusion, struct paragraph *screen)
{
    const bool all = model->options->verbose;
    const struct finding **told =
        allocate_zeroed(findings->items.count + 1, sizeof(const struct finding *));
    size_t shown = 0, uncertain = 0;
    char *text;

    for (size_t i = 0; i < findings->items.count; i++) {
        struct paragraph one = {.text = NULL};

        if (!all && !says_something(findings, i)) {
            uncertain++;
            continue;
        }
        say(model, findings, i, shown + 1, time_word, &one);
        /* The first one is shown however long it is. */
        if (all || i == findings_first_of_accesses(findings) || has_room(screen, &one, shown)) {
            paragraph_append(screen, &one);
            told[shown++] = &findings->items.items[i];
        }
        paragraph_free(&one);
    }
    if (conclusion != NULL)
        paragraph_add_toned(screen, 0, 0, conclusion, TONE_TITLE);
    text = nameless_code_text(model, told, shown);
    if (text != NULL)
        paragraph_add(screen, 0, 0, text);
    free(text);
    free(told);
    say_unseen_sharing(findings, screen);
    text = below_text(model, findings, shown, uncertain);
    paragraph_add(screen, 0, 0, text);
    free(text);
}
