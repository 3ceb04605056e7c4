/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/try_places.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "heap_remedy.h"

/* Characters that a shell and --try take as they are. */
static bool is_plain(const char *name)
{
    for (; *name != '\0'; name++)
        if (!isalnum((unsigned char)*name) && strchr("._+-", *name) == NULL)
            return false;
    return true;
}

static bool can_be_tried(uint8_t allocator)
{
    return allocator == ALLOCATOR_MALLOC || allocator == ALLOCATOR_CALLOC ||
           allocator == ALLOCATOR_REALLOC;
}

const char *try_place(struct model *model, uint8_t allocator, const struct context_frame *frames,
                      size_t count, size_t named)
{
    const struct context_frame *caller;
    const char *kept, *module;
    size_t at = 0;
    char *text;

    if (!can_be_tried(allocator))
        return NULL;
    while (at < count && frames[at].source.function != NULL &&
           strncmp(frames[at].source.function, "operator new", 12) == 0)
        at++;
    if (at == count || frames[at].module == NULL || frames[at].module != frames[named].module ||
        frames[at].address != frames[named].address)
        return NULL;
    caller = &frames[at];
    module = symbol_module_name(caller->module);
    if (!is_plain(module))
        return NULL;
    text = format_string("%s+0x%" PRIx64, module, caller->address);
    kept = intern_table_string(model->strings, text);
    free(text);
    return kept;
}

void try_places_add(struct model *model, struct data_object *kept, const char *place)
{
    size_t places = 0;
    char *text;

    if (place == NULL || kept->try_places == place)
        return;
    if (kept->try_places == NULL) {
        kept->try_places = place;
        return;
    }
    for (const char *at = kept->try_places; *at != '\0'; at += *at == ',', places++) {
        size_t length = strcspn(at, ",");

        if (length == strlen(place) && strncmp(at, place, length) == 0)
            return;
        at += length;
    }
    /* Two objects fit into one command. */
    if (places == HEAP_REMEDY_MAX / 2)
        return;
    text = format_string("%s,%s", kept->try_places, place);
    kept->try_places = intern_table_string(model->strings, text);
    free(text);
}

char *try_changes(const char *places, const char *verb, const char *value)
{
    const char *separator = "";
    char *text = copy_string("");

    while (places != NULL && *places != '\0') {
        int length = (int)strcspn(places, ",");
        char *longer = format_string("%s%s%s%.*s%s", text, separator, verb, length, places, value);

        free(text);
        text = longer;
        separator = ",";
        places += length;
        places += *places == ',';
    }
    return text;
}
