/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole files as text. */
#ifndef REUSE_POSTPROC_HTML_FILE_TEXT_H
#define REUSE_POSTPROC_HTML_FILE_TEXT_H

#include <stddef.h>
#include <stdint.h>

/*
 * The content of a regular file of at most so many bytes as valid UTF-8, to be freed; where it has
 * zero bytes, spaces stand. NULL with errno; EFBIG: it is larger. modified: seconds since the
 * epoch, or NULL.
 */
char *file_text_read(const char *path, size_t bytes_max, int64_t *modified);

#endif
