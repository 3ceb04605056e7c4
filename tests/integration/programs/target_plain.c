/* SPDX-License-Identifier: BSD-3-Clause */
/* Nothing special; built also as a static binary, which no library can be preloaded into. */
#include <stdio.h>

#include "burn.h"

int main(int argc, char **argv)
{
    burn(BURN_MS);
    printf("%s\n", argc > 1 ? argv[1] : "done");
    return argc > 1 ? 3 : 0;
}
