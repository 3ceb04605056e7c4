/* SPDX-License-Identifier: BSD-3-Clause */
/* See format_terms.h. Signal-safe. */
#include "pmu/format_terms.h"

#include <string.h>

#include "signal_safe.h"

static int digit(char c, unsigned base)
{
    int value = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;

    return value < (int)base ? value : -1;
}

/* Digits at *text, which moves behind them. False without any or when they overflow. */
static bool parse_digits(const char **text, unsigned base, uint64_t *value)
{
    const char *start = *text;

    *value = 0;
    for (; digit(**text, base) >= 0; (*text)++) {
        if (*value > (UINT64_MAX - 15) / base)
            return false;
        *value = *value * base + (uint64_t)digit(**text, base);
    }
    return *text > start;
}

static bool parse_number(const char **text, uint64_t *value)
{
    if ((*text)[0] == '0' && (*text)[1] == 'x') {
        *text += 2;
        return parse_digits(text, 16, value);
    }
    return parse_digits(text, 10, value);
}

bool format_number(const char *text, uint64_t *value)
{
    return parse_number(&text, value) && *text == '\0';
}

bool format_hexadecimal(const char *text, uint64_t *value)
{
    return parse_digits(&text, 16, value) && *text == '\0';
}

bool format_next_term(const char **text, struct format_term *term)
{
    const char *at = *text;
    size_t length = strcspn(at, "=,");

    *term = (struct format_term){.value = 1};
    if (*at == '\0')
        return false;
    term->bad = true;
    if (length == 0 || length >= sizeof term->name)
        return false;
    memcpy(term->name, at, length);
    at += length;
    if (*at == '=') {
        at++;
        if (!parse_number(&at, &term->value))
            return false;
    }
    if (*at == ',')
        at++;
    else if (*at != '\0')
        return false;
    /* A term of the kernel's own that stands for a choice of the user ("umask=?") is not one of
     * ours. */
    term->bad = false;
    *text = at;
    return true;
}

bool format_set_direct(const struct format_term *term, const struct format_target *target)
{
    uint64_t *word = strcmp(term->name, "config") == 0    ? target->config
                     : strcmp(term->name, "config1") == 0 ? target->config1
                     : strcmp(term->name, "config2") == 0 ? target->config2
                                                          : NULL;

    if (!word)
        return false;
    *word = term->value;
    return true;
}

bool format_set(const char *format, uint64_t value, const struct format_target *target)
{
    size_t length = strcspn(format, ":");
    uint64_t *word;

    if (format[length] != ':')
        return false;
    if (length == 6 && memcmp(format, "config", 6) == 0)
        word = target->config;
    else if (length == 7 && memcmp(format, "config1", 7) == 0)
        word = target->config1;
    else if (length == 7 && memcmp(format, "config2", 7) == 0)
        word = target->config2;
    else
        return false;
    format += length + 1;
    for (;;) {
        uint64_t first, last;

        if (!parse_digits(&format, 10, &first))
            return false;
        last = first;
        if (*format == '-') {
            format++;
            if (!parse_digits(&format, 10, &last))
                return false;
        }
        if (last > 63 || first > last)
            return false;
        for (uint64_t bit = first; bit <= last; bit++, value >>= 1)
            *word = (*word & ~(UINT64_C(1) << bit)) | (value & 1) << bit;
        if (*format != ',')
            break;
        format++;
    }
    return *format == '\0' && value == 0;
}
