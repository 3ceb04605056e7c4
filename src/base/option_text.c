/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages and paths, put together in a buffer of the caller. Signal-safe. */
#include <string.h>

#include "options_internal.h"

#include "signal_safe.h"

struct option_text option_text_begin(char *start, size_t size)
{
    if (size > 0)
        start[0] = '\0';
    return (struct option_text){start, size, 0, size == 0};
}

void option_text_append_character(struct option_text *text, char character)
{
    if (text->length + 1 >= text->size) {
        text->full = true;
        return;
    }
    text->start[text->length++] = character;
    text->start[text->length] = '\0';
}

void option_text_append(struct option_text *text, const char *addition)
{
    while (*addition && !text->full)
        option_text_append_character(text, *addition++);
}

/* As option_text_append, for what must stay one line and one path component. */
void option_text_append_component(struct option_text *text, const char *addition)
{
    for (; *addition && !text->full; addition++)
        option_text_append_character(text, *addition == '/' ? '_' : *addition);
}

void option_text_append_number(struct option_text *text, uint64_t number)
{
    char digits[20];
    size_t count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    while (count > 0)
        option_text_append_character(text, digits[--count]);
}

/* A user's value within a message: on one line, and short enough to leave room for the rest. */
void option_text_append_quoted(struct option_text *text, const char *value)
{
    enum { SHOWN_MAX = 100 };
    option_text_append(text, "'");
    for (size_t i = 0; value[i] && i < SHOWN_MAX; i++) {
        unsigned char character = (unsigned char)value[i];
        option_text_append_character(text, character < ' ' || character == 0x7f ? '?' : value[i]);
    }
    option_text_append(text, strlen(value) > SHOWN_MAX ? "...'" : "'");
}

void option_explain(struct option_text *text, enum option_id id, const char *value)
{
    option_text_append_quoted(text, value);
    option_text_append(text, " is not ");
    option_text_append(text, option_table[id].values);
}
