/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of protocol buffers (its "Encoding" guide), as far as pprof's profile needs them. */
#ifndef REUSE_POSTPROC_REPORT_EXPORT_PROTOBUF_H
#define REUSE_POSTPROC_REPORT_EXPORT_PROTOBUF_H

#include <stdint.h>

#include "support/memory.h"

/* Zeroed: empty. The items are the caller's to free. */
typedef ARRAY(unsigned char) message_bytes;

/* A field of a whole number; zero is the default and takes no bytes. */
void message_number(message_bytes *, unsigned field, uint64_t value);
/* A field of bytes: a text, or a message within the message. */
void message_field(message_bytes *, unsigned field, const void *bytes, size_t size);
/* A number of a packed list, which message_field() then holds. */
void message_packed(message_bytes *, uint64_t value);

#endif
