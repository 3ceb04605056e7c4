/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is known about a program before it is started: where it is, and whether LD_PRELOAD can reach
 * it. Reads files only; nothing is executed. Used by reuse-run and reuse-doctor.
 */
#ifndef REUSE_LAUNCHER_TARGET_H
#define REUSE_LAUNCHER_TARGET_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum target_kind {
    TARGET_DYNAMIC,       /* LD_PRELOAD works */
    TARGET_STATIC,        /* no dynamic loader runs in it */
    TARGET_PRIVILEGED,    /* gains rights when started: the loader ignores LD_PRELOAD */
    TARGET_OTHER_MACHINE, /* 32-bit, or for another processor */
    TARGET_OTHER_LOADER,  /* not the GNU C library (musl, bionic) */
    TARGET_DAMAGED,       /* begins as ELF, but makes no sense: the kernel will refuse it */
    TARGET_UNKNOWN,       /* neither ELF nor a script with #!, or unreadable: the kernel decides */
};

struct target {
    char path[PATH_MAX]; /* the file that was named */
    /* A script's interpreter and its one argument as the kernel takes them from the #! line, both
     * empty when the file is no script. */
    char interpreter[PATH_MAX];
    char interpreter_argument[256];
    /* The ELF file that runs in the end: the program, its interpreter, or what /usr/bin/env would
     * start. This is what `kind` is about. Equal to `path` if it cannot be told. */
    char binary[PATH_MAX];
    enum target_kind kind;
    char reason[256]; /* why LD_PRELOAD cannot work, as a predicate: "is statically linked";
                         empty for the others */
    char remedy[256]; /* what the user can do, or empty */
};

/*
 * Finds a program as execvp() would: a name with a slash is taken as it is, others are looked for
 * in search_path (the value of PATH; NULL: the system's default). Returns 0 and the path, or an
 * errno value: ENOENT (not found), EISDIR, EACCES (found, but not executable), ENAMETOOLONG,
 * ENOTDIR, ELOOP ...
 */
int target_find(const char *name, const char *search_path, char path[PATH_MAX]);

/* Fills in everything for a path from target_find(). search_path serves #!/usr/bin/env NAME. */
void target_inspect(const char *path, const char *search_path, struct target *);

#endif
