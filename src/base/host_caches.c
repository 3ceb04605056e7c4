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
        processor_caches_each(visit, user);
}
