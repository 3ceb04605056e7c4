/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Members of structures, and the structures around a byte, in programs that gcc and clang compile
 * here. The oracle is the compiler: programs print offsetof(), sizeof() and alignof().
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/compiled_module.h"

static char directory[] = "/tmp/reuse-members-XXXXXX";

static const char source[] =
    "#include <cstddef>\n"
    "#include <cstdio>\n"
    "struct point { float a, b; };\n"
    "struct base { virtual ~base() {} long id; };\n"
    "struct body : base {\n"
    "    char flag; unsigned ready : 1, busy : 3, left : 20; long double big;\n"
    "    point at[3]; union { int i; double d; }; struct { short s; } in; static int shared;\n"
    "    short late : 9; alignas(32) char apart; int *where; char rest[5];\n"
    "};\n"
    "int body::shared;\n"
    "struct __attribute__((packed)) wire { char c; int v; };\n"
    "struct open { int n; short data[]; };\n"
    "union either { int i; double d; };\n"
    "body bodies[4]; wire wires[2]; open *opened; either one; point grid[2][3]; open tail;\n"
    "#define P(m) printf(#m \" %zu %zu %zu\\n\", (size_t)((char *)&p->m - (char *)p), \\\n"
    "                    sizeof p->m, alignof(decltype(p->m)))\n"
    "int main()\n"
    "{\n"
    "    body *p = &bodies[1];\n"
    "    P(flag); P(big); P(at); P(in); P(where); P(rest);\n"
    "    printf(\"apart %zu 1 32\\n\", (size_t)(&p->apart - (char *)p));\n"
    "    printf(\"(size) %zu %zu 0\\n\", sizeof(body), alignof(body));\n"
    "    wires[1].v = 1; one.i = 2; grid[1][2].b = 1; opened = &tail;\n"
    "}\n";

static void open_program(struct opened_module *opened, const char *compiler, const char *options)
{
    char path[64];

    write_source("source.cc", source);
    assert_true(run_command("%s -w %s -o program source.cc", compiler, options));
    assert_true(run_command("./program >layout"));
    snprintf(path, sizeof(path), "%s/program", directory);
    memset(opened, 0, sizeof(*opened));
    opened_module_open(opened, path, (const uint8_t *)"", 0);
}

static struct data_type type_of(struct opened_module *opened, const char *name, uint64_t *size)
{
    unsigned long address = 0;
    struct data_symbol symbol;
    uint64_t wanted;
    FILE *stream;

    assert_true(run_command("nm -C program | awk '$3 == \"%s\" { print $1 }' >address", name));
    stream = fopen("address", "r");
    assert_non_null(stream);
    assert_int_equal(fscanf(stream, "%lx", &address), 1);
    fclose(stream);
    wanted = address;
    symbol_module_variables(opened->module, &wanted, 1, &symbol);
    assert_non_null(symbol.type.module);
    *size = symbol.size;
    return symbol.type;
}

/* The structure that the byte of a variable lies in, innermost or outermost. */
static struct data_type structure_at(const struct data_type *type, uint64_t size, uint64_t offset,
                                     bool innermost, struct type_level *level)
{
    struct type_level levels[TYPE_LEVELS_MAX];
    size_t count = data_type_levels(type, size, offset, levels);

    assert_true(count > 0);
    *level = levels[innermost ? count - 1 : 0];
    return (struct data_type){type->module, level->type};
}

static const struct type_member *member_named(const struct type_members *members, const char *name)
{
    for (size_t i = 0; i < members->items.count; i++)
        if (strcmp(members->items.items[i].name, name) == 0)
            return &members->items.items[i];
    print_message("no member %s\n", name);
    return NULL;
}

static void check_layout(const struct type_members *members)
{
    FILE *stream = fopen("layout", "r");
    char name[64];
    size_t offset, size, alignment, seen = 0;

    assert_non_null(stream);
    while (fscanf(stream, "%63s %zu %zu %zu", name, &offset, &size, &alignment) == 4) {
        const struct type_member *member;

        if (strcmp(name, "(size)") == 0) {
            assert_int_equal(members->size, offset);
            assert_int_equal(members->alignment, size);
            continue;
        }
        member = member_named(members, name);
        assert_non_null(member);
        assert_int_equal(member->offset, offset);
        assert_int_equal(member->size, size);
        assert_int_equal(member->alignment, alignment);
        seen++;
    }
    fclose(stream);
    assert_int_equal(seen, 7);
}

static void check_kinds(const struct type_members *members)
{
    const struct type_member *bits = member_named(members, "ready, busy, left");

    assert_int_equal(member_named(members, "(base base)")->kind, MEMBER_BASE);
    assert_int_equal(member_named(members, "(base base)")->offset, 0);
    assert_int_equal(member_named(members, "(base base)")->size, 16);
    assert_int_equal(member_named(members, "(unnamed union)")->kind, MEMBER_UNION);
    assert_non_null(bits);
    assert_int_equal(bits->kind, MEMBER_BITS);
    /* 24 bits of a word of 32. */
    assert_in_range(bits->size, 3, 4);
    assert_int_equal(bits->alignment, 4);
    assert_int_equal(member_named(members, "late")->kind, MEMBER_BITS);
    assert_int_equal(member_named(members, "late")->size, 2);
    for (size_t i = 0; i < members->items.count; i++)
        assert_string_not_equal(members->items.items[i].name, "shared");
}

static void check_program(const char *compiler, const char *options)
{
    struct opened_module opened;
    struct type_members members;
    struct type_level level, levels[TYPE_LEVELS_MAX];
    struct data_type type, structure;
    uint64_t size, element;

    open_program(&opened, compiler, options);
    type = type_of(&opened, "bodies", &size);
    element = size / 4;
    structure = structure_at(&type, size, 2 * element + 1, false, &level);
    assert_int_equal(level.offset, 1);
    assert_int_equal(level.start, 2 * element);
    assert_int_equal(level.repeat, element);
    assert_true(data_type_members(&structure, &members));
    assert_string_equal(members.name, "struct body");
    assert_non_null(strstr(members.file, "source.cc"));
    assert_int_equal(members.line, 5);
    assert_false(members.packed);
    check_layout(&members);
    check_kinds(&members);

    /* bodies[2].at[1].b lies in a body and in a point. */
    assert_int_equal(data_type_levels(&type, size,
                                      2 * element + member_named(&members, "at")->offset + 12,
                                      levels),
                     2);
    assert_int_equal(levels[1].offset, 4);
    assert_int_equal(levels[1].repeat, 8);
    free(members.items.items);

    type = type_of(&opened, "grid", &size);
    structure = structure_at(&type, size, size - 1, true, &level);
    assert_int_equal(level.offset, 7);
    assert_int_equal(level.start, 40);
    assert_true(data_type_members(&structure, &members));
    assert_int_equal(members.items.count, 2);
    free(members.items.items);

    type = type_of(&opened, "wires", &size);
    structure = structure_at(&type, size, 6, true, &level);
    assert_int_equal(level.offset, 1);
    assert_true(data_type_members(&structure, &members));
    assert_true(members.packed);
    free(members.items.items);

    type = type_of(&opened, "one", &size);
    structure = structure_at(&type, size, 0, true, &level);
    assert_true(data_type_members(&structure, &members));
    assert_true(members.is_union);
    free(members.items.items);

    /* A block that is longer than its structure, which ends with an open array. */
    type = type_of(&opened, "tail", &size);
    structure = structure_at(&type, 400, 200, true, &level);
    assert_int_equal(level.offset, 200);
    assert_int_equal(level.repeat, 0);
    assert_true(data_type_members(&structure, &members));
    assert_int_equal(member_named(&members, "data")->kind, MEMBER_OPEN);
    assert_int_equal(member_named(&members, "data")->size, 0);
    free(members.items.items);
    assert_int_equal(data_type_levels(&type, 400, 400, levels), 0);
    opened_module_close(&opened);
}

static void members_are_those_of_gcc(void **state)
{
    (void)state;
    check_program("g++", "-g -O1");
    check_program("g++", "-gdwarf-4 -O0");
}

static void members_are_those_of_clang(void **state)
{
    (void)state;
    if (!have_command("clang++"))
        skip();
    check_program("clang++", "-g -O1");
}

static void numbers_have_no_members(void **state)
{
    struct opened_module opened;
    struct type_level levels[TYPE_LEVELS_MAX];
    struct type_members members;
    struct data_type type;
    uint64_t size;

    (void)state;
    open_program(&opened, "g++", "-g");
    type = type_of(&opened, "opened", &size);
    assert_int_equal(data_type_levels(&type, size, 0, levels), 0);
    assert_false(data_type_members(&type, &members));
    assert_int_equal(data_type_levels(&(struct data_type){NULL, {0}}, 8, 0, levels), 0);
    opened_module_close(&opened);
}

static int enter(void **state)
{
    (void)state;
    return module_folder_enter(directory);
}

static int leave(void **state)
{
    (void)state;
    return module_folder_leave(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_those_of_gcc),
        cmocka_unit_test(members_are_those_of_clang),
        cmocka_unit_test(numbers_have_no_members),
    };

    return cmocka_run_group_tests(tests, enter, leave);
}
