/* SPDX-License-Identifier: BSD-3-Clause */
/* See expected_rates.h. */
#include "analysis/rates/expected_rates.h"

#include <math.h>
#include <stdbool.h>

#include "analysis/rates/progress_observations.h"
#include "interpreter_stop.h"

/* Where the profile does not say: the mean of 9 programs, 36 runs. */
#define CYCLES_PER_NS 3.2
/* What a program is off by, as a factor: of 48 programs, each with 24 to 190 bursts, 1.26 (root
 * mean square). In profiles before version 3.5 more. */
#define COMMON_DEVIATION log(1.3)
#define COMMON_DEVIATION_BEFORE log(1.5)
/* The way that a line has from the third cache, between those from the second and from memory. */
#define THIRD_CACHE 0.15
/* By what factor the time that lines take may be off in a loop. */
#define LINES_TIME_DEVIATION log(3)
/* In profiles before version 3.5: where lines come from that nothing prefetches, from near (0) to
 * afar (1), in the mean of 48 programs. */
#define FAR_SHARE 0.1
/* If page faults take all of a loop's time before bursts, what is left is known to this, ln. */
#define FAULTS_BEFORE_DEVIATION 0.7
/* Code that accesses memory so seldom that a burst ends for its instructions: two of these a cycle,
 * within a factor of two. */
#define INSTRUCTION_NS 0.17
#define INSTRUCTION_DEVIATION log(2)
/* Code whose words other threads move in all of its bursts waits for them: four programs, which did
 * little else, ran at 0.03 to 0.8 times the rate expected otherwise (geometric mean 0.12). What is
 * expected is half of that, as a logarithm, with an interval that holds all four. */
#define CONTENDED_MEAN 1.0
#define CONTENDED_DEVIATION 1.5
/* Without a model. An access that hits takes some 0.25 ns, two to three a cycle. What the others
 * take depends on how many lines code touches, by about the square: the more it touches, the
 * farther they come from. Of 13 programs from lists to interpreters loops were within a factor
 * of 2.9 (standard deviation) of this; about one rate for all of them, within 4.3. A program is,
 * within a factor of ten. */
#define ACCESS_NS 0.25
#define LINES_NS 100.0
#define LINES_DEVIATION (log(10) / 1.96)
/* Such loops scatter by this more than those that were modelled, ln (rate_fit.c). */
#define LINES_SCATTER 0.6
/* Lines per access of code that nothing is known of: two accesses per ns. */
#define USUAL_LINES 0.05

/* What is known of the code of a group. */
struct code {
    double touches, open;
    /* Of modelled bursts, each by its accesses: accesses per ns, and of what takes one the part
     * that waits for lines. */
    double bursts, speed, waits;
    bool before;                /* version 3.5 */
    double before_ns, fault_ns; /* between looks and bursts, and of that in page faults */
    double fault_ns_since;      /* in page faults since the bursts before */
    double fault_ns_within;     /* that its accesses take, in so many */
    double fault_accesses;
    double calls, call_accesses; /* system calls, in so many accesses */
    double seldom;               /* of the modelled bursts, those by their instructions alone */
    double records, shared; /* bursts; those while which other threads moved a word of theirs */
};

/* Cycles of a modelled burst: if all lines are at hand, come from the second cache, from memory. */
struct modelled {
    double held, near, far;
};

/* Those that it waits for lines. */
static double waiting(const struct modelled *cycles, const struct line_sources *sources)
{
    double beyond = sources->third * THIRD_CACHE + sources->memory * (1 - THIRD_CACHE);

    if (cycles->held <= 0)
        return FAR_SHARE * fmax(0, cycles->far - cycles->near);
    return sources->second * fmax(0, cycles->near - cycles->held) +
           beyond * fmax(0, cycles->far - cycles->near);
}

/* Accesses per ns of a burst that ended for its instructions; 0: it did not. */
static double speed_by_instructions(const struct profile *profile,
                                    const struct record_progress *record)
{
    size_t index = profile_burst_index(profile, record->burst_id);
    const struct record_burst *burst =
        index < profile->bursts.count ? profile->bursts.items[index] : NULL;

    return burst != NULL && burst->stop == INTERPRETER_BUDGET
               ? burst->accesses / (BURST_INSTRUCTIONS_MAX * INSTRUCTION_NS)
               : 0;
}

static void add_burst(const struct profile *profile, const struct record_progress *record,
                      const struct line_sources *sources, struct code *code)
{
    const double before_ns = progress_time(record->before_ns);
    struct modelled cycles = {0};
    double accesses = 0, cycles_per_ns = 0, at_hand, waits;
    bool shared = false;

    for (uint32_t i = 0; i < record->count; i++) {
        const struct progress_variable *variable = &record->variables[i];

        shared |= variable->kind == PROGRESS_WORD && variable->flags & PROGRESS_SHARED;
        if (variable->kind == PROGRESS_FAULT_NS) {
            code->fault_ns_since += variable->since;
            code->before_ns += before_ns;
            code->fault_ns += fmin(variable->before, before_ns);
            code->fault_ns_within += variable->within;
            code->fault_accesses += variable->accesses;
        }
        if (variable->kind == PROGRESS_SYSTEM_CALLS) {
            code->calls += variable->within;
            code->call_accesses += variable->accesses;
        }
        if (variable->kind != PROGRESS_MODEL)
            continue;
        if (variable->place <= PROGRESS_NEW_LINES)
            accesses = variable->accesses;
        if (variable->place == PROGRESS_HELD_CYCLES)
            cycles.held = variable->within;
        else if (variable->place == PROGRESS_NEAR_CYCLES)
            cycles.near = variable->within;
        else if (variable->place == PROGRESS_FAR_CYCLES)
            cycles.far = variable->within;
        else if (variable->place == PROGRESS_CYCLES_PER_NS)
            cycles_per_ns = variable->within;
    }
    code->records++;
    code->shared += shared;
    at_hand = cycles.held > 0 ? cycles.held : cycles.near;
    if (at_hand <= 0) {
        double speed = speed_by_instructions(profile, record);

        code->bursts += speed > 0;
        code->seldom += speed > 0;
        code->speed += speed;
        return;
    }
    waits = waiting(&cycles, sources);
    code->bursts++;
    code->before = cycles.held <= 0;
    code->speed +=
        accesses * (cycles_per_ns > 0 ? cycles_per_ns : CYCLES_PER_NS) / (at_hand + waits);
    code->waits += waits / (at_hand + waits);
}

/* ln(rate) of code that touches another line with so many of its accesses: probes that are open are
 * about the lines that were touched. */
static double rate_by_lines(const struct code *code)
{
    double lines = code->touches > 0 ? code->open / code->touches : USUAL_LINES;

    return -log(ACCESS_NS + LINES_NS * lines * lines);
}

static double rate_by_model(const struct code *code, const struct kernel_demand *demand,
                            double *variance)
{
    double lines = LINES_TIME_DEVIATION * code->waits / code->bursts;
    double off = FAULTS_BEFORE_DEVIATION * demand->faults;
    double seldom = INSTRUCTION_DEVIATION * code->seldom / code->bursts;

    *variance = lines * lines + off * off + seldom * seldom;
    return log(code->speed / code->bursts);
}

void expected_rates(const struct profile *profile, uint32_t number,
                    const struct program_line_sources *sources, const uint32_t *burst_groups,
                    const uint32_t *progress_groups, struct rate_evidence *evidence,
                    struct kernel_demand *demand)
{
    struct code code[RATE_GROUPS_MAX] = {0};
    double modelled = 0, common, unmodelled = LINES_SCATTER * LINES_SCATTER, contended;
    bool before = false;

    for (size_t i = 0; i < profile->bursts.count; i++) {
        code[burst_groups[i]].touches += profile->bursts.items[i]->touches;
        code[burst_groups[i]].open += profile->bursts.items[i]->open;
    }
    for (size_t i = 0; i < profile->progress.count; i++)
        add_burst(profile, profile->progress.items[i],
                  line_sources_of_loop(sources, number, profile->progress.items[i]->loop),
                  &code[progress_groups[i]]);
    for (uint32_t i = 0; i < evidence->groups; i++) {
        modelled += code[i].bursts > 0 ? evidence->share[i] : 0;
        before |= code[i].before;
    }
    common = modelled <= 0.5 ? LINES_DEVIATION
             : before        ? COMMON_DEVIATION_BEFORE
                             : COMMON_DEVIATION;
    evidence->common_variance = common * common;
    unmodelled += LINES_DEVIATION * LINES_DEVIATION - common * common;
    for (uint32_t i = 0; i < evidence->groups; i++) {
        demand[i] = (struct kernel_demand){
            code[i].calls, code[i].call_accesses, code[i].fault_ns_since,
            code[i].fault_accesses > 0 ? code[i].fault_ns_within / code[i].fault_accesses : 0,
            code[i].before_ns > 0 ? code[i].fault_ns / code[i].before_ns : 0};
        evidence->own_variance[i] = unmodelled;
        evidence->expected[i] =
            code[i].bursts > 0 ? rate_by_model(&code[i], &demand[i], &evidence->own_variance[i])
                               : rate_by_lines(&code[i]);
        contended = code[i].records > 0 ? code[i].shared / code[i].records : 0;
        evidence->expected[i] -= CONTENDED_MEAN * contended;
        evidence->own_variance[i] += pow(CONTENDED_DEVIATION * contended, 2);
    }
}
