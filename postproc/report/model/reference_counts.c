/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/reference_counts.h"

#include <string.h>

bool is_reference_count(const struct calling_context *context)
{
    static const char *const names[] = {
        "std::_Sp_counted_base",
        "std::__shared_count",
        "std::__1::__shared_count",
        "std::__1::__shared_weak_count",
        "alloc::sync::Arc<",
        "g_object_ref",
        "g_object_unref",
        "Py_INCREF",
        "Py_DECREF",
    };

    for (size_t i = 0; i < context->count; i++)
        for (size_t n = 0; n < sizeof(names) / sizeof(*names); n++)
            if (context->frames[i].function != NULL &&
                strstr(context->frames[i].function, names[n]) != NULL)
                return true;
    return false;
}
