/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions of other libraries that this one calls, each bound to the library that it is meant to
 * be in. What the dynamic loader binds by name goes to the first definition that it meets, be it a
 * function `log` of the target's or a decoder that the target brings along. So the calls end at the
 * hidden stubs below, which jump where bound_begin() has found the function.
 *
 * The decoder has no static library to link in, and its own calls are bound by name as well: it is
 * loaded here, with its own definitions first (RTLD_DEEPBIND).
 */
#include "own/bound.h"
#include "config.h"

#include <dlfcn.h>
#include <stddef.h>

#include "config.h"
#include "interposition/interpose.h"

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
    BOUND(LIBRARY_C, setenv)                                                                       \
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

/* Written by bound_begin(). */
static void *handles[LIBRARIES];

void *bound_of_c_library(const char *name)
{
    return dlsym(handles[LIBRARY_C], name);
}

typedef void *load_function(const char *, int);

/* A sanitizer's dlopen() would refuse RTLD_DEEPBIND, which redirects it: the C library's own. */
static load_function *own_load(load_function *first)
{
    handles[LIBRARY_C] = first(library_names[LIBRARY_C], RTLD_NOW | RTLD_NOLOAD);
    return handles[LIBRARY_C] ? (load_function *)bound_of_c_library("dlopen") : NULL;
}

/* Its own calls go to its own definitions first. */
static bool load_decoder(load_function *load)
{
    static const char *const names[] = {REUSE_ZYDIS_PATH, REUSE_ZYDIS_SONAME};

    interpose_loading_begin();
    for (size_t i = 0; i < sizeof names / sizeof *names && !handles[LIBRARY_DECODER]; i++)
        handles[LIBRARY_DECODER] = load(names[i], RTLD_NOW | RTLD_DEEPBIND);
    interpose_loading_end();
    return handles[LIBRARY_DECODER] != NULL;
}

const char *bound_begin(void)
{
    load_function *load = own_load((load_function *)interpose_real("dlopen"));

    if (!load)
        return "dlopen";
    if (library_names[LIBRARY_DECODER] && !load_decoder(load))
        return library_names[LIBRARY_DECODER];
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        *functions[i].place = dlsym(handles[functions[i].from], functions[i].name);
        if (!*functions[i].place)
            return functions[i].name;
    }
    return NULL;
}
