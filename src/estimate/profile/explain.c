/* SPDX-License-Identifier: BSD-3-Clause */
/* One line for the user in the caller's buffer. What profiles and names of files bring along may
 * hold control codes: they reach no terminal. */
#include "profile/explain.h"

#include <stdarg.h>
#include <stdio.h>

bool profile_explain(char *message, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, size, format, arguments);
    va_end(arguments);
    for (size_t i = 0; i < size && message[i] != '\0'; i++)
        if ((unsigned char)message[i] < ' ' || message[i] == 0x7f)
            message[i] = '?';
    return false;
}
