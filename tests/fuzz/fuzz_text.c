/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random text as what people write: machine files, mapping files, options in the environment.
 * Either it is taken, or one line says why not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/driver.h"
#include "machine/machine.h"
#include "options.h"
#include "placement_file.h"

const char fuzz_target[] = "random text as machine files, mapping files and options";

static void one_line(const char *message, size_t capacity)
{
    size_t length = strnlen(message, capacity);

    fuzz_require(length > 0 && length < capacity && !memchr(message, '\n', length));
}

static void check_machine(char *text, size_t size)
{
    char message[256] = "";
    struct machine machine;
    FILE *file = size ? fmemopen(text, size, "r") : NULL;

    if (!file)
        return;
    if (!machine_read_stream(file, "text", &machine, message, sizeof message))
        one_line(message, sizeof message);
    else if (!machine_check(&machine, NULL, message, sizeof message))
        one_line(message, sizeof message);
    fclose(file);
}

static void check_mapping(const char *text, size_t size)
{
    enum { ENTRIES = 4 };
    struct placement_entry entries[ENTRIES];
    struct placement_file file = {.entries = entries, .capacity = ENTRIES};
    char message[128] = "";

    if (placement_file_read(text, size, &file, message, sizeof message) != 0)
        one_line(message, sizeof message);
    else
        fuzz_require(strnlen(file.program, sizeof file.program) < sizeof file.program);
}

/* Each line is a variable. */
static void check_options(char *text)
{
    enum { VARIABLES = 64 };
    const char *environment[VARIABLES + 1];
    struct options options;
    char message[OPTIONS_MESSAGE_MAX] = "", path[OPTIONS_OUTPUT_MAX];
    const struct output_names names = {.pid = 1, .host = "host", .program = "program"};
    size_t n = 0;

    for (char *line = strtok(text, "\n"); line && n < VARIABLES; line = strtok(NULL, "\n"))
        environment[n++] = line;
    environment[n] = NULL;
    if (options_parse(environment, &options, message, sizeof message) != 0)
        one_line(message, sizeof message);
    message[0] = '\0';
    if (options_expand_output(options.output, &names, path, sizeof path, message, sizeof message))
        one_line(message, sizeof message);
}

/* The first byte chooses. */
void fuzz_check(const uint8_t *input, size_t size)
{
    char *text;

    if (size == 0)
        return;
    text = malloc(size);
    memcpy(text, input + 1, size - 1);
    text[size - 1] = '\0';
    switch (input[0] % 3) {
    case 0:
        check_machine(text, size - 1);
        break;
    case 1:
        check_mapping(text, size - 1);
        break;
    default:
        check_options(text);
    }
    free(text);
}

/* Words of the formats and numbers, in lines. */
size_t fuzz_make(struct random *random, uint8_t *input)
{
    static const char *const words[] = {"name",
                                        "line_size",
                                        "cache",
                                        "L1",
                                        "L2",
                                        "bytes",
                                        "ways",
                                        "sharing",
                                        "memory",
                                        "thread",
                                        "others",
                                        "any",
                                        "program",
                                        "#",
                                        "=",
                                        ":",
                                        "-",
                                        ",",
                                        "0",
                                        "1",
                                        "64",
                                        "65536",
                                        "64K",
                                        "8M",
                                        "12",
                                        "-1",
                                        "1e9",
                                        "nan",
                                        "0x10",
                                        "auto",
                                        "%p",
                                        "%",
                                        "inclusive",
                                        "victim",
                                        "sector",
                                        "numa",
                                        "domain",
                                        "cores",
                                        "bandwidth",
                                        "latency",
                                        "18446744073709551616",
                                        "99999999999999999999999999999999999999"};
    size_t at = 0, size = 2 + random_below(random, 600);

    input[at++] = (uint8_t)random_next(random);
    while (at + 64 < size) {
        char piece[64];
        int length;

        if (random_below(random, 3) == 0)
            length = snprintf(piece, sizeof piece,
                              "%s=", option_table[random_below(random, OPTION_COUNT)].variable);
        else
            length = snprintf(piece, sizeof piece, "%s%c",
                              words[random_below(random, sizeof words / sizeof words[0])],
                              " \n,=\t-"[random_below(random, 6)]);
        memcpy(input + at, piece, (size_t)length);
        at += (size_t)length;
        if (random_below(random, 20) == 0)
            input[at++] = (uint8_t)random_next(random);
    }
    return at;
}
