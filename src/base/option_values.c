/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of options from text. Signal-safe. */
#include <signal.h>
#include <string.h>

#include "access.h"
#include "options_internal.h"

#include "signal_safe.h"

/* Whole decimal numbers only: no sign, no blank, no overflow. */
bool option_parse_whole(const char *text, uint64_t *number)
{
    uint64_t value = 0;
    if (*text == '\0')
        return false;
    for (; *text; text++) {
        unsigned digit = (unsigned)(*text - '0');
        if (digit > 9 || __builtin_mul_overflow(value, UINT64_C(10), &value) ||
            __builtin_add_overflow(value, (uint64_t)digit, &value))
            return false;
    }
    *number = value;
    return true;
}

/* Digits with at most one point among or around them, whatever the locale: up to `end`. */
static bool parse_decimal(const char *text, const char *end, double *number)
{
    double value = 0, scale = 1;
    bool digits = false, point = false;
    for (; text < end; text++) {
        unsigned digit = (unsigned)(*text - '0');
        if (*text == '.' && !point) {
            point = true;
        } else if (digit <= 9) {
            digits = true;
            value = value * 10 + digit;
            if (point)
                scale *= 10;
        } else {
            return false;
        }
        /* Longer than any sensible value, and before either quantity overflows. */
        if (value > 1e15 || scale > 1e15)
            return false;
    }
    *number = value / scale;
    return digits;
}

bool option_parse_decimal(const char *text, double *number)
{
    return parse_decimal(text, text + strlen(text), number);
}

bool option_parse_percentage(const char *text, double *number)
{
    size_t length = strlen(text);

    return parse_decimal(text, text + length - (length > 0 && text[length - 1] == '%'), number);
}

/* Index of the text among names; -1 if it is none of them. */
int option_parse_name(const char *text, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(text, names[i]) == 0)
            return i;
    return -1;
}

bool option_parse_switch(const char *text, bool *value)
{
    if ((text[0] != '0' && text[0] != '1') || text[1] != '\0')
        return false;
    *value = text[0] == '1';
    return true;
}

bool option_parse_follow(const char *text, unsigned *follow)
{
    unsigned value = 0;
    if (strcmp(text, "none") == 0) {
        *follow = 0;
        return true;
    }
    for (;;) {
        size_t length = strcspn(text, ",");
        if (length == 4 && memcmp(text, "fork", 4) == 0)
            value |= FOLLOW_FORK;
        else if (length == 4 && memcmp(text, "exec", 4) == 0)
            value |= FOLLOW_EXEC;
        else
            return false;
        if (text[length] == '\0')
            break;
        text += length + 1;
    }
    *follow = value;
    return true;
}

/* A whole number of seconds, minutes or hours. */
static bool parse_time(const char *text, size_t length, double *seconds)
{
    static const struct {
        char unit;
        double seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}};
    char number[16] = "";
    uint64_t whole;

    if (length < 2 || length > sizeof number)
        return false;
    memcpy(number, text, length - 1);
    if (!option_parse_whole(number, &whole))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (text[length - 1] == units[i].unit) {
            *seconds = (double)whole * units[i].seconds;
            return *seconds >= OPTIONS_SNAPSHOT_MIN && *seconds <= OPTIONS_SNAPSHOT_MAX;
        }
    return false;
}

/* At most one signal and one time; what is stored is undefined on failure. */
bool option_parse_snapshot(const char *text, int *signal, double *every)
{
    *signal = 0;
    *every = 0;
    for (;;) {
        size_t length = strcspn(text, ",");
        if (*signal == 0 && length == 7 && memcmp(text, "SIGUSR", 6) == 0 &&
            (text[6] == '1' || text[6] == '2'))
            *signal = text[6] == '1' ? SIGUSR1 : SIGUSR2;
        else if (*every > 0 || !parse_time(text, length, every))
            return false;
        if (text[length] == '\0')
            return true;
        text += length + 1;
    }
}

/* Distinct line sizes; what is stored is undefined on failure. */
bool option_parse_line_sizes(const char *text, uint32_t sizes[OPTIONS_LINE_SIZES_MAX],
                             unsigned *count)
{
    *count = 0;
    for (;;) {
        char number[8] = "";
        uint64_t size;
        size_t length = strcspn(text, ",");
        bool known = false;
        if (length >= sizeof number)
            return false;
        memcpy(number, text, length);
        if (!option_parse_whole(number, &size) || !line_size_is_valid(size))
            return false;
        for (unsigned i = 0; i < *count; i++)
            known |= sizes[i] == size;
        if (!known && *count == OPTIONS_LINE_SIZES_MAX)
            return false;
        if (!known)
            sizes[(*count)++] = (uint32_t)size;
        if (text[length] == '\0')
            return true;
        text += length + 1;
    }
}

bool option_parse_text(const char *text, char *value, size_t size)
{
    size_t length = strlen(text);
    if (length >= size)
        return false;
    memcpy(value, text, length + 1);
    return true;
}
