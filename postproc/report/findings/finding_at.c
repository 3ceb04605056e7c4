/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/findings/finding_at.h"

#include <ctype.h>
#include <string.h>

#include "report/findings/finding_text.h"
#include "report/model/last_uses.h"

/* What threads do to each other and time in libraries are other matters than where data is. */
static bool is_of_locality(enum pattern pattern)
{
    return pattern >= PATTERN_PASSES && pattern <= PATTERN_ANYWHERE;
}

static bool has_line(const struct finding *finding, const struct code_line *line)
{
    for (size_t i = 0; line->file != NULL && i < finding->line_count; i++)
        if (finding->lines[i].line == line->line && finding->lines[i].file != NULL &&
            strcmp(finding->lines[i].file, line->file) == 0)
            return true;
    return false;
}

static bool has_object(const struct finding *finding, const char *object)
{
    for (size_t i = 0; object != NULL && i < finding->object_count; i++)
        if (strcmp(finding->objects[i], object) == 0)
            return true;
    return false;
}

const struct finding *finding_at(const struct findings *findings, const struct code_line *line,
                                 const char *object)
{
    const struct finding *best = NULL;
    int most = 0;

    for (size_t i = 0; i < findings->items.count; i++) {
        const struct finding *finding = &findings->items.items[i];
        int near = 2 * has_line(finding, line) + has_object(finding, object);

        if (near > most && is_of_locality(finding->pattern) &&
            (i == findings_first_of_accesses(findings) || finding_has_evidence(finding))) {
            most = near;
            best = finding;
        }
    }
    return best;
}

char *finding_reference_text(struct model *model, const struct findings *findings,
                             const struct finding *finding, const struct code_line *line)
{
    const char *what = finding_pattern_text(finding->pattern);
    int first = tolower((unsigned char)*what);

    if (!finding_is_advised(finding, finding == findings->items.items +
                                                    findings_first_of_accesses(findings)))
        return format_string(
            "see the findings; the likeliest, %c%s, has too few samples to advise a "
            "change",
            first, what + 1);
    if (!has_line(finding, line) && finding->line_count > 0)
        return format_string("see the findings on this object first: %c%s, at %s", first, what + 1,
                             code_line_text(model, &finding->lines[0]));
    return format_string("see the findings, %c%s: %s", first, what + 1, finding->remedy);
}
