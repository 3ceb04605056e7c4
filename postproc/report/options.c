/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "report/compare/arguments.h"
#include "report/export/export.h"
#include "report/placement/cpu_groups.h"
#include "report/usage.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

enum {
    OPTION_SECTION = 256, /* + enum report_section */
    OPTION_MACHINE = OPTION_SECTION + SECTION_COUNT,
    OPTION_GROUP,
    OPTION_BY,
    OPTION_TOPOLOGY,
    OPTION_RUNTIME,
    OPTION_CSV_LAYOUT,
    OPTION_LINE_SIZE,
    OPTION_ALL_BURSTS,
    OPTION_THREAD,
    OPTION_REGION,
    OPTION_TOP,
    OPTION_FORMAT,
    OPTION_STDIO,
    OPTION_COLOR,
    OPTION_HTML,
    OPTION_NO_SOURCE,
    OPTION_SYSROOT,
    OPTION_DEBUG_DIR,
    OPTION_MERGE,
    OPTION_DIFF,
    OPTION_FAIL_IF,
    OPTION_FAIL_IF_UNSURE,
    OPTION_HELP,
    OPTION_VERSION,
};

/* Rows of the longer tables unless --top says otherwise: a page can be searched. */
enum { TOP = 10, TOP_OF_PAGE = 40 };

static const struct option long_options[] = {
    {"summary", no_argument, NULL, OPTION_SECTION + SECTION_SUMMARY},
    {"job", no_argument, NULL, OPTION_SECTION + SECTION_JOB},
    {"histogram", no_argument, NULL, OPTION_SECTION + SECTION_HISTOGRAM},
    {"mrc", no_argument, NULL, OPTION_SECTION + SECTION_MRC},
    {"threads", no_argument, NULL, OPTION_SECTION + SECTION_THREADS},
    {"objects", no_argument, NULL, OPTION_SECTION + SECTION_OBJECTS},
    {"structs", no_argument, NULL, OPTION_SECTION + SECTION_STRUCTS},
    {"lines", no_argument, NULL, OPTION_SECTION + SECTION_LINES},
    {"contexts", no_argument, NULL, OPTION_SECTION + SECTION_CONTEXTS},
    {"timeline", no_argument, NULL, OPTION_SECTION + SECTION_TIMELINE},
    {"traffic", no_argument, NULL, OPTION_SECTION + SECTION_TRAFFIC},
    {"sector-hints", no_argument, NULL, OPTION_SECTION + SECTION_SECTOR_HINTS},
    {"sharing", no_argument, NULL, OPTION_SECTION + SECTION_SHARING},
    {"matrix", optional_argument, NULL, OPTION_SECTION + SECTION_MATRIX},
    {"blocking", no_argument, NULL, OPTION_SECTION + SECTION_BLOCKING},
    {"placement", optional_argument, NULL, OPTION_SECTION + SECTION_PLACEMENT},
    {"topology", required_argument, NULL, OPTION_TOPOLOGY},
    {"by", required_argument, NULL, OPTION_BY},
    {"runtime", required_argument, NULL, OPTION_RUNTIME},
    {"csv-layout", required_argument, NULL, OPTION_CSV_LAYOUT},
    {"machine", required_argument, NULL, OPTION_MACHINE},
    {"group", required_argument, NULL, OPTION_GROUP},
    {"line-size", required_argument, NULL, OPTION_LINE_SIZE},
    {"all-bursts", no_argument, NULL, OPTION_ALL_BURSTS},
    {"thread", required_argument, NULL, OPTION_THREAD},
    {"region", required_argument, NULL, OPTION_REGION},
    {"top", required_argument, NULL, OPTION_TOP},
    {"format", required_argument, NULL, OPTION_FORMAT},
    {"stdio", no_argument, NULL, OPTION_STDIO},
    {"color", optional_argument, NULL, OPTION_COLOR},
    {"html", required_argument, NULL, OPTION_HTML},
    {"no-source", no_argument, NULL, OPTION_NO_SOURCE},
    {"output", required_argument, NULL, 'o'},
    {"sysroot", required_argument, NULL, OPTION_SYSROOT},
    {"debug-dir", required_argument, NULL, OPTION_DEBUG_DIR},
    {"merge", no_argument, NULL, OPTION_MERGE},
    {"diff", no_argument, NULL, OPTION_DIFF},
    {"fail-if", required_argument, NULL, OPTION_FAIL_IF},
    {"fail-if-unsure", no_argument, NULL, OPTION_FAIL_IF_UNSURE},
    {"verbose", no_argument, NULL, 'v'},
    {"help", no_argument, NULL, OPTION_HELP},
    {"version", no_argument, NULL, OPTION_VERSION},
    {NULL, 0, NULL, 0},
};

static bool wrong(const char *format, const char *value)
{
    fputs("reuse-report: ", stderr);
    fprintf(stderr, format, value);
    fputs(" (see reuse-report --help)\n", stderr);
    return false;
}

/* A decimal number in [low, high]. */
static bool take_number(const char *text, uint64_t low, uint64_t high, uint64_t *number)
{
    char *end;

    errno = 0;
    if (*text < '0' || *text > '9')
        return false;
    *number = strtoull(text, &end, 10);
    return errno == 0 && *end == '\0' && *number >= low && *number <= high;
}

const char *const matrix_kind_names[MATRIX_KINDS] = {"all", "true", "false", "raw", "war", "waw"};

/* The number of a word in a list that ends with NULL; -1, with a message, if it is not there. */
static int take_word(const char *option, const char *value, const char *const *words)
{
    char *list = copy_string(""), *longer;

    for (int i = 0; words[i] != NULL; i++) {
        if (strcmp(value, words[i]) == 0) {
            free(list);
            return i;
        }
        longer = format_string("%s%s%s", list,
                               i == 0                 ? ""
                               : words[i + 1] == NULL ? " or "
                                                      : ", ",
                               words[i]);
        free(list);
        list = longer;
    }
    fprintf(stderr, "reuse-report: %s wants %s, not '%s' (see reuse-report --help)\n", option, list,
            value);
    free(list);
    return -1;
}

static bool take_format(struct report_options *options, const char *name)
{
    if (format_parse(name, options))
        return true;
    return wrong("unknown format '%s': " FORMAT_LIST, name);
}

static bool take_matrix_option(struct report_options *options, int option, const char *value)
{
    static const char *const parties[] = {"thread", "core",  "process", "rank",
                                          "node",   "group", NULL};
    static const char *const runtimes[] = {"split", "drop", "include", NULL};
    static const char *const layouts[] = {"table", "eagermap", NULL};
    const char *kinds[MATRIX_KINDS + 1] = {NULL};
    int number;

    switch (option) {
    case OPTION_BY:
        number = take_word("--by", value, parties);
        /* Ranks are parties of the matrix as well as rows of the job's table. */
        options->job_by =
            (enum job_by)(number > MATRIX_BY_PROCESS ? number - MATRIX_BY_PROCESS : 0);
        options->matrix_by = (enum matrix_by)(number <= 0                ? 0
                                              : number <= MATRIX_BY_RANK ? number
                                                                         : MATRIX_BY_THREAD);
        break;
    case OPTION_RUNTIME:
        number = take_word("--runtime", value, runtimes);
        options->runtime = (enum runtime_transfers)(number > 0 ? number : 0);
        break;
    case OPTION_CSV_LAYOUT:
        number = take_word("--csv-layout", value, layouts);
        options->csv_layout = (enum csv_layout)(number + 1);
        options->format = FORMAT_CSV;
        options->sections[SECTION_MATRIX] = true;
        break;
    default:
        options->sections[SECTION_MATRIX] = true;
        if (value == NULL)
            return true;
        memcpy(kinds, matrix_kind_names, sizeof(matrix_kind_names));
        number = take_word("--matrix", value, kinds);
        options->matrix = (enum matrix_kind)(number > 0 ? number : 0);
        break;
    }
    return number >= 0;
}

static bool take_placement(struct report_options *options, const char *value)
{
    static const char *const styles[] = {"auto", "pack", "spread", NULL};
    int number = value != NULL ? take_word("--placement", value, styles) : PLACEMENT_AUTO;

    options->sections[SECTION_PLACEMENT] = true;
    options->placement = (enum placement_style)(number > 0 ? number : 0);
    return number >= 0;
}

static bool take_color(struct report_options *options, const char *value)
{
    static const char *const words[] = {"auto", "always", "never", NULL};
    int number = value != NULL ? take_word("--color", value, words) : COLOR_ALWAYS;

    options->color = (enum color_when)(number > 0 ? number : 0);
    return number >= 0;
}

static bool take_group(struct report_options *options, const char *value)
{
    struct cache_groups groups;

    if (!cpu_groups_parse(value, &groups))
        return wrong("--group wants sets of CPUs like 0-3,8:4-7, none of them twice, or all, not "
                     "'%s'",
                     value);
    free((void *)groups.of_cpu);
    options->group = value;
    return true;
}

static bool take_condition(struct report_options *options, const char *text)
{
    struct condition condition;
    char message[512];

    if (!condition_parse(text, &condition, message, sizeof(message)))
        return wrong("%s", message);
    ARRAY_PUSH(&options->conditions, condition);
    return true;
}

static bool take_option(struct report_options *options, int option, const char *value)
{
    uint64_t number;

    switch (option) {
    case OPTION_BY:
    case OPTION_RUNTIME:
    case OPTION_CSV_LAYOUT:
    case OPTION_SECTION + SECTION_MATRIX:
        return take_matrix_option(options, option, value);
    case OPTION_SECTION + SECTION_PLACEMENT:
        return take_placement(options, value);
    case OPTION_TOPOLOGY:
        options->topology = value;
        return true;
    case OPTION_MACHINE:
        options->machine = value;
        return true;
    case OPTION_GROUP:
        return take_group(options, value);
    case OPTION_LINE_SIZE:
        if (!take_number(value, LINE_SIZE_MIN, LINE_SIZE_MAX, &number) ||
            !line_size_is_valid(number))
            return wrong("line size '%s' is not a power of two from 32 to 4096", value);
        options->line_size = (uint32_t)number;
        return true;
    case OPTION_THREAD:
        if (!take_number(value, 1, INT32_MAX, &number))
            return wrong("'%s' is not a thread's number (TID of --threads)", value);
        options->thread = (int32_t)number;
        return true;
    case OPTION_REGION:
        options->region = value;
        return true;
    case OPTION_TOP:
        if (!take_number(value, 1, 1000000, &number))
            return wrong("--top wants a number from 1 to 1000000, not '%s'", value);
        options->top = (size_t)number;
        return true;
    case OPTION_FORMAT:
        return take_format(options, value);
    case OPTION_STDIO:
        options->format = FORMAT_TEXT;
        return true;
    case OPTION_COLOR:
        return take_color(options, value);
    case OPTION_ALL_BURSTS:
        options->all_bursts = true;
        return true;
    case OPTION_NO_SOURCE:
        options->no_source = true;
        return true;
    case OPTION_HTML:
        options->format = FORMAT_HTML;
        options->output = value;
        return true;
    case 'o':
        options->output = value;
        return true;
    case OPTION_SYSROOT:
        options->sysroot = value;
        return true;
    case OPTION_DEBUG_DIR:
        ARRAY_PUSH(&options->debug_directories, value);
        return true;
    case OPTION_MERGE:
        options->merge = true;
        return true;
    case OPTION_DIFF:
        options->diff = true;
        return true;
    case OPTION_FAIL_IF:
        return take_condition(options, value);
    case OPTION_FAIL_IF_UNSURE:
        options->fail_if_unsure = true;
        return true;
    case 'v':
        options->verbose = true;
        return true;
    default:
        options->sections[option - OPTION_SECTION] = true;
        return true;
    }
}

static bool any_section(const struct report_options *options)
{
    for (size_t i = 0; i < SECTION_COUNT; i++)
        if (options->sections[i])
            return true;
    return false;
}

static bool comparison_is_consistent(struct report_options *options)
{
    for (size_t i = 0; i < options->conditions.count && !options->diff; i++)
        if (options->conditions.items[i].difference)
            return wrong("'%s' is about two runs: it needs --diff",
                         options->conditions.items[i].text);
    if (options->fail_if_unsure && options->conditions.count == 0)
        return wrong("--fail-if-unsure is for %s", "--fail-if");
    if (!options->diff)
        return true;
    if (any_section(options) || options->thread != 0)
        return wrong("--diff has tables of its own: it takes no %s", "section and no --thread");
    if (!arguments_split_sides(options->profiles.items, &options->profiles.count, &options->before))
        return wrong("--diff wants two profiles, or several on each side of a%s", " ':'");
    return true;
}

static bool is_consistent(struct report_options *options)
{
    if (options->thread != 0 && options->profiles.count > 1)
        return wrong("--thread wants one profile: a number may mean %s",
                     "a different thread in each");
    if (options->csv_layout != CSV_LAYOUT_NONE && options->format != FORMAT_CSV)
        return wrong("--csv-layout is for CSV: it takes no other %s", "--format");
    if (options->topology != NULL && !options->sections[SECTION_PLACEMENT])
        return wrong("--topology is for %s", "--placement");
    if (options->thread != 0 && options->sections[SECTION_PLACEMENT])
        return wrong("--placement is about all threads: it takes no %s", "--thread");
    if (format_is_export(options->format) &&
        (options->diff || options->conditions.count > 0 || any_section(options)))
        return wrong("the formats of other tools have call stacks alone: they take no %s",
                     "section, --diff or --fail-if");
    if (!comparison_is_consistent(options))
        return false;
    if (options->no_source && options->format != FORMAT_HTML)
        return wrong("--no-source is for %s", "--format html");
    if (!options->merge)
        return true;
    if (options->output == NULL)
        return wrong("--merge needs -o FILE%s", "");
    if (options->profiles.count == 0)
        return wrong("--merge needs the profiles to merge%s", "");
    if (options->diff || options->conditions.count > 0 || any_section(options) ||
        options->machine != NULL || options->line_size != 0 || options->group != NULL ||
        options->thread != 0 || options->region != NULL || options->format != FORMAT_TEXT)
        return wrong("--merge writes a profile: it takes no %s", "section or filter");
    return true;
}

/* Sector hints need a machine of their own, and traffic of large profiles takes about as long as
 * all the rest. */
static void choose_default_sections(struct report_options *options)
{
    if (any_section(options))
        return;
    for (size_t i = 0; i < SECTION_COUNT; i++)
        options->sections[i] =
            (options->format != FORMAT_TEXT && i != SECTION_SECTOR_HINTS && i != SECTION_TRAFFIC &&
             i != SECTION_TIMELINE && i != SECTION_JOB) ||
            i == SECTION_SUMMARY || i == SECTION_OBJECTS || i == SECTION_LINES;
}

/* Sector hints are for the one machine with a sector cache, unless another one is described. */
static void choose_default_machine(struct report_options *options)
{
    if (options->sections[SECTION_SECTOR_HINTS] && options->machine == NULL)
        options->machine = "a64fx";
}

enum options_result report_options_parse(struct report_options *options, int argc, char **argv)
{
    int option;

    memset(options, 0, sizeof(*options));
    options->sysroot = "";
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":o:v", long_options, NULL)) != -1) {
        const char *given = argv[optind - 1];

        if (option == OPTION_HELP) {
            fputs(report_usage, stdout);
            return OPTIONS_DONE;
        }
        if (option == OPTION_VERSION) {
            printf("reuse-report (libreuse) %s\n", PACKAGE_VERSION);
            return OPTIONS_DONE;
        }
        if (option == ':') {
            wrong("option '%s' needs a value", given);
            return OPTIONS_WRONG;
        }
        if (option == '?') {
            char letter[] = {'-', (char)optopt, '\0'};

            wrong("unknown or ambiguous option '%s'", optopt != 0 && optopt < 256 ? letter : given);
            return OPTIONS_WRONG;
        }
        if (!take_option(options, option, optarg))
            return OPTIONS_WRONG;
    }
    for (int i = optind; i < argc; i++)
        ARRAY_PUSH(&options->profiles, argv[i]);
    /* Without the matrix, what it is told by asks for the job's table. */
    if (options->job_by != JOB_BY_DEFAULT && !options->sections[SECTION_MATRIX])
        options->sections[SECTION_JOB] = true;
    if (!is_consistent(options))
        return OPTIONS_WRONG;
    if (options->top == 0)
        options->top = options->format == FORMAT_HTML ? TOP_OF_PAGE : TOP;
    choose_default_sections(options);
    choose_default_machine(options);
    return OPTIONS_RUN;
}

void report_options_free(struct report_options *options)
{
    free(options->debug_directories.items);
    free(options->conditions.items);
    free(options->profiles.items);
}
