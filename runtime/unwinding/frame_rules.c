/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. See frame_rules.h. */
#include "unwinding/frame_rules.h"

#include <dlfcn.h>
#include <link.h>

#include "own/c_library.h"
#include "unwinding/rule_cache.h"
#include "unwinding/unwind.h"

#include "signal_safe.h"

/* Calls of dlopen and dlclose under way. */
static __thread unsigned loader_depth __attribute__((tls_model("initial-exec")));

void unwind_loader_enter(void)
{
    loader_depth++;
}

void unwind_loader_leave(bool unloaded)
{
    loader_depth--;
    if (unloaded)
        rule_cache_forget();
}

/* The exception data of the loaded object that contains ip, or NULL. */
#if defined(DLFO_EH_SEGMENT_TYPE)
static const void *exception_header(uint64_t ip)
{
    struct dl_find_object object;
    return _dl_find_object((void *)ip, &object) == 0 ? object.dlfo_eh_frame : NULL;
}
#else
struct object_search {
    uint64_t ip;
    const void *header;
};

static int visit_object(struct dl_phdr_info *info, size_t size, void *user)
{
    struct object_search *search = user;
    const void *header = NULL;
    bool contains = false;
    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        const uint64_t start = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && search->ip - start < segment->p_memsz)
            contains = true;
        if (segment->p_type == PT_GNU_EH_FRAME)
            header = (const void *)start;
    }
    if (contains)
        search->header = header;
    return contains;
}

static const void *exception_header(uint64_t ip)
{
    struct object_search search = {.ip = ip};
    if (loader_depth == 0)
        dl_iterate_phdr(visit_object, &search);
    return search.header;
}
#endif

bool frame_rule_find(uint64_t ip, struct call_frame_rule *rule)
{
    if (rule_cache_find(ip, rule))
        return true;
    const void *header = exception_header(ip);
    if (header == NULL || !call_frame_find(header, ip, rule))
        return false;
    rule_cache_add(ip, rule);
    return true;
}

bool frame_rules_loader_works(void)
{
    return loader_depth > 0;
}
