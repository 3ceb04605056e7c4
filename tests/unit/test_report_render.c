/* SPDX-License-Identifier: BSD-3-Clause */
/* One document in its three forms: the same numbers, in the places that each form has for them. */
#define _GNU_SOURCE /* open_memstream */
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "document/cell_text.h"
#include "document/numbers.h"
#include "document/render.h"
#include "document/text_page.h"
#include "report/sections/folded_rows.h"

static char *rendered(const struct document *document,
                      void (*render)(const struct document *, FILE *))
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);

    assert_non_null(stream);
    render(document, stream);
    fclose(stream);
    return text;
}

static void render_page(const struct document *document, FILE *stream)
{
    render_text(document, (struct text_style){.width = PAGE_WIDTH_MIN}, stream);
}

static void render_colours(const struct document *document, FILE *stream)
{
    render_text(document, (struct text_style){.width = PAGE_WIDTH_MIN, .colour = true}, stream);
}

static char *rendered_at(const struct document *document, size_t width)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);

    assert_non_null(stream);
    render_text(document, (struct text_style){.width = width}, stream);
    fclose(stream);
    return text;
}

static const struct column columns[] = {
    {.key = "name", .heading = "name", .flexible = true},
    {.key = "place.line", .heading = "line"},
    {.key = "ratio", .heading = "misses\n%", .interval = INTERVAL_SUFFIXED},
    {.key = "curve"},
    {.heading = "text only"},
    {.key = "size", .heading = "size", .optional = true},
};

static const struct column curve_columns[] = {
    {.key = "bytes"},
    {.key = "miss_ratio", .interval = INTERVAL_BARE},
};

static struct document *example(const char *name)
{
    struct document *document = document_create();
    struct section *section = document_section(document, "things", "Things", true);
    struct table *table = document_table(document, "things", "Some things", "Exact.", columns, 6);
    struct table *curve = document_table(document, NULL, NULL, NULL, curve_columns, 2);
    struct row *row = table_row(curve);

    row->cells[0] = cell_value(CELL_BYTES, 1024);
    row->cells[1] = cell_estimate(CELL_SHARE, (struct estimate){0.5, 0.25, 0.75});
    section_fact(section, "run.value", "Value", INTERVAL_OBJECT,
                 cell_estimate(CELL_COUNT, (struct estimate){1500000, 1400000, 1700000}));
    section_fact(section, "nothing", "Nothing", INTERVAL_NONE, cell_empty());
    section_table(section, table);
    row = table_row(table);
    row->cells[0] = cell_text(document, name);
    row->cells[1] = cell_value(CELL_NUMBER, 12);
    row->cells[2] = cell_estimate(CELL_SHARE, (struct estimate){0.123, 0.113, 0.143});
    row->cells[3] = cell_table(curve);
    row->cells[4] = cell_text(document, "seen");
    row->cells[5] = cell_value(CELL_BYTES, 98304);
    row_detail(document, row, "more about it");
    row = table_row(table);
    row->cells[0] = cell_text(document, "other");
    row->cells[2] = cell_beyond();
    section_paragraph(document, section, "notes", "A note, with a \"quote\".");
    section_paragraph(document, section, "notes", "Another.");
    return document;
}

static void test_json(void **state)
{
    struct document *document = example("a,\"b\"\n");
    char *text = rendered(document, render_json);
    json_t *root = json_loads(text, 0, NULL), *first, *second, *point;

    (void)state;
    assert_non_null(root);
    assert_true(json_number_value(json_object_get(
                    json_object_get(json_object_get(root, "run"), "value"), "lo")) == 1400000);
    assert_true(json_is_null(json_object_get(root, "nothing")));
    first = json_array_get(json_object_get(root, "things"), 0);
    second = json_array_get(json_object_get(root, "things"), 1);
    assert_string_equal(json_string_value(json_object_get(first, "name")), "a,\"b\"\n");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(first, "place"), "line")),
                     12);
    assert_true(json_real_value(json_object_get(first, "ratio")) == 0.123);
    assert_true(json_real_value(json_object_get(first, "ratio_lo")) == 0.113);
    assert_true(json_real_value(json_object_get(first, "ratio_hi")) == 0.143);
    point = json_array_get(json_object_get(first, "curve"), 0);
    assert_true(json_real_value(json_object_get(point, "lo")) == 0.25);
    assert_true(json_real_value(json_object_get(point, "hi")) == 0.75);
    assert_true(json_is_null(json_object_get(second, "ratio")));
    assert_true(json_is_null(json_object_get(second, "ratio_lo")));
    assert_int_equal(json_array_size(json_object_get(root, "notes")), 2);
    json_decref(root);
    free(text);
    document_free(document);
}

static void test_csv(void **state)
{
    struct document *document = example("a,\"b\"");
    char *text = rendered(document, render_csv);

    (void)state;
    assert_string_equal(text, "table,key,value,lo,hi\n"
                              "things,run.value,1500000,1400000,1700000\n"
                              "things,nothing,,,\n"
                              "\n"
                              "table,name,place.line,ratio,ratio_lo,ratio_hi,curve,size\n"
                              "things,\"a,\"\"b\"\"\",12,0.123,0.113,0.143,,98304\n"
                              "things,other,,beyond,,,,\n"
                              "\n"
                              "table,row,bytes,miss_ratio,lo,hi\n"
                              "things.curve,1,1024,0.5,0.25,0.75\n");
    free(text);
    document_free(document);
}

static void test_text(void **state)
{
    struct document *document = example("thing");
    char *text = rendered(document, render_page);

    (void)state;
    assert_string_equal(text, "== Things ==\n"
                              "Value:          1.50 M+-200 k\n"
                              "Nothing:        -\n"
                              "\n"
                              "Some things\n"
                              "  Exact.\n"
                              "name   line     misses  text only    size\n"
                              "                     %\n"
                              "thing    12  12.3+-2.0  seen       96 KiB\n"
                              "    more about it\n"
                              "other     -     beyond  -               -\n"
                              "\n"
                              "A note, with a \"quote\".\n"
                              "Another.\n");
    free(text);
    document_free(document);
}

/* A column that is known nowhere is no column of text, nor is its meaning told. */
static void test_text_leaves_out_what_is_not_known(void **state)
{
    static const struct column three[] = {
        {.key = "name", .heading = "name"},
        {.key = "a", .heading = "first", .note = "first: of two."},
        {.key = "b", .heading = "second", .note = "second: of two."},
    };
    struct document *document = document_create();
    struct section *section = document_section(document, "things", "Things", true);
    struct table *table = document_table(document, "things", "Some things", NULL, three, 3);
    struct row *row;
    char *text;

    (void)state;
    section_table(section, table);
    row = table_row(table);
    row->cells[0] = cell_text(document, "x");
    row->cells[2] = cell_value(CELL_NUMBER, 3);
    row = table_row(table);
    row->cells[0] = cell_text(document, "y");
    text = rendered(document, render_page);
    assert_string_equal(text, "== Things ==\n"
                              "Some things\n"
                              "name  second\n"
                              "x          3\n"
                              "y          -\n"
                              "  second: of two.\n");
    free(text);
    document_free(document);
}

/* With the rows of the table the numbers make up all there are. */
static void test_rows_that_are_left_out_add_up(void **state)
{
    static const struct {
        struct folded_rows folded;
        const char *text;
    } cases[] = {
        {{6, 2, 40},
         "Not shown: 6 objects with too few samples to tell (-v), 2 of the allocator and the "
         "loader (-v), 40 with fewer misses (--top)."},
        {{1, 0, 0}, "Not shown: 1 object with too few samples to tell (-v)."},
        {{0, 0, 12}, "Not shown: 12 with fewer misses (--top)."},
    };
    struct folded_rows none = {.unsure = 0};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char *text = folded_text(&cases[i].folded, "object");

        assert_string_equal(text, cases[i].text);
        free(text);
    }
    assert_null(folded_text(&none, "object"));
}

/* Whatever the target's names are, lines stay within the page and nothing is obeyed. */
static void test_text_of_long_and_wild_names(void **state)
{
    (void)state;
    for (size_t length = 1; length < 400; length += 7) {
        char *name = malloc(length + 1), *text;
        struct document *document;

        for (size_t i = 0; i < length; i++)
            name[i] = (char)(i % 13 == 5 ? '\033' : 'a' + i % 26);
        name[length] = '\0';
        document = example(name);
        section_paragraph(document, &document->sections.items[0], NULL, name);
        row_detail(document, &document->sections.items[0].blocks.items[1].table->rows.items[0],
                   name);
        text = rendered(document, render_page);
        for (const char *line = text; *line != '\0';) {
            size_t width = strcspn(line, "\n");

            assert_in_range(width, 0, 80);
            assert_null(memchr(line, '\033', width));
            line += width + 1;
        }
        free(text);
        document_free(document);
        free(name);
    }
}

/* With room, names are whole and no column is left out; without end to the page, nothing ever is.
 */
static void test_text_takes_the_width(void **state)
{
    char name[151], path[301], *text;
    struct document *document;

    (void)state;
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    memset(path, 'p', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    document = example(name);
    section_fact(&document->sections.items[0], NULL, "Path", INTERVAL_NONE,
                 cell_text(document, path));
    row_detail(document, &document->sections.items[0].blocks.items[1].table->rows.items[0], path);
    section_paragraph(document, &document->sections.items[0], NULL, path);
    for (size_t width = PAGE_WIDTH_MIN; width < 400; width += 40) {
        text = rendered_at(document, width);
        for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1)
            assert_in_range(strcspn(line, "\n"), 0, width);
        /* Behind a name of 150 columns, 42 of the others. */
        assert_int_equal(strstr(text, name) != NULL, width >= 192);
        assert_int_equal(strstr(text, "...") == NULL, width >= 320);
        free(text);
    }
    text = rendered_at(document, 0);
    assert_null(strstr(text, "..."));
    assert_non_null(strstr(text, name));
    assert_non_null(strstr(text, "96 KiB"));
    assert_non_null(strstr(strstr(strstr(text, path) + 1, path) + 300, path));
    free(text);
    document_free(document);
}

static void test_sentences_are_whole_and_paths_cut_between_functions(void **state)
{
    static const char path[] =
        "main < in_the_middle_of_the_path (b.c:1) < also_in_the_middle (b.c:2) < another_one "
        "(c.c:1) < one_more (c.c:2) < and_one_more (c.c:3) < as_many_as_it_takes (c.c:4) < more "
        "(c.c:5) < outermost_function_of_all (c.c:3)";
    struct document *document = example("name");
    struct row *row = &document->sections.items[0].blocks.items[1].table->rows.items[0];
    char *text;

    (void)state;
    row_detail(document, row, path);
    text = rendered_at(document, PAGE_WIDTH_MIN);
    assert_non_null(strstr(text, "main < in_the_middle_of_the_path (b.c:1) < ... < "));
    assert_non_null(strstr(text, "outermost_function_of_all"));
    free(text);
    row_prose(document, row, path);
    text = rendered_at(document, PAGE_WIDTH_MIN);
    assert_null(strstr(text, "..."));
    assert_non_null(strstr(text, "as_many_as_it_takes (c.c:4)"));
    free(text);
    document_free(document);
}

/* Copies text without its escape sequences, and counts those. */
static size_t remove_escapes(const char *text, char *plain)
{
    size_t count = 0;

    while (*text != '\0')
        if (*text == '\033') {
            text += strcspn(text, "m") + 1;
            count++;
        } else {
            *plain++ = *text++;
        }
    *plain = '\0';
    return count;
}

static const struct column heat_columns[] = {
    {.key = "name", .heading = "name", .flexible = true},
    {.key = "misses", .heading = "misses\n%", .heat = true},
};

static void expect_colour(const char *text, const char *word, const char *escape)
{
    const char *at = strstr(text, word);

    assert_non_null(at);
    assert_true(at - text >= (ptrdiff_t)strlen(escape));
    assert_memory_equal(at - strlen(escape), escape, strlen(escape));
}

static void test_shares_between_two_ends(void **state)
{
    static const struct {
        struct estimate ends;
        const char *shown;
    } cases[] = {{{0.1, 0, 0.17}, "0 to 17"},
                 {{0.3, 0.04, 0.5}, "4.0 to 50"},
                 {{0.0002, 0, 0.0003}, "0 to 0.1"},
                 {{0.4, 0, 0.51}, "beyond"}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct cell cell = cell_share_between(cases[i].ends);
        char *text = cell_string(&cell);

        assert_string_equal(text, cases[i].shown);
        free(text);
    }
}

/* A value with an interval as wide as itself is hard to read. */
static void test_wide_intervals_are_ranges(void **state)
{
    static const struct {
        struct estimate value;
        const char *shown;
    } cases[] = {{{0.131, 0.003, 0.259}, "0.3 to 26"}, {{0.131, 0.031, 0.231}, "13.1+-10.0"}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct cell cell = cell_estimate(CELL_SHARE, cases[i].value);
        char *text = cell_string(&cell);

        assert_string_equal(text, cases[i].shown);
        free(text);
    }
}

/* What a function is called tells more than the version of its library. */
static void test_modules_are_shortened_before_functions(void **state)
{
    static const struct {
        const char *name, *fitted;
    } cases[] = {
        {"sqlite3Get (libsqlite3.so.0)", "sqlite3Get (libsqlite3)"},
        {"sqlite3GetVarint (libsqlite3.so.0)", "sqlite3GetVarint"},
        {"put (/usr/lib/libdeep.so.1)", "put (libdeep)"},
        {"Minisat::Solver::uncheckedEnqueue (minisat)", "Minis...eckedEnqueue"},
        {"stack of a_long_thread (12345)", "stack...read (12345)"},
        {"short (a.so.1)", "short (a.so.1)"},
    };
    static const size_t widths[] = {24, 20, 20, 20, 20, 20};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char *text;
        size_t size;
        FILE *stream = open_memstream(&text, &size);

        assert_non_null(stream);
        put_name_shortened(cases[i].name, widths[i], stream);
        fclose(stream);
        assert_string_equal(text, cases[i].fitted);
        free(text);
    }
}

/* An amount whose interval has no end, or none to speak of. */
static void test_amounts_that_are_hardly_known(void **state)
{
    static const struct {
        struct estimate value;
        const char *text;
    } cases[] = {
        {{0, 0, INFINITY}, "not known"},
        {{0, 0, 100}, "0 to 100"},
        {{5000, 0, INFINITY}, "about 5000"},
        {{5000, 0, 10000}, "0 to 10 k"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct cell cell = cell_estimate(CELL_COUNT, cases[i].value);
        char *text = cell_string(&cell);

        assert_string_equal(text, cases[i].text);
        free(text);
    }
}

static void test_both_ends_of_a_range_have_one_unit(void **state)
{
    static const struct {
        enum cell_kind kind;
        struct estimate ends;
        const char *shown;
    } cases[] = {{CELL_COUNT, {5.23e6, 39, 149e6}, "0 to 149 M"},
                 {CELL_COUNT, {1e6, 340e3, 5.23e6}, "0.34 to 5.23 M"},
                 {CELL_COUNT, {20, 3, 9000}, "3 to 9000"},
                 {CELL_COUNT, {9.5e6, 9.4996e6, 9.5e6}, "9.50 M"},
                 {CELL_BYTES, {4096, 640, 32768}, "0.62 to 32 KiB"},
                 {CELL_TIME, {1e4, 2, 1.5e6}, "0 to 1.50 ms"}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct cell cell = cell_estimate(cases[i].kind, cases[i].ends);
        char *text;

        cell.range = true;
        text = cell_string(&cell);
        assert_string_equal(text, cases[i].shown);
        free(text);
    }
}

static void test_much_time_is_shown_however_few_accesses(void **state)
{
    const struct estimate unknown = {0.1, 0, 0.4}, known = {0.1, 0.05, 0.15};
    const struct estimate much = {0.94, 0.85, 1}, open = {0.3, 0.01, 0.9}, none = {0};

    (void)state;
    assert_true(row_says_nothing(unknown, none));
    assert_true(row_says_nothing(unknown, open));
    assert_false(row_says_nothing(unknown, much));
    assert_false(row_says_nothing(known, none));
}

static void test_colours_change_no_text(void **state)
{
    static const struct {
        struct estimate share;
        bool interval;
        const char *shown, *before;
    } rows[] = {
        {{.value = 0.61}, false, "61.0", "\033[1;31m"},
        {{.value = 0.21}, false, "21.0", "\033[33m"},
        {{.value = 0.015}, false, "1.5", " "},
        {{0.62, 0.01, 0.9}, true, "1.0 to 90", " "}, /* nobody knows whether that is hot */
    };
    static const enum tone tones[] = {TONE_CERTAIN, TONE_PLAIN, TONE_LIKELY};
    struct document *document = example("trailing \033[7m ");
    struct section *section = &document->sections.items[0];
    struct table *table = document_table(document, NULL, "Heat", NULL, heat_columns,
                                         sizeof(heat_columns) / sizeof(*heat_columns));
    char *text, *plain, *coloured;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct row *row = table_row(table);

        row->cells[0] = cell_text(document, "row");
        row->cells[1] = rows[i].interval ? cell_estimate(CELL_SHARE, rows[i].share)
                                         : cell_value(CELL_SHARE, rows[i].share.value);
    }
    section_table(section, table);
    section_verbatim_toned(document, section, "first  \nsecond\nthird \nfourth\n", tones, 3);
    text = rendered(document, render_page);
    coloured = rendered(document, render_colours);
    plain = malloc(strlen(coloured) + 1);
    /* A pair for each: a section, two tables, two rows, two lines. */
    assert_int_equal(remove_escapes(coloured, plain), 14);
    assert_string_equal(plain, text);
    expect_colour(coloured, "== Things", "\033[1;36m");
    expect_colour(coloured, "Some things", "\033[1m");
    expect_colour(coloured, "first", "\033[1;31m");
    expect_colour(coloured, "second", "\n");
    expect_colour(coloured, "third", "\033[1;33m");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        expect_colour(coloured, rows[i].shown, rows[i].before);
    free(plain);
    free(coloured);
    free(text);
    document_free(document);
}

/* Bytes of the target that are no UTF-8 become question marks, before anybody counts columns. */
static void test_strings_are_utf8(void **state)
{
    static const struct {
        const char *given, *kept;
    } examples[] = {
        {"plain", "plain"},
        {"na\xc3\xafve \xe2\x82\xac \xf0\x9f\x98\x80",
         "na\xc3\xafve \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"\xff", "?"},
        {"a\x80z", "a?z"},
        {"cut \xe2\x82", "cut ??"},
        {"\xc0\xaf", "??"},           /* a second encoding of the slash */
        {"\xed\xa0\x80", "???"},      /* a surrogate */
        {"\xf4\x90\x80\x80", "????"}, /* above U+10FFFF */
        {"\xc3\xc3\xa9", "?\xc3\xa9"},
    };
    struct document *document = document_create();

    (void)state;
    for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++)
        assert_string_equal(document_string(document, examples[i].given), examples[i].kept);
    document_free(document);
}

static void expect_text(char *text, const char *expected)
{
    assert_string_equal(text, expected);
    free(text);
}

static void test_numbers(void **state)
{
    (void)state;
    expect_text(number_count(0), "0");
    expect_text(number_count(9999), "9999");
    expect_text(number_count(12345), "12.3 k");
    expect_text(number_count(999999), "1.00 M");
    expect_text(number_count(4.56e9), "4.56 G");
    expect_text(number_bytes(640), "640 B");
    expect_text(number_bytes(32768), "32 KiB");
    expect_text(number_bytes(1.5 * 1024 * 1024), "1.50 MiB");
    expect_text(number_bytes(8000000), "7.63 MiB");
    expect_text(number_time(15), "15 ns");
    expect_text(number_time(1.5e6), "1.50 ms");
    expect_text(number_time(123e9), "123 s");
    expect_text(number_percent(0), "0.00");
    expect_text(number_percent(0.00001), "<0.01");
    expect_text(number_percent(0.005), "0.50");
    expect_text(number_percent(0.1234), "12.3");
    expect_text(number_percent(1), "100.0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_text_leaves_out_what_is_not_known),
        cmocka_unit_test(test_rows_that_are_left_out_add_up),
        cmocka_unit_test(test_text_of_long_and_wild_names),
        cmocka_unit_test(test_text_takes_the_width),
        cmocka_unit_test(test_sentences_are_whole_and_paths_cut_between_functions),
        cmocka_unit_test(test_shares_between_two_ends),
        cmocka_unit_test(test_much_time_is_shown_however_few_accesses),
        cmocka_unit_test(test_modules_are_shortened_before_functions),
        cmocka_unit_test(test_amounts_that_are_hardly_known),
        cmocka_unit_test(test_wide_intervals_are_ranges),
        cmocka_unit_test(test_both_ends_of_a_range_have_one_unit),
        cmocka_unit_test(test_colours_change_no_text),
        cmocka_unit_test(test_strings_are_utf8),
        cmocka_unit_test(test_numbers),
    };

    setlocale(LC_ALL, "C");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
