/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Changed programs as what the report looks names up in: ELF files with debug information, whose
 * sections lie. Whatever is asked, an answer comes. Good ones to change are the files that
 * FUZZ_FILES names, separated by colons.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/driver.h"
#include "support/intern_table.h"
#include "symbols/dwarf_file.h"
#include "symbols/elf_image.h"

const char fuzz_target[] = "changed programs with debug information";

static const uint64_t addresses[] = {0,      0x40,   0x1000, 0x1020, 0x1040, 0x1129, 0x1140,
                                     0x1160, 0x1180, 0x2000, 0x3fff, 0x4010, 0x4040, UINT64_MAX};

enum { ADDRESSES = sizeof addresses / sizeof *addresses };

static void ask_image(const char *path)
{
    char message[512] = "";
    struct elf_image *image = elf_image_open(path, message, sizeof message);
    uint64_t start;
    size_t size;

    if (!image) {
        fuzz_require(message[0] != '\0' && !strchr(message, '\n'));
        return;
    }
    for (size_t i = 0; i < ADDRESSES; i++) {
        const struct elf_symbol *symbol = elf_image_function(image, addresses[i]);
        volatile size_t length = symbol ? strlen(symbol->name) : 0;

        symbol = elf_image_object(image, addresses[i]);
        length += symbol ? strlen(symbol->name) : 0;
        (void)elf_image_section(image, addresses[i], &start);
        free(elf_image_plt_name(image, addresses[i]));
    }
    (void)elf_image_section_data(image, ".debug_line", &size);
    elf_image_close(image);
}

static void ask_debug_information(const char *path)
{
    struct intern_table *strings = intern_table_create();
    struct declared_variable variables[ADDRESSES];
    struct dwarf_file *file = dwarf_file_open(path, NULL, strings);
    source_frames frames = {0};

    if (file) {
        for (size_t i = 0; i < ADDRESSES; i++)
            dwarf_file_frames(file, addresses[i], &frames);
        dwarf_file_variables(file, addresses, ADDRESSES, variables);
        dwarf_file_close(file);
    }
    free(frames.items);
    intern_table_free(strings);
}

void fuzz_check(const uint8_t *input, size_t size)
{
    int descriptor = memfd_create("program", MFD_CLOEXEC);
    char path[64];

    fuzz_require(descriptor >= 0 && write(descriptor, input, size) == (ssize_t)size);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    ask_image(path);
    ask_debug_information(path);
    (void)close(descriptor);
}

/* One of the good files. */
static size_t read_good(struct random *random, uint8_t *input)
{
    char list[4096] = "", *names[64], *rest = list;
    size_t n = 0;
    ssize_t size;
    int descriptor;

    if (getenv("FUZZ_FILES"))
        (void)snprintf(list, sizeof list, "%s", getenv("FUZZ_FILES"));
    while (n < 64 && (names[n] = strsep(&rest, ":")) != NULL)
        n++;
    descriptor = open(names[random_below(random, (uint32_t)n)], O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return 0;
    size = read(descriptor, input, FUZZ_INPUT_MAX);
    (void)close(descriptor);
    return size > 0 ? (size_t)size : 0;
}

size_t fuzz_make(struct random *random, uint8_t *input)
{
    size_t size = read_good(random, input);
    unsigned changes = 1 + random_below(random, 12);

    if (size < 8) {
        size = 8 + random_below(random, 1000);
        for (size_t i = 0; i < size; i++)
            input[i] = (uint8_t)random_next(random);
        memcpy(input, "\177ELF\2\1\1", 8);
    }
    while (changes-- > 0) {
        size_t at = random_below(random, (uint32_t)size);
        static const uint8_t values[] = {0, 1, 2, 0x7f, 0x80, 0xff};

        if (random_below(random, 3) == 0)
            input[at] = values[random_below(random, sizeof values)];
        else if (random_below(random, 2))
            input[at] = (uint8_t)random_next(random);
        else /* a field of 4 bytes */
            for (size_t i = at; i < size && i < at + 4; i++)
                input[i] = values[random_below(random, sizeof values)];
    }
    return random_below(random, 8) ? size : random_below(random, (uint32_t)size);
}
