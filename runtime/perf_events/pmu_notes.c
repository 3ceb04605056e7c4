/* SPDX-License-Identifier: BSD-3-Clause */
/* See pmu_notes.h. Signal-safe. */
#include "perf_events/pmu_notes.h"

#include <errno.h>
#include <string.h>

#include "bursts/thread.h"
#include "output/output.h"
#include "output/say.h"
#include "perf_events/pmu.h"

#include "signal_safe.h"

/* A list under way: "what: 3 of these, 5 of those". */
struct list {
    struct line line;
    const char *between;
};

static void begin(struct list *list, const char *what)
{
    line_begin(&list->line);
    line_text(&list->line, what);
    list->between = ": ";
}

/* Nothing for none. */
static void add(struct list *list, uint64_t count, const char *words)
{
    if (count == 0)
        return;
    line_text(&list->line, list->between);
    line_number(&list->line, count);
    line_text(&list->line, words);
    list->between = ", ";
}

/* Into the profile, if anything was added. */
static void end(struct list *list, enum note_severity severity)
{
    if (list->between[0] == ':')
        return;
    list->line.text[list->line.length] = '\0';
    output_note(severity, list->line.text + strlen("libreuse: "));
}

static void note_shared(const char *before, uint64_t off_ns, uint64_t enabled_ns, const char *after)
{
    struct line line;

    if (enabled_ns == 0)
        return;
    line_begin(&line);
    line_text(&line, before);
    line_fixed(&line, off_ns * 1000 / enabled_ns, 1);
    line_text(&line, after);
    line.text[line.length] = '\0';
    output_note(NOTE_WARNING, line.text + strlen("libreuse: "));
}

static void note_samplers(const struct pmu_losses *losses)
{
    struct list list;

    begin(&list, "hardware sampling");
    add(&list, losses->records, " records lost");
    add(&list, losses->throttled, " times throttled");
    add(&list, losses->damaged, " records unreadable");
    add(&list, losses->no_ring,
        " threads without a buffer (sysctl kernel.perf_event_mlock_kb, ulimit -l)");
    add(&list, losses->by_clock,
        " threads sampled by their CPU clock, for the kernel refused them hardware events: their "
        "accesses are modelled, as CPU time at the other threads' rate");
    end(&list, losses->throttled + losses->records + losses->by_clock > 0 ? NOTE_WARNING
                                                                          : NOTE_INFORMATION);
    if (pmu_has_kinds_of_cores())
        note_shared("hardware counters: up to ", losses->off_ns, losses->enabled_ns,
                    " % of a thread's time nothing counted: it ran on a kind of core whose unit is "
                    "not known here, or others held the counters; accesses made then are missing");
    else
        note_shared("hardware counters were shared with others: up to ", losses->off_ns,
                    losses->enabled_ns, " % of the time one did not count; accesses are scaled up");
}

static const char *refusal(int error)
{
    switch (error) {
    case ENOBUFS:
        return " threads without it (their buffers cannot be locked: sysctl "
               "kernel.perf_event_mlock_kb, ulimit -l)";
    case EBUSY:
        return " threads without it (the unit is taken by somebody else)";
    case EMFILE:
        return " threads without it (no file descriptor is free: ulimit -n)";
    default:
        return " threads without it (the kernel refused the event)";
    }
}

static void note_witness(const struct pmu_losses *losses)
{
    const struct aux_faults *aux = &losses->aux;
    struct list list;

    begin(&list, "what served the accesses");
    add(&list, losses->no_witness, refusal(losses->refusal));
    add(&list, losses->never_begun, " threads in which the unit never ran");
    add(&list, aux->truncated, " times its buffer was full");
    add(&list, aux->collisions, " times samples fell together and were dropped");
    add(&list, aux->gaps, " pieces of its buffer of which the kernel did not tell");
    add(&list, aux->partial + aux->cut, " records cut off");
    add(&list, aux->bad_bytes, " bytes unreadable");
    end(&list, NOTE_INFORMATION);
    note_shared("what served the accesses: up to ", losses->witness_off_ns,
                losses->witness_enabled_ns, " % of the time nothing was sampled for it");
}

void pmu_note_losses(void)
{
    struct pmu_losses losses;

    thread_pmu_losses(&losses);
    note_samplers(&losses);
    note_witness(&losses);
}
