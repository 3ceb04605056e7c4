/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/html/file_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/memory.h"
#include "support/utf8.h"
#include "symbols/named_file.h"

static char *read_all(FILE *stream, size_t size)
{
    char *bytes = allocate_zeroed(size + 1, 1), *text;
    size_t got = fread(bytes, 1, size, stream);

    for (size_t i = 0; i < got; i++)
        if (bytes[i] == '\0')
            bytes[i] = ' ';
    bytes[got] = '\0';
    text = valid_utf8(bytes);
    free(bytes);
    return text;
}

char *file_text_read(const char *path, size_t bytes_max, int64_t *modified)
{
    int descriptor = named_file_open(path);
    struct stat status;
    FILE *stream;
    char *text;

    if (descriptor < 0)
        return NULL;
    if (fstat(descriptor, &status) != 0 || (uint64_t)status.st_size > bytes_max ||
        (stream = fdopen(descriptor, "r")) == NULL) {
        close(descriptor);
        errno = EFBIG;
        return NULL;
    }
    if (modified != NULL)
        *modified = status.st_mtime;
    text = read_all(stream, (size_t)status.st_size);
    fclose(stream);
    return text;
}
