/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "isa/pipeline.h"

#include <stddef.h>
#include <string.h>

#include "profile/format.h"

#include "signal_safe.h"

enum {
    NARROW = 4, /* instructions a cycle */
    /* Waiting for units that are busy: so much may queue before them. */
    QUEUE = 16 * PIPELINE_CYCLE,
    LINE_QUEUE = 48 * PIPELINE_CYCLE,
    /* Of instructions fetched together those behind a taken branch are lost: half of what is
       fetched in a cycle. */
    TAKEN = PIPELINE_CYCLE / 2,
    /* The divider is busy so long (Fog, Instruction tables, 2023: divsd 4 to 5, sqrtsd 5 to 9). */
    DIVIDES = 5 * PIPELINE_CYCLE,
    LINE_SHIFT = 6,
    WORD_SHIFT = 3,
    STRING_BYTES = 32, /* a cycle, of a repeated instruction */
};

static uint32_t later(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static uint32_t earlier(uint32_t a, uint32_t by)
{
    return a > by ? a - by : 0;
}

const struct pipeline_costs pipeline_usual_costs = {
    .turn = PIPELINE_CYCLE,
    .far_turn = 2 * PIPELINE_CYCLE,
    .refill = 14 * PIPELINE_CYCLE,
    .store = PIPELINE_CYCLE / 2,
    .scattered = 7 * PIPELINE_CYCLE,
    .streamed = 7 * PIPELINE_CYCLE,
    .memory = 350 * PIPELINE_CYCLE,
};

void pipeline_begin(struct pipeline *p, struct pipeline_pace pace,
                    const struct pipeline_costs *costs)
{
    memset(p, 0, offsetof(struct pipeline, predictor));
    p->pace = pace;
    p->costs = costs;
    p->window =
        pipeline_width_of(pace).instructions > NARROW ? PIPELINE_WINDOW : PIPELINE_NARROW_WINDOW;
}

void pipeline_time_from_here(struct pipeline *p)
{
    p->timing = true;
}

/* ---- instructions ---- */

static void dispatch(struct pipeline_timeline *t, uint32_t at, uint32_t room)
{
    t->dispatch = later(t->dispatch + room, t->window[at]);
    t->complete = t->dispatch;
}

static void retire(struct pipeline_timeline *t, uint32_t at)
{
    t->retired = later(t->retired, t->complete);
    t->window[at] = t->retired;
}

void pipeline_instruction(struct pipeline *p, bool fused)
{
    uint32_t room = fused ? 0 : p->pace.instruction, at = p->instructions & (p->window - 1);

    for (unsigned i = 0; i < PIPELINE_SOURCES; i++)
        dispatch(&p->from[i], at, room);
}

void pipeline_retire(struct pipeline *p)
{
    uint32_t at = p->instructions & (p->window - 1);

    for (unsigned i = 0; i < PIPELINE_SOURCES; i++)
        retire(&p->from[i], at);
    p->instructions++;
}

/* ---- operations ---- */

static uint32_t start(const struct pipeline_timeline *t, uint64_t reads)
{
    uint32_t at = t->dispatch;

    for (; reads != 0; reads &= reads - 1)
        at = later(at, t->ready[__builtin_ctzll(reads)]);
    return at;
}

static void end(struct pipeline_timeline *t, uint64_t writes, uint32_t at)
{
    t->complete = later(t->complete, at);
    for (; writes != 0; writes &= writes - 1)
        t->ready[__builtin_ctzll(writes)] = at;
}

/* Divisions queue before the one unit that makes them, as accesses do before theirs. */
static void divide(struct pipeline_timeline *t)
{
    t->divider = later(t->divider, t->dispatch) + DIVIDES;
    t->dispatch = later(t->dispatch, earlier(t->divider, QUEUE));
}

void pipeline_compute(struct pipeline *p, struct pipeline_operands operands, unsigned latency)
{
    uint32_t takes = latency * PIPELINE_CYCLE;

    for (unsigned i = 0; i < PIPELINE_SOURCES; i++) {
        if (latency >= PIPELINE_DIVISION)
            divide(&p->from[i]);
        end(&p->from[i], operands.writes, start(&p->from[i], operands.reads) + takes);
    }
}

/* ---- memory ---- */

/* In how many places of its set: 0 or 1. No branch is taken (line_times.h). */
static unsigned holds(const struct pipeline *p, uint32_t line)
{
    const uint32_t *set = p->line[line % PIPELINE_SETS];

    return (unsigned)(set[0] == line + 1) + (unsigned)(set[1] == line + 1);
}

bool pipeline_scattered(const struct pipeline *p, uint64_t address)
{
    uint32_t line = (uint32_t)(address >> LINE_SHIFT);

    return holds(p, line) + holds(p, line - 1) + holds(p, line + 1) == 0;
}

/* Used lately; next to one that was; or not. */
enum line_state { LINE_HELD, LINE_STREAMED, LINE_NEW };

enum { NEAR_LATENCY = PROGRESS_NEAR_LATENCY * PIPELINE_CYCLE };

/* Parts of a cycle: between two lines, and what each takes more than one in the first cache. */
struct line_costs {
    uint32_t way, latency;
};

static struct line_costs line_costs_of(const struct pipeline *p, enum pipeline_source source,
                                       enum line_state state)
{
    if (state == LINE_HELD || source == PIPELINE_HELD)
        return (struct line_costs){0, 0};
    if (source == PIPELINE_NEAR)
        return (struct line_costs){2 * PIPELINE_CYCLE, NEAR_LATENCY};
    if (state == LINE_STREAMED)
        return (struct line_costs){p->costs->streamed, 50 * PIPELINE_CYCLE};
    return (struct line_costs){p->costs->scattered, p->costs->memory};
}

static void move_back(uint32_t pair[2], uint32_t first)
{
    pair[1] = pair[0];
    pair[0] = first;
}

/* The line becomes the first of its set. One whose neighbour was used shortly before has been
 * prefetched. */
static enum line_state touch_line(struct pipeline *p, uint64_t address)
{
    uint32_t line = (uint32_t)(address >> LINE_SHIFT), at = line % PIPELINE_SETS;
    uint32_t *set = p->line[at];
    enum line_state state = LINE_HELD;

    if (set[0] == line + 1)
        return LINE_HELD;
    if (set[1] != line + 1) {
        state = holds(p, line - 1) || holds(p, line + 1) ? LINE_STREAMED : LINE_NEW;
        p->new_lines += p->timing;
        p->scattered += p->timing && state == LINE_NEW;
    }
    move_back(set, line + 1);
    for (unsigned i = 0; i < PIPELINE_SOURCES; i++)
        move_back(p->from[i].arrives[at], p->from[i].arrives[at][1]);
    return state;
}

void pipeline_warm(struct pipeline *p, uint64_t address)
{
    touch_line(p, address);
}

/* A line comes: the way is free after the ones before, and one of the buffers that lines come to is
 * when the line has come that took it last. */
static void fill(struct pipeline_timeline *t, struct line_costs costs, enum line_state state)
{
    uint32_t *buffer = &t->fills[t->filled % PIPELINE_FILLS];

    if (state == LINE_HELD)
        return;
    t->lines = later(t->lines, t->dispatch) + costs.way;
    t->dispatch = later(t->dispatch, earlier(t->lines, LINE_QUEUE));
    t->dispatch = later(t->dispatch, *buffer);
    *buffer = t->dispatch + costs.latency;
    t->filled++;
}

/* Accesses queue before the units that make them, which each is in for so long. */
static void occupy(struct pipeline_timeline *t, struct line_costs costs, enum line_state state,
                   uint32_t access)
{
    t->memory = later(t->memory, t->dispatch) + access;
    t->dispatch = later(t->dispatch, earlier(t->memory, QUEUE));
    fill(t, costs, state);
}

/* The line arrives for those that follow as well. It has its unit already. */
static void load(struct pipeline_timeline *t, struct pipeline_operands operands,
                 enum line_state state, uint32_t stored, uint32_t *arrives, uint32_t latency)
{
    uint32_t at;

    at = later(later(start(t, operands.reads), stored), t->locked) + PIPELINE_LOAD;
    if (state != LINE_HELD)
        *arrives = at + latency;
    end(t, operands.writes, later(at, *arrives));
}

/* A word that was stored by the same name: its address is not waited for. */
static void forward(struct pipeline_timeline *t, uint64_t writes, uint32_t at)
{
    end(t, writes, later(later(t->dispatch, at), t->locked));
}

void pipeline_load(struct pipeline *p, struct pipeline_operands operands, uint64_t address,
                   uint32_t name)
{
    uint32_t word = (uint32_t)(address >> WORD_SHIFT), at = word % PIPELINE_STORES;
    uint32_t set = (uint32_t)(address >> LINE_SHIFT) % PIPELINE_SETS;
    bool waits = p->store[at] == word + 1;
    bool renamed = waits && name != 0 && p->name[at] == name && p->pace.forward < PIPELINE_LOAD;
    enum line_state state = touch_line(p, address);

    p->accesses++;
    for (unsigned i = 0; i < PIPELINE_SOURCES; i++) {
        struct line_costs costs = line_costs_of(p, i, state);

        occupy(&p->from[i], costs, state, p->pace.access);
        if (renamed)
            forward(&p->from[i], operands.writes, p->from[i].stored[at] + p->pace.forward);
        else
            load(&p->from[i], operands, state, waits ? p->from[i].stored[at] : 0,
                 p->from[i].arrives[set], costs.latency);
    }
}

/* Stores leave that buffer one after the other. */
static void drain(struct pipeline_timeline *t, uint32_t cost)
{
    t->stores = later(t->stores, t->dispatch) + cost;
    t->dispatch = later(t->dispatch, earlier(t->stores, QUEUE));
}

/* What is stored waits in a buffer: no line of it is waited for. It has its unit already. */
static void store(struct pipeline_timeline *t, uint64_t reads, enum line_state state, uint32_t at,
                  uint32_t *arrives)
{
    uint32_t known = start(t, reads);

    if (state != LINE_HELD)
        *arrives = 0;
    end(t, 0, known);
    t->stored[at] = known;
}

void pipeline_store(struct pipeline *p, struct pipeline_operands operands, uint64_t address,
                    uint32_t name)
{
    uint32_t word = (uint32_t)(address >> WORD_SHIFT), at = word % PIPELINE_STORES;
    uint32_t set = (uint32_t)(address >> LINE_SHIFT) % PIPELINE_SETS;
    enum line_state state = touch_line(p, address);

    p->accesses++;
    p->store[at] = word + 1;
    p->name[at] = name;
    for (unsigned i = 0; i < PIPELINE_SOURCES; i++) {
        occupy(&p->from[i], line_costs_of(p, i, state), state, p->pace.access);
        drain(&p->from[i], p->costs->store);
        store(&p->from[i], operands.reads, state, at, p->from[i].arrives[set]);
    }
}

void pipeline_lock(struct pipeline *p, unsigned latency)
{
    for (unsigned i = 0; i < PIPELINE_SOURCES; i++) {
        struct pipeline_timeline *t = &p->from[i];
        uint32_t done = later(later(t->memory, t->locked), t->complete) + latency * PIPELINE_CYCLE;

        t->locked = done;
        end(t, 0, done);
    }
}

void pipeline_touch(struct pipeline *p, uint64_t address, unsigned width)
{
    enum line_state state = touch_line(p, address);
    uint32_t takes = width * PIPELINE_CYCLE / STRING_BYTES;

    p->accesses++;
    for (unsigned i = 0; i < PIPELINE_SOURCES; i++) {
        p->from[i].dispatch += takes ? takes : 1;
        fill(&p->from[i], line_costs_of(p, i, state), state);
        p->from[i].complete = later(p->from[i].complete, p->from[i].dispatch);
    }
}

/* ---- branches ---- */

static void resolve(struct pipeline_timeline *t, uint64_t reads, uint32_t refill)
{
    uint32_t at = start(t, reads) + PIPELINE_CYCLE;

    end(t, 0, at);
    if (refill > 0)
        t->dispatch = t->fetch = later(t->dispatch, at + refill);
}

static void resolve_all(struct pipeline *p, uint64_t reads, bool mispredicted)
{
    if (!p->timing)
        return;
    for (unsigned i = 0; i < PIPELINE_SOURCES; i++)
        resolve(&p->from[i], reads, mispredicted ? p->costs->refill : 0);
}

void pipeline_branch(struct pipeline *p, uint64_t reads, uint64_t ip, bool taken)
{
    resolve_all(p, reads, predictor_branch(&p->predictor, ip, taken));
}

void pipeline_jump(struct pipeline *p, uint64_t reads, uint64_t ip, uint64_t target)
{
    resolve_all(p, reads, predictor_jump(&p->predictor, ip, target));
}

/* Whether the branch was taken lately; it has been now. */
static bool turn(struct pipeline *p, uint64_t ip)
{
    uint32_t key = (uint32_t)ip + 1;
    uint32_t *set = p->turns[(ip >> 2 ^ ip >> 9) % (PIPELINE_TURNS / 2)];
    bool lately = (set[0] == key) | (set[1] == key);

    if (set[0] != key)
        move_back(set, key);
    return lately;
}

/* What is executed next is fetched: branches are foreseen one after the other, some time before. */
static void redirect(struct pipeline_timeline *t, uint32_t cost)
{
    t->dispatch += TAKEN;
    t->fetch = later(t->fetch, earlier(t->dispatch, QUEUE)) + cost;
    t->dispatch = later(t->dispatch, t->fetch);
}

void pipeline_taken(struct pipeline *p, uint64_t ip)
{
    bool lately = turn(p, ip);

    if (!p->timing)
        return;
    for (unsigned i = 0; i < PIPELINE_SOURCES; i++)
        redirect(&p->from[i], lately ? p->costs->turn : p->costs->far_turn);
}

struct pipeline_time pipeline_time(const struct pipeline *p)
{
    struct pipeline_time time = {.instructions = p->instructions,
                                 .accesses = p->accesses,
                                 .new_lines = p->new_lines,
                                 .scattered = p->scattered};

    for (unsigned i = 0; i < PIPELINE_SOURCES; i++)
        time.cycles[i] = p->from[i].retired / PIPELINE_CYCLE;
    return time;
}
