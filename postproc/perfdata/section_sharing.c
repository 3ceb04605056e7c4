/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cache lines that several threads were seen to touch. Addresses alone tell who and which bytes,
 * not in which order: so nothing here is called a transfer.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "perfdata/sections.h"
#include "report/model/tally.h"

static const struct column columns[] = {
    {.key = "address", .heading = "line at"},
    {.key = "object", .heading = "object", .flexible = true},
    {.key = "offset", .heading = "offset"},
    {.key = "threads", .heading = "threads"},
    {.key = "bytes", .heading = "bytes"},
    TALLY_COLUMNS,
};

enum { WORD = 8, PIECES = 64, LINE_DEFAULT = 64 };

/* One thread's part in a line. Masks have a bit for each 64th of the line. */
struct visitor {
    uint32_t tid;
    uint64_t touched, stored;
};

struct shared_line {
    uint32_t pid;
    uint64_t address;
    size_t first; /* an access */
    ARRAY(struct visitor) visitors;
    struct tally tally;
};
typedef ARRAY(struct shared_line) shared_lines;

/* The bytes of the line that an access touched, as a mask. Units that do not tell the width are
 * taken to touch the word. */
static uint64_t mask_of(const struct access_record *access, uint32_t line_size)
{
    uint64_t piece = line_size / PIECES ? line_size / PIECES : 1;
    uint64_t start = access->address % line_size, end = start + access->width;
    uint64_t mask = 0;

    if (access->width == 0) {
        start = start / WORD * WORD;
        end = start + WORD;
    }
    for (uint64_t at = start / piece; at * piece < end && at < PIECES; at++)
        mask |= UINT64_C(1) << at;
    return mask;
}

static void add_visit(struct shared_line *line, const struct access_record *access,
                      uint32_t line_size)
{
    uint64_t mask = mask_of(access, line_size);
    struct visitor *visitor = NULL;

    for (size_t i = 0; i < line->visitors.count; i++)
        if (line->visitors.items[i].tid == access->tid)
            visitor = &line->visitors.items[i];
    if (!visitor) {
        struct visitor fresh = {.tid = access->tid};

        ARRAY_PUSH(&line->visitors, fresh);
        visitor = &line->visitors.items[line->visitors.count - 1];
    }
    visitor->touched |= mask;
    if (access->kinds & ACCESS_STORE)
        visitor->stored |= mask;
    tally_add(&line->tally, access);
}

static shared_lines collect(const struct perfdata_view *view, uint32_t line_size)
{
    struct intern_table *keys = intern_table_create();
    shared_lines lines = {0};

    for (size_t i = 0; i < view->recording->accesses.count; i++) {
        const struct access_record *access = &view->recording->accesses.items[i];
        uint64_t key[2] = {access->pid, access->address / line_size};
        uint32_t number;

        if (!view->wanted[i])
            continue;
        number = intern_table_insert(keys, key, sizeof key);
        if (number == lines.count) {
            struct shared_line fresh = {
                .pid = access->pid, .address = key[1] * line_size, .first = i};

            ARRAY_PUSH(&lines, fresh);
        }
        add_visit(&lines.items[number], access, line_size);
    }
    intern_table_free(keys);
    return lines;
}

/* Whether it is written, and by whom it is touched besides: only such lines can move. */
static bool is_shared(const struct shared_line *line)
{
    bool stored = false;

    for (size_t i = 0; i < line->visitors.count; i++)
        stored |= line->visitors.items[i].stored != 0;
    return stored && line->visitors.count > 1;
}

/* Whether some thread touched what another one stored. */
static bool same_bytes(const struct shared_line *line)
{
    for (size_t i = 0; i < line->visitors.count; i++)
        for (size_t k = 0; k < line->visitors.count; k++)
            if (i != k && line->visitors.items[i].stored & line->visitors.items[k].touched)
                return true;
    return false;
}

static void add_row(const struct perfdata_view *view, struct document *document,
                    struct table *table, struct shared_line *line, uint64_t total)
{
    const struct data_place *place = &view->places->data[line->first];
    uint64_t within = view->recording->accesses.items[line->first].address - line->address;
    struct row *row = table_row(table);
    char *text = format_string("0x%" PRIx64, line->address);

    row->cells[0] = cell_text(document, text);
    free(text);
    row->cells[1] = cell_text(document, place->name);
    row->cells[2] = place->offset >= within
                        ? cell_value(CELL_NUMBER, (double)(place->offset - within))
                        : cell_value(CELL_NUMBER, 0);
    row->cells[3] = cell_value(CELL_NUMBER, (double)line->visitors.count);
    row->cells[4] = cell_text(document, same_bytes(line) ? "same" : "different");
    tally_cells(&line->tally, (double)total, row->cells + 5);
}

void perfdata_sharing(const struct perfdata_view *view, struct document *document)
{
    uint32_t line_size = view->options->line_size ? view->options->line_size : LINE_DEFAULT;
    struct section *section =
        document_section(document, "sharing", "Lines that several threads touched", true);
    shared_lines lines = collect(view, line_size);
    struct tally *tallies = allocate_zeroed(lines.count, sizeof *tallies);
    size_t shared = 0, ranked;
    struct table *table;
    uint32_t *order;
    char *text;

    /* Those in question first, and the others without weight. */
    for (size_t i = 0; i < lines.count; i++)
        if (is_shared(&lines.items[i])) {
            tallies[i].samples = lines.items[i].tally.samples;
            shared++;
        }
    text = format_string("Lines of %u bytes with a sampled store and samples of more than one "
                         "thread",
                         line_size);
    table = document_table(document, "shared_lines", text,
                           "Addresses alone: who touched which bytes, not in which order; no "
                           "transfers are counted. HITM: the processor says the line came modified "
                           "from another cache.",
                           columns, sizeof columns / sizeof columns[0]);
    free(text);
    order = tally_ranking(tallies, lines.count, view->options->top, &ranked);
    for (size_t i = 0; i < ranked && tallies[order[i]].samples > 0; i++)
        add_row(view, document, table, &lines.items[order[i]], view->count);
    table_remark(document, table,
                 "bytes: 'different' where no thread was seen to touch what another one stored: a "
                 "hint of false sharing. reuse-run --sharing counts the transfers.");
    section_fact(section, "shared_lines_found", "lines found", INTERVAL_NONE,
                 cell_value(CELL_COUNT, (double)shared));
    section_table(section, table);
    free(order);
    free(tallies);
    for (size_t i = 0; i < lines.count; i++) {
        tally_free(&lines.items[i].tally);
        free(lines.items[i].visitors.items);
    }
    free(lines.items);
}
