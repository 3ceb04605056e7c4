/* SPDX-License-Identifier: BSD-3-Clause */
/* See job_name.h. */
#include "launcher/job_name.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "job.h"

enum { ANCESTORS_MAX = 8, COMMAND_MAX = 4096 };

/* Reads a file of /proc about a process; the bytes read, terminated, or -1. */
static ssize_t read_about(pid_t pid, const char *what, char *text, size_t size)
{
    char path[64];
    ssize_t length;
    int file;

    snprintf(path, sizeof path, "/proc/%ld/%s", (long)pid, what);
    file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return -1;
    length = read(file, text, size - 1);
    close(file);
    if (length >= 0)
        text[length] = '\0';
    return length;
}

/* 0: not known. */
static pid_t parent_of(pid_t pid)
{
    char status[COMMAND_MAX];
    const char *found;
    long parent;

    if (read_about(pid, "status", status, sizeof status) <= 0)
        return 0;
    found = strstr(status, "\nPPid:");
    return found && sscanf(found, "\nPPid: %ld", &parent) == 1 ? (pid_t)parent : 0;
}

/* The word behind --control-port, in `command`, if this process is such a proxy; else NULL. */
static const char *control_socket(pid_t pid, char *command, size_t size)
{
    ssize_t length = read_about(pid, "cmdline", command, size);
    bool next = false;

    for (char *word = command; length > 0 && word < command + length; word += strlen(word) + 1) {
        if (next)
            return word;
        next = strcmp(word, "--control-port") == 0;
    }
    return NULL;
}

int job_name_prepare(struct environment *environment)
{
    char command[COMMAND_MAX];
    struct job job;
    pid_t pid = getppid();

    job_find((const char *const *)environment->entries, &job);
    if (job.rank[0] == '\0' || job.id[0] != '\0')
        return 0;
    for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
        const char *socket = control_socket(pid, command, sizeof command);

        if (socket)
            return environment_set(environment, "REUSE_JOB", socket);
        pid = parent_of(pid);
    }
    return 0;
}
