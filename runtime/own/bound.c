/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions of other libraries that this one calls, each bound to the library that it is meant to
 * be in. What the dynamic loader binds by name goes to the first definition that it meets, be it a
 * function `log` of the target's or a decoder that the target brings along. So the calls end at the
 * hidden stubs below, which jump where bound_begin() has found the function.
 *
 * The decoder has no static library to link in, and its own calls are bound by name as well. It is
 * loaded for the first burst (late_library.h), and mapped by the first process of a run at its
 * start; where it is no longer where it was when this was built, the dynamic loader searches for it
 * at start-up, its own definitions first (RTLD_DEEPBIND).
 */
#include "own/bound.h"
#include "config.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interposition/interpose.h"
#include "own/c_library.h"
#include "own/late_library.h"
#include "own/loaded_symbols.h"
#include "own/raw_call.h"
#include "path_name.h"

enum library { LIBRARY_C, LIBRARY_DECODER, LIBRARIES };

static const char *const library_names[LIBRARIES] = {"libc.so.6", REUSE_ZYDIS_SONAME};

#define BOUND_FUNCTIONS(BOUND)                                                                     \
    BOUND(LIBRARY_C, __cxa_at_quick_exit)                                                          \
    BOUND(LIBRARY_C, __isoc99_sscanf)                                                              \
    BOUND(LIBRARY_C, getenv)                                                                       \
    BOUND(LIBRARY_C, pthread_attr_destroy)                                                         \
    BOUND(LIBRARY_C, pthread_attr_getstack)                                                        \
    BOUND(LIBRARY_C, pthread_attr_getstacksize)                                                    \
    BOUND(LIBRARY_C, pthread_attr_init)                                                            \
    BOUND(LIBRARY_C, pthread_key_create)                                                           \
    BOUND(LIBRARY_C, pthread_setspecific)                                                          \
    BOUND(LIBRARY_C, snprintf)                                                                     \
    BOUND(LIBRARY_C, strerror)                                                                     \
    BOUND(LIBRARY_C, strerrorname_np)                                                              \
    BOUND(LIBRARY_C, sysconf)                                                                      \
    BOUND_DECODER(BOUND)

#if defined(__x86_64__)
#define BOUND_DECODER(BOUND)                                                                       \
    BOUND(LIBRARY_DECODER, ZydisDecoderDecodeFull)                                                 \
    BOUND(LIBRARY_DECODER, ZydisDecoderDecodeInstruction)                                          \
    BOUND(LIBRARY_DECODER, ZydisDecoderInit)                                                       \
    BOUND(LIBRARY_DECODER, ZydisEncoderDecodedInstructionToEncoderRequest)                         \
    BOUND(LIBRARY_DECODER, ZydisEncoderEncodeInstruction)                                          \
    BOUND(LIBRARY_DECODER, ZydisRegisterEncode)                                                    \
    BOUND(LIBRARY_DECODER, ZydisRegisterGetClass)                                                  \
    BOUND(LIBRARY_DECODER, ZydisRegisterGetId)                                                     \
    BOUND(LIBRARY_DECODER, ZydisRegisterGetLargestEnclosing)
#define STUB_TYPE "@function"
#define STUB_CODE(name) "endbr64\n jmp *bound_" #name "(%rip)\n"
#else
#define BOUND_DECODER(BOUND)
#define STUB_TYPE "%function"
/* hint #34: bti c */
#define STUB_CODE(name)                                                                            \
    "hint #34\n adrp x16, bound_" #name "\n ldr x16, [x16, :lo12:bound_" #name "]\n br x16\n"
#endif

/* The places that the stubs jump through, written by bound_begin(), and the stubs. */
#define STUB(library, name)                                                                        \
    extern void *bound_##name __attribute__((visibility("hidden")));                               \
    void *bound_##name;                                                                            \
    __asm__(".section .text.bound_" #name ", \"ax\"\n"                                             \
            ".globl " #name "\n .hidden " #name "\n .type " #name ", " STUB_TYPE "\n" #name ":\n"  \
            ".cfi_startproc\n" STUB_CODE(name) ".cfi_endproc\n"                                    \
                                               ".size " #name ", . - " #name "\n .text\n");
BOUND_FUNCTIONS(STUB)

static const struct {
    enum library from;
    const char *name;
    void **place;
} functions[] = {
#define ROW(library, name) {library, #name, &bound_##name},
    BOUND_FUNCTIONS(ROW)};

/* Of dlopen(), where that was needed. */
static void *handles[LIBRARIES];

/* The C library's own tables; without symbols where it was not found. */
static struct loaded_symbols c_library;

typedef void *load_function(const char *, int);

#if defined(DLFO_EH_SEGMENT_TYPE)
/* In the list of the loader that this library is in. Asking dlopen() for it would take a process
 * 100 us at its start, most of them for pages that nobody else touches. */
static void list_c_library(void)
{
    struct dl_find_object own;
    struct link_map *map;

    if (_dl_find_object((void *)(uintptr_t)functions, &own) != 0)
        return;
    for (map = own.dlfo_link_map; map->l_prev; map = map->l_prev)
        ;
    for (; map; map = map->l_next) {
        if (strcmp(path_name(map->l_name), library_names[LIBRARY_C]) == 0) {
            if (!loaded_symbols_read(&c_library, map->l_ld, map->l_addr))
                c_library.symbols = NULL;
            return;
        }
    }
}
#else
static void list_c_library(void) {}
#endif

void *bound_of_c_library(const char *name)
{
    void *found = c_library.symbols ? loaded_symbols_find(&c_library, name) : NULL;
    load_function *load;

    if (found)
        return found;
    if (!handles[LIBRARY_C]) {
        load = (load_function *)interpose_real("dlopen");
        handles[LIBRARY_C] = load ? load(library_names[LIBRARY_C], RTLD_NOW | RTLD_NOLOAD) : NULL;
    }
    return handles[LIBRARY_C] ? dlsym(handles[LIBRARY_C], name) : NULL;
}

bool bound_covers(const char *name, uint64_t address)
{
    return c_library.symbols && loaded_symbols_covers(&c_library, name, address);
}

static void *function_of(enum library from, const char *name)
{
    return from == LIBRARY_C ? bound_of_c_library(name) : dlsym(handles[from], name);
}

/* The place of its file when this was built; NULL: there is no decoder. */
static const char *const decoder_path = REUSE_ZYDIS_PATH;

/* Its own calls go to its own definitions first. A sanitizer's dlopen() would refuse
 * RTLD_DEEPBIND, which redirects it: the C library's own. */
static bool load_decoder(void)
{
    load_function *load = (load_function *)bound_of_c_library("dlopen");

    if (!load)
        return false;
    interpose_loading_begin();
    handles[LIBRARY_DECODER] = load(library_names[LIBRARY_DECODER], RTLD_NOW | RTLD_DEEPBIND);
    interpose_loading_end();
    return handles[LIBRARY_DECODER] != NULL;
}

static bool is_readable(const char *path)
{
    return raw_call(SYS_faccessat, AT_FDCWD, (long)path, R_OK, 0, 0, 0) == 0;
}

const char *bound_begin(void)
{
    list_c_library();
    if (decoder_path && !is_readable(decoder_path) && !load_decoder())
        return library_names[LIBRARY_DECODER];
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (functions[i].from == LIBRARY_DECODER && !handles[LIBRARY_DECODER])
            continue;
        *functions[i].place = function_of(functions[i].from, functions[i].name);
        if (!*functions[i].place)
            return functions[i].name;
    }
    return NULL;
}

/* What it calls where it finds itself broken. */
static void decoder_failed(void)
{
    __builtin_trap();
}

/* Written before threads, or by who makes the decoder's cache. */
static struct late_library decoder;

bool bound_map_decoder(void)
{
    return !decoder_path || handles[LIBRARY_DECODER] || decoder.base != 0 ||
           late_library_map(&decoder, decoder_path);
}

bool bound_decoder(void)
{
    static const struct late_import imports[] = {
        {"memcpy", (void *)memcpy},
        {"memset", (void *)memset},
        {"strlen", (void *)strlen},
        {"__assert_fail", (void *)decoder_failed},
        {"__stack_chk_fail", (void *)decoder_failed},
    };
    static bool bound; /* likewise */

    if (!decoder_path || handles[LIBRARY_DECODER] || bound)
        return true;
    if (!bound_map_decoder() ||
        !late_library_link(&decoder, imports, sizeof imports / sizeof *imports))
        return false;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (functions[i].from != LIBRARY_DECODER)
            continue;
        *functions[i].place = late_library_function(&decoder, functions[i].name);
        if (!*functions[i].place)
            return false;
    }
    return bound = true;
}
