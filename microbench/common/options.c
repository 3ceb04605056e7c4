/* SPDX-License-Identifier: BSD-3-Clause */
/* Command lines of the microbenchmarks; see options.h. */
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *program_name = "microbench"; /* set once by options_parse() */

__attribute__((noreturn, format(printf, 2, 0))) static void leave(int status, const char *format,
                                                                  va_list arguments)
{
    char line[512];
    vsnprintf(line, sizeof line, format, arguments);
    fflush(stdout);
    fprintf(stderr, "%s: %s\n", program_name, line);
    exit(status);
}

void usage_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    leave(2, format, arguments);
}

void fatal(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    leave(1, format, arguments);
}

void check_allocation(void *memory, const char *what, size_t bytes)
{
    if (memory == NULL)
        fatal("no memory for %s (%zu bytes)", what, bytes);
}

/* A whole number, with a suffix K, M or G when scaled; false when text is anything else. */
static bool parse_number(const char *text, bool scaled, uint64_t *value)
{
    if (!isdigit((unsigned char)text[0]))
        return false;
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (errno != 0)
        return false;
    unsigned shift = 0;
    if (scaled && *end != '\0') {
        static const char suffixes[] = "KMG";
        const char *suffix = strchr(suffixes, toupper((unsigned char)*end));
        if (suffix == NULL)
            return false;
        shift = 10 * (unsigned)(suffix - suffixes + 1);
        end++;
    }
    if (*end != '\0' || number > UINT64_MAX >> shift)
        return false;
    *value = (uint64_t)number << shift;
    return true;
}

/* True when text is one of the words of "a|b|c". */
static bool is_choice(const char *text, const char *words)
{
    size_t length = strlen(text);
    for (const char *word = words; word != NULL; word = strchr(word, '|')) {
        word += *word == '|';
        if (length > 0 && strncmp(word, text, length) == 0 &&
            (word[length] == '|' || word[length] == '\0'))
            return true;
    }
    return false;
}

static void set_value(const struct option_spec *option, const char *text)
{
    uint64_t number;
    double real;
    char *end;
    switch (option->kind) {
    case OPTION_FLAG:
        *(bool *)option->target = true;
        break;
    case OPTION_COUNT:
    case OPTION_SIZE:
        if (!parse_number(text, option->kind == OPTION_SIZE, &number))
            usage_error("--%s: '%s' is not a %s", option->name, text,
                        option->kind == OPTION_SIZE ? "size" : "whole number");
        if (number < option->minimum || number > option->maximum)
            usage_error("--%s: %s is outside %llu..%llu", option->name, text,
                        (unsigned long long)option->minimum, (unsigned long long)option->maximum);
        *(uint64_t *)option->target = number;
        break;
    case OPTION_REAL:
        real = strtod(text, &end);
        if (end == text || *end != '\0' || !isfinite(real) || real <= 0)
            usage_error("--%s: '%s' is not a positive number", option->name, text);
        *(double *)option->target = real;
        break;
    case OPTION_CHOICE:
        if (!is_choice(text, option->value_name))
            usage_error("--%s: '%s' is not one of %s", option->name, text, option->value_name);
        *(const char **)option->target = text;
        break;
    case OPTION_TEXT:
        *(const char **)option->target = text;
        break;
    }
}

static void print_default(const struct option_spec *option)
{
    switch (option->kind) {
    case OPTION_COUNT:
    case OPTION_SIZE:
        if (*(uint64_t *)option->target != 0)
            printf(" [%llu]", (unsigned long long)*(uint64_t *)option->target);
        break;
    case OPTION_REAL:
        if (*(double *)option->target != 0)
            printf(" [%g]", *(double *)option->target);
        break;
    case OPTION_TEXT:
    case OPTION_CHOICE:
        if (*(const char **)option->target != NULL)
            printf(" [%s]", *(const char **)option->target);
        break;
    case OPTION_FLAG:
        break;
    }
}

static void print_help(const struct command *command, const struct option_spec *options,
                       size_t count)
{
    printf("usage: %s [OPTIONS]%s%s\n%s\n\n", command->name, command->operand ? " " : "",
           command->operand ? command->operand : "", command->purpose);
    for (size_t i = 0; i < count; i++) {
        char head[128];
        int length = snprintf(head, sizeof head, "--%s %s", options[i].name,
                              options[i].value_name ? options[i].value_name : "");
        if (length > 28) /* a line of its own */
            printf("  %s\n  %-28s %s", head, "", options[i].help);
        else
            printf("  %-28s %s", head, options[i].help);
        print_default(&options[i]);
        printf("\n");
    }
    printf("  %-28s show this and leave\n", "--help");
}

static const struct option_spec *find_option(const struct option_spec *options, size_t count,
                                             const char *name, size_t length)
{
    for (size_t i = 0; i < count; i++) {
        if (strncmp(options[i].name, name, length) == 0 && options[i].name[length] == '\0')
            return &options[i];
    }
    return NULL;
}

const char *options_parse(const struct command *command, int argc, char **argv)
{
    enum { OPTIONS_MAX = 32 };
    struct option_spec options[OPTIONS_MAX];
    size_t count = command->option_count;
    struct run_options *run = command->run;
    const char *operand = NULL;

    program_name = command->name;
    if (count + 4 > OPTIONS_MAX)
        fatal("too many options in its table");
    for (size_t i = 0; i < count; i++)
        options[i] = command->options[i];
    if (run != NULL) {
        run->seconds = 0;
        run->iterations = 0;
        run->truth = NULL;
        options[count++] = (struct option_spec){.name = "seconds",
                                                .value_name = "S",
                                                .help = "run for S seconds (default 3)",
                                                .kind = OPTION_REAL,
                                                .target = &run->seconds};
        options[count++] = (struct option_spec){.name = "iterations",
                                                .value_name = "N",
                                                .help = "or exactly N iterations",
                                                .kind = OPTION_COUNT,
                                                .target = &run->iterations,
                                                .minimum = 1,
                                                .maximum = UINT64_MAX};
        options[count++] = (struct option_spec){
            .name = "truth",
            .value_name = "FILE",
            .help = "write what is known of its locality as JSON ('-': standard output)",
            .kind = OPTION_TEXT,
            .target = &run->truth};
        if (command->threaded)
            options[count++] = (struct option_spec){.name = "threads",
                                                    .value_name = "T",
                                                    .help = "threads, the main one included",
                                                    .kind = OPTION_COUNT,
                                                    .target = &run->threads,
                                                    .minimum = 1,
                                                    .maximum = THREADS_MAX};
        else
            run->threads = 1;
    }

    bool only_operands = false;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (only_operands || word[0] != '-' || word[1] == '\0') {
            if (command->operand == NULL || operand != NULL)
                usage_error("unexpected operand '%s' (try --help)", word);
            operand = word;
            continue;
        }
        if (strcmp(word, "--") == 0) {
            only_operands = true;
            continue;
        }
        if (strcmp(word, "--help") == 0) {
            print_help(command, options, count);
            exit(0);
        }
        const char *name = word + (word[1] == '-' ? 2 : 1);
        size_t length = strcspn(name, "=");
        const struct option_spec *option =
            word[1] == '-' ? find_option(options, count, name, length) : NULL;
        if (option == NULL)
            usage_error("unknown option '%s' (try --help)", word);
        const char *value = name[length] == '=' ? name + length + 1 : NULL;
        if (option->kind == OPTION_FLAG && value != NULL)
            usage_error("--%s takes no value", option->name);
        if (option->kind != OPTION_FLAG && value == NULL) {
            if (i + 1 == argc)
                usage_error("--%s needs a value (%s)", option->name, option->value_name);
            value = argv[++i];
        }
        set_value(option, value != NULL ? value : "");
    }
    if (command->operand != NULL && operand == NULL)
        usage_error("%s is missing (try --help)", command->operand);
    if (run != NULL && run->seconds > 0 && run->iterations > 0)
        usage_error("--seconds and --iterations exclude each other");
    if (run != NULL && run->seconds == 0 && run->iterations == 0)
        run->seconds = 3;
    return operand;
}
