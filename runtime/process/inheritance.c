/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The variable reads VERSION:TRIGGER_NS:TRAP_NS:SILENT:HARDWARE:CPUS:INSTRUCTIONS:ACCESSES:HOST.
 * The host's name comes last, as it may hold anything: launchers of parallel programs copy
 * environments to other hosts.
 */
#include "process/inheritance.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "process/environment.h"
#include "process/handed_down.h"

static const char name[] = "REUSE_MACHINE";

/* Beyond a millisecond it would have been measured in a bad moment. */
enum { VERSION = 4, COST_MAX_NS = 1000 * 1000 };

static bool is_cost(uint64_t ns)
{
    return ns > 0 && ns <= COST_MAX_NS;
}

static bool is_width(uint64_t width)
{
    return width > 0 && width <= PIPELINE_WIDEST;
}

/* Either registers trap at a cost, or they are known not to trap at all. */
static bool is_measured(const struct inheritance *inheritance)
{
    return is_cost(inheritance->trigger_ns) &&
           (inheritance->registers_are_silent ? inheritance->trap_ns == 0
                                              : is_cost(inheritance->trap_ns)) &&
           is_width(inheritance->width.instructions) && is_width(inheritance->width.accesses);
}

bool inheritance_take(struct inheritance *inheritance)
{
    const char *text = getenv(name);
    struct utsname system;
    uint64_t version, are_silent, has_hardware, cpus, instructions, accesses;

    if (!text || uname(&system) != 0 || !handed_down_number(&text, ':', &version) ||
        !handed_down_number(&text, ':', &inheritance->trigger_ns) ||
        !handed_down_number(&text, ':', &inheritance->trap_ns) ||
        !handed_down_number(&text, ':', &are_silent) ||
        !handed_down_number(&text, ':', &has_hardware) || !handed_down_number(&text, ':', &cpus) ||
        !handed_down_number(&text, ':', &instructions) ||
        !handed_down_number(&text, ':', &accesses) || !is_width(instructions) ||
        !is_width(accesses))
        return false;
    inheritance->registers_are_silent = are_silent != 0;
    inheritance->has_hardware = has_hardware != 0;
    inheritance->cpus = (unsigned)cpus;
    inheritance->width = (struct pipeline_width){(uint8_t)instructions, (uint8_t)accesses};
    return version == VERSION && cpus > 0 && cpus <= UINT32_MAX && is_measured(inheritance) &&
           strcmp(text, system.nodename) == 0;
}

void inheritance_leave(const struct inheritance *inheritance)
{
    int saved = errno;
    struct utsname system;
    char text[sizeof system.nodename + 80];

    if (is_measured(inheritance) && uname(&system) == 0) {
        snprintf(text, sizeof text, "%d:%" PRIu64 ":%" PRIu64 ":%d:%d:%u:%u:%u:%s", VERSION,
                 inheritance->trigger_ns, inheritance->trap_ns, inheritance->registers_are_silent,
                 inheritance->has_hardware, inheritance->cpus, inheritance->width.instructions,
                 inheritance->width.accesses, system.nodename);
        environment_set(name, text);
    }
    errno = saved;
}
