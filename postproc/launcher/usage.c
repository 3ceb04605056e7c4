/* SPDX-License-Identifier: BSD-3-Clause */
/* See usage.h. */
#include "launcher/usage.h"

#include <string.h>

#include "options.h"

static void print_option(FILE *file, char letter, const char *name, const char *argument,
                         const char *help, const char *fallback)
{
    enum { COLUMN = 20 };
    char option[64];
    char shorter[] = {letter ? '-' : ' ', letter ? letter : ' ', letter ? ',' : ' ', '\0'};
    snprintf(option, sizeof option, "--%s%s%s", name, argument ? " " : "",
             argument ? argument : "");
    fprintf(file, "  %s %-*s", shorter, COLUMN, option);
    /* A long name has a line of its own. */
    if (strlen(option) >= COLUMN)
        fprintf(file, "\n      %*s", COLUMN, "");
    fputs(help, file);
    fprintf(file, argument && *fallback ? " (%s)\n" : "\n", fallback);
}

void usage_print(FILE *file)
{
    fputs("Usage: reuse-run [OPTIONS] [--] PROGRAM [ARGS]\n"
          "Runs PROGRAM and records where data is reused too late; reuse-report shows it.\n",
          file);
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option_description *option = &option_table[i];
        print_option(file, option->letter, option->name, option->argument, option->help,
                     option->fallback);
    }
    print_option(file, 'h', "help", NULL, "this text", "");
    print_option(file, 'V', "version", NULL, "the version", "");
    fputs("Defaults are in parentheses. --line-size sets REUSE_LINE_SIZE for PROGRAM, etc.\n"
          "Exit status: PROGRAM's own; 125 own failure, 126 not executable, 127 not found.\n",
          file);
}
