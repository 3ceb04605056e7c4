/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libreuse-try.so: aligns and pads the heap blocks of the allocation sites in $REUSE_TRY, or asks
 * for huge pages for them (heap_remedy.h), so that the gain can be timed before anybody edits code.
 * It knows nothing of profiling and works before libreuse.so or alone; a run without it pays
 * nothing.
 *
 * A block is recognised by the return address of the call that asks for it. Calls that are not
 * meant end in a jump to the next allocator in line, which sees the program as its caller; so do
 * those that are, with memalign() in place of malloc(). Aligned blocks come from the same allocator
 * as all others, so its free(), realloc() and malloc_usable_size() take them. Runs in the target's
 * normal code. Needs no lock: what is looked up is the same for all threads.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "heap_remedy.h"
#include "output/say.h"
#include "own/c_library.h"
#include "path_name.h"

#define INTERPOSED __attribute__((visibility("default")))

/* A module is loaded at a multiple of this, so the low bits of addresses stay. */
enum { PAGE_SMALLEST = 4096 };

static struct heap_remedies remedies;
static _Atomic size_t active; /* how many of them are meant; written once, by the constructor */
static _Atomic uint64_t changed[HEAP_REMEDY_MAX]; /* blocks */
static char program[4096];                        /* file name of what runs */
static pid_t process;                             /* that the constructor ran in */

/* The next allocator's, or libreuse.so's wrappers of it. */
static struct {
    _Atomic bool known;
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void *(*memalign)(size_t, size_t);
    void (*free)(void *);
} real;

static __attribute__((noinline)) void look_up_real(void)
{
#define LOOK_UP(name) *(void **)&real.name = dlsym(RTLD_NEXT, #name)
    LOOK_UP(malloc);
    LOOK_UP(calloc);
    LOOK_UP(realloc);
    LOOK_UP(memalign);
    LOOK_UP(free);
#undef LOOK_UP
    atomic_store_explicit(&real.known, true, memory_order_release);
}

static inline void know_real(void)
{
    if (__builtin_expect(!atomic_load_explicit(&real.known, memory_order_acquire), 0))
        look_up_real();
}

/* Whether the call that returns there is that of the remedy, wherever its module was loaded. */
static bool is_at(const struct heap_remedy *remedy, uintptr_t behind)
{
    struct dl_find_object found;
    const struct link_map *map;

    if (_dl_find_object((void *)behind, &found) != 0)
        return false;
    map = found.dlfo_link_map;
    return behind - map->l_addr - remedy->address <= 1 &&
           strcmp(map->l_name[0] != '\0' ? path_name(map->l_name) : program, remedy->module) == 0;
}

/* The remedy for a block of that size for which the call returns there, or NULL. */
static inline const struct heap_remedy *remedy_at(uintptr_t address, size_t size)
{
    const size_t count = atomic_load_explicit(&active, memory_order_acquire);

    for (size_t i = 0; i < count; i++)
        if (((address - remedies.items[i].address) & (PAGE_SMALLEST - 1)) <= 1 &&
            is_at(&remedies.items[i], address)) {
            if (remedies.items[i].huge_pages && size < HEAP_REMEDY_HUGE_PAGE)
                return NULL;
            atomic_fetch_add_explicit(&changed[i], 1, memory_order_relaxed);
            return &remedies.items[i];
        }
    return NULL;
}

#define REMEDY_OF_CALLER(size)                                                                     \
    remedy_at((uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0)), size)

/* Whole alignments, at least one; the size itself where that is more than there is memory. */
static size_t padded(size_t size, size_t alignment)
{
    const size_t whole = ((size == 0 ? 1 : size) + alignment - 1) & ~(alignment - 1);

    return whole < size ? size : whole;
}

/* Before anybody touches the block: pages that are there already stay small for long. */
static void ask_for_huge_pages(const struct heap_remedy *remedy, void *block, size_t size)
{
    const int error = errno;

    if (remedy->huge_pages && block != NULL)
        madvise(block, padded(size, remedy->alignment), MADV_HUGEPAGE);
    errno = error;
}

/* NULL: there is no memory for it. */
static void *new_aligned(const struct heap_remedy *remedy, size_t size)
{
    void *block = real.memalign(remedy->alignment, padded(size, remedy->alignment));

    ask_for_huge_pages(remedy, block, size);
    return block;
}

INTERPOSED void *malloc(size_t size)
{
    const struct heap_remedy *remedy = REMEDY_OF_CALLER(size);

    know_real();
    if (remedy != NULL)
        return new_aligned(remedy, size);
    return real.malloc(size);
}

INTERPOSED void *calloc(size_t count, size_t size)
{
    const struct heap_remedy *remedy = NULL;
    size_t bytes;
    void *block;

    if (!__builtin_mul_overflow(count, size, &bytes))
        remedy = REMEDY_OF_CALLER(bytes);
    know_real();
    if (remedy == NULL)
        return real.calloc(count, size);
    block = new_aligned(remedy, bytes);
    return block != NULL ? memset(block, 0, bytes) : NULL;
}

INTERPOSED void *realloc(void *block, size_t size)
{
    const struct heap_remedy *remedy = REMEDY_OF_CALLER(size);
    void *moved, *straight;

    know_real();
    if (remedy == NULL || (block != NULL && size == 0))
        return real.realloc(block, size);
    if (block == NULL)
        return new_aligned(remedy, size);
    moved = real.realloc(block, padded(size, remedy->alignment));
    if (moved == NULL || ((uintptr_t)moved & (remedy->alignment - 1)) == 0) {
        ask_for_huge_pages(remedy, moved, size);
        return moved;
    }
    straight = new_aligned(remedy, size);
    if (straight == NULL)
        return moved;
    memcpy(straight, moved, size);
    real.free(moved);
    return straight;
}

/* C++: operator new(unsigned long) and operator new[](unsigned long). */
void *_Znwm(size_t size);
void *_Znam(size_t size);

/* The C++ library's, which throws. A library opened for itself alone is not next in line. */
static void *(*next_new(const char *name))(size_t)
{
    void *(*next)(size_t);

    *(void **)&next = dlsym(RTLD_NEXT, name);
    return next != NULL ? next : real.malloc;
}

/* Inlined, so that the call of the next one is its caller's last and becomes a jump. */
static inline __attribute__((always_inline)) void *new_block(const struct heap_remedy *remedy,
                                                             size_t size, const char *name,
                                                             void *(*_Atomic *next)(size_t))
{
    void *block = NULL;

    know_real();
    if (remedy != NULL)
        block = new_aligned(remedy, size);
    if (block != NULL)
        return block;
    if (atomic_load(next) == NULL)
        atomic_store(next, next_new(name));
    return atomic_load(next)(size);
}

INTERPOSED void *_Znwm(size_t size)
{
    static void *(*_Atomic next)(size_t);

    return new_block(REMEDY_OF_CALLER(size), size, "_Znwm", &next);
}

INTERPOSED void *_Znam(size_t size)
{
    static void *(*_Atomic next)(size_t);

    return new_block(REMEDY_OF_CALLER(size), size, "_Znam", &next);
}

/* ---- start and end ---- */

static bool is_on(const char *variable)
{
    const char *value = getenv(variable);

    return value != NULL && strcmp(value, "1") == 0;
}

__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv("REUSE_TRY"), *wrong, *name;
    struct line line;

    if (text == NULL || *text == '\0' || !c_library_is_known())
        return;
    say_begin(is_on("REUSE_QUIET"), is_on("REUSE_VERBOSE"), true);
    wrong = heap_remedies_read(text, &remedies);
    if (wrong == NULL && readlink("/proc/self/exe", program, sizeof program - 1) <= 0)
        wrong = "/proc/self/exe cannot be read";
    if (wrong != NULL) {
        line_begin(&line);
        line_text(&line, "nothing is changed: REUSE_TRY: ");
        line_text(&line, wrong);
        say_error(&line);
        return;
    }
    name = path_name(program);
    memmove(program, name, strlen(name) + 1);
    process = getpid();
    know_real();
    if (real.memalign != NULL)
        atomic_store_explicit(&active, remedies.count, memory_order_release);
}

/* For dl_iterate_phdr(): whether this object is the module that `data` is the name of. */
static int is_module(struct dl_phdr_info *object, size_t size, void *data)
{
    const char *path = object->dlpi_name;

    (void)size;
    return strcmp(path[0] != '\0' ? path_name(path) : program, data) == 0;
}

static void line_place(struct line *line, const struct heap_remedy *remedy)
{
    char digits[17];
    size_t at = sizeof digits - 1;
    uint64_t rest = remedy->address;

    digits[at] = '\0';
    do {
        digits[--at] = "0123456789abcdef"[rest & 15];
        rest >>= 4;
    } while (rest != 0);
    line_text(line, remedy->module);
    line_text(line, "+0x");
    line_text(line, digits + at);
}

static void say_changed(const struct heap_remedy *remedy, uint64_t blocks)
{
    struct line line;

    line_begin(&line);
    line_number(&line, blocks);
    line_text(&line, blocks == 1 ? " block of " : " blocks of ");
    line_place(&line, remedy);
    if (remedy->huge_pages) {
        line_text(&line, " with huge pages of 2 MiB asked for");
    } else {
        line_text(&line, " aligned to ");
        line_number(&line, remedy->alignment);
        line_text(&line, " bytes");
    }
    say(&line);
}

/* Of a module that is not here only the program that was named tells: others have their own. */
static void say_unused(struct heap_remedy *remedy)
{
    const bool is_here = dl_iterate_phdr(is_module, remedy->module) != 0;
    struct line line;

    if (!is_here && !say_is_named())
        return;
    line_begin(&line);
    line_text(&line, "nothing was changed in ");
    line_text(&line, program);
    line_text(&line, !is_here             ? ": it has not loaded the module of "
                     : remedy->huge_pages ? ": no block of 2 MiB or more was allocated at "
                                          : ": no block was allocated at ");
    line_place(&line, remedy);
    line_text(&line, is_here ? " (is the profile of another build, or has the program an "
                               "allocator of its own?)"
                             : " (programs that it started say for themselves)");
    say(&line);
}

/* Forked children that run no other program have the counts of their parent: they say nothing. */
__attribute__((destructor)) static void end(void)
{
    const size_t count = atomic_load(&active);

    for (size_t i = 0; i < count && getpid() == process; i++) {
        const uint64_t blocks = atomic_load(&changed[i]);

        if (blocks != 0)
            say_changed(&remedies.items[i], blocks);
        else
            say_unused(&remedies.items[i]);
    }
}
