/* SPDX-License-Identifier: BSD-3-Clause */
/* pprof's profile.proto, compressed with gzip. Field numbers are those of that file. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "report/export/export.h"
#include "report/export/protobuf.h"
#include "support/utf8.h"

enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_SAMPLE_TYPE = 14,
    VALUE_TYPE = 1,
    VALUE_UNIT = 2,
    SAMPLE_LOCATIONS = 1,
    SAMPLE_VALUES = 2,
    MAPPING_ID = 1,
    MAPPING_FILE = 5,
    MAPPING_HAS_FUNCTIONS = 7,
    MAPPING_HAS_FILES = 8,
    MAPPING_HAS_LINES = 9,
    LOCATION_ID = 1,
    LOCATION_MAPPING = 2,
    LOCATION_LINE = 4,
    LINE_FUNCTION = 1,
    LINE_NUMBER = 2,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_SYSTEM_NAME = 3,
    FUNCTION_FILE = 4,
};

/* The message, and what it has numbers for. */
struct pprof {
    message_bytes bytes;
    struct intern_table *strings, *functions, *locations;
    ARRAY(char *) texts; /* by their numbers */
};

static uint64_t string_number(struct pprof *pprof, const char *text)
{
    char *valid = valid_utf8(text);
    uint32_t number = intern_table_insert(pprof->strings, valid, strlen(valid));

    if (number == pprof->texts.count)
        ARRAY_PUSH(&pprof->texts, valid);
    else
        free(valid);
    return number;
}

/* Adds the inner message, and empties it. */
static void put_message(struct pprof *pprof, unsigned field, message_bytes *inner)
{
    message_field(&pprof->bytes, field, inner->items, inner->count);
    free(inner->items);
    *inner = (message_bytes){0};
}

static uint64_t function_number(struct pprof *pprof, const struct code_line *line)
{
    const char *key[2] = {line->function, line->file};
    uint32_t count = intern_table_count(pprof->functions);
    uint32_t number = intern_table_insert(pprof->functions, key, sizeof(key));
    message_bytes function = {0};

    if (number == count) {
        message_number(&function, FUNCTION_ID, number + 1);
        message_number(&function, FUNCTION_NAME, string_number(pprof, line->function));
        message_number(&function, FUNCTION_SYSTEM_NAME, string_number(pprof, line->function));
        if (line->file != NULL)
            message_number(&function, FUNCTION_FILE, string_number(pprof, line->file));
        put_message(pprof, PROFILE_FUNCTION, &function);
    }
    return number + 1;
}

static uint64_t location_number(struct pprof *pprof, const struct code_line *frame)
{
    uint64_t key[2] = {function_number(pprof, frame), frame->line};
    uint32_t count = intern_table_count(pprof->locations);
    uint32_t number = intern_table_insert(pprof->locations, key, sizeof(key));
    message_bytes location = {0}, line = {0};

    if (number == count) {
        message_number(&line, LINE_FUNCTION, key[0]);
        message_number(&line, LINE_NUMBER, frame->line);
        message_number(&location, LOCATION_ID, number + 1);
        message_number(&location, LOCATION_MAPPING, 1);
        message_field(&location, LOCATION_LINE, line.items, line.count);
        free(line.items);
        put_message(pprof, PROFILE_LOCATION, &location);
    }
    return number + 1;
}

static void put_types(struct pprof *pprof, const struct export_stacks *stacks)
{
    for (size_t e = 0; e < stacks->event_count; e++) {
        message_bytes type = {0};

        message_number(&type, VALUE_TYPE, string_number(pprof, stacks->events[e].name));
        message_number(&type, VALUE_UNIT, string_number(pprof, "count"));
        put_message(pprof, PROFILE_SAMPLE_TYPE, &type);
    }
    message_number(&pprof->bytes, PROFILE_DEFAULT_SAMPLE_TYPE,
                   string_number(pprof, stacks->events[stacks->focus].name));
}

/* One that says that names and lines are known, so that nobody looks for them. */
static void put_mapping(struct pprof *pprof, const struct export_stacks *stacks)
{
    message_bytes mapping = {0};

    message_number(&mapping, MAPPING_ID, 1);
    message_number(&mapping, MAPPING_FILE, string_number(pprof, export_program(stacks->model)));
    message_number(&mapping, MAPPING_HAS_FUNCTIONS, 1);
    message_number(&mapping, MAPPING_HAS_FILES, 1);
    message_number(&mapping, MAPPING_HAS_LINES, 1);
    put_message(pprof, PROFILE_MAPPING, &mapping);
}

static void put_comments(struct pprof *pprof, const struct export_stacks *stacks)
{
    message_number(&pprof->bytes, PROFILE_COMMENT,
                   string_number(pprof, export_basis(stacks->model)));
    for (size_t e = 0; e < stacks->event_count; e++) {
        char *text = format_string("%s: %s; unit: %s", stacks->events[e].name,
                                   stacks->events[e].description, export_unit);

        message_number(&pprof->bytes, PROFILE_COMMENT, string_number(pprof, text));
        free(text);
    }
}

static void put_sample(struct pprof *pprof, const struct export_stacks *stacks,
                       const struct export_stack *stack)
{
    message_bytes sample = {0}, list = {0};

    for (size_t i = 0; i < stack->count; i++)
        message_packed(&list, location_number(pprof, &stack->frames[i]));
    message_field(&sample, SAMPLE_LOCATIONS, list.items, list.count);
    list.count = 0;
    for (size_t e = 0; e < stacks->event_count; e++)
        message_packed(&list, (uint64_t)export_count(stack->values[e]));
    message_field(&sample, SAMPLE_VALUES, list.items, list.count);
    free(list.items);
    put_message(pprof, PROFILE_SAMPLE, &sample);
}

static bool write_compressed(const message_bytes *bytes, FILE *stream)
{
    enum { GZIP_WINDOW = 15 + 16, MEMORY_LEVEL = 8 };
    z_stream z = {.next_in = bytes->items, .avail_in = (uInt)bytes->count};
    unsigned char block[1 << 16];
    int result;

    if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    do {
        z.next_out = block;
        z.avail_out = sizeof(block);
        result = deflate(&z, Z_FINISH);
        fwrite(block, 1, sizeof(block) - z.avail_out, stream);
    } while (result == Z_OK);
    deflateEnd(&z);
    return result == Z_STREAM_END;
}

bool export_pprof(const struct export_stacks *stacks, FILE *stream)
{
    struct pprof pprof = {.strings = intern_table_create(),
                          .functions = intern_table_create(),
                          .locations = intern_table_create()};
    bool written;

    string_number(&pprof, ""); /* number 0, by definition */
    put_types(&pprof, stacks);
    put_mapping(&pprof, stacks);
    put_comments(&pprof, stacks);
    for (size_t i = 0; i < stacks->stacks.count; i++)
        put_sample(&pprof, stacks, &stacks->stacks.items[i]);
    for (size_t i = 0; i < pprof.texts.count; i++) {
        message_field(&pprof.bytes, PROFILE_STRING, pprof.texts.items[i],
                      strlen(pprof.texts.items[i]));
        free(pprof.texts.items[i]);
    }
    written = pprof.bytes.count <= UINT32_MAX && write_compressed(&pprof.bytes, stream);
    free(pprof.texts.items);
    free(pprof.bytes.items);
    intern_table_free(pprof.locations);
    intern_table_free(pprof.functions);
    intern_table_free(pprof.strings);
    return written;
}
