/* SPDX-License-Identifier: BSD-3-Clause */
/* One line for the user in the caller's buffer. */
#include "profile/explain.h"

#include <stdarg.h>
#include <stdio.h>

bool profile_explain(char *message, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, size, format, arguments);
    va_end(arguments);
    return false;
}
