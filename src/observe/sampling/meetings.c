/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/meetings.h"

#include <stddef.h>

#include "signal_safe.h"

/* A thread that was seen at a line within so long counts as one that uses it. */
static const uint64_t memory_ns = UINT64_C(2) << SHARED_USE_WINDOW_LOG2;

/* Of how many lines at most the oldest is sought. */
enum { CANDIDATES = 8 };

/* One burst at its lines. */
struct visitor {
    struct meetings *meetings;
    uint32_t thread_id;
    uint64_t burst_id, now_ns;
    double limit; /* ranks from here on are not told of */
    struct meetings_told *told;
    struct meeting_line *known[BURST_LINES_MAX]; /* by place in the list; NULL: none is */
};

static uint16_t *place_of(struct meetings *meetings, uint64_t line)
{
    return &meetings
                ->places[(line >> 5) * UINT64_C(0x9e3779b97f4a7c15) >> 40 & (MEETING_PLACES - 1)];
}

static struct meeting_line *find(struct meetings *meetings, uint64_t line)
{
    for (uint16_t i = *place_of(meetings, line); i != 0; i = meetings->lines[i - 1].next)
        if (meetings->lines[i - 1].line == line)
            return &meetings->lines[i - 1];
    return NULL;
}

/* Bursts note their lines when they are complete: one that began earlier may come later. */
static bool is_within(uint64_t then_ns, uint64_t now_ns)
{
    return now_ns < then_ns || now_ns - then_ns < memory_ns;
}

static bool is_shared(const struct meeting_line *line, uint64_t now_ns)
{
    return line->other_ns != 0 && is_within(line->other_ns, now_ns);
}

static void take_out(struct meetings *meetings, const struct meeting_line *line)
{
    uint16_t *link = place_of(meetings, line->line);

    while (&meetings->lines[*link - 1] != line)
        link = &meetings->lines[*link - 1].next;
    *link = line->next;
}

/* One to be used anew. */
static struct meeting_line *give_up_one(struct meetings *meetings, uint64_t now_ns)
{
    struct meeting_line *oldest = NULL;

    for (unsigned i = 0; i < CANDIDATES; i++) {
        struct meeting_line *line = &meetings->lines[meetings->hand];

        meetings->hand = (meetings->hand + 1) % MEETING_LINES;
        if (!is_shared(line, now_ns)) {
            oldest = line;
            break;
        }
        if (!oldest || line->time_ns < oldest->time_ns)
            oldest = line;
    }
    take_out(meetings, oldest);
    return oldest;
}

static struct meeting_line *create(struct meetings *meetings, uint64_t line, uint64_t now_ns)
{
    uint16_t *place = place_of(meetings, line);
    struct meeting_line *new = meetings->used < MEETING_LINES ? &meetings->lines[meetings->used++]
                                                              : give_up_one(meetings, now_ns);

    *new = (struct meeting_line){.line = line, .next = *place};
    *place = (uint16_t)(new - meetings->lines + 1);
    return new;
}

/*
 * Whether what is known of the line goes with what is seen now. In another window other lines are
 * listed: only those that are listed for certain can be compared.
 */
static bool is_recent(const struct meeting_line *line, uint64_t now_ns, double share)
{
    if (!is_within(line->time_ns, now_ns))
        return false;
    return shared_use_window(line->time_ns) == shared_use_window(now_ns) ||
           (line->share >= 1 && share >= 1);
}

/* Whether several threads use the line, this one among them, and one of them stores to it. */
static bool is_meeting(const struct visitor *visitor, const struct meeting_line *line,
                       const struct burst_line *own, double share)
{
    return line && is_recent(line, visitor->now_ns, share) &&
           (line->thread_id != visitor->thread_id || is_shared(line, visitor->now_ns)) &&
           (line->written || own->use.written != 0);
}

/* Finds what is known of the lines, and from which rank on meetings are not told of. Lines are
 * listed by rank. */
static void look(struct visitor *visitor, const struct burst_lines *lines)
{
    unsigned count = 0;

    visitor->limit = lines->next_rank;
    for (unsigned i = 0; i < lines->count; i++) {
        const struct burst_line *own = &lines->lines[i];

        visitor->known[i] = find(visitor->meetings, own->use.line);
        count += is_meeting(visitor, visitor->known[i], own,
                            burst_lines_share(own->uses, lines->next_rank));
        if (count == MEETINGS_TOLD_MAX + 1 && own->rank < visitor->limit)
            visitor->limit = own->rank;
    }
}

static void tell(struct visitor *visitor, const struct record_shared_use *use, double share)
{
    struct record_shared_use *told = &visitor->told->uses[visitor->told->count++];

    *told = *use;
    told->share = share;
}

static void visit(struct visitor *visitor, const struct burst_line *own, struct meeting_line *line,
                  double next_rank)
{
    double share = burst_lines_share(own->uses, next_rank);
    bool meeting = is_meeting(visitor, line, own, share) && own->rank < visitor->limit;
    struct record_shared_use use = own->use;

    use.burst_id = visitor->burst_id;
    if (!line)
        line = create(visitor->meetings, use.line, visitor->now_ns);
    if (line->time_ns == 0 || !is_recent(line, visitor->now_ns, share)) {
        line->other_ns = 0;
        line->written = false;
        line->share = 1;
    } else if (line->thread_id != visitor->thread_id) {
        line->other_ns = line->time_ns;
    } else if (!line->told &&
               shared_use_window(line->time_ns) == shared_use_window(visitor->now_ns)) {
        use.earlier = (uint16_t)(line->last.earlier + (line->last.earlier < UINT16_MAX));
    }
    if (meeting)
        share = burst_lines_share(own->uses, visitor->limit);
    line->share = share < line->share ? share : line->share;
    line->written |= use.written != 0;
    if (meeting) {
        if (!line->told && line->thread_id != visitor->thread_id)
            tell(visitor, &line->last, line->share);
        tell(visitor, &use, line->share);
    }
    line->last = use;
    line->told = meeting;
    line->thread_id = visitor->thread_id;
    line->time_ns = visitor->now_ns;
}

void meetings_note(struct meetings *meetings, const struct burst_lines *lines, uint32_t thread_id,
                   uint64_t burst_id, uint64_t now_ns, struct meetings_told *told)
{
    struct visitor visitor = {.meetings = meetings,
                              .thread_id = thread_id,
                              .burst_id = burst_id,
                              .now_ns = now_ns,
                              .told = told};

    told->count = 0;
    look(&visitor, lines);
    for (unsigned i = 0; i < lines->count; i++) {
        struct meeting_line *line = visitor.known[i];

        /* It may have been given up for another one of the burst's lines. */
        if (line && line->line != lines->lines[i].use.line)
            line = NULL;
        visit(&visitor, &lines->lines[i], line, lines->next_rank);
    }
}
