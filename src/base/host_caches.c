/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "host_caches.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "signal_safe.h"

static bool read_attribute(unsigned index, const char *name, char *text, size_t size)
{
    static const char directory[] = "/sys/devices/system/cpu/cpu0/cache/index";
    char path[128];
    size_t n = sizeof directory - 1;
    int descriptor;
    long got;

    memcpy(path, directory, n);
    path[n++] = (char)('0' + index);
    path[n++] = '/';
    memcpy(path + n, name, strlen(name) + 1);
    descriptor = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return false;
    got = syscall(SYS_read, descriptor, text, size - 1);
    syscall(SYS_close, descriptor);
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

static uint64_t decimal(const char **at)
{
    uint64_t value = 0;

    while (**at >= '0' && **at <= '9')
        value = value * 10 + (uint64_t)(*(*at)++ - '0');
    return value;
}

static uint64_t attribute(unsigned index, const char *name)
{
    char text[64];
    const char *at = text;
    uint64_t value;

    if (!read_attribute(index, name, text, sizeof text))
        return 0;
    value = decimal(&at);
    return *at == 'K' ? value << 10 : *at == 'M' ? value << 20 : value;
}

/* Members of a CPU list such as 0-3,8-11. */
static uint32_t list_length(const char *at)
{
    uint32_t length = 0;

    while (*at >= '0' && *at <= '9') {
        uint64_t first = decimal(&at), last = first;

        if (*at == '-') {
            at++;
            last = decimal(&at);
        }
        if (last >= first)
            length += (uint32_t)(last - first + 1);
        if (*at == ',')
            at++;
    }
    return length;
}

/* Where sysfs says nothing, as in some virtual machines: what the C library has from the processor.
 * One that does not tell the ways is left out: AMD's old CPUID leaves give all L3 of the package
 * as one cache then, of which a core reaches a part. Nobody tells who shares one: all do L3's. */
static void from_processor(host_cache_visitor *visit, void *user)
{
    static const struct {
        enum cache_type type;
        int bytes, ways, line_size; /* names of sysconf() */
    } caches[] = {
        {CACHE_DATA, _SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL1_DCACHE_ASSOC, _SC_LEVEL1_DCACHE_LINESIZE},
        {CACHE_UNIFIED, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL2_CACHE_ASSOC, _SC_LEVEL2_CACHE_LINESIZE},
        {CACHE_UNIFIED, _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL3_CACHE_ASSOC, _SC_LEVEL3_CACHE_LINESIZE},
    };

    for (unsigned i = 0; i < sizeof caches / sizeof *caches; i++) {
        long bytes = sysconf(caches[i].bytes), ways = sysconf(caches[i].ways);
        long line_size = sysconf(caches[i].line_size);
        struct record_cache cache = {.level = (uint8_t)(i + 1), .type = (uint8_t)caches[i].type};

        if (bytes <= 0 || ways <= 0 || ways > UINT16_MAX || line_size <= 0)
            continue;
        cache.bytes = (uint64_t)bytes;
        cache.ways = (uint16_t)ways;
        cache.line_size = (uint32_t)line_size;
        cache.sharing_cpus = i < 2 ? 1 : (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
        visit(user, &cache);
    }
}

void host_caches_each(host_cache_visitor *visit, void *user)
{
    bool any = false;
    char text[512];

    for (unsigned i = 0; i < 10 && read_attribute(i, "type", text, sizeof text); i++) {
        struct record_cache cache = {
            .level = (uint8_t)attribute(i, "level"),
            .ways = (uint16_t)attribute(i, "ways_of_associativity"),
            .line_size = (uint32_t)attribute(i, "coherency_line_size"),
            .bytes = attribute(i, "size"),
        };

        if (strncmp(text, "Instruction", 11) == 0)
            continue;
        cache.type = strncmp(text, "Data", 4) == 0 ? CACHE_DATA : CACHE_UNIFIED;
        if (read_attribute(i, "shared_cpu_list", text, sizeof text))
            cache.sharing_cpus = list_length(text);
        if (cache.bytes > 0) {
            visit(user, &cache);
            any = true;
        }
    }
    if (!any)
        from_processor(visit, user);
}
