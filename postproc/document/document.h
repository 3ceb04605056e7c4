/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A report before it takes a form: sections of facts, tables and sentences. Sections compute each
 * number once and put it here; the text, JSON and CSV renderers only write what stands here.
 *
 * Everything is owned by the document; strings are copied into it, as valid UTF-8.
 */
#ifndef REUSE_POSTPROC_DOCUMENT_H
#define REUSE_POSTPROC_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "estimate.h"
#include "support/intern_table.h"
#include "support/memory.h"

enum cell_kind {
    CELL_EMPTY, /* not known or not applicable: null, or a dash */
    CELL_TEXT,
    CELL_NUMBER, /* plain: identifiers, line numbers, levels */
    CELL_COUNT,  /* of accesses, bursts ... : 1.25 M */
    CELL_BYTES,  /* 32 KiB */
    CELL_SHARE,  /* 0..1, shown in percent */
    CELL_FACTOR, /* 0.95 x */
    CELL_TIME,   /* ns: 1.5 ms */
    CELL_BEYOND, /* farther than was watched */
    CELL_ABOVE,  /* bytes: more than value, which is the most that was looked at */
    CELL_TABLE,  /* a table of its own; not in text */
    CELL_TRUTH,  /* true or false */
};

/* What colour tells on a page that has it; the words say the same. */
enum tone {
    TONE_PLAIN,
    TONE_HEADING, /* of a section */
    TONE_TITLE,   /* of a table, or of an answer */
    TONE_CERTAIN, /* findings, by what is known of them */
    TONE_LIKELY,
    TONE_OPEN,
    TONE_WARM, /* shares, by how hot they are */
    TONE_HOT,
};

struct table;

struct cell {
    enum cell_kind kind;
    bool interval; /* value.lo and value.hi mean something */
    bool marked;   /* text: with a star, which the remark below the table explains */
    bool bound;    /* value.hi is all that is known: < 32 KiB, or null with its interval */
    bool range;    /* text: the two ends alone, 0 to 3 */
    struct estimate value;
    const char *text;
    struct table *table;
};

/* Where the ends of a value's interval go in JSON and CSV. */
enum interval_keys {
    INTERVAL_NONE,
    INTERVAL_SUFFIXED, /* key_lo, key_hi beside key */
    INTERVAL_BARE,     /* lo, hi beside key: at most one such column in a table */
    INTERVAL_OBJECT,   /* facts only: key is an object {value, lo, hi} */
};

struct column {
    const char *key;     /* JSON and CSV name; a.b is member b of object a. NULL: text only */
    const char *heading; /* NULL: not in text. "name\nunit" */
    enum interval_keys interval;
    bool flexible;    /* text that may be shortened in the middle to fit the page */
    bool heat;        /* shares of misses, which colours tell at a glance */
    bool optional;    /* left out of text when the page is too narrow; the last ones first */
    const char *note; /* what it means, below the table where it is shown; NULL: none */
};

struct row {
    struct cell *cells; /* one per column */
    const char *detail; /* lines under the row in text; NULL: none */
    bool prose;         /* the detail is sentences: all of it is shown, however long */
};

struct table {
    const char *key;   /* JSON name; NULL: text only */
    const char *title; /* NULL: not in text */
    const char *basis; /* what the numbers rest on, and their interval; NULL: said elsewhere */
    const struct column *columns;
    size_t column_count;
    ARRAY(struct row) rows;
    const char *remark; /* below the table in text; NULL: none */
    const char *bars;   /* and below that, what its bars mean; kept by the caller; NULL: none */
};

struct fact {
    const char *key;   /* JSON name, dots as in columns; NULL: text only */
    const char *label; /* NULL: not in text */
    enum interval_keys interval;
    struct cell cell;
    const char *text; /* replaces the cell in text; NULL: the cell is formatted */
};

/* Numbers in rows and columns: an array of arrays in JSON, or one array if it is a vector. */
struct grid {
    const char *key;      /* JSON name, dots as in columns; CSV table. NULL: text only */
    const char *title;    /* NULL: not in text */
    const char *text;     /* lines as they are to be shown below the title */
    const char *row_name; /* CSV heading of the labels, "thread" */
    size_t rows, columns;
    double *values; /* row by row */
    double *labels; /* of the columns, and of the rows unless it is a vector; NULL: not in CSV */
    bool vector;
};

enum block_kind { BLOCK_FACTS, BLOCK_TABLE, BLOCK_PARAGRAPH, BLOCK_VERBATIM, BLOCK_GRID };

struct block {
    enum block_kind kind;
    ARRAY(struct fact) facts;
    struct table *table;
    struct grid *grid;
    const char *key; /* of a list of paragraphs in JSON; NULL: text only */
    const char *paragraph;
    ARRAY(enum tone) tones; /* verbatim: of its first lines; the others are plain */
};

struct section {
    const char *name; /* the option without its dashes */
    const char *title;
    bool shown; /* in text and CSV; JSON shows facts of hidden sections as well */
    ARRAY(struct block) blocks;
};

struct document {
    struct intern_table *strings;
    /* For a program to read: in a file the report stands before it as a comment, each line with a
     * '#'. NULL: there is none. */
    const char *script;
    ARRAY(struct section) sections;
    ARRAY(struct table *) tables; /* all of them, for release */
    ARRAY(struct grid *) grids;   /* all of them, likewise */
    ARRAY(void *) columns;        /* made by document_columns() */
};

struct document *document_create(void);
void document_free(struct document *);

/* Adds an empty section at the end; valid until the next one is added. */
struct section *document_section(struct document *, const char *name, const char *title,
                                 bool shown);

void section_fact(struct section *, const char *key, const char *label, enum interval_keys,
                  struct cell);
/* A fact whose text form differs from its value. */
void section_fact_as(struct document *, struct section *, const char *key, const char *label,
                     enum interval_keys, struct cell, const char *text);
void section_table(struct section *, struct table *);
void section_paragraph(struct document *, struct section *, const char *key, const char *text);
/* Lines to copy from the report as they stand: neither wrapped nor shortened. */
void section_verbatim(struct document *, struct section *, const char *key, const char *text);

/* tones: of the first `lines` lines; copied. */
void section_verbatim_toned(struct document *, struct section *, const char *text,
                            const enum tone *tones, size_t lines);

/* Copies the grid's texts; takes over its values and labels, which must come from the heap. */
void section_grid(struct document *, struct section *, struct grid);

/* columns must outlive the document; key, title, basis and remark are copied. */
struct table *document_table(struct document *, const char *key, const char *title,
                             const char *basis, const struct column *columns, size_t column_count);
void table_remark(struct document *, struct table *, const char *remark);

/* Zeroed columns that live as long as the document, for tables whose columns are not constant. */
struct column *document_columns(struct document *, size_t count);
const char *document_string(struct document *, const char *text);

/* A new row of empty cells; valid until the next one is added. */
struct row *table_row(struct table *);
/* Names, of which a narrow page leaves out the middle. */
void row_detail(struct document *, struct row *, const char *detail);
/* Sentences. */
void row_prose(struct document *, struct row *, const char *detail);

struct cell cell_empty(void);
struct cell cell_text(struct document *, const char *text); /* NULL: empty */
struct cell cell_value(enum cell_kind, double value);
struct cell cell_estimate(enum cell_kind, struct estimate);
struct cell cell_beyond(void);
/* A share of which the two ends are known, and no value between them: "0 to 3", or "beyond" where
 * they leave more than half of everything open. */
struct cell cell_share_between(struct estimate);
struct cell cell_above(double bytes);
struct cell cell_below(enum cell_kind, struct estimate);
struct cell cell_table(struct table *);
struct cell cell_truth(bool);

/* A value as text shows it, without its interval; the caller frees it. */
char *cell_number_text(enum cell_kind, double value);
/* "0.34 to 5.23 M": the ends of an interval in one unit, or one number where they look alike; the
 * caller frees it. */
char *cell_range_text(enum cell_kind, double lo, double hi);

#endif
