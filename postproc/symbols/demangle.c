/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbols/demangle.h"

#include <stddef.h>
#include <string.h>

/* libiberty's demangle.h includes "libiberty.h", which declares basename() in a way that conflicts
 * with <string.h> unless this is set. */
#define HAVE_DECL_BASENAME 1
#include <libiberty/demangle.h>

char *demangle(const char *linkage_name)
{
    /* C names are the common case and never start like this. */
    if (strncmp(linkage_name, "_Z", 2) != 0 && strncmp(linkage_name, "_R", 2) != 0 &&
        strncmp(linkage_name, "_D", 2) != 0 && strncmp(linkage_name, "__Z", 3) != 0)
        return NULL;
    return cplus_demangle(linkage_name, DMGL_AUTO | DMGL_ANSI);
}
