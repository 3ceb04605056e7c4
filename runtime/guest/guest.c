/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libreuse-guest.so: follows the allocations of a program that QEMU runs for the exact engine, by
 * the same code as libreuse.so, and tells the engine of each block, site, name and region. The
 * engine leaves the accesses of this library's own code out. Outside of QEMU it passes everything
 * through: a program that the engine does not follow may inherit it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "allocation/interpose_allocation.h"
#include "guest/doorbell_call.h"
#include "interposition/interpose.h"
#include "unwinding/unwind.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum { CONTEXTS_MAX = 1 << 18 };

static struct context_tree *contexts; /* constant once tracking began */
static bool telling;                  /* likewise */

/* Its destructor runs at the end of each thread that allocates. */
static pthread_key_t end_key;
static bool have_key;
static __thread bool end_is_known __attribute__((tls_model("initial-exec")));

static void tell_site(void *user, uint32_t site, uint32_t context, enum allocator allocator,
                      const char *name)
{
    uint64_t frames[DOORBELL_FRAMES_MAX];
    size_t count = 0;
    (void)user;
    /* From the innermost frame outwards. */
    while (context != 0 && count < DOORBELL_FRAMES_MAX)
        context_tree_node(contexts, context, &context, &frames[count++]);
    doorbell(DOORBELL_SITE, site, allocator, (uintptr_t)frames, count,
             name[0] != '\0' ? (uintptr_t)name : 0);
}

static void tell_inserted(void *user, enum object_layer layer, const struct block *block,
                          bool is_new)
{
    (void)user;
    if (!end_is_known && have_key) {
        end_is_known = true;
        pthread_setspecific(end_key, &end_key);
    }
    doorbell(DOORBELL_INSERTED, layer, block->base, block->size, block->site, is_new);
}

static void tell_removed(void *user, enum object_layer layer, uint64_t base)
{
    (void)user;
    doorbell(DOORBELL_REMOVED, layer, base, 0, 0, 0);
}

static void thread_ends(void *value)
{
    (void)value;
    allocation_thread_end();
}

/* QEMU's own processors say so. */
static bool runs_in_qemu(void)
{
#if defined(__x86_64__)
    unsigned highest, words[3];
    __cpuid(0x40000000, highest, words[0], words[1], words[2]);
    return memcmp(words, "TCGTCGTCGTCG", sizeof words) == 0;
#else
    return true;
#endif
}

static void __attribute__((constructor)) start(void)
{
    const char *version = getenv(DOORBELL_VARIABLE);
    if (version == NULL || strcmp(version, DOORBELL_VERSION) != 0 || !runs_in_qemu())
        return;
    telling = true;
    void *memory = mmap(NULL, context_tree_size(CONTEXTS_MAX), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return;
    contexts = context_tree_create(memory, CONTEXTS_MAX, NULL, NULL);
    static struct allocation_options options = {
        .hooks = {.new_site = tell_site, .inserted = tell_inserted, .removed = tell_removed},
        .every_block = true};
    options.contexts = contexts;
    have_key = pthread_key_create(&end_key, thread_ends) == 0;
    if (allocation_begin(&options))
        pthread_atfork(NULL, NULL, allocation_fork_child);
}

INTERPOSED int dlclose(void *handle)
{
    static int (*next)(void *);
    if (next == NULL)
        *(void **)&next = interpose_real("dlclose");
    unwind_loader_enter();
    int result = next(handle);
    unwind_loader_leave(true);
    return result;
}

/* The public interface, see reuse.h; declared here without `weak`. */
INTERPOSED void reuse_region_begin(const char *name);
INTERPOSED void reuse_region_end(void);
INTERPOSED int reuse_name_object(const void *pointer, size_t size, const char *name);
INTERPOSED void reuse_pause(void);
INTERPOSED void reuse_resume(void);

void reuse_region_begin(const char *name)
{
    if (telling && name != NULL)
        doorbell(DOORBELL_REGION_BEGIN, (uintptr_t)name, 0, 0, 0, 0);
}

void reuse_region_end(void)
{
    if (telling)
        doorbell(DOORBELL_REGION_END, 0, 0, 0, 0, 0);
}

int reuse_name_object(const void *pointer, size_t size, const char *name)
{
    struct unwind_start caller = UNWIND_START_OF_CALLER();
    int saved = errno;
    bool named = telling && name != NULL && allocation_name(pointer, size, name, &caller);
    errno = saved;
    return named ? 0 : -1;
}

void reuse_pause(void)
{
    if (telling)
        doorbell(DOORBELL_PAUSE, 0, 0, 0, 0, 0);
}

void reuse_resume(void)
{
    if (telling)
        doorbell(DOORBELL_RESUME, 0, 0, 0, 0, 0);
}
