/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/findings/word_writers.h"

#include <stdlib.h>

#include "support/intern_table.h"
#include "support/memory.h"

/* More than this part of the transfers decides what the words are used for. */
static const double decides = 0.2;

/* A line with at least this part of the transfers is one that threads meet at again and again. */
static const double hot_line = 0.05;

/* Whoever reads and then writes a line causes two transfers: so many bring it to another thread and
 * back once. */
static const double once_and_back = 4;

struct word_key {
    uint64_t line; /* 0: lines that are not told apart */
    uint32_t offset, width;
};

struct line_use {
    double transfers;
    uint32_t writer;
    bool several; /* write to it */
    bool known;   /* the transfers are this line's alone, and stand for no others */
};

struct word {
    uint32_t line; /* number of it */
    uint32_t writer;
    bool several;
    double transfers;
};

struct word_writers {
    struct intern_table *keys, *lines;
    ARRAY(struct word) words;         /* by number in `keys` */
    ARRAY(struct line_use) line_uses; /* by number in `lines` */
};

struct word_writers *word_writers_create(void)
{
    struct word_writers *writers = allocate_zeroed(1, sizeof *writers);

    writers->keys = intern_table_create();
    writers->lines = intern_table_create();
    return writers;
}

void word_writers_free(struct word_writers *writers)
{
    intern_table_free(writers->keys);
    intern_table_free(writers->lines);
    free(writers->words.items);
    free(writers->line_uses.items);
    free(writers);
}

/* Of a variable, a line that stands for others is known all the same. */
static uint64_t line_of(const struct flow *flow)
{
    if (flow->line_address != 0 || flow->object_kind != OBJECT_GLOBAL)
        return flow->line_address;
    return flow->object_base;
}

static void add_store(struct word_writers *writers, const struct flow *flow,
                      const struct flow_end *end, double transfers)
{
    uint64_t address = line_of(flow);
    struct word_key key = {.line = address, .offset = end->offset, .width = end->width};
    uint32_t line_number = intern_table_insert(writers->lines, &address, sizeof address),
             number = intern_table_insert(writers->keys, &key, sizeof key);
    struct line_use *line;
    struct word *word;

    if (line_number == writers->line_uses.count)
        ARRAY_PUSH(&writers->line_uses,
                   ((struct line_use){.writer = end->thread_id, .known = flow->line_address != 0}));
    if (number == writers->words.count)
        ARRAY_PUSH(&writers->words, ((struct word){.line = line_number, .writer = end->thread_id}));
    line = &writers->line_uses.items[line_number];
    line->several |= line->writer != end->thread_id;
    line->transfers += transfers;
    word = &writers->words.items[number];
    word->several |= word->writer != end->thread_id;
    word->transfers += transfers;
}

void word_writers_add(struct word_writers *writers, const struct flow *flow)
{
    double part = flow->kind == TRANSFER_WAW ? 0.5 : 1;

    if (flow->kind != TRANSFER_WAR)
        add_store(writers, flow, &flow->source, part * flow->transfers);
    if (flow->kind != TRANSFER_RAW)
        add_store(writers, flow, &flow->destination, part * flow->transfers);
}

/* Threads meet there again and again: known by its transfers, or because several write to it, each
 * to a word of its own. */
static bool is_hot(const struct line_use *line, double all)
{
    return line->known ? line->transfers >= hot_line * all : line->several;
}

enum word_use word_writers_use(const struct word_writers *writers, double object_lines)
{
    double all = 0, several = 0, hot = 0;

    for (size_t i = 0; i < writers->words.count; i++)
        all += writers->words.items[i].transfers;
    for (size_t i = 0; i < writers->words.count; i++) {
        const struct word *word = &writers->words.items[i];

        if (word->several)
            several += word->transfers;
        else if (is_hot(&writers->line_uses.items[word->line], all))
            hot += word->transfers;
    }
    if (all <= once_and_back * object_lines)
        return WORDS_HANDED_OVER;
    if (several > decides * all)
        return WORDS_WRITTEN_BY_SEVERAL;
    return hot > decides * all ? WORDS_POLLED : WORDS_HANDED_OVER;
}
