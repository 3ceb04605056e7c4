/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "isa/pipeline.h"

#include <stddef.h>
#include <string.h>

#include "signal_safe.h"

enum {
    NARROW = 4, /* instructions a cycle */
    LINE = 4 * PIPELINE_CYCLE,
    /* Waiting for units that are busy: so much may queue before them. */
    QUEUE = 16 * PIPELINE_CYCLE,
    LINE_QUEUE = 12 * LINE,
    LOAD = 4 * PIPELINE_CYCLE,
    REFILL = 14 * PIPELINE_CYCLE, /* after a misprediction */
    /* Of instructions fetched together those behind a taken branch are lost: half of what is
       fetched in a cycle. */
    TAKEN = PIPELINE_CYCLE / 2,
    /* The divider is busy so long (Fog, Instruction tables, 2023: divsd 4 to 5, sqrtsd 5 to 9). */
    DIVIDES = 5 * PIPELINE_CYCLE,
    LINE_SHIFT = 6,
    PAGE_SHIFT = 12,
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

void pipeline_begin(struct pipeline *p, struct pipeline_pace pace)
{
    memset(p, 0, offsetof(struct pipeline, predictor));
    p->pace = pace;
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

    dispatch(&p->near, at, room);
    dispatch(&p->far, at, room);
}

void pipeline_retire(struct pipeline *p)
{
    uint32_t at = p->instructions & (p->window - 1);

    retire(&p->near, at);
    retire(&p->far, at);
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

    if (latency >= PIPELINE_DIVISION) {
        divide(&p->near);
        divide(&p->far);
    }
    end(&p->near, operands.writes, start(&p->near, operands.reads) + takes);
    end(&p->far, operands.writes, start(&p->far, operands.reads) + takes);
}

/* ---- memory ---- */

static bool holds(const struct pipeline *p, uint32_t line)
{
    const uint32_t *set = p->line[line % PIPELINE_SETS];

    return set[0] == line + 1 || set[1] == line + 1;
}

/* In the first cache; next to one that is; elsewhere in a page that was used lately; or not. */
enum line_state { LINE_HELD, LINE_STREAMED, LINE_NEW, LINE_OF_NEW_PAGE };

static const uint32_t near_latency[] = {0, PIPELINE_SECOND, PIPELINE_SECOND, PIPELINE_THIRD};
static const uint32_t far_latency[] = {0, PIPELINE_SECOND, PIPELINE_THIRD, PIPELINE_MEMORY};

static void move_back(uint32_t pair[2], uint32_t first)
{
    pair[1] = pair[0];
    pair[0] = first;
}

/* The page is one that was used lately, from here on; was it one? */
static bool touch_page(struct pipeline *p, uint64_t address)
{
    uint32_t number = (uint32_t)(address >> PAGE_SHIFT) + 1,
             *at = &p->page[number % PIPELINE_PAGES];
    bool known = *at == number;

    *at = number;
    return known;
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
        bool known = touch_page(p, address);

        state = holds(p, line - 1) || holds(p, line + 1) ? LINE_STREAMED
                : known                                  ? LINE_NEW
                                                         : LINE_OF_NEW_PAGE;
    }
    move_back(set, line + 1);
    move_back(p->near.arrives[at], p->near.arrives[at][1]);
    move_back(p->far.arrives[at], p->far.arrives[at][1]);
    return state;
}

void pipeline_warm(struct pipeline *p, uint64_t address)
{
    touch_line(p, address);
}

/* A line comes: the way is free after the ones before, and one of the buffers that lines come to is
 * when the line has come that took it last. */
static void fill(struct pipeline_timeline *t, enum line_state state, uint32_t latency)
{
    uint32_t *buffer = &t->fills[t->filled % PIPELINE_FILLS];

    if (state == LINE_HELD)
        return;
    t->lines = later(t->lines, t->dispatch) + LINE;
    t->dispatch = later(t->dispatch, earlier(t->lines, LINE_QUEUE));
    t->dispatch = later(t->dispatch, *buffer);
    *buffer = t->dispatch + latency;
    t->filled++;
}

/* Accesses queue before the units that make them, which each is in for so long. */
static void occupy(struct pipeline_timeline *t, enum line_state state, uint32_t access,
                   uint32_t latency)
{
    t->memory = later(t->memory, t->dispatch) + access;
    t->dispatch = later(t->dispatch, earlier(t->memory, QUEUE));
    fill(t, state, latency);
}

/* arrives: of its line, which those that follow wait for as well. It has its unit already. */
static void load(struct pipeline_timeline *t, struct pipeline_operands operands,
                 enum line_state state, uint32_t stored, uint32_t *arrives, uint32_t latency)
{
    uint32_t at;

    at = later(start(t, operands.reads), stored) + LOAD;
    if (state != LINE_HELD)
        *arrives = at + latency;
    end(t, operands.writes, later(at, *arrives));
}

void pipeline_load(struct pipeline *p, struct pipeline_operands operands, uint64_t address)
{
    uint32_t word = (uint32_t)(address >> WORD_SHIFT), at = word % PIPELINE_STORES;
    uint32_t set = (uint32_t)(address >> LINE_SHIFT) % PIPELINE_SETS;
    bool waits = p->store[at] == word + 1;
    enum line_state state = touch_line(p, address);

    p->accesses++;
    occupy(&p->near, state, p->pace.access, near_latency[state]);
    occupy(&p->far, state, p->pace.access, far_latency[state]);
    load(&p->near, operands, state, waits ? p->near.stored[at] : 0, p->near.arrives[set],
         near_latency[state]);
    load(&p->far, operands, state, waits ? p->far.stored[at] : 0, p->far.arrives[set],
         far_latency[state]);
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

void pipeline_store(struct pipeline *p, struct pipeline_operands operands, uint64_t address)
{
    uint32_t word = (uint32_t)(address >> WORD_SHIFT), at = word % PIPELINE_STORES;
    uint32_t set = (uint32_t)(address >> LINE_SHIFT) % PIPELINE_SETS;
    enum line_state state = touch_line(p, address);

    p->accesses++;
    p->store[at] = word + 1;
    occupy(&p->near, state, p->pace.access, near_latency[state]);
    occupy(&p->far, state, p->pace.access, far_latency[state]);
    store(&p->near, operands.reads, state, at, p->near.arrives[set]);
    store(&p->far, operands.reads, state, at, p->far.arrives[set]);
}

static void stream(struct pipeline_timeline *t, enum line_state state, uint32_t takes,
                   uint32_t latency)
{
    t->dispatch += takes;
    fill(t, state, latency);
    t->complete = later(t->complete, t->dispatch);
}

void pipeline_touch(struct pipeline *p, uint64_t address, unsigned width)
{
    enum line_state state = touch_line(p, address);
    uint32_t takes = width * PIPELINE_CYCLE / STRING_BYTES;

    p->accesses++;
    stream(&p->near, state, takes ? takes : 1, near_latency[state]);
    stream(&p->far, state, takes ? takes : 1, far_latency[state]);
}

/* ---- branches ---- */

static void resolve(struct pipeline_timeline *t, uint64_t reads, bool mispredicted)
{
    uint32_t at = start(t, reads) + PIPELINE_CYCLE;

    end(t, 0, at);
    if (mispredicted)
        t->dispatch = later(t->dispatch, at + REFILL);
}

static void resolve_both(struct pipeline *p, uint64_t reads, bool mispredicted)
{
    if (!p->timing)
        return;
    resolve(&p->near, reads, mispredicted);
    resolve(&p->far, reads, mispredicted);
}

void pipeline_branch(struct pipeline *p, uint64_t reads, uint64_t ip, bool taken)
{
    resolve_both(p, reads, predictor_branch(&p->predictor, ip, taken));
}

void pipeline_jump(struct pipeline *p, uint64_t reads, uint64_t ip, uint64_t target)
{
    resolve_both(p, reads, predictor_jump(&p->predictor, ip, target));
}

void pipeline_taken(struct pipeline *p)
{
    p->near.dispatch += TAKEN;
    p->far.dispatch += TAKEN;
}

struct pipeline_time pipeline_time(const struct pipeline *p)
{
    return (struct pipeline_time){
        .instructions = p->instructions,
        .accesses = p->accesses,
        .near_cycles = p->near.retired / PIPELINE_CYCLE,
        .far_cycles = p->far.retired / PIPELINE_CYCLE,
    };
}
