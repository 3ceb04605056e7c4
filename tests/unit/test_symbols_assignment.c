/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an allocation is assigned to, read from statements as people write them. In each case the
 * allocating call is marked with @; the expectation is what a person would say.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "symbols/assignment.h"

struct example {
    const char *source; /* @ marks the column that the debug information gives */
    const char *callee;
    const char *name;     /* NULL: none; "return": returned */
    const char *declared; /* NULL: the same as name */
};

static void check_in(enum source_language language, const struct example *example, bool with_column)
{
    char *text = strdup(example->source), *mark = strchr(text, '@');
    struct source_text source;
    struct assignment found;
    uint32_t line = 1, column = 1;

    assert_non_null(mark);
    for (const char *c = text; c < mark; c++) {
        column = *c == '\n' ? 1 : column + 1;
        line += *c == '\n';
    }
    memmove(mark, mark + 1, strlen(mark));
    source_text_from_memory(&source, text, language);
    assignment_find(&source, line, with_column ? column : 0, example->callee, &found);
    if (example->name == NULL) {
        if (found.kind != ASSIGNMENT_UNKNOWN)
            fail_msg("%s: found '%s', expected nothing", text, found.name ? found.name : "return");
    } else if (strcmp(example->name, "return") == 0) {
        if (found.kind != ASSIGNMENT_RETURNED)
            fail_msg("%s: not seen as returned", text);
    } else {
        if (found.kind != ASSIGNMENT_NAMED)
            fail_msg("%s: nothing found, expected '%s'", text, example->name);
        assert_string_equal(found.name, example->name);
        assert_string_equal(found.declared, example->declared ? example->declared : example->name);
    }
    assignment_free(&found);
    source_text_free(&source);
    free(text);
}

static void check_at(const struct example *example, bool with_column)
{
    check_in(SOURCE_C, example, with_column);
}

static const struct example plain[] = {
    {"double *m = @malloc(n * sizeof(double));", "malloc", "m", NULL},
    {"double *m = (double *)@malloc(n);", "malloc", "m", NULL},
    {"m = (struct node **) @calloc(n, 8);", "calloc", "m", NULL},
    {"p->field = @calloc(n, 8);", "calloc", "p->field", "field"},
    {"x.a.b = @malloc(n);", "malloc", "x.a.b", "b"},
    {"rows[i] = @malloc(n);", "malloc", "rows[i]", "rows"},
    {"g->rows[i + f(2)] = @malloc(n);", "malloc", "g->rows[i+f(2)]", "rows"},
    {"if ((p = @malloc(n)) == NULL)\n    return 1;", "malloc", "p", NULL},
    {"if (!(p = (char *)@malloc(n))) {", "malloc", "p", NULL},
    {"while ((line = @malloc(n)) != NULL)", "malloc", "line", NULL},
    {"for (p = @malloc(n); p; p = 0)", "malloc", "p", NULL},
    {"char *a = NULL, *b = @malloc(n);", "malloc", "b", NULL},
    {"*out = @malloc(n);", "malloc", "*out", "out"},
    {"if (@posix_memalign((void **)&p, 64, n) != 0)\n    return 1;", "posix_memalign", "p", NULL},
    {"@posix_memalign(&g->rows[i + 1], 64, f(n));", "posix_memalign", "g->rows[i+1]", "rows"},
    {"int e = @posix_memalign(reinterpret_cast<void **>(&data_), 64, n);", "posix_memalign",
     "data_", NULL},
    {"@posix_memalign(out, 64, n);", "posix_memalign", NULL, NULL},
    {"@posix_memalign(", "posix_memalign", NULL, NULL},
    {"int x = 3; float *buffer = @malloc(n);", "malloc", "buffer", NULL},
    {"auto x = new T[n], @y = 3;", "xmalloc", NULL, NULL},
    {"auto x = @new T[n];", "new", "x", NULL},
    {"T *x = @new (std::nothrow) T[n];", "new", "x", NULL},
    {"data_ = @new double[n];", "new", "data_", NULL},
    {"this->data_ = @new double[n];", "new", "data_", NULL},
    {"Node::pool = @new Node[n];", "new", "Node::pool", "pool"},
    {"auto x = static_cast<double *>(std::@malloc(n));", "malloc", "x", NULL},
    {"x = reinterpret_cast<std::pair<int, int> *>(@malloc(n));", "malloc", "x", NULL},
    {"std::unique_ptr<double[]> p(@new double[n]);", "new", "p", NULL},
    {"std::unique_ptr<int[]> p = std::unique_ptr<int[]>(@new int[n]);", "new", "p", NULL},
    {"auto p = std::@make_unique<double[]>(n);", "make_unique", "p", NULL},
    {"x = ok ? @malloc(n) : NULL;", "malloc", "x", NULL},
    {"x = ok ? NULL : @malloc(n);", "malloc", "x", NULL},
    {"return @malloc(n);", "malloc", "return", NULL},
    {"return (char *)@malloc(n);", "malloc", "return", NULL},
    {"return cond ? @malloc(n) : NULL;", "malloc", "return", NULL},
    {"v = @xmalloc(10);", "xmalloc", "v", NULL},
    {"v = pool->@allocate(10);", "allocate", "v", NULL},
    {"A = @ALLOC_ARRAY(double, n);", "malloc", "A", NULL},
};

static void test_plain_assignments(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++) {
        check_at(&plain[i], true);
        check_at(&plain[i], false);
    }
}

static const struct example several_lines[] = {
    {"double *matrix =\n    @malloc(rows * columns *\n           sizeof(double));", "malloc",
     "matrix", NULL},
    {"s->values = (double *)\n  @realloc(s->values,\n  n * 8);", "realloc", "s->values", "values"},
    {"f();\n\nlong_name =  /* why = not */\n   // a = b\n   @malloc(3);", "malloc", "long_name",
     NULL},
    {"#define X p = 3\nq = @malloc(n);", "malloc", "q", NULL},
    {"{\n    q = @malloc(n); }", "malloc", "q", NULL},
    {"label:\n    q = @malloc(n);", "malloc", "q", NULL},
    {"s = \"a = b;\"; q = @malloc(n);", "malloc", "q", NULL},
};

static void test_statements_of_several_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(several_lines) / sizeof(*several_lines); i++) {
        check_at(&several_lines[i], true);
        check_at(&several_lines[i], false);
    }
}

/* Compilers give the column of the last brace. */
static const struct example braces[] = {
    {"Node *q = new Node{k, h, {}@};", "new", "q", NULL},
    {"*p = new Node{k, new Node{@}, 2};", "new", NULL, NULL},
    {"if (!n) {\n*p = new Node{\n  k,\n  {1, 2}\n@}; }", "new", "*p", "p"},
    {"{ list = new a::Node{@}; return; }", "new", "list", NULL},
};

static void test_new_with_braces(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(braces) / sizeof(*braces); i++)
        check_at(&braces[i], true);
}

static void test_the_class_that_new_creates(void **state)
{
    static const struct {
        const char *source, *created;
    } cases[] = {
        {"Shape *s = new Circle(1, 2);", "Circle"},   {"keep(new shapes::Circle{1});", "Circle"},
        {"s = new (std::nothrow) Circle;", "Circle"}, {"s = new Circle[n];", "Circle"},
        {"s = new List<int>::Node;", NULL},           {"s = new List<int>(3);", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct source_text source;
        struct assignment found;

        source_text_from_memory(&source, cases[i].source, SOURCE_C);
        assignment_find(&source, 1, 0, "new", &found);
        if (cases[i].created == NULL)
            assert_null(found.created);
        else
            assert_string_equal(found.created, cases[i].created);
        assignment_free(&found);
        source_text_free(&source);
    }
}

static const struct example columns[] = {
    {"a = @malloc(1); b = malloc(2);", "malloc", "a", NULL},
    {"a = malloc(1); b = @malloc(2);", "malloc", "b", NULL},
    {"T *a = malloc(1), *b = @malloc(2);", "malloc", "b", NULL},
    {"a = new int[n]@; b = new int[n];", "new", "a", NULL},
};

static void test_a_column_tells_calls_of_one_line_apart(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct example unknown = columns[i];

        check_at(&columns[i], true);
        /* Without it there is no telling. */
        unknown.name = NULL;
        check_at(&unknown, false);
    }
}

static const struct example containers[] = {
    {"std::vector<double> @v(n);", "vector", "v", NULL},
    {"std::vector<std::pair<int, long>> @v(n, x);", "vector", "v", NULL},
    {"vector<double> @v{1, 2};", "vector", "v", NULL},
    {"explicit Pool(int n) : count(n), @workers_(n)\n{\n}", "vector", "workers_", NULL},
    {"Pool::Pool(int n)\n    : @workers_{n}, count(n) {}", "vector", "workers_", NULL},
    {"auto v = std::@vector<double>(n);", "vector", "v", NULL},
    {"v.@resize(n);", "resize", "v", NULL},
    {"this->items.@push_back(x);", "push_back", "items", NULL},
    {"g.rows[i].@push_back(x);", "push_back", "g.rows[i]", "rows"},
    {"list->@emplace_back(x, y);", "emplace_back", "list", NULL},
    {"return std::@vector<double>(n);", "vector", "return", NULL},
    {"std::vector<double> @a(n), b(m);", "vector", "a", NULL},
};

static void test_containers_are_named_by_their_object(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(containers) / sizeof(*containers); i++)
        check_at(&containers[i], true);
}

/* Where a person would not be sure either, there must be no name. */
static const struct example doubtful[] = {
    {"@malloc(n);", "malloc", NULL, NULL},
    {"f(@malloc(n));", "malloc", NULL, NULL},
    {"x = f(@malloc(n));", "malloc", NULL, NULL},
    {"x == @malloc(n);", "malloc", NULL, NULL},
    {"x += @malloc(n);", "malloc", NULL, NULL},
    {"x = 1 + @malloc(n);", "malloc", NULL, NULL},
    {"x = &@malloc(n)[3];", "malloc", NULL, NULL},
    {"f(x = 3, @malloc(n));", "malloc", NULL, NULL},
    {"x = g(@y);", "malloc", NULL, NULL},
    {"f() = @malloc(n);", "malloc", NULL, NULL},
    {"push(stack, @malloc(n));", "malloc", NULL, NULL},
    {"x = (y, @malloc(n));", "malloc", NULL, NULL},
    {"@resize(n);", "resize", NULL, NULL},
    {"f().@resize(n);", "resize", NULL, NULL},
    {"", "malloc", NULL, NULL},
};

static void test_doubt_gives_no_name(void **state)
{
    (void)state;
    for (size_t i = 0; i + 1 < sizeof(doubtful) / sizeof(*doubtful); i++) {
        check_at(&doubtful[i], true);
        check_at(&doubtful[i], false);
    }
}

static void check_fortran(const char *text, const char *name, const char *declared)
{
    struct source_text source;
    struct assignment found;

    source_text_from_memory(&source, text, SOURCE_FORTRAN);
    assignment_find(&source, 1, 0, "malloc", &found);
    if (name == NULL) {
        assert_int_equal(found.kind, ASSIGNMENT_UNKNOWN);
    } else {
        assert_int_equal(found.kind, ASSIGNMENT_NAMED);
        assert_string_equal(found.name, name);
        assert_string_equal(found.declared, declared);
    }
    assignment_free(&found);
    source_text_free(&source);
}

struct fortran_example {
    const char *text;
    uint32_t line, column;
    size_t site, sites;
    const char *name, *declared; /* NULL: not certain */
};

/* Lines and columns are those of gfortran 12: where the statement ends. */
static const struct fortran_example statements[] = {
    {"allocate(a(n), b(n,2), c)", 1, 25, 0, 3, "a", "a"},
    {"allocate(a(n), b(n,2), c)", 1, 25, 1, 3, "b", "b"},
    {"allocate(a(n), b(n,2), c)", 1, 25, 2, 3, "c", "c"},
    {"allocate(a(n), b(n,2), c)", 1, 0, 2, 3, "c", "c"},
    {"allocate(a(n), b(n,2), c)", 1, 25, 1, 2, NULL, NULL},
    {"allocate(a(n), b(n,2), c)", 1, 25, 0, 0, NULL, NULL},
    {"allocate(p%x(n), p%Y(n))", 1, 24, 1, 2, "p%Y", "y"},
    {"allocate(p(i)%x(n), p(2*(i+1))%y(m))", 1, 36, 1, 2, "p(2*(i+1))%y", "y"},
    {"allocate(real(8) :: a(n), b(n), stat=ierr)", 1, 42, 0, 2, "a", "a"},
    {"allocate(a(n), b(n), source=f(x,y), errmsg=text)", 1, 48, 1, 2, "b", "b"},
    {"allocate(a(0:n,merge(1,2,i==j))[*], b(n)[*])", 1, 44, 0, 2, "a", "a"},
    {"allocate(a(n), & ! b(n), (\n  ! e(n)\n\n  & c(n), &\n d(n))", 5, 6, 2, 3, "d", "d"},
    {"allocate(a(n), & ! b(n), (\n  ! e(n)\n\n  & c(n), &\n d(n))", 1, 1, 1, 3, "c", "c"},
    {"allocate(a(n)); allocate(b(n), c(n)); x = 1", 1, 14, 0, 1, "a", "a"},
    {"allocate(a(n)); allocate(b(n), c(n)); x = 1", 1, 15, 0, 1, "a", "a"},
    {"allocate(a(n)); allocate(b(n), c(n)); x = 1", 1, 36, 1, 2, "c", "c"},
    {"allocate(a(n)); allocate(b(n), c(n)); x = 1", 1, 0, 1, 3, "b", "b"},
    {"if (s == '(;') allocate(a(n), b(n))", 1, 35, 1, 2, "b", "b"},
    {"10 allocate(a(n), b(n))", 1, 23, 0, 2, "a", "a"},
    {"call deallocate(a(n), b(n))", 1, 27, 0, 2, NULL, NULL},
    {"allocate(a(n), b(n", 1, 18, 0, 2, NULL, NULL},
    {"allocate(", 1, 900, 0, 1, NULL, NULL},
    {"allocate(a(n)", 3, 1, 0, 1, NULL, NULL},
};

static void check_allocate(const struct fortran_example *example, bool fixed_form)
{
    struct source_text source;
    struct assignment found;

    source_text_from_memory(&source, example->text, SOURCE_FORTRAN);
    source.fixed_form = fixed_form;
    assignment_find_allocate(&source, example->line, example->column, example->site, example->sites,
                             &found);
    if (example->name == NULL) {
        assert_int_equal(found.kind, ASSIGNMENT_UNKNOWN);
    } else {
        assert_int_equal(found.kind, ASSIGNMENT_NAMED);
        assert_string_equal(found.name, example->name);
        assert_string_equal(found.declared, example->declared);
        assert_int_equal(found.member, strchr(example->name, '%') != NULL);
    }
    assignment_free(&found);
    source_text_free(&source);
}

static void test_fortran_allocates_several(void **state)
{
    /* Column 6 continues, C in column 1 comments. */
    const struct fortran_example by_columns = {
        "      allocate(a(n),\nC     e(n),\n     & b(n),\n     1 c(n))", 4, 13, 2, 3, "c", "c"};

    (void)state;
    for (size_t i = 0; i < sizeof(statements) / sizeof(*statements); i++)
        check_allocate(&statements[i], false);
    check_allocate(&by_columns, true);
}

static void test_fortran_allocate(void **state)
{
    (void)state;
    check_fortran("  allocate(a(n, m))", "a", "a");
    check_fortran("  ALLOCATE ( Field(0:n) , stat=ierr )", "Field", "field");
    check_fortran("  allocate(grid%cells(n))", "grid%cells", "cells");
    check_fortran("  allocate(a(n), b(n))", NULL, NULL);
    check_fortran("  call deallocate(a)", NULL, NULL);
    check_fortran("  x = 3", NULL, NULL);
}

/* Callees are those of Rust's library, which the source does not name: vec! calls from_elem. */
static const struct example rust[] = {
    {"let weight = @vec![1.0f64; n];", "from_elem", "weight", NULL},
    {"    let mut next = Vec::@with_capacity(n);", "with_capacity_in", "next", NULL},
    {"let order: Vec<u64> = (0..n).map(|i| { i * 3 }).@collect();", "from_iter", "order", NULL},
    {"let m: HashMap<u32, Vec<u8>> =\n    HashMap::@with_capacity(9);", "with_capacity", "m", NULL},
    {"let w = spawn(|| { let inner = @vec![0; 9]; inner });", "from_elem", "inner", NULL},
    {"Mesh { next: Vec::new(), weight: @vec![1.0; n] }", "from_elem", "weight", NULL},
    {"Mesh {\n    next: (0..n).@collect(),\n}", "from_iter", "next", NULL},
    {"self.rows = @vec![0; n];", "from_elem", "rows", NULL},
    {"mesh.weight = @vec![1.0; n];", "from_elem", "mesh.weight", "weight"},
    {"let a = b(); weight = @vec![1.0; n];", "from_elem", "weight", NULL},
    {"match x {\n    A => @vec![1],\n}", "from_elem", NULL, NULL},
    {"if x == @vec![1] {", "from_elem", NULL, NULL},
    {"let (a, b) = (@vec![1], vec![2]);", "from_elem", NULL, NULL},
    {"use_it(@vec![1]);", "from_elem", NULL, NULL},
    {"let s = sum(&@vec![1.0; n]);", "from_elem", NULL, NULL},
    {"let v = Arc::new(Mutex::new(@vec![0; 9]));", "from_elem", "v", NULL},
    {"let r = (0..n).map(|i| @vec![i; 3]).collect();", "from_elem", NULL, NULL},
    {"v.@push(3);", "push", "v", NULL},
    {"*m.@entry(*w % 7).or_insert(0) += 1;", "entry", "m", NULL},
    {"self.rows.@extend(0..n);", "extend", "self.rows", "rows"},
    {"#[inline] fn f<'a>(x: &'a str) { let b = @vec!['c'; 3]; }", "from_elem", "b", NULL},
};

static void test_rust(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rust) / sizeof(*rust); i++)
        check_in(SOURCE_RUST, &rust[i], true);
}

static void survive_in(enum source_language language)
{
    static const char *const text =
        "int f(void)\n{\n    char *a = malloc(3), *b = (malloc)(4);\n    return g((a[0], b));\n}\n"
        "((((\n))))\n]]]]\n=====\n::::\n->->\n* = malloc(2)\n<<<>>>\n\"unterminated\n/* end\n"
        "*/let\nlet mut\n{ :\n, a:\na.b.\na =";
    struct source_text source;

    source_text_from_memory(&source, text, language);
    for (uint32_t line = 0; line < 20; line++) {
        for (uint32_t column = 0; column < 60; column++) {
            struct assignment found;

            assignment_find(&source, line, column, "malloc", &found);
            assignment_free(&found);
        }
    }
    source_text_free(&source);
}

static void test_any_place_is_survived(void **state)
{
    (void)state;
    survive_in(SOURCE_C);
    survive_in(SOURCE_FORTRAN);
    survive_in(SOURCE_RUST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_assignments),
        cmocka_unit_test(test_statements_of_several_lines),
        cmocka_unit_test(test_a_column_tells_calls_of_one_line_apart),
        cmocka_unit_test(test_new_with_braces),
        cmocka_unit_test(test_the_class_that_new_creates),
        cmocka_unit_test(test_containers_are_named_by_their_object),
        cmocka_unit_test(test_doubt_gives_no_name),
        cmocka_unit_test(test_fortran_allocate),
        cmocka_unit_test(test_fortran_allocates_several),
        cmocka_unit_test(test_rust),
        cmocka_unit_test(test_any_place_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
