/* SPDX-License-Identifier: BSD-3-Clause */
/* What lies on the disk: qemu-user, debug information of the C library and of a program. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "doctor/debug_info.h"
#include "doctor/perf.h"
#include "doctor/probe.h"
#include "launcher/target.h"

#if defined(__x86_64__)
#define QEMU_NAME "qemu-x86_64"
#else
#define QEMU_NAME "qemu-aarch64"
#endif

static bool is_debian(void)
{
    return access("/etc/debian_version", F_OK) == 0;
}

/* First line that a program prints on its standard output. */
static bool read_first_line(char *const *arguments, char *line, size_t size)
{
    int ends[2], status;
    pid_t child;
    posix_spawn_file_actions_t actions;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int error = posix_spawnp(&child, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    ssize_t length = error ? -1 : read(ends[0], line, size - 1);
    close(ends[0]);
    if (error)
        return false;
    waitpid(child, &status, 0);
    if (length <= 0)
        return false;
    line[length] = '\0';
    line[strcspn(line, "\n")] = '\0';
    return true;
}

void probe_qemu(struct finding *finding)
{
    /* The first with the plugin interface as the exact engine uses it. */
    enum { VERSION_NEEDED = 7 };
    char path[PATH_MAX], line[128] = "";

    finding_tried(finding, "running %s --version", QEMU_NAME);
    if (target_find(QEMU_NAME, getenv("PATH"), path) != 0) {
        finding_result(finding, FINDING_MISSING, "%s is not in PATH", QEMU_NAME);
        finding_meaning(finding, "the engines exact and simulate need it");
        finding_remedy(finding, "%s",
                       is_debian() ? "sudo apt-get install qemu-user"
                                   : "install your distribution's qemu-user");
        return;
    }
    static const char prefix[] = QEMU_NAME " version ";
    if (!read_first_line((char *[]){path, (char *)"--version", NULL}, line, sizeof line) ||
        strncmp(line, prefix, strlen(prefix)) != 0) {
        finding_result(finding, FINDING_MISSING, "%s does not run", path);
        finding_meaning(finding, "the engines exact and simulate need it");
        return;
    }
    long major = strtol(line + strlen(prefix), NULL, 10);
    finding_result(finding, major >= VERSION_NEEDED ? FINDING_WORKS : FINDING_MISSING, "%s: %s",
                   path, line);
    finding_meaning(finding, major >= VERSION_NEEDED
                                 ? "the engines exact and simulate have what they need"
                                 : "too old for the engines exact and simulate, which need 7");
    if (major < VERSION_NEEDED)
        finding_remedy(finding, "install qemu-user 7 or newer");
}

void probe_libc(struct finding *finding)
{
    Dl_info origin;
    struct debug_info information;

    finding_tried(finding, "looking for DWARF in the C library and below /usr/lib/debug");
    if (!dladdr((void *)(uintptr_t)&fopen, &origin) || !origin.dli_fname) {
        finding_result(finding, FINDING_INFORMATION, "the C library was not found");
        return;
    }
    debug_info_read(origin.dli_fname, &information);
    if (information.dwarf || information.separate[0]) {
        finding_result(finding, FINDING_WORKS, "%s: %s", origin.dli_fname,
                       information.dwarf ? "in the file" : information.separate);
        finding_meaning(finding, "source lines inside the C library are named");
        return;
    }
    finding_result(finding, FINDING_LIMITED, "%s: none", origin.dli_fname);
    finding_meaning(finding, "accesses inside the C library are named by function only");
    finding_remedy(finding, "%s",
                   is_debian() ? "sudo apt-get install libc6-dbg" : "sudo debuginfo-install glibc");
}

/* The Debian package that a file came with. */
static bool find_package(const char *path, char *package, size_t size)
{
    char pattern[2 * PATH_MAX];
    /* dpkg may know /usr/bin/x as /bin/x, from before the two were merged. */
    const char *tail = strncmp(path, "/usr/", 5) == 0 ? path + 4 : path;
    if (!is_debian() || strncmp(path, "/usr/local/", 11) == 0)
        return false;
    snprintf(pattern, sizeof pattern, "*%s", tail);
    if (!read_first_line((char *[]){(char *)"dpkg-query", (char *)"-S", pattern, NULL}, package,
                         size))
        return false;
    package[strcspn(package, ":, ")] = '\0';
    return package[0] != '\0';
}

/* `role` follows the path in texts: empty, or that a script runs it. */
static void judge_debug_info(struct finding *finding, const char *path, const char *role)
{
    struct debug_info information;
    debug_info_read(path, &information);
    if (information.dwarf || information.separate[0]) {
        finding_result(finding, FINDING_WORKS,
                       "%s%s is dynamically linked, debug information is in %s", path, role,
                       information.dwarf ? "the file" : information.separate);
        finding_meaning(finding, "it can be profiled; lines and variables will be named");
        return;
    }
    finding_result(finding, FINDING_LIMITED, "%s%s is dynamically linked, and %s", path, role,
                   !information.readable ? "cannot be read, so that nothing in it can be named"
                   : information.symbols ? "has symbols, but no debug information"
                                         : "is stripped of debug information and symbols");
    finding_meaning(finding, "it can be profiled; results are by %s only, not by line or variable",
                    information.symbols ? "function" : "address and exported function");
    char package[128];
    if (find_package(path, package, sizeof package))
        finding_remedy(finding, "sudo apt-get install %s-dbgsym (from the archive debian-debug)",
                       package);
    else
        finding_remedy(finding, "compile it with -g (optimisation can stay), do not strip it");
}

void probe_program(struct finding *finding, const char *name)
{
    static struct target target;
    char path[PATH_MAX];
    const char *search_path = getenv("PATH");

    finding_tried(finding, "finding %s and reading its ELF headers, rights and sections", name);
    int error = target_find(name, search_path, path);
    if (error) {
        finding_result(finding, FINDING_MISSING, "%s: %s", name, strerror(error));
        finding_meaning(finding, "it cannot be started");
        return;
    }
    target_inspect(path, search_path, &target);
    const char *script = strcmp(target.path, target.binary) != 0 ? " (which runs the script)" : "";
    switch (target.kind) {
    case TARGET_DYNAMIC:
        judge_debug_info(finding, target.binary, script);
        return;
    case TARGET_DAMAGED:
        finding_result(finding, FINDING_MISSING, "%s%s is a damaged ELF file", target.binary,
                       script);
        finding_meaning(finding, "it cannot be started");
        return;
    case TARGET_UNKNOWN:
        finding_result(finding, FINDING_INFORMATION, "%s%s is neither ELF nor a script with #!",
                       target.binary, script);
        finding_meaning(finding, "the shell or the kernel will decide what runs it; that can be "
                                 "profiled if it is dynamically linked");
        return;
    case TARGET_STATIC:
    case TARGET_PRIVILEGED:
    case TARGET_OTHER_MACHINE:
    case TARGET_OTHER_LOADER:
        finding_result(finding, FINDING_MISSING, "%s%s %s", target.binary, script, target.reason);
        finding_meaning(finding, "reuse-run starts it, but unprofiled");
        finding_remedy(finding, "%s", target.remedy);
        return;
    }
}
