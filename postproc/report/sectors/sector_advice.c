/* SPDX-License-Identifier: BSD-3-Clause */
/* See sector_advice.h. */
#include "report/sectors/sector_advice.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/memory.h"
#include "symbols/source_text.h"

/* A level that loses less than this is not worth a word. */
#define LOSS_MIN 0.005

const char sector_verification[] =
    "perf stat -e r2a0,r2a1,r3,r17,r18,r325,r326 PROGRAM    # before and after\n"
    "#  r2a0 + r2a1  accesses tagged with a sector: 0 means that the tags have no effect\n"
    "#  r3           L1D refills\n"
    "#  r17 - r325 - r326  L2 refills without swaps and prefetch hits (an erratum counts them)\n"
    "#  r18          L2 write-backs";

const char *const sector_preconditions[] = {
    "One process owns the core memory group (NUMA node): the ways of L2 are divided for all its "
    "cores.",
    "Only arrays of arithmetic type, and pointers to them, can be assigned; of L2 14 ways can be "
    "given, of L1 4 and a sector of all 4 switches the division off.",
    "Tag all accesses to the structure in the region: an untagged one moves the line back. Limits "
    "are soft: a hit is served from any sector, and lines that are already there stay.",
    "No fork(), system() or raw pthread_create() in a program that uses the directives: the "
    "runtime "
    "may abort (jwe1048i-u).",
    "Build with fcc -Nnoclang -Kocl,hpctag, when compiling and when linking.",
    NULL,
};

/* Level 1 or 2 of the A64FX; the number of levels if there is none. */
static size_t level_of(const struct sector_hints *hints, unsigned number)
{
    const struct machine *machine = &hints->model->machine;
    size_t i = 0;

    while (i < machine->levels && machine->caches[i].level != number)
        i++;
    return i;
}

static unsigned ways_of(const struct sector_hints *hints, const struct sector_advice *advice,
                        unsigned number)
{
    size_t level = level_of(hints, number);

    return level < hints->model->machine.levels ? advice->ways[level] : 0;
}

/* How much of the region's accesses to the structures are made in each region. */
static double accesses_in(const struct sector_hints *hints, uint64_t isolated, size_t region)
{
    const struct analysis *analysis = hints->model->analysis;
    double sum = 0;

    for (size_t i = 0; i < hints->model->observations; i++) {
        uint32_t structure = hints->structure_of[i];
        if (structure >= hints->structure_count || !(isolated >> structure & 1) ||
            !(hints->regions.of[i] >> region & 1))
            continue;
        if (!hints->model->exact)
            sum += analysis_probe_weight(analysis, i);
        else if (analysis_histogram(analysis, i, NULL)->scope == SCOPE_OBJECT)
            sum += (double)analysis_histogram(analysis, i, NULL)->accesses;
    }
    return sum;
}

/* Of the whole it is not known. */
static bool makes_accesses(const struct sector_region *region)
{
    return !region->whole && !region->only_calls;
}

static size_t place_for(const struct sector_hints *hints, const struct sector_row *row)
{
    size_t best = row->region;
    double most = 0;

    if (makes_accesses(&hints->regions.items[row->region]))
        return row->region;
    for (size_t r = 0; r < hints->regions.count; r++) {
        double accesses = accesses_in(hints, row->isolated, r);
        if (makes_accesses(&hints->regions.items[r]) && accesses > most) {
            most = accesses;
            best = r;
        }
    }
    return best;
}

static bool starts_with_word(const char *text, const char *word)
{
    size_t length = strlen(word);

    return strncmp(text, word, length) == 0 && !isalnum((unsigned char)text[length]) &&
           text[length] != '_';
}

/* Line `number` (1 is the first) without its end; false when there is none or it is empty. */
static bool line_at(const struct source_text *source, uint32_t number, const char **text,
                    size_t *indent)
{
    const char *line, *end;

    if (number < 1 || number > source->line_count)
        return false;
    line = source->code + source->lines[number - 1];
    end = source->code + source->size;
    for (*text = line; *text < end && (**text == ' ' || **text == '\t'); ++*text)
        ;
    *indent = (size_t)(*text - line);
    return *text < end && **text != '\n' && **text != '\r';
}

/* The line on which the function around a line begins: the nearest one before that starts at the
 * margin with something other than a bracket or a label. */
static uint32_t function_start(const struct source_text *source, uint32_t line)
{
    const char *text;
    size_t indent;

    for (uint32_t i = line; i >= 1; i--)
        if (line_at(source, i, &text, &indent) && indent == 0 && !strchr("{}#", *text))
            return i;
    return 1;
}

/* The outermost loop around a line, judged by how it is indented; 0: none. */
static uint32_t outermost_loop(const struct source_text *source, uint32_t line)
{
    uint32_t start = function_start(source, line), found = 0;
    size_t least, indent;
    const char *text;

    if (!line_at(source, line, &text, &least))
        return 0;
    for (uint32_t i = line; i > start; i--) {
        if (!line_at(source, i, &text, &indent) || (i != line && indent >= least))
            continue;
        least = indent;
        if (starts_with_word(text, "for") || starts_with_word(text, "while") ||
            starts_with_word(text, "do") || starts_with_word(text, "DO"))
            found = i;
    }
    return found;
}

static bool load_source(const struct sector_hints *hints, const char *file,
                        struct source_text *source)
{
    char *path = format_string("%s%s", hints->model->search.sysroot, file);
    bool loaded = source_text_load(source, path);

    free(path);
    return loaded;
}

static void find_place(const struct sector_hints *hints, struct sector_advice *advice)
{
    const struct sector_region *region = &hints->regions.items[advice->region];
    struct source_text source;

    advice->file = region->file;
    advice->line = region->first_line;
    if (region->file == NULL || region->first_line == 0 ||
        !load_source(hints, region->file, &source))
        return;
    uint32_t loop = outermost_loop(&source, region->first_line);
    advice->is_fortran = source.language == SOURCE_FORTRAN;
    if (loop != 0) {
        advice->line = loop;
        advice->is_loop = true;
    }
    source_text_free(&source);
}

struct sector_advice sector_advise(const struct sector_hints *hints, const struct sector_row *row)
{
    struct sector_advice advice = {.region = place_for(hints, row), .isolated = row->isolated};

    for (size_t i = 0; i < hints->model->machine.levels; i++) {
        double misses, undivided;
        unsigned ways;
        if (hints->levels[i].ways == 0)
            continue;
        ways = sector_companion_ways(hints, row->region, i, row->isolated, &misses, &undivided);
        advice.ways[i] = i == row->level ? row->ways : ways;
        if (i != row->level && undivided > 0 && misses > undivided * (1 + LOSS_MIN)) {
            advice.loss[i] = misses / undivided - 1;
            /* The directive names L2 always; L1 can stay whole. */
            if (hints->model->machine.caches[i].level == 1)
                advice.ways[i] = 0;
        }
    }
    find_place(hints, &advice);
    return advice;
}

/* "L2=2 L1=1" or, in Fortran, "L2=2,L1=1". */
static char *way_clause(const struct sector_hints *hints, const struct sector_advice *advice,
                        const char *separator)
{
    unsigned one = ways_of(hints, advice, 1), two = ways_of(hints, advice, 2);

    if (one == 0)
        return format_string("L2=%u", two);
    return format_string("L2=%u%sL1=%u", two, separator, one);
}

char *sector_directives(const struct sector_hints *hints, const struct sector_advice *advice)
{
    char *ways = way_clause(hints, advice, advice->is_fortran ? "," : " ");
    char *names = sector_names(hints, advice->isolated), *text;

    if (advice->is_fortran)
        text = format_string("!OCL SCACHE_ISOLATE_WAY(%s)\n!OCL SCACHE_ISOLATE_ASSIGN(%s)\n"
                             "      ! the loop\n!OCL END_SCACHE_ISOLATE_ASSIGN\n"
                             "!OCL END_SCACHE_ISOLATE_WAY",
                             ways, names);
    else if (advice->is_loop)
        text = format_string("#pragma statement scache_isolate_way %s\n"
                             "#pragma statement scache_isolate_assign %s\n"
                             "    /* the loop */\n"
                             "#pragma statement end_scache_isolate_assign\n"
                             "#pragma statement end_scache_isolate_way",
                             ways, names);
    else
        text = format_string("#pragma procedure scache_isolate_way %s\n"
                             "#pragma procedure scache_isolate_assign %s",
                             ways, names);
    free(names);
    free(ways);
    return text;
}

char *sector_environment(const struct sector_hints *hints, const struct sector_advice *advice)
{
    size_t level = level_of(hints, 2);
    unsigned two = ways_of(hints, advice, 2);

    if (level == hints->model->machine.levels || two == 0)
        return format_string("export FLIB_SCCR_CNTL=TRUE FLIB_L1_SCCR_CNTL=TRUE");
    return format_string("export FLIB_SCCR_CNTL=TRUE FLIB_L1_SCCR_CNTL=TRUE\n"
                         "export FLIB_L2_SCCR_CNTL_EX=TRUE\n"
                         "export FLIB_L2_SECTOR_NWAYS_INIT=%u,%u    # to try others without "
                         "compiling",
                         hints->levels[level].ways - two, two);
}

static void put_level(FILE *stream, const struct sector_hints *hints,
                      const struct sector_advice *advice, unsigned number)
{
    size_t level = level_of(hints, number);
    unsigned ways = ways_of(hints, advice, number);

    if (ways == 0)
        return;
    fprintf(stream, "a64fx_hpc_sectorcache_set_size_l%u(0, %u);\n", number,
            hints->model->machine.caches[level].ways - ways);
    fprintf(stream, "a64fx_hpc_sectorcache_set_size_l%u(1, %u);\n", number, ways);
}

char *sector_library_calls(const struct sector_hints *hints, const struct sector_advice *advice)
{
    char *text;
    size_t size;
    FILE *stream = open_text(&text, &size);

    fputs("#include \"a64fx_hpc_extension.h\"\n", stream);
    put_level(stream, hints, advice, 1);
    put_level(stream, hints, advice, 2);
    for (size_t s = 0; s < hints->structure_count; s++) {
        const char *name = hints->model->objects.items[hints->structures[s]].name;
        if (advice->isolated >> s & 1)
            fprintf(stream, "%s = a64fx_hpc_sectorcache_set_sectorid_tag(%s, 1);\n", name, name);
    }
    fputs("    /* the loop, with these pointers alone; no system call may get one */\n"
          "a64fx_hpc_sectorcache_set_default();",
          stream);
    fclose(stream);
    return text;
}

char *sector_place(const struct sector_hints *hints, const struct sector_advice *advice)
{
    const struct sector_region *region = &hints->regions.items[advice->region];
    const char *place = place_text(hints->model->strings, advice->file, advice->line);

    if (place != NULL && advice->is_loop)
        return format_string("%s, around the loop of %s", place, region->name);
    if (place != NULL)
        return format_string("%s, in %s", place, region->name);
    if (region->whole && strcmp(region->name, "(all)") == 0)
        return copy_string("the functions that make the accesses");
    return copy_string(region->name);
}

/* "function:12", "0x40" ...: where it was allocated, for want of a variable. */
static bool is_variable(const char *name)
{
    if (!isalpha((unsigned char)*name) && *name != '_')
        return false;
    return name[strcspn(name, ":+(")] == '\0' || strstr(name, "::") != NULL;
}

static bool is_word_at(const char *text, size_t length, const char *begin)
{
    char before = text > begin ? text[-1] : ' ', after = text[length];

    return !isalnum((unsigned char)before) && before != '_' && !isalnum((unsigned char)after) &&
           after != '_';
}

static bool stands_in(const struct source_text *source, uint32_t first, uint32_t last,
                      const char *name)
{
    const char *begin = source->code + source->lines[first - 1];
    const char *end = last < source->line_count ? source->code + source->lines[last]
                                                : source->code + source->size;

    for (const char *at = begin; (at = strstr(at, name)) != NULL && at < end; at++)
        if (is_word_at(at, strlen(name), begin))
            return true;
    return false;
}

char *sector_unknown_names(const struct sector_hints *hints, const struct sector_advice *advice)
{
    const struct sector_region *region = &hints->regions.items[advice->region];
    struct source_text source;
    char *names = NULL;
    bool loaded = region->file != NULL && region->first_line != 0 &&
                  load_source(hints, region->file, &source);

    for (size_t s = 0; s < hints->structure_count; s++) {
        const char *name = hints->model->objects.items[hints->structures[s]].name;
        char *longer;

        if (!(advice->isolated >> s & 1) ||
            (is_variable(name) && (!loaded || region->last_line > source.line_count ||
                                   stands_in(&source, function_start(&source, region->first_line),
                                             region->last_line, name))))
            continue;
        longer = names == NULL ? copy_string(name) : format_string("%s, %s", names, name);
        free(names);
        names = longer;
    }
    if (loaded)
        source_text_free(&source);
    return names;
}
