/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Members and elements at offsets of objects, in programs that gcc and clang compile here. The
 * oracle is the compiler itself: each program prints what offsetof() and sizeof() say.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/compiled_module.h"

static char directory[] = "/tmp/reuse-types-XXXXXX";

static const char c_source[] =
    "#include <stdio.h>\n"
    "#include <stdlib.h>\n"
    "#include <stddef.h>\n"
    "typedef struct { long word[3]; } words;\n"
    "struct inner { short s; char c; };\n"
    "struct cell { char tag; const volatile long left; struct inner in[2]; words w;\n"
    "  union { int i; float f; }; unsigned a : 3, b : 5; struct cell *next; };\n"
    "struct cell cells[10];\n"
    "struct cell single;\n"
    "int grid[4][5];\n"
    "struct cell *hidden;\n"
    "struct message { int length; char tag; short body[]; } *message;\n"
    "struct holder { struct cell **rows; } h;\n"
    "int main(int argc, char **argv)\n"
    "{\n"
    "    struct cell *local = malloc(7 * sizeof *local); (void)argv;\n"
    "    h.rows = malloc(4 * sizeof *h.rows);\n"
    "    h.rows[argc] = malloc(7 * sizeof **h.rows); hidden = local;\n"
    "#define P(e, o) printf(\"%s %zu %zu\\n\", #e, (size_t)(o), sizeof(((struct cell *)0)->e))\n"
    "    P(tag, offsetof(struct cell, tag)); P(left, offsetof(struct cell, left));\n"
    "    P(in[1].c, offsetof(struct cell, in[1].c)); P(w.word[2], offsetof(struct cell, "
    "w.word[2]));\n"
    "    P(i, offsetof(struct cell, i)); P(next, offsetof(struct cell, next));\n"
    "    cells[argc].tag = single.tag; grid[argc][2] = 1; \n"
    "    return grid[1][argc] + (hidden == NULL);\n"
    "}\n";

static const char cpp_source[] =
    "#include <cstdio>\n"
    "#include <cstddef>\n"
    "#include <memory>\n"
    "#include <vector>\n"
    "namespace space {\n"
    "struct base { virtual ~base() {} long first; };\n"
    "class cell : public base { public: int second; static int shared; char rest[16]; };\n"
    "int cell::shared = 1;\n"
    "cell objects[5];\n"
    "}\n"
    "class owner { public: explicit owner(int n); space::cell *data_; };\n"
    "owner::owner(int n) { data_ = new space::cell[n]; }\n"
    "int main(int argc, char **)\n"
    "{\n"
    "    std::vector<space::cell> v(argc + 3);\n"
    "    std::unique_ptr<space::cell[]> u(new space::cell[argc]);\n"
    "    owner o(argc);\n"
    "    space::cell *p = &space::objects[argc];\n"
    "    printf(\"first %zu 8\\n\", (size_t)((char *)&p->first - (char *)p));\n"
    "    printf(\"second %zu 4\\n\", (size_t)((char *)&p->second - (char *)p));\n"
    "    printf(\"rest[3] %zu 1\\n\", (size_t)((char *)&p->rest[3] - (char *)p));\n"
    "    return v[0].second + u[0].second + o.data_[0].second + space::cell::shared;\n"
    "}\n";

static void open_program(struct opened_module *opened, const char *compiler, const char *options,
                         const char *extension)
{
    char path[64];

    assert_true(run_command("%s -w %s -o program source.%s", compiler, options, extension));
    /* What it returns only keeps its variables alive. */
    run_command("./program >layout");
    snprintf(path, sizeof(path), "%s/program", directory);
    memset(opened, 0, sizeof(*opened));
    opened_module_open(opened, path, (const uint8_t *)"", 0);
}

/* Address and size of a variable, from nm. */
static uint64_t address_of(const char *name)
{
    unsigned long address = 0;
    FILE *stream;

    assert_true(run_command("nm -C program | awk '$3 == \"%s\" { print $1 }' >address", name));
    stream = fopen("address", "r");
    assert_non_null(stream);
    assert_int_equal(fscanf(stream, "%lx", &address), 1);
    fclose(stream);
    return address;
}

static struct data_symbol variable(struct opened_module *opened, const char *name)
{
    uint64_t address = address_of(name);
    struct data_symbol symbol;

    symbol_module_variables(opened->module, &address, 1, &symbol);
    assert_non_null(symbol.type.module);
    return symbol;
}

/* Every member that the program printed is found at its offset in element 3 of such an array. */
static void check_members(const struct data_type *type, uint64_t object_size, uint64_t element_size)
{
    FILE *stream = fopen("layout", "r");
    char name[64], expected[80], path[96];
    size_t offset, size, members = 0;

    assert_non_null(stream);
    while (fscanf(stream, "%63s %zu %zu", name, &offset, &size) == 3) {
        struct type_place place;

        members++;
        assert_true(data_type_place(type, object_size, 3 * element_size + offset, &place));
        snprintf(expected, sizeof(expected), ".%s", name);
        snprintf(path, sizeof(path), "[3].%s", name);
        assert_string_equal(place.member, expected);
        assert_string_equal(place.path, path);
        assert_true(place.in_array);
        assert_int_equal(place.element, 3);
        assert_int_equal(place.element_size, element_size);
        assert_int_equal(place.offset, 3 * element_size + offset);
        assert_int_equal(place.size, size);
        assert_false(place.padding);
    }
    fclose(stream);
    assert_true(members >= 3);
}

/* The first address of the program's code that belongs to a line of source. */
static uint64_t address_of_line(struct opened_module *opened, unsigned line, source_frames *frames)
{
    unsigned long start = 0, size = 0;
    FILE *stream;

    assert_true(run_command("objdump -h program | awk '$2 == \".text\" { print $4, $3 }' >text"));
    stream = fopen("text", "r");
    assert_non_null(stream);
    assert_int_equal(fscanf(stream, "%lx %lx", &start, &size), 2);
    fclose(stream);
    for (uint64_t address = start; address < start + size; address++) {
        const struct source_frame *frame;

        frames->count = 0;
        symbol_module_frames(opened->module, address, frames);
        frame = &frames->items[frames->count - 1];
        if (frame->line == line && frame->file != NULL && strstr(frame->file, "/source.") != NULL)
            return address;
    }
    fail_msg("no code for line %u", line);
    return 0;
}

/* The pointee of a name at the line of source that holds a text. */
static struct data_type pointee_at(struct opened_module *opened, const char *source,
                                   const char *text, const char *name, bool member,
                                   unsigned subscripts)
{
    const char *found = strstr(source, text);
    source_frames frames = {0};
    struct data_type type;
    uint64_t address;
    unsigned line = 1;

    assert_non_null(found);
    for (const char *c = source; c < found; c++)
        line += *c == '\n';
    address = address_of_line(opened, line, &frames);
    type = symbol_module_pointee(opened->module, address, &frames.items[frames.count - 1], name,
                                 member, subscripts);
    free(frames.items);
    return type;
}

static void check_c(const char *compiler, const char *options)
{
    struct opened_module opened;
    struct data_symbol symbol;
    struct data_type type;
    struct type_place place;
    uint64_t cell_size;

    open_program(&opened, compiler, options, "c");
    symbol = variable(&opened, "cells");
    cell_size = symbol.size / 10;
    assert_int_equal(data_type_size(&symbol.type), symbol.size);
    check_members(&symbol.type, symbol.size, cell_size);
    assert_true(data_type_place(&symbol.type, symbol.size, 2 * cell_size + 1, &place));
    assert_true(place.padding);
    assert_int_equal(place.offset, 2 * cell_size + 1);
    assert_int_equal(place.size, 7);
    assert_string_equal(place.element_type, "struct cell");
    assert_false(data_type_place(&symbol.type, symbol.size, symbol.size, &place));

    symbol = variable(&opened, "single");
    assert_true(data_type_place(&symbol.type, symbol.size, 8, &place));
    assert_string_equal(place.path, ".left");
    assert_false(place.in_array);

    symbol = variable(&opened, "grid");
    assert_true(data_type_place(&symbol.type, symbol.size, sizeof(int) * (2 * 5 + 3), &place));
    assert_string_equal(place.path, "[2][3]");
    assert_int_equal(place.element, 13);
    assert_int_equal(place.element_size, sizeof(int));

    type = pointee_at(&opened, c_source, "*local = malloc", "local", false, 0);
    assert_int_equal(data_type_size(&type), cell_size);
    check_members(&type, 7 * cell_size, cell_size);
    type = pointee_at(&opened, c_source, "*local = malloc", "hidden", false, 0);
    assert_int_equal(data_type_size(&type), cell_size);
    type = pointee_at(&opened, c_source, "h.rows[argc] = malloc", "rows", true, 1);
    assert_int_equal(data_type_size(&type), cell_size);
    type = pointee_at(&opened, c_source, "h.rows = malloc", "rows", true, 0);
    assert_int_equal(data_type_size(&type), sizeof(void *));
    type = pointee_at(&opened, c_source, "*local = malloc", "message", false, 0);
    assert_true(data_type_place(&type, 1006, 106, &place));
    assert_string_equal(place.path, ".body[50]");
    assert_false(place.in_array);
    assert_true(data_type_place(&type, 1006, 4, &place));
    assert_string_equal(place.path, ".tag");
    type = pointee_at(&opened, c_source, "*local = malloc", "absent", false, 0);
    assert_null(type.module);
    opened_module_close(&opened);
}

static void check_cpp(const char *compiler, const char *options)
{
    struct opened_module opened;
    struct data_symbol symbol;
    struct data_type type;
    struct type_place place;
    uint64_t cell_size;

    open_program(&opened, compiler, options, "cc");
    symbol = variable(&opened, "space::objects");
    cell_size = symbol.size / 5;
    check_members(&symbol.type, symbol.size, cell_size);
    assert_true(data_type_place(&symbol.type, symbol.size, 0, &place));
    assert_non_null(strstr(place.path, "_vptr"));
    /* As new allocates it: the number of elements comes first. */
    type = pointee_at(&opened, cpp_source, "data_ = new", "data_", false, 0);
    assert_true(data_type_place(&type, 8 + 5 * cell_size, 8 + 2 * cell_size + 8, &place));
    assert_string_equal(place.path, "[2].first");
    assert_int_equal(place.first_element, 8);
    assert_int_equal(place.offset, 8 + 2 * cell_size + 8);
    assert_false(data_type_place(&type, 8 + 5 * cell_size, 0, &place));
    type = pointee_at(&opened, cpp_source, "data_ = new", "data_", false, 0);
    assert_int_equal(data_type_size(&type), cell_size);
    type = pointee_at(&opened, cpp_source, "std::vector<space::cell> v", "v", false, 0);
    assert_int_equal(data_type_size(&type), cell_size);
    type = pointee_at(&opened, cpp_source, "std::unique_ptr<space::cell[]> u", "u", false, 0);
    assert_int_equal(data_type_size(&type), cell_size);
    opened_module_close(&opened);
}

static const char *const c_options[] = {"-g -O0", "-g -O2", "-gdwarf-4 -O0"};
static const char *const cpp_options[] = {"-g -O0", "-gdwarf-4 -O0"};

static void test_gcc(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(c_options) / sizeof(*c_options); i++)
        check_c("gcc", c_options[i]);
    for (size_t i = 0; i < sizeof(cpp_options) / sizeof(*cpp_options); i++)
        check_cpp("g++", cpp_options[i]);
}

static void test_clang(void **state)
{
    (void)state;
    if (!have_command("clang++"))
        skip();
    for (size_t i = 0; i < 3; i++)
        check_c("clang", c_options[i]);
    for (size_t i = 0; i < sizeof(cpp_options) / sizeof(*cpp_options); i++)
        check_cpp("clang++", cpp_options[i]);
}

static int enter_directory(void **state)
{
    (void)state;
    if (module_folder_enter(directory) != 0)
        return -1;
    write_source("source.c", c_source);
    write_source("source.cc", cpp_source);
    return 0;
}

static int leave_directory(void **state)
{
    (void)state;
    return module_folder_leave(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gcc), cmocka_unit_test(test_clang)};

    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
