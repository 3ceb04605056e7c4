/* SPDX-License-Identifier: BSD-3-Clause */
/* See target.h. The rules about privileges are those of the kernel's fs/exec.c and
 * security/commoncap.c; those about scripts are of fs/binfmt_script.c. */
#include "launcher/target.h"
#include "path_name.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { NATIVE_MACHINE = EM_X86_64 };
#define NATIVE_NAME "x86_64"
#else
enum { NATIVE_MACHINE = EM_AARCH64 };
#define NATIVE_NAME "aarch64"
#endif

enum { SCRIPT_LINE_MAX = 256, SCRIPT_DEPTH_MAX = 5 };

/* 0 when the file can be executed, else why not. */
static int check_executable(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return errno;
    if (S_ISDIR(status.st_mode))
        return EISDIR;
    /* Root passes access(X_OK) on any regular file that has some x bit, as execve does. */
    if (!S_ISREG(status.st_mode) || access(path, X_OK) != 0)
        return EACCES;
    return 0;
}

static int copy_path(char path[PATH_MAX], const char *directory, size_t directory_length,
                     const char *name)
{
    int length = directory_length > 0
                     ? snprintf(path, PATH_MAX, "%.*s/%s", (int)directory_length, directory, name)
                     : snprintf(path, PATH_MAX, "%s", name);
    return length < PATH_MAX ? 0 : ENAMETOOLONG;
}

int target_find(const char *name, const char *search_path, char path[PATH_MAX])
{
    int result = ENOENT;
    path[0] = '\0';
    if (*name == '\0')
        return ENOENT;
    if (strchr(name, '/')) {
        result = copy_path(path, "", 0, name);
        return result ? result : check_executable(path);
    }
    if (!search_path)
        search_path = "/bin:/usr/bin";
    for (const char *directory = search_path;; directory++) {
        size_t length = strcspn(directory, ":");
        /* An empty element means the current directory; "./" keeps the loader's view unambiguous.
         */
        int status =
            length > 0 ? copy_path(path, directory, length, name) : copy_path(path, ".", 1, name);
        if (status == 0)
            status = check_executable(path);
        if (status == 0)
            return 0;
        /* As a shell does: a match that cannot be executed counts only if no other one follows. */
        if (status == EACCES)
            result = EACCES;
        directory += length;
        if (*directory == '\0')
            break;
    }
    return result;
}

/* Whether starting this file makes the kernel set AT_SECURE, and by which of its properties. */
static const char *gained_rights(const char *path, int descriptor)
{
    struct stat status;
    struct statvfs volume;
    char capability[64];
    if (fstat(descriptor, &status) != 0 || fstatvfs(descriptor, &volume) != 0 ||
        (volume.f_flag & ST_NOSUID))
        return NULL;
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) {
        if ((status.st_mode & S_ISUID) && status.st_uid != getuid())
            return "setuid";
        if ((status.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
            status.st_gid != getgid())
            return "setgid";
    }
    if (getuid() != 0 && getxattr(path, "security.capability", capability, sizeof capability) > 0)
        return "given capabilities by its file (setcap)";
    return NULL;
}

static const char *machine_name(uint16_t machine)
{
    switch (machine) {
    case EM_386:
        return "32-bit x86";
    case EM_ARM:
        return "32-bit Arm";
    case EM_X86_64:
        return "x86_64";
    case EM_AARCH64:
        return "aarch64";
    case EM_PPC64:
        return "ppc64";
    case EM_RISCV:
        return "RISC-V";
    case EM_S390:
        return "s390";
    default:
        return "another processor";
    }
}

/* The GNU C library's loader, as a program: it preloads into the one that it is given. */
static bool is_loader(const char *path)
{
    char resolved[PATH_MAX];
    const char *name = realpath(path, resolved) ? strrchr(resolved, '/') : NULL;
    return name && (strncmp(name, "/ld-linux", 9) == 0 || strncmp(name, "/ld-2.", 6) == 0);
}

/* Finds the loader's name (PT_INTERP). Returns 1 found, 0 there is none, -1 damaged. */
static int read_loader(int descriptor, const Elf64_Ehdr *header, char *loader, size_t size)
{
    for (unsigned i = 0; i < header->e_phnum; i++) {
        Elf64_Phdr segment;
        off_t offset = (off_t)(header->e_phoff + (uint64_t)i * header->e_phentsize);
        if (offset < 0 || pread(descriptor, &segment, sizeof segment, offset) != sizeof segment)
            return -1;
        if (segment.p_type != PT_INTERP)
            continue;
        if (segment.p_filesz < 2 || segment.p_filesz > size || (off_t)segment.p_offset < 0 ||
            pread(descriptor, loader, segment.p_filesz, (off_t)segment.p_offset) !=
                (ssize_t)segment.p_filesz)
            return -1;
        loader[segment.p_filesz - 1] = '\0';
        return 1;
    }
    return 0;
}

static void inspect_elf(int descriptor, struct target *target)
{
    Elf64_Ehdr header; /* e_ident, e_type and e_machine lie the same in 32-bit files */
    char loader[PATH_MAX];
    ssize_t length = pread(descriptor, &header, sizeof header, 0);

    target->kind = TARGET_DAMAGED;
    if (length < (ssize_t)sizeof(Elf32_Ehdr))
        return;
    if (header.e_machine != NATIVE_MACHINE || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != ELFDATA2LSB) {
        target->kind = TARGET_OTHER_MACHINE;
        snprintf(target->reason, sizeof target->reason,
                 "is a program for %s, libreuse.so is for 64-bit " NATIVE_NAME,
                 header.e_machine == NATIVE_MACHINE ? "a 32-bit " NATIVE_NAME " ABI"
                                                    : machine_name(header.e_machine));
        snprintf(target->remedy, sizeof target->remedy,
                 "build it for " NATIVE_NAME ", or build libreuse for its machine");
        return;
    }
    if (length != sizeof header || header.e_phentsize != sizeof(Elf64_Phdr))
        return;
    const char *rights = gained_rights(target->binary, descriptor);
    if (rights) {
        target->kind = TARGET_PRIVILEGED;
        snprintf(target->reason, sizeof target->reason,
                 "is %s, and the loader ignores LD_PRELOAD in a program that gains rights", rights);
        snprintf(target->remedy, sizeof target->remedy,
                 "profile a copy of it (cp drops these rights), or run as the user it changes to");
        return;
    }
    int found = read_loader(descriptor, &header, loader, sizeof loader);
    if (found < 0)
        return;
    if (found == 0 && is_loader(target->binary)) {
        target->kind = TARGET_DYNAMIC;
        return;
    }
    if (found == 0) {
        target->kind = TARGET_STATIC;
        snprintf(target->reason, sizeof target->reason,
                 "is statically linked, LD_PRELOAD cannot reach it");
        snprintf(target->remedy, sizeof target->remedy,
                 "link it dynamically, or use --engine exact");
        return;
    }
    const char *name = path_name(loader);
    if (strncmp(name, "ld-linux", 8) != 0) {
        target->kind = TARGET_OTHER_LOADER;
        snprintf(target->reason, sizeof target->reason,
                 "is started by %.60s, libreuse.so works with the GNU C library only", loader);
        snprintf(target->remedy, sizeof target->remedy,
                 "build it against the GNU C library, or use --engine exact");
        return;
    }
    target->kind = TARGET_DYNAMIC;
}

/* Splits "#! interpreter argument" as the kernel does: one argument, inner blanks belong to it. */
static bool parse_script(const char *start, size_t length, char interpreter[PATH_MAX],
                         char *argument, size_t argument_size)
{
    char line[SCRIPT_LINE_MAX + 1];
    memcpy(line, start, length);
    line[length] = '\0';
    line[strcspn(line, "\n")] = '\0';
    char *at = line + 2 + strspn(line + 2, " \t");
    size_t end = strlen(at);
    while (end > 0 && strchr(" \t", at[end - 1]))
        at[--end] = '\0';
    size_t name = strcspn(at, " \t");
    if (name == 0)
        return false;
    snprintf(interpreter, PATH_MAX, "%.*s", (int)name, at);
    at += name;
    at += strspn(at, " \t");
    snprintf(argument, argument_size, "%s", at);
    return true;
}

/* What /usr/bin/env starts: the first word that is neither an option nor an assignment. */
static bool find_behind_env(const char *interpreter, const char *argument, const char *search_path,
                            char path[PATH_MAX])
{
    char words[SCRIPT_LINE_MAX], *rest = NULL;
    if (strcmp(path_name(interpreter), "env") != 0)
        return false;
    snprintf(words, sizeof words, "%s", argument);
    for (char *word = strtok_r(words, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest)) {
        if (word[0] != '-' && !strchr(word, '='))
            return target_find(word, search_path, path) == 0;
    }
    return false;
}

void target_inspect(const char *path, const char *search_path, struct target *target)
{
    memset(target, 0, sizeof *target);
    target->kind = TARGET_UNKNOWN;
    snprintf(target->path, sizeof target->path, "%s", path);
    snprintf(target->binary, sizeof target->binary, "%s", path);

    for (int depth = 0; depth < SCRIPT_DEPTH_MAX; depth++) {
        char start[SCRIPT_LINE_MAX], interpreter[PATH_MAX], argument[256];
        int descriptor = open(target->binary, O_RDONLY | O_CLOEXEC);
        if (descriptor < 0)
            return;
        ssize_t length = pread(descriptor, start, sizeof start, 0);
        bool script = length > 2 && start[0] == '#' && start[1] == '!';
        if (length >= SELFMAG && memcmp(start, ELFMAG, SELFMAG) == 0)
            inspect_elf(descriptor, target);
        close(descriptor);
        if (!script || !parse_script(start, (size_t)length, interpreter, argument, sizeof argument))
            return;
        if (depth == 0) {
            memcpy(target->interpreter, interpreter, sizeof interpreter);
            memcpy(target->interpreter_argument, argument, sizeof argument);
        }
        if (!find_behind_env(interpreter, argument, search_path, target->binary))
            memcpy(target->binary, interpreter, sizeof interpreter);
    }
}
