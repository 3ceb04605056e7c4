/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/allocator_code.h"

#include <string.h>

static bool begins_with_any(const char *text, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strncmp(text, *words, strlen(*words)) == 0)
            return true;
    return false;
}

static bool contains_any(const char *text, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strstr(text, *words) != NULL)
            return true;
    return false;
}

static bool is_any(const char *text, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strcmp(text, *words) == 0)
            return true;
    return false;
}

/* Functions that allocate and free, as the C library and others name them, and what only they
 * call; a program's own free_nodes() is none. */
static const char *const allocator_names[] = {"malloc",
                                              "calloc",
                                              "realloc",
                                              "free",
                                              "cfree",
                                              "memalign",
                                              "posix_memalign",
                                              "aligned_alloc",
                                              "malloc@plt",
                                              "calloc@plt",
                                              "realloc@plt",
                                              "free@plt",
                                              "__libc_malloc",
                                              "__libc_calloc",
                                              "__libc_realloc",
                                              "__libc_free",
                                              "_int_malloc",
                                              "_int_free",
                                              "_int_realloc",
                                              "_int_memalign",
                                              "sysmalloc",
                                              "systrim",
                                              "unlink_chunk",
                                              "malloc_consolidate",
                                              "tcache_get",
                                              "tcache_put",
                                              "__GI___libc_malloc",
                                              "__GI___libc_free",
                                              "mi_malloc",
                                              "mi_free",
                                              "je_malloc",
                                              "je_free",
                                              "tc_malloc",
                                              "tc_free",
                                              NULL};

bool allocator_code_is(const struct code_line *frame)
{
    static const char *const operators[] = {"operator new", "operator delete", NULL};
    static const char *const modules[] = {"libjemalloc", "libtcmalloc", "libmimalloc", NULL};

    return is_any(frame->function, allocator_names) ||
           begins_with_any(frame->function, operators) ||
           (frame->file != NULL && strstr(frame->file, "malloc/malloc.c") != NULL) ||
           (frame->module != NULL && begins_with_any(frame->module, modules));
}

bool allocator_code_grows(const struct code_line *frame)
{
    static const char *const names[] = {"_M_rehash",
                                        "_M_realloc_insert",
                                        "_M_realloc_append",
                                        "_M_reallocate_map",
                                        "__do_rehash",
                                        "__push_back_slow_path",
                                        "__emplace_back_slow_path",
                                        "reserve_rehash",
                                        "do_reserve_and_handle",
                                        NULL};

    return contains_any(frame->function, names);
}
