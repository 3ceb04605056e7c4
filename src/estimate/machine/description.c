/* SPDX-License-Identifier: BSD-3-Clause */
/* Description files of machines (docs/machines.md). */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "machine/machine.h"

enum { LINE_LENGTH_MAX = 512, FIELDS_MAX = 6 };

/* A description while it is read. */
struct description {
    struct machine *machine;
    unsigned line;                           /* number of the current one */
    unsigned cache_line[MACHINE_LEVELS_MAX]; /* where each cache was described */
    unsigned bandwidth_line[MACHINE_LEVELS_MAX + 1], sector_line[MACHINE_LEVELS_MAX + 1];
    struct machine_bandwidth bandwidth[MACHINE_LEVELS_MAX + 1]; /* by level; 0: memory */
    uint32_t sector_ways[MACHINE_LEVELS_MAX + 1];
    unsigned latency_line[MACHINE_LEVELS_MAX + 1];
    double latency_ns[MACHINE_LEVELS_MAX + 1];
    char cause[256];
};

/* Cuts blanks off both ends, in place. */
static char *trimmed(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t length = strlen(text);
    while (length && isspace((unsigned char)text[length - 1]))
        text[--length] = '\0';
    return text;
}

/* A decimal number with an optional K, M or G (times 1024, 1024^2, 1024^3, "KiB" and so on as
 * well). */
static bool parse_number(const char *text, uint64_t *number)
{
    char *rest;

    if (!isdigit((unsigned char)*text))
        return false;
    errno = 0;
    *number = strtoull(text, &rest, 10);
    unsigned shift = 0;
    if (*rest == 'K' || *rest == 'M' || *rest == 'G') {
        shift = *rest == 'K' ? 10 : *rest == 'M' ? 20 : 30;
        rest++;
        if (strcmp(rest, "iB") == 0)
            rest += 2;
    }
    if (errno || *rest || *number > UINT64_MAX >> shift)
        return false;
    *number <<= shift;
    return true;
}

/* The blank-separated fields of a value; returns how many, at most FIELDS_MAX + 1. */
static size_t split(char *value, char *fields[FIELDS_MAX + 1])
{
    char *position = NULL;
    size_t n = 0;

    for (char *field = strtok_r(value, " \t", &position); field && n <= FIELDS_MAX;
         field = strtok_r(NULL, " \t", &position))
        fields[n++] = field;
    return n;
}

static bool refuse(struct description *d, const char *format, const char *what)
{
    snprintf(d->cause, sizeof d->cause, format, what);
    return false;
}

static bool parse_32(struct description *d, const char *what, const char *text, uint32_t *number)
{
    uint64_t wide;

    if (!parse_number(text, &wide) || wide > UINT32_MAX) {
        snprintf(d->cause, sizeof d->cause, "%s \"%s\" is not a number in range", what, text);
        return false;
    }
    *number = (uint32_t)wide;
    return true;
}

static bool parse_cache(struct description *d, char **fields, size_t n)
{
    static const char *const names[] = {"level", "bytes", "line", "ways", "sharing"};
    enum { NUMBERS = sizeof names / sizeof *names };
    struct machine *machine = d->machine;
    struct machine_cache cache = {0};

    if (machine->levels == MACHINE_LEVELS_MAX) {
        snprintf(d->cause, sizeof d->cause, "more than %d caches", MACHINE_LEVELS_MAX);
        return false;
    }
    if (n < NUMBERS)
        return refuse(d,
                      "cache needs five numbers: level, bytes, line, ways, sharing (%s is missing)",
                      names[n]);
    if (!parse_number(fields[1], &cache.bytes)) {
        snprintf(d->cause, sizeof d->cause, "bytes \"%s\" is not a number in range", fields[1]);
        return false;
    }
    if (!parse_32(d, names[0], fields[0], &cache.level) ||
        !parse_32(d, names[2], fields[2], &cache.line_size) ||
        !parse_32(d, names[3], fields[3], &cache.ways) ||
        !parse_32(d, names[4], fields[4], &cache.sharing_cpus))
        return false;
    if (n > NUMBERS) {
        if (strcmp(fields[NUMBERS], "inclusive") == 0)
            cache.content = CACHE_CONTENT_INCLUSIVE;
        else if (strcmp(fields[NUMBERS], "victim") == 0)
            cache.content = CACHE_CONTENT_VICTIM;
        else
            return refuse(d,
                          "\"%s\" after the five numbers of a cache is neither inclusive nor "
                          "victim",
                          fields[NUMBERS]);
    }
    if (n > NUMBERS + 1)
        return refuse(d, "\"%s\" after the description of a cache", fields[NUMBERS + 1]);
    /* Not a matter of machine_check(): what virtual machines say of themselves can be so. */
    if (machine->levels > 0 &&
        cache.sharing_cpus < machine->caches[machine->levels - 1].sharing_cpus) {
        snprintf(d->cause, sizeof d->cause,
                 "shared by %u CPUs, fewer than the %u that share the level inside it",
                 cache.sharing_cpus, machine->caches[machine->levels - 1].sharing_cpus);
        return false;
    }
    d->cache_line[machine->levels] = d->line;
    machine->caches[machine->levels++] = cache;
    return true;
}

static bool parse_level(struct description *d, const char *text, bool memory, uint32_t *level)
{
    if (memory && strcmp(text, "memory") == 0) {
        *level = 0;
        return true;
    }
    if (!parse_32(d, "level", text, level))
        return false;
    if (*level < 1 || *level > MACHINE_LEVELS_MAX) {
        snprintf(d->cause, sizeof d->cause, "level %u is not 1 to %d", *level, MACHINE_LEVELS_MAX);
        return false;
    }
    return true;
}

static bool parse_gigabytes(struct description *d, const char *text, double *number)
{
    char *rest;

    *number = strtod(text, &rest);
    if (!isdigit((unsigned char)*text) || *rest || !isfinite(*number))
        return refuse(d, "bandwidth \"%s\" is not a number of GB/s", text);
    return true;
}

static bool parse_bandwidth(struct description *d, char **fields, size_t n)
{
    uint32_t level;

    if (n < 2 || n > 3)
        return refuse(d, "bandwidth needs %s",
                      "a level or memory, GB/s for a core, and may have "
                      "GB/s for all that share it");
    if (!parse_level(d, fields[0], true, &level) ||
        !parse_gigabytes(d, fields[1], &d->bandwidth[level].core) ||
        (n > 2 && !parse_gigabytes(d, fields[2], &d->bandwidth[level].group)))
        return false;
    d->bandwidth_line[level] = d->line;
    return true;
}

static bool parse_sector(struct description *d, char **fields, size_t n)
{
    uint32_t level;

    if (n != 2)
        return refuse(d, "sector needs %s", "a level and the ways that sectors can divide");
    if (!parse_level(d, fields[0], false, &level) ||
        !parse_32(d, "ways", fields[1], &d->sector_ways[level]))
        return false;
    d->sector_line[level] = d->line;
    return true;
}

static bool parse_latency(struct description *d, char **fields, size_t n)
{
    bool core = n > 0 && strcmp(fields[0], "core") == 0;
    uint32_t level = 0;
    double ns;
    char *rest;

    if (n != 2)
        return refuse(d, "latency needs %s",
                      "a level, memory or core, and ns from a load to its use");
    if (!core && !parse_level(d, fields[0], true, &level))
        return false;
    ns = strtod(fields[1], &rest);
    if (!isdigit((unsigned char)*fields[1]) || *rest || !isfinite(ns))
        return refuse(d, "latency \"%s\" is not a number of ns", fields[1]);
    if (core) {
        d->machine->core_latency_ns = ns;
        return true;
    }
    d->latency_ns[level] = ns;
    d->latency_line[level] = d->line;
    return true;
}

static bool parse_numa(struct description *d, char **fields, size_t n)
{
    if (n != 2)
        return refuse(d, "numa needs %s", "the number of domains and of cores in each");
    if (!parse_32(d, "domains", fields[0], &d->machine->numa_domains) ||
        !parse_32(d, "cores", fields[1], &d->machine->domain_cores))
        return false;
    if (d->machine->numa_domains == 0 || d->machine->domain_cores == 0)
        return refuse(d, "%s", "a machine has at least one NUMA domain of one core");
    return true;
}

static bool parse_line(struct description *d, char *line)
{
    static const struct {
        const char *key;
        bool (*parse)(struct description *, char **fields, size_t n);
    } keys[] = {{"cache", parse_cache},
                {"bandwidth", parse_bandwidth},
                {"sector", parse_sector},
                {"latency", parse_latency},
                {"numa", parse_numa}};
    char *comment = strchr(line, '#'), *fields[FIELDS_MAX + 1];

    if (comment)
        *comment = '\0';
    line = trimmed(line);
    if (!*line)
        return true;
    char *equals = strchr(line, '=');
    if (!equals)
        return refuse(d, "expected %s",
                      "\"name = TEXT\" or \"cache = LEVEL BYTES LINE WAYS SHARING\"");
    *equals = '\0';
    char *key = trimmed(line), *value = trimmed(equals + 1);
    if (strcmp(key, "name") == 0) {
        snprintf(d->machine->name, sizeof d->machine->name, "%s", value);
        return true;
    }
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(key, keys[i].key) == 0)
            return keys[i].parse(d, fields, split(value, fields));
    return refuse(d, "\"%s\" is none of name, cache, bandwidth, sector, latency and numa", key);
}

/*
 * Every access meets the level 1 first and misses its way outwards: with a level left out, what is
 * said of the others would be of no machine. Hosts are not held to it, which may hide a level.
 */
static bool has_no_gap(struct description *d)
{
    const struct machine *machine = d->machine;

    for (uint32_t i = 0; i < machine->levels; i++)
        if (machine->caches[i].level != i + 1) {
            d->line = d->cache_line[i];
            snprintf(d->cause, sizeof d->cause,
                     "cache of level %u, but none of level %u: levels count from 1, the nearest "
                     "the core",
                     machine->caches[i].level, i + 1);
            return false;
        }
    return true;
}

/* Gives each cache what other lines say of its level; false if no cache is there. */
static bool assign_levels(struct description *d)
{
    struct machine *machine = d->machine;

    machine->memory = d->bandwidth[0];
    machine->memory_latency_ns = d->latency_ns[0];
    for (uint32_t level = 1; level <= MACHINE_LEVELS_MAX; level++) {
        struct machine_cache *cache = NULL;
        for (size_t i = 0; i < machine->levels; i++)
            if (machine->caches[i].level == level)
                cache = &machine->caches[i];
        if (cache) {
            cache->bandwidth = d->bandwidth[level];
            cache->sector_ways = d->sector_ways[level];
            cache->latency_ns = d->latency_ns[level];
        } else if (d->bandwidth_line[level] || d->sector_line[level] || d->latency_line[level]) {
            d->line = d->sector_line[level]      ? d->sector_line[level]
                      : d->bandwidth_line[level] ? d->bandwidth_line[level]
                                                 : d->latency_line[level];
            snprintf(d->cause, sizeof d->cause, "there is no cache of level %u", level);
            return false;
        }
    }
    return true;
}

static bool check(struct description *d)
{
    size_t culprit = SIZE_MAX;

    if (!assign_levels(d))
        return false;
    if (machine_check(d->machine, &culprit, d->cause, sizeof d->cause))
        return has_no_gap(d);
    if (culprit < d->machine->levels)
        d->line = d->cache_line[culprit];
    return false;
}

bool machine_read_stream(FILE *file, const char *name, struct machine *machine, char *message,
                         size_t message_size)
{
    struct description d = {.machine = machine};
    char line[LINE_LENGTH_MAX];
    bool good = true;

    memset(machine, 0, sizeof *machine);
    while (good && fgets(line, sizeof line, file)) {
        d.line++;
        if (!strchr(line, '\n') && !feof(file)) {
            snprintf(d.cause, sizeof d.cause, "line longer than %d bytes", LINE_LENGTH_MAX - 2);
            good = false;
        } else {
            good = parse_line(&d, line);
        }
    }
    if (good && ferror(file)) {
        snprintf(message, message_size, "%s: %s", name, strerror(errno));
        return false;
    }
    if (!good || !check(&d)) {
        snprintf(message, message_size, "%s:%u: %s", name, d.line ? d.line : 1, d.cause);
        return false;
    }
    if (!machine->name[0])
        snprintf(machine->name, sizeof machine->name, "%s", name);
    return true;
}

bool machine_read(const char *path, struct machine *machine, char *message, size_t message_size)
{
    FILE *file = fopen(path, "re");

    if (!file) {
        snprintf(message, message_size, "%s: %s", path, strerror(errno));
        return false;
    }
    bool good = machine_read_stream(file, path, machine, message, message_size);
    fclose(file);
    return good;
}
