/* SPDX-License-Identifier: BSD-3-Clause */
#include "support/compiled_module.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

int module_folder_enter(char *pattern)
{
    return mkdtemp(pattern) != NULL && chdir(pattern) == 0 ? 0 : -1;
}

int module_folder_leave(const char *folder)
{
    return chdir("/") == 0 && run_command("rm -rf %s", folder) ? 0 : -1;
}

void write_source(const char *name, const char *text)
{
    FILE *stream = fopen(name, "w");

    assert_non_null(stream);
    fputs(text, stream);
    fclose(stream);
}

bool run_command(const char *format, ...)
{
    char command[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(command, sizeof(command), format, arguments);
    va_end(arguments);
    return system(command) == 0;
}

bool have_command(const char *program)
{
    return run_command("command -v %s >/dev/null 2>&1", program);
}

void opened_module_open(struct opened_module *opened, const char *path, const uint8_t *build_id,
                        size_t build_id_size)
{
    if (opened->search.sysroot == NULL)
        opened->search.sysroot = "";
    opened->strings = intern_table_create();
    opened->symbols = symbols_create(&opened->search, opened->strings);
    opened->module = symbols_module(opened->symbols, path, build_id, build_id_size);
}

void opened_module_close(struct opened_module *opened)
{
    symbols_free(opened->symbols);
    intern_table_free(opened->strings);
    memset(opened, 0, sizeof(*opened));
}
