/* SPDX-License-Identifier: BSD-3-Clause */
/* See remedy.h. */
#include "launcher/remedy.h"

#include <stdio.h>
#include <string.h>

#include "heap_remedy.h"
#include "launcher/huge_pages.h"
#include "launcher/library.h"
#include "launcher/sanitizer.h"

enum { STATUS_FAILURE = 125 };

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "reuse-run: --try %s: %s\n", what, why);
    return STATUS_FAILURE;
}

static bool asks_for_huge_pages(const struct heap_remedies *remedies)
{
    for (size_t i = 0; i < remedies->count; i++)
        if (remedies->items[i].huge_pages)
            return true;
    return false;
}

/* What asking for huge pages changes on this machine. Returns as remedy_check(). */
static int check_huge_pages(const struct options *options)
{
    static const char setting[] = "/sys/kernel/mm/transparent_hugepage/enabled";

    switch (huge_pages_setting(setting)) {
    case HUGE_PAGES_NEVER:
        return fail(options->try, "this machine gives no huge pages; as root: echo madvise > "
                                  "/sys/kernel/mm/transparent_hugepage/enabled");
    case HUGE_PAGES_UNKNOWN:
        return fail(options->try, "/sys/kernel/mm/transparent_hugepage/enabled cannot be read or "
                                  "understood: this kernel seems to have no huge pages");
    case HUGE_PAGES_ALWAYS:
        if (!options->quiet)
            fprintf(stderr, "reuse-run: --try: this machine gives huge pages unasked "
                            "(/sys/kernel/mm/transparent_hugepage/enabled is always): expect "
                            "little change\n");
        return -1;
    case HUGE_PAGES_ON_DEMAND:
        break;
    }
    return -1;
}

int remedy_check(const struct options *options, const struct target *target)
{
    static struct heap_remedies remedies;
    char sanitizer[256];
    const char *wrong;

    if (!options->try[0])
        return -1;
    wrong = heap_remedies_read(options->try, &remedies);
    if (wrong)
        return fail(options->try, wrong);
    if (options->engine == ENGINE_EXACT || options->engine == ENGINE_SIMULATE)
        return fail(options->try, "not in the engines exact and simulate, which time nothing; use "
                                  "-e none, or an engine that samples");
    if (target->reason[0]) {
        fprintf(stderr, "reuse-run: --try: %s %s: its heap cannot be reached\n", target->binary,
                target->reason);
        return STATUS_FAILURE;
    }
    if (sanitizer_library(target->binary, sanitizer, sizeof sanitizer))
        return fail(options->try, "the program has its sanitizer's heap; build it without");
    return asks_for_huge_pages(&remedies) ? check_huge_pages(options) : -1;
}

int remedy_prepare(const struct options *options, struct environment *environment)
{
    char library[PATH_MAX];

    if (!options->try[0])
        return -1;
    if (library_find_remedy(library) != 0 || strpbrk(library, " :"))
        return fail(options->try,
                    "libreuse-try.so is neither in this build tree nor beside reuse-run nor in "
                    "" REUSE_PLUGIN_FOLDER " (nor may its path hold blanks or colons); install "
                    "libreuse, or run make");
    if (environment_preload(environment, library) != 0)
        return fail(options->try, "out of memory");
    return -1;
}
