/* SPDX-License-Identifier: BSD-3-Clause */
/* See output_profile.h. */
#include "output_profile.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "output_file.h"
#include "output_run.h"
#include "say.h"

static const struct settings *settings;
static uint64_t start_ns; /* CLOCK_MONOTONIC */

/* Everything from here to the next blank line is under `lock`. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct profile_writer writer;
static unsigned char *buffer;
static char path[OPTIONS_OUTPUT_MAX];
static bool created, failed;
static bool forked; /* this process is a forked child */
static bool silent; /* a forked child that is not profiled */

uint64_t output_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Says once why there will be no profile. Under lock. */
static void give_up(const char *what, int error)
{
    if (!failed)
        say("%s %s: %s; no profile is written", what, path, strerror(error));
    failed = true;
}

/* Creates the file with everything that is known from the start. Under lock. */
static int create_file(void)
{
    char reason[OPTIONS_MESSAGE_MAX];
    if (!output_run_path(&settings->options, path, sizeof path, reason, sizeof reason)) {
        if (!failed)
            say("output pattern: %s; no profile is written", reason);
        failed = true;
        return -1;
    }
    if (buffer == NULL)
        buffer = malloc(PROFILE_WRITER_BUFFER);
    /* Who was in this process, or its parent, before may have written under that name. */
    bool first = !forked && settings->generation == 0;
    size_t length = strlen(path);
    int descriptor = -1;
    errno = ENOMEM;
    if (buffer != NULL)
        descriptor = output_file_create(path, first);
    for (unsigned i = 0; descriptor < 0 && errno == EEXIST && i < 1000; i++) {
        snprintf(path + length, sizeof path - length, i == 0 ? ".%d" : ".%d.%u", (int)getpid(), i);
        descriptor = output_file_create(path, false);
    }
    if (descriptor < 0) {
        give_up("cannot create", errno);
        return -1;
    }
    profile_writer_open(&writer, descriptor, buffer, UINT64_MAX);
    output_run_write(&writer, settings, start_ns);
    created = true;
    return descriptor;
}

/* Leaves with the lock taken, or without it and NULL. */
struct profile_writer *output_begin(void)
{
    pthread_mutex_lock(&lock);
    int descriptor = -1;
    if (!failed && !silent)
        descriptor =
            created ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY) : create_file();
    if (descriptor < 0) {
        if (!failed && !silent)
            give_up("cannot write to", errno);
        pthread_mutex_unlock(&lock);
        return NULL;
    }
    (void)profile_writer_set_descriptor(&writer, descriptor);
    return &writer;
}

void output_end(void)
{
    if (!profile_writer_flush(&writer, output_now_ns()))
        give_up("cannot write to", writer.error);
    close(writer.descriptor);
    pthread_mutex_unlock(&lock);
}

void output_append(enum record_type type, const void *fixed, size_t size, const char *text)
{
    profile_writer_append(&writer, type, fixed, size, text, text != NULL ? strlen(text) + 1 : 0,
                          output_now_ns());
}

void output_profile_start(const struct settings *given)
{
    settings = given;
    start_ns = output_now_ns();
}

void output_profile_after_fork(bool be_silent)
{
    pthread_mutex_init(&lock, NULL);
    created = false;
    failed = false;
    forked = true;
    silent = be_silent;
    start_ns = output_now_ns();
}

uint64_t output_start_ns(void)
{
    return start_ns;
}

const char *output_profile_path(void)
{
    return failed ? NULL : path;
}

bool output_profile_is_created(void)
{
    return created;
}

bool output_profile_is_of_child(void)
{
    return forked;
}
