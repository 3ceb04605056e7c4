/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "host_caches.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "processor_caches.h"
#include "signal_safe.h"

/* Of the cache of that index; `folder` has them all: the way there costs as much as the reading. */
static bool read_attribute(int folder, unsigned index, const char *name, char *text, size_t size)
{
    static const char begin[] = "index";
    char path[64];
    size_t n = sizeof begin - 1;
    int descriptor;
    long got;

    memcpy(path, begin, n);
    path[n++] = (char)('0' + index);
    path[n++] = '/';
    memcpy(path + n, name, strlen(name) + 1);
    descriptor = (int)syscall(SYS_openat, folder, path, O_RDONLY | O_CLOEXEC);
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

static uint64_t attribute(int folder, unsigned index, const char *name)
{
    char text[64];
    const char *at = text;
    uint64_t value;

    if (!read_attribute(folder, index, name, text, sizeof text))
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

static bool visit_all(int folder, host_cache_visitor *visit, void *user)
{
    bool any = false;
    char text[512];

    for (unsigned i = 0; i < 10 && read_attribute(folder, i, "type", text, sizeof text); i++) {
        struct record_cache cache = {0};

        if (strncmp(text, "Instruction", 11) == 0)
            continue;
        cache.type = strncmp(text, "Data", 4) == 0 ? CACHE_DATA : CACHE_UNIFIED;
        cache.level = (uint8_t)attribute(folder, i, "level");
        cache.ways = (uint16_t)attribute(folder, i, "ways_of_associativity");
        cache.line_size = (uint32_t)attribute(folder, i, "coherency_line_size");
        cache.bytes = attribute(folder, i, "size");
        if (read_attribute(folder, i, "shared_cpu_list", text, sizeof text))
            cache.sharing_cpus = list_length(text);
        if (cache.bytes > 0) {
            visit(user, &cache);
            any = true;
        }
    }
    return any;
}

void host_caches_each(host_cache_visitor *visit, void *user)
{
    int folder = (int)syscall(SYS_openat, AT_FDCWD, "/sys/devices/system/cpu/cpu0/cache",
                              O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool any = folder >= 0 && visit_all(folder, visit, user);

    if (folder >= 0)
        syscall(SYS_close, folder);
    if (!any)
        processor_caches_each(visit, user);
}
