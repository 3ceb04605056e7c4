/* SPDX-License-Identifier: BSD-3-Clause */
/* Names and arguments of the target are bytes; reports are UTF-8. */
#ifndef REUSE_POSTPROC_UTF8_H
#define REUSE_POSTPROC_UTF8_H

/* A copy in which every byte that is not part of valid UTF-8 (RFC 3629) is '?'; free it. */
char *valid_utf8(const char *text);

#endif
