/* SPDX-License-Identifier: BSD-3-Clause */
#include "placement_file.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* What is left of a line. */
struct cursor {
    const char *at, *end;
};

static void skip_blanks(struct cursor *line)
{
    while (line->at < line->end && (*line->at == ' ' || *line->at == '\t' || *line->at == '\r'))
        line->at++;
}

static struct cursor take_word(struct cursor *line)
{
    struct cursor word;

    skip_blanks(line);
    word.at = line->at;
    while (line->at < line->end && *line->at != ' ' && *line->at != '\t' && *line->at != '\r')
        line->at++;
    word.end = line->at;
    return word;
}

static bool is_word(struct cursor word, const char *text)
{
    size_t length = strlen(text);

    return (size_t)(word.end - word.at) == length && memcmp(word.at, text, length) == 0;
}

/* A whole number of at most `most` at the head of a word. */
static bool take_number(struct cursor *word, uint32_t most, uint32_t *number)
{
    const char *before = word->at;
    uint64_t value = 0;

    while (word->at < word->end && *word->at >= '0' && *word->at <= '9' && value <= most)
        value = value * 10 + (uint64_t)(*word->at++ - '0');
    *number = (uint32_t)value;
    return word->at > before && value <= most;
}

static void add(struct placement_file *file, int32_t thread, uint32_t first, uint32_t last)
{
    if (file->count < file->capacity)
        file->entries[file->count] = (struct placement_entry){thread, first, last};
    file->count++;
}

/* NULL, or what is wrong. */
static const char *read_cpus(struct placement_file *file, int32_t thread, struct cursor word)
{
    static const char wrong[] = "CPUs are numbers up to 65535, as in 0-3,8, or any";

    if (is_word(word, "any")) {
        add(file, thread, 1, 0);
        return NULL;
    }
    do {
        uint32_t first, last;

        if (!take_number(&word, PLACEMENT_CPU_MAX, &first))
            return wrong;
        last = first;
        if (word.at < word.end && *word.at == '-') {
            word.at++;
            if (!take_number(&word, PLACEMENT_CPU_MAX, &last) || last < first)
                return wrong;
        }
        add(file, thread, first, last);
        if (word.at < word.end && *word.at != ',')
            return wrong;
    } while (word.at++ < word.end);
    return NULL;
}

static bool is_named(const struct placement_file *file, int32_t thread)
{
    for (size_t i = 0; i < file->count && i < file->capacity; i++)
        if (file->entries[i].thread == thread)
            return true;
    return false;
}

static const char *read_binding(struct placement_file *file, struct cursor *line, bool others)
{
    int32_t thread = PLACEMENT_OTHERS;
    struct cursor word;

    if (!others) {
        uint32_t number;

        word = take_word(line);
        if (!take_number(&word, PLACEMENT_THREAD_MAX, &number) || word.at != word.end)
            return "a thread is given by its number, 0 for the main thread";
        thread = (int32_t)number;
    }
    if (is_named(file, thread))
        return "this thread has a line already";
    return read_cpus(file, thread, take_word(line));
}

static const char *read_program(struct placement_file *file, struct cursor *line)
{
    size_t length;

    skip_blanks(line);
    length = (size_t)(line->end - line->at);
    while (length > 0 && (line->at[length - 1] == ' ' || line->at[length - 1] == '\r'))
        length--;
    if (length == 0 || length > PLACEMENT_PROGRAM_MAX || file->program[0] != '\0')
        return "program wants one name";
    memcpy(file->program, line->at, length);
    file->program[length] = '\0';
    line->at = line->end;
    return NULL;
}

static const char *read_line(struct placement_file *file, struct cursor line)
{
    struct cursor word = take_word(&line);
    const char *wrong;

    if (word.at == word.end || *word.at == '#')
        return NULL;
    if (is_word(word, "thread"))
        wrong = read_binding(file, &line, false);
    else if (is_word(word, "others"))
        wrong = read_binding(file, &line, true);
    else if (is_word(word, "program"))
        return read_program(file, &line);
    else
        return "neither thread, nor others, nor program";
    if (wrong != NULL)
        return wrong;
    word = take_word(&line);
    return word.at == word.end || *word.at == '#' ? NULL : "something follows the CPUs";
}

int placement_file_read(const char *text, size_t size, struct placement_file *file, char *message,
                        size_t message_size)
{
    const char *end = text + size;
    size_t number = 1;

    file->count = 0;
    file->program[0] = '\0';
    for (const char *at = text; at < end; number++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        struct cursor line = {at, stop != NULL ? stop : end};
        const char *wrong = read_line(file, line);

        if (wrong != NULL) {
            snprintf(message, message_size, "line %zu: %s", number, wrong);
            return -1;
        }
        at = line.end + 1;
    }
    if (file->count == 0) {
        snprintf(message, message_size, "line %zu: no line says where a thread goes", number);
        return -1;
    }
    return 0;
}
