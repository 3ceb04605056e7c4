/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns schema.def into text at compile time, so that a signal handler or a freshly forked child
 * can write it, and proves at compile time that it describes the structures of format.h: a packed
 * structure built from the table alone has the same fields at the same places.
 */
#include "profile/schema.h"

#include <assert.h>

#include "access_level.h"
#include "interpreter_stop.h"
#include "profile/format.h"

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t i32;
typedef int64_t i64;
typedef double f64;

/* First pass: the packed structures. */
#define RECORD(constant, number, name, about)
#define STRUCT(name, about)
#define BEGIN(tag) struct __attribute__((packed)) described_##tag {
#define FIELD(tag, type, name, unit) type name;
#define ARRAY(tag, type, name, count, unit) type name[count];
#define TAIL(tag, name, kind) char name[];
#define FINISH(tag)                                                                                \
    }                                                                                              \
    ;
#define BARE(name, kind)
#define ENUM(name)
#define VALUE(constant, number)
#include "profile/schema.def"
#undef RECORD
#undef STRUCT
#undef BEGIN
#undef FIELD
#undef ARRAY
#undef TAIL
#undef FINISH
#undef ENUM
#undef VALUE

/* Second pass: they agree with format.h, and the numbers with its constants. */
#define SAME_PLACE(tag, name)                                                                      \
    static_assert(offsetof(struct tag, name) == offsetof(struct described_##tag, name),            \
                  "schema.def misplaces " #tag "." #name);
#define SAME_TYPE(tag, name)                                                                       \
    static_assert(__builtin_types_compatible_p(__typeof__(((struct tag *)0)->name),                \
                                               __typeof__(((struct described_##tag *)0)->name)),   \
                  "schema.def gives " #tag "." #name " another type");
#define RECORD(constant, number, name, about)                                                      \
    static_assert((int)(constant) == (number), "schema.def numbers " #constant " wrongly");
#define STRUCT(name, about)
#define BEGIN(tag)
#define FIELD(tag, type, name, unit) SAME_PLACE(tag, name) SAME_TYPE(tag, name)
#define ARRAY(tag, type, name, count, unit) SAME_PLACE(tag, name) SAME_TYPE(tag, name)
#define TAIL(tag, name, kind) SAME_PLACE(tag, name)
#define FINISH(tag)                                                                                \
    static_assert(sizeof(struct tag) == sizeof(struct described_##tag) &&                          \
                      sizeof(struct tag) % 8 == 0,                                                 \
                  "schema.def lacks a field of " #tag);
#define ENUM(name)
#define VALUE(constant, number)                                                                    \
    static_assert((int)(constant) == (number), "schema.def gives " #constant " another value");
#include "profile/schema.def"
#undef RECORD
#undef STRUCT
#undef BEGIN
#undef FIELD
#undef ARRAY
#undef TAIL
#undef FINISH
#undef BARE
#undef ENUM
#undef VALUE
static_assert(RECORD_TYPE_COUNT == 35, "a new record type needs its lines in schema.def");

/* Third pass: the text. */
#define RECORD(constant, number, name, about) "record " #number " " #name " " about "\n"
#define STRUCT(name, about) "struct " #name " " about "\n"
#define BEGIN(tag)
#define FIELD(tag, type, name, unit) "field " #name " " #type " " unit "\n"
#define ARRAY(tag, type, name, count, unit) "field " #name " " #type "[" #count "] " unit "\n"
#define TAIL(tag, name, kind) "tail " #name " " kind "\n"
#define FINISH(tag)
#define BARE(name, kind) "tail " #name " " kind "\n"
#define ENUM(name) "enum " #name "\n"
#define VALUE(constant, number) "value " #constant " " #number "\n"

const char profile_schema[] = "libreuse-profile-schema 1\n"
#include "profile/schema.def"
    ;

const size_t profile_schema_size = sizeof(profile_schema);
