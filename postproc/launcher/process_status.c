/* SPDX-License-Identifier: BSD-3-Clause */
/* See process_status.h. */
#include "launcher/process_status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool process_status_read(const char *key, int base, uint64_t *number)
{
    char line[256];
    bool found = false;
    size_t length = strlen(key);
    FILE *file = fopen("/proc/self/status", "re");
    if (!file)
        return false;
    while (!found && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, length) == 0 && line[length] == ':') {
            *number = strtoull(line + length + 1, NULL, base);
            found = true;
        }
    }
    fclose(file);
    return found;
}

int process_seccomp_mode(void)
{
    uint64_t mode;
    return process_status_read("Seccomp", 10, &mode) ? (int)mode : -1;
}
