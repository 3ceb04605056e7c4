/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collapsed stacks, as flamegraph.pl and its like read them: frames with ';' between them, the
 * outermost first, a blank, and a whole number. The first frame names the event and its unit. Equal
 * stacks need not be one line.
 */
#include "report/export/export.h"

/* What separates frames, lines and the number may not stand in a name. */
static void put_name(const char *name, FILE *stream)
{
    for (; *name != '\0'; name++)
        fputc((unsigned char)*name < ' ' ? '?' : *name == ';' ? ':' : *name, stream);
}

void export_collapsed(const struct export_stacks *stacks, size_t event, FILE *stream)
{
    for (size_t i = 0; i < stacks->stacks.count; i++) {
        const struct export_stack *stack = &stacks->stacks.items[i];
        long long count = export_count(stack->values[event]);

        if (count == 0)
            continue;
        fprintf(stream, "%s: ", stacks->events[event].name);
        put_name(stacks->events[event].description, stream);
        for (size_t k = stack->count; k-- > 0;) {
            fputc(';', stream);
            put_name(stack->frames[k].function, stream);
        }
        fprintf(stream, " %lld\n", count);
    }
}
