/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions found in objects' own tables against those that the dynamic loader finds. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "own/loaded_symbols.h"

static struct link_map *c_library(void)
{
    struct link_map *map = NULL;
    void *handle = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);

    assert_non_null(handle);
    assert_int_equal(dlinfo(handle, RTLD_DI_LINKMAP, &map), 0);
    return map;
}

static void as_dlsym(void **state)
{
    /* Some have two versions, of which the default one counts. */
    static const char *const names[] = {"snprintf",       "getenv",    "pthread_attr_init",
                                        "sigaction",      "realpath",  "pthread_cond_wait",
                                        "fmemopen",       "nftw",      "sysconf",
                                        "pthread_create", "localtime", "__cxa_at_quick_exit"};
    struct link_map *map = c_library();
    struct loaded_symbols symbols;

    (void)state;
    assert_true(loaded_symbols_read(&symbols, map->l_ld, map->l_addr));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_non_null(dlsym(map, names[i]));
        assert_ptr_equal(loaded_symbols_find(&symbols, names[i]), dlsym(map, names[i]));
    }
}

static void code_of_a_function(void **state)
{
    struct link_map *map = c_library();
    struct loaded_symbols symbols;
    uint64_t start = (uint64_t)(uintptr_t)dlsym(map, "exit"), last = start;
    const ElfW(Sym) *symbol = NULL;
    Dl_info info;

    (void)state;
    assert_true(loaded_symbols_read(&symbols, map->l_ld, map->l_addr));
    assert_int_not_equal(dladdr1((void *)(uintptr_t)start, &info, (void **)&symbol, RTLD_DL_SYMENT),
                         0);
    last += symbol->st_size - 1;
    assert_true(last > start);
    assert_true(loaded_symbols_covers(&symbols, "exit", start));
    assert_true(loaded_symbols_covers(&symbols, "exit", last));
    assert_false(loaded_symbols_covers(&symbols, "exit", start - 1));
    assert_false(loaded_symbols_covers(&symbols, "exit", last + 1));
    assert_false(loaded_symbols_covers(&symbols, "no_such_function", start));
}

static void what_is_not_there(void **state)
{
    struct link_map *map = c_library();
    struct loaded_symbols symbols;

    (void)state;
    assert_true(loaded_symbols_read(&symbols, map->l_ld, map->l_addr));
    assert_null(loaded_symbols_find(&symbols, "no_such_function"));
    assert_null(loaded_symbols_find(&symbols, ""));
    assert_null(loaded_symbols_find(&symbols, "snprint"));
    /* The loader chooses among its variants. */
    assert_null(loaded_symbols_find(&symbols, "memcpy"));
    /* Data. */
    assert_null(loaded_symbols_find(&symbols, "environ"));
}

/* The same through the older table of names, made here, which not every object has. */
static void through_the_older_table(void **state)
{
    struct link_map *map = c_library();
    struct loaded_symbols symbols;
    uint32_t table[2] = {1, 0};

    (void)state;
    assert_true(loaded_symbols_read(&symbols, map->l_ld, map->l_addr));
    while (symbols.symbols + table[1] < (const ElfW(Sym) *)(const void *)symbols.names)
        table[1]++;
    symbols.gnu_hash = NULL;
    symbols.hash = table;
    assert_ptr_equal(loaded_symbols_find(&symbols, "getenv"), dlsym(map, "getenv"));
    assert_ptr_equal(loaded_symbols_find(&symbols, "pthread_cond_wait"),
                     dlsym(map, "pthread_cond_wait"));
    assert_null(loaded_symbols_find(&symbols, "no_such_function"));
}

static void no_tables(void **state)
{
    static const ElfW(Dyn) nothing[] = {{.d_tag = DT_NULL}};
    struct loaded_symbols symbols;

    (void)state;
    assert_false(loaded_symbols_read(&symbols, nothing, 4096));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_dlsym),          cmocka_unit_test(code_of_a_function),
        cmocka_unit_test(what_is_not_there), cmocka_unit_test(through_the_older_table),
        cmocka_unit_test(no_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
