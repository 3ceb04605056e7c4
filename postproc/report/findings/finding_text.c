/* SPDX-License-Identifier: BSD-3-Clause */
/* Words for a pattern, how far it is believed, what it is worth, and for its place. */
#include "report/findings/finding_text.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

char *finding_share_text(struct estimate share)
{
    double lo = round(100 * share.lo), hi = round(100 * share.hi);

    return lo < hi ? format_string("%.0f to %.0f %%", lo, hi) : format_string("%.0f %%", hi);
}

const char *finding_pattern_text(enum pattern pattern)
{
    static const char *const words[PATTERN_COUNT] = {
        [PATTERN_PASSES] = "Repeated passes over the same data (loops in turn)",
        [PATTERN_ACROSS_LINES] = "Strided inner loop (each access in another cache line)",
        [PATTERN_TOO_LARGE] = "Working set larger than a cache (data comes back too late)",
        [PATTERN_CROWDED_SETS] = "Conflict misses (lines crowd in a few sets of the cache)",
        [PATTERN_FEW_MEMBERS] = "Sparse use of structures (few members of each)",
        [PATTERN_LINKED] = "Pointer chasing (nodes anywhere in memory)",
        [PATTERN_INDEXED] = "Indirect access (indexes lead anywhere in an array)",
        [PATTERN_ANYWHERE] = "Random access to a large block",
        [PATTERN_FALSE_SHARING] = "False sharing (threads use different parts of a cache line)",
        [PATTERN_TRUE_SHARING] = "True sharing (threads write the same data)",
        [PATTERN_SHARED_INDEX] = "Shared index or flag (one thread writes it, others read it)",
        [PATTERN_HANDED_OVER] = "Producer to consumer (threads use what another has just written)",
        [PATTERN_ALLOCATOR] = "Allocation (time goes into allocating and freeing blocks)",
        [PATTERN_GROWTH] = "Reallocation (a container grows again and again)",
        [PATTERN_LOCKS] = "Locking (time goes into taking and releasing locks)",
        [PATTERN_WAITING] = "Synchronization (threads wait for each other)",
        [PATTERN_PAGE_FAULTS] = "Page faults (the kernel clears and maps memory for its first use)",
        [PATTERN_SMALL_CALLS] = "Small system calls (reads and writes of a few bytes each)",
    };

    return words[pattern];
}

bool finding_is_certain(const struct finding *finding)
{
    return finding->weight == FINDING_CLEAR && finding->verdict.belief == BELIEF_CERTAIN;
}

/* "Sparse use of structures (few members of each), or random access to a large block"; the caller
 * frees it. */
static char *believed_text(const struct finding *finding)
{
    const char *what = finding_pattern_text(finding->pattern),
               *other = finding_pattern_text(finding->verdict.other);
    char *text;

    switch (finding->verdict.belief) {
    case BELIEF_CERTAIN:
        return copy_string(what);
    case BELIEF_LIKELY:
        return format_string("Probably: %c%s", tolower((unsigned char)*what), what + 1);
    default:
        text = other != NULL
                   ? format_string("%s, or %c%s", what, tolower((unsigned char)*other), other + 1)
                   : format_string("%s, or nothing to cure", what);
        return text;
    }
}

/* How much longer to run is no exact science, and beyond that no science at all. */
static const double foreseen = 10;

/* "about 3.1 times as long"; the caller frees it. */
static char *times_text(double longer)
{
    return longer < foreseen ? format_string("about %.1f times as long", longer)
                             : copy_string("much longer, ten times or more,");
}

/* "; run about 3.1 times as long to be sure"; the caller frees it. */
static char *longer_text(const struct finding *finding)
{
    char *times = times_text(finding->longer);
    char *text =
        finding->longer > 1 ? format_string("; run %s to be sure", times) : copy_string("");

    free(times);
    return text;
}

/* The caller frees it. */
static char *modelled_text(const struct finding *finding, const char *what, const char *time_word)
{
    char *share = finding_share_text(finding->time);
    char *text =
        finding->weight == FINDING_OPEN && finding->apart
            ? format_string("%s: what it costs is open (%s of the %s), for threads hardly ran at "
                            "the same time.",
                            what, share, time_word)
        : finding->weight == FINDING_OPEN
            ? format_string("%s: %s of the %s, for how threads take turns was not seen (modelled "
                            "from rates).",
                            what, share, time_word)
            : format_string("%s: worth %s of the %s (modelled from rates).", what, share,
                            time_word);

    free(share);
    return text;
}

/* "..., or nothing to cure": nothing can be expected of a cure, then. */
static bool may_be_nothing(const struct finding *finding)
{
    return finding->verdict.belief == BELIEF_EITHER &&
           finding_pattern_text(finding->verdict.other) == NULL;
}

/* What it is and what it is worth, after what is believed; the caller frees it. */
static char *worth_text(const struct finding *finding, const char *what, const char *time_word)
{
    double most = ceil(100 * finding->time.hi);
    char *gain, *longer, *text;

    if (finding->modelled)
        return modelled_text(finding, what, time_word);
    if (finding->weight == FINDING_OPEN) {
        char *times = times_text(finding->longer);

        text = format_string("%s: worth at most %.0f %% of the %s, and perhaps nothing: run %s "
                             "to be sure.",
                             what, most, time_word, times);
        free(times);
        return text;
    }
    longer = longer_text(finding);
    if (may_be_nothing(finding)) {
        text =
            format_string("%s: worth at most %.0f %% of the %s%s.", what, most, time_word, longer);
        free(longer);
        return text;
    }
    gain = finding_share_text(finding->gain);
    text = format_string("%s: worth at most %.0f %% of the %s; %s is expected%s.", what, most,
                         time_word, gain, longer);
    free(longer);
    free(gain);
    return text;
}

char *finding_candidate_text(const struct finding *finding, bool another, const char *time_word)
{
    const char *what = finding_pattern_text(finding->pattern);
    char *times = times_text(finding->longer);
    char *text =
        format_string("Too few samples to name %s problem. The likeliest: %c%s, at most %.0f %% "
                      "of the %s and perhaps nothing. Run %s to be sure.",
                      another ? "another" : "a", tolower((unsigned char)*what), what + 1,
                      ceil(100 * finding->time.hi), time_word, times);

    free(times);
    return text;
}

char *finding_title_text(const struct finding *finding, const char *time_word)
{
    char *what = believed_text(finding), *text = worth_text(finding, what, time_word);

    free(what);
    return text;
}
