/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads Matrix Market files; see matrix_market.h. */
#include "matrix_market.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/options.h"

enum { SIZE_MAXIMUM = INT32_MAX }; /* rows and columns: column indices are stored in 32 bits */

struct input {
    FILE *stream;
    const char *path;
    char *line; /* the current one, owned by getline() */
    size_t line_capacity;
    unsigned long number; /* of the current line, from 1 */
};

__attribute__((noreturn, format(printf, 2, 3))) static void reject(const struct input *in,
                                                                   const char *format, ...)
{
    char cause[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(cause, sizeof cause, format, arguments);
    va_end(arguments);
    fatal("%s:%lu: %s", in->path, in->number, cause);
}

static bool next_line(struct input *in)
{
    errno = 0;
    ssize_t length = getline(&in->line, &in->line_capacity, in->stream);
    if (length < 0) {
        if (ferror(in->stream))
            fatal("%s: %s", in->path, strerror(errno));
        return false;
    }
    in->number++;
    if (strlen(in->line) != (size_t)length)
        reject(in, "a zero byte: this is not a text file");
    return true;
}

/* The next line that is neither comment nor blank. */
static bool next_data_line(struct input *in)
{
    while (next_line(in)) {
        const char *text = in->line + strspn(in->line, " \t\r\n");
        if (*text != '\0' && *text != '%')
            return true;
    }
    return false;
}

/* A whole number of minimum..maximum at *text, which moves on. */
static uint64_t take_number(struct input *in, char **text, const char *what, uint64_t minimum,
                            uint64_t maximum)
{
    char *begin = *text + strspn(*text, " \t"), *end;
    if (!isdigit((unsigned char)*begin))
        reject(in, "%s is missing or not a whole number", what);
    errno = 0;
    unsigned long long number = strtoull(begin, &end, 10);
    if (*end != '\0' && !isspace((unsigned char)*end))
        reject(in, "%s is not a whole number", what);
    if (errno != 0 || number < minimum || number > maximum)
        reject(in, "%s is outside %llu..%llu", what, (unsigned long long)minimum,
               (unsigned long long)maximum);
    *text = end;
    return number;
}

static double take_value(struct input *in, char **text)
{
    char *end;
    double value = strtod(*text, &end);
    if (end == *text || (*end != '\0' && !isspace((unsigned char)*end)))
        reject(in, "the value is missing or not a number");
    if (!isfinite(value))
        reject(in, "the value is not finite");
    *text = end;
    return value;
}

static void expect_end(struct input *in, const char *text)
{
    text += strspn(text, " \t\r\n");
    if (*text != '\0')
        reject(in, "more on the line than expected");
}

struct header {
    bool has_values, symmetric;
};

static struct header read_header(struct input *in)
{
    struct header header = {.has_values = true};
    char banner[32], object[32], format[32], field[32], symmetry[32];
    if (!next_line(in))
        fatal("%s: empty file", in->path);
    if (sscanf(in->line, "%31s %31s %31s %31s %31s", banner, object, format, field, symmetry) !=
            5 ||
        strcasecmp(banner, "%%MatrixMarket") != 0)
        reject(in, "not a Matrix Market file: it does not begin with '%%%%MatrixMarket matrix "
                   "coordinate FIELD SYMMETRY'");
    if (strcasecmp(object, "matrix") != 0 || strcasecmp(format, "coordinate") != 0)
        reject(in, "'%s %s' is not supported, only 'matrix coordinate'", object, format);
    if (strcasecmp(field, "pattern") == 0)
        header.has_values = false;
    else if (strcasecmp(field, "real") != 0 && strcasecmp(field, "integer") != 0)
        reject(in, "field '%s' is not supported, only real, integer and pattern", field);
    if (strcasecmp(symmetry, "symmetric") == 0)
        header.symmetric = true;
    else if (strcasecmp(symmetry, "general") != 0)
        reject(in, "symmetry '%s' is not supported, only general and symmetric", symmetry);
    return header;
}

static void append(struct coordinate_matrix *m, uint32_t row, uint32_t column, double value)
{
    m->row[m->entries] = row;
    m->column[m->entries] = column;
    m->value[m->entries] = value;
    m->entries++;
}

static struct coordinate_matrix read_matrix(struct input *in)
{
    struct header header = read_header(in);
    struct coordinate_matrix m = {0};
    if (!next_data_line(in))
        fatal("%s: ends before the line of sizes", in->path);
    char *text = in->line;
    m.rows = take_number(in, &text, "the number of rows", 1, SIZE_MAXIMUM);
    m.columns = take_number(in, &text, "the number of columns", 1, SIZE_MAXIMUM);
    uint64_t entries = take_number(in, &text, "the number of entries", 1, UINT32_MAX);
    expect_end(in, text);
    if (header.symmetric && m.rows != m.columns)
        reject(in, "a symmetric matrix cannot have %zu rows and %zu columns", m.rows, m.columns);

    size_t capacity = entries * (header.symmetric ? 2 : 1);
    m.row = malloc(capacity * sizeof *m.row);
    m.column = malloc(capacity * sizeof *m.column);
    m.value = malloc(capacity * sizeof *m.value);
    check_allocation(m.row, "the matrix", capacity * sizeof *m.row);
    check_allocation(m.column, "the matrix", capacity * sizeof *m.column);
    check_allocation(m.value, "the matrix", capacity * sizeof *m.value);

    for (uint64_t i = 0; i < entries; i++) {
        if (!next_data_line(in))
            fatal("%s: ends after %llu of %llu entries", in->path, (unsigned long long)i,
                  (unsigned long long)entries);
        text = in->line;
        uint32_t row = (uint32_t)take_number(in, &text, "the row", 1, m.rows) - 1;
        uint32_t column = (uint32_t)take_number(in, &text, "the column", 1, m.columns) - 1;
        double value = header.has_values ? take_value(in, &text) : 1;
        expect_end(in, text);
        append(&m, row, column, value);
        if (header.symmetric && row < column)
            reject(in, "an entry above the diagonal in a symmetric matrix");
        if (header.symmetric && row != column)
            append(&m, column, row, value);
    }
    if (next_data_line(in))
        reject(in, "more than the %llu entries announced", (unsigned long long)entries);
    return m;
}

struct coordinate_matrix matrix_market_read(const char *path)
{
    struct input in = {.stream = fopen(path, "r"), .path = path};
    if (in.stream == NULL)
        fatal("cannot read %s: %s", path, strerror(errno));
    struct coordinate_matrix m = read_matrix(&in);
    free(in.line);
    fclose(in.stream);
    return m;
}

void coordinate_matrix_free(struct coordinate_matrix *m)
{
    free(m->row);
    free(m->column);
    free(m->value);
    *m = (struct coordinate_matrix){0};
}
