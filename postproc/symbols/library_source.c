/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbols/library_source.h"

#include <stddef.h>
#include <string.h>

bool is_system_file(const char *path)
{
    return (strncmp(path, "/usr/", 5) == 0 && strncmp(path, "/usr/local/", 11) != 0) ||
           strncmp(path, "/lib", 4) == 0;
}

bool is_library_source(const char *file)
{
    static const char *const folders[] = {
        "/include/c++/", "/libstdc++-v3/", "/lib/gcc/", "/lib/clang/",
        /* Rust's library as its makers build it, what that is made of, and as it is installed. */
        "/rustc/", "/rust/deps/", "/rustlib/src/rust/library/"};

    if (file == NULL)
        return false;
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
        if (strstr(file, folders[i]) != NULL)
            return true;
    return strncmp(file, "/usr/include/", 13) == 0;
}
