/* SPDX-License-Identifier: BSD-3-Clause */
/* See replay.h. One thread, which takes the part of each of the recorded ones in turn. */
#include "recording/replay.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bursts/handler.h"
#include "large_table.h"
#include "output/output.h"
#include "output/say.h"
#include "process/process.h"
#include "process/settings.h"
#include "recording/tape_signal.h"
#include "watches/watch.h"

enum {
    ENVIRONMENT_MAX = 64, /* variables */
    RECORD_MAX = 1 << 16, /* bytes of one record of the profile */
};

static uint64_t signals;

/* ---- recording ---- */

/* REUSE_* of the environment, each with its terminating zero. */
static size_t gather_environment(char *text, size_t capacity)
{
    size_t used = 0;

    for (char **entry = environ; *entry; entry++) {
        size_t size = strlen(*entry) + 1;

        if (strncmp(*entry, "REUSE_", 6) == 0 && size <= capacity - used) {
            memcpy(text + used, *entry, size);
            used += size;
        }
    }
    return used;
}

bool replay_begin_recording(void)
{
    char path[OPTIONS_OUTPUT_MAX], text[2 * OPTIONS_OUTPUT_MAX];
    const char *pattern = settings.options.record_raw;

    return options_has_text(&settings.options, OPTION_RECORD_RAW) &&
           output_expand(pattern, "no recording: REUSE_RECORD_RAW: ", path) &&
           tape_record_to(path) &&
           tape_begin(TAPE_START, 0, text, gather_environment(text, sizeof text));
}

/* ---- replaying ---- */

static struct thread *find_thread(uint32_t id)
{
    for (struct thread *thread = thread_first(); thread; thread = thread->next)
        if (atomic_load(&thread->alive) && thread->id == id)
            return thread;
    return NULL;
}

static void write_record(unsigned type, const unsigned char *bytes, size_t size)
{
    if (size <= RECORD_MAX)
        output_append((enum record_type)type, bytes, size, NULL, 0);
}

/* The options of the recorded run, but for what says where this one's output goes. */
static void take_options(const struct tape_section *section)
{
    static LARGE_TABLE struct options recorded;
    const char *variables[ENVIRONMENT_MAX + 1], *text = (const char *)section->data;
    char message[OPTIONS_MESSAGE_MAX];
    struct options *options = &settings.options;
    size_t n = 0;

    for (size_t at = 0; at < section->size && n < ENVIRONMENT_MAX;) {
        const char *end = memchr(text + at, '\0', section->size - at);

        if (!end)
            break;
        variables[n++] = text + at;
        at = (size_t)(end - text) + 1;
    }
    variables[n] = NULL;
    options_parse(variables, &recorded, message, sizeof message);
    memcpy(recorded.output, options->output, sizeof recorded.output);
    recorded.quiet = options->quiet;
    recorded.verbose = options->verbose;
    *options = recorded;
    settings.sharing = options->sharing;
    settings.line_size = options->line_size;
}

/* What a section's data hold, but for a signal's: up to two numbers of 64 bits or of 32. */
struct numbers {
    uint64_t pair[2];
    uint32_t words[2];
};

static struct numbers numbers_of(const struct tape_section *section)
{
    struct numbers numbers = {0};
    size_t size = section->size < sizeof numbers.pair ? section->size : sizeof numbers.pair;

    memcpy(numbers.pair, section->data, size);
    memcpy(numbers.words, numbers.pair, sizeof numbers.words);
    return numbers;
}

static bool take_part(const struct tape_section *section, const struct numbers *numbers,
                      struct thread *thread)
{
    struct event_cookie cookie;
    ucontext_t *context;
    bool asynchronous;
    const uint32_t *words = numbers->words;

    switch (section->tag) {
    case TAPE_THREAD_END:
        if (words[0] != WATCH_THREAD_ENDED && words[0] != WATCH_PROCESS_ENDED)
            return false;
        thread_finish(thread, (enum watch_end)words[0]);
        return true;
    case TAPE_SIGNAL:
        signals++;
        if (!tape_signal_read(section, thread, &cookie, &asynchronous, &context))
            return false;
        handler_enter(cookie, asynchronous, context);
        return true;
    case TAPE_BLOCK_FREED:
        watch_block_freed(numbers->pair[0], numbers->pair[1]);
        return true;
    case TAPE_REGION:
        if (words[0])
            thread_region_begin(thread, words[1]);
        else
            thread_region_end(thread);
        return true;
    default:
        return false;
    }
}

static bool play(const struct tape_section *section)
{
    struct thread *thread = find_thread(section->thread);
    struct numbers numbers = numbers_of(section);

    thread_become(thread);
    switch (section->tag) {
    case TAPE_THREAD_BEGIN:
        thread_start(numbers.pair[0], numbers.pair[1]);
        return true;
    case TAPE_PAUSE:
        threads_pause(numbers.words[0]);
        return true;
    case TAPE_SHARED_OPEN:
        shared_watch_open();
        return true;
    default:
        return thread && take_part(section, &numbers, thread);
    }
}

static void instruction_missing(int signal)
{
    struct line line;

    (void)signal;
    line_begin(&line);
    line_text(&line, "replay ends at signal ");
    line_number(&line, signals);
    line_text(&line, ": the program used an instruction that this processor does not have");
    say_error(&line);
    _exit(1);
}

static int tell(const char *path)
{
    struct line line;

    line_begin(&line);
    if (tape_diverged() >= 0) {
        line_text(&line, "replay: this version goes another way than the recorded one, or the "
                         "recording is damaged, from byte ");
        line_number(&line, (uint64_t)tape_diverged());
        line_text(&line, " of ");
        line_text(&line, path);
        line_text(&line, " (signal ");
        line_number(&line, signals);
        line_text(&line, ")");
        say_error(&line);
        return 1;
    }
    line_text(&line, "replayed ");
    line_number(&line, signals);
    line_text(&line, " signals, ");
    line_number(&line, output_samples());
    if (output_samples()) {
        line_text(&line, " samples; look at them with: reuse-report ");
        line_text(&line, output_path());
    } else {
        line_text(&line, " samples: there is nothing to look at");
    }
    say(&line);
    return 0;
}

void replay_run(const char *name)
{
    char path[OPTIONS_OUTPUT_MAX]; /* for the options that it is one of are replaced */
    struct tape_section section;
    bool played = true;
    int status;

    snprintf(path, sizeof path, "%s", name);
    if (!tape_replay_from(path))
        _exit(1);
    signal(SIGILL, instruction_missing);
    if (!tape_next(&section, write_record) || section.tag != TAPE_START) {
        struct line line;

        line_begin(&line);
        line_text(&line, "no replay: there is nothing on ");
        line_text(&line, path);
        say_error(&line);
        _exit(1);
    }
    take_options(&section);
    process_begin_engine();
    tape_leave();
    if (!output_begin(&settings.options, true))
        _exit(1);
    while (played && tape_next(&section, write_record)) {
        played = play(&section);
        tape_leave();
    }
    status = tell(path);
    output_finish();
    _exit(status);
}
