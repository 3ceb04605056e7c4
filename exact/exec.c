/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * See exec.h. The guest's execve would have the kernel start the program natively. Instead QEMU's
 * own command line, which reuse-run made, is repeated for the new program.
 */
#include "config.h"

#include "exec.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest_memory.h"
#include "output_run.h"

enum { WORDS_MAX = 1 << 20 };

/* A list of strings that all belong to it. Of the calling thread's one exec. */
struct words {
    char **items;
    size_t count, capacity;
    bool failed;
};

static __thread struct words command, environment;
static __thread char qemu[PATH_MAX];

static void add(struct words *words, char *word)
{
    if (words->count + 1 >= words->capacity) {
        size_t capacity = words->capacity ? 2 * words->capacity : 64;
        char **items = realloc(words->items, capacity * sizeof *items);
        words->failed |= items == NULL;
        if (items != NULL) {
            words->items = items;
            words->capacity = capacity;
        }
    }
    if (word == NULL || words->failed) {
        words->failed = true;
        free(word);
        return;
    }
    words->items[words->count++] = word;
    words->items[words->count] = NULL;
}

static void clear(struct words *words)
{
    for (size_t i = 0; i < words->count; i++)
        free(words->items[i]);
    free(words->items);
    *words = (struct words){0};
}

/* A copy of a string of the guest; NULL when its address is bad. */
static char *guest_string(uint64_t address)
{
    enum { PAGE = 4096, LONGEST = 32 * PAGE }; /* the kernel's limit for one argument */
    char *text = NULL;
    for (size_t used = 0; used < LONGEST;) {
        size_t piece = PAGE - ((address + used) & (PAGE - 1));
        char *more = realloc(text, used + piece);
        if (more == NULL || !guest_memory_read(address + used, more + used, piece)) {
            free(more != NULL ? more : text);
            return NULL;
        }
        text = more;
        if (memchr(text + used, '\0', piece) != NULL)
            return text;
        used += piece;
    }
    free(text);
    return NULL;
}

/* Appends the strings of a guest's array of pointers, from index `first` on. */
static void add_guest_strings(struct words *words, uint64_t array, size_t first)
{
    for (size_t i = first; array != 0; i++) {
        uint64_t pointer;
        if (!guest_memory_read(array + i * sizeof pointer, &pointer, sizeof pointer) ||
            i > WORDS_MAX)
            words->failed = true;
        if (words->failed || pointer == 0)
            return;
        add(words, guest_string(pointer));
    }
}

/*
 * The words before the program: QEMU's options as they are now, but with the new image's LD_PRELOAD
 * (which in our own environment means the plugin), argument zero and generation.
 */
static void add_options(unsigned program_index, unsigned generation, const char *preload,
                        const char *argument_zero)
{
    char *word = NULL, *made;
    size_t size = 0;
    const char *option = "";
    FILE *now = fopen("/proc/self/cmdline", "re");
    for (unsigned i = 0; now != NULL && i < program_index && getdelim(&word, &size, '\0', now) > 0;
         i++) {
        bool is_value = *option != '\0';
        if (is_value && strcmp(option, "-0") == 0)
            add(&command, strdup(argument_zero));
        else if (is_value && (strcmp(option, "-E") == 0 || strcmp(option, "-U") == 0))
            add(&command, asprintf(&made, "LD_PRELOAD%s%s", preload != NULL ? "=" : "",
                                   preload != NULL ? preload : "") >= 0
                              ? made
                              : NULL);
        else if (is_value && strcmp(option, "-plugin") == 0) {
            char *old = strstr(word, ",generation=");
            if (old != NULL)
                *old = '\0';
            add(&command, asprintf(&made, "%s,generation=%u", word, generation) >= 0 ? made : NULL);
        } else if (strcmp(word, "-E") == 0 || strcmp(word, "-U") == 0)
            add(&command, strdup(preload != NULL ? "-E" : "-U"));
        else
            add(&command, strdup(word));
        option = !is_value && i > 0 && command.count > 0 ? command.items[command.count - 1] : "";
    }
    if (now != NULL)
        fclose(now);
    free(word);
    command.failed |= command.count != program_index;
}

/* The value of a variable in a list of NAME=VALUE, NULL when it is not there. */
static const char *value_of(const struct words *words, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < words->count; i++)
        if (strncmp(words->items[i], name, length) == 0 && words->items[i][length] == '=')
            return words->items[i] + length + 1;
    return NULL;
}

/* The guest's new environment, plus our variables where it has none, and the plugin as LD_PRELOAD.
 */
static void make_environment(void)
{
    extern char **environ;
    for (size_t i = 0; i < environment.count; i++)
        if (strncmp(environment.items[i], "LD_PRELOAD=", 11) == 0 ||
            strncmp(environment.items[i], "REUSE_OUTPUT=", 13) == 0) {
            free(environment.items[i]);
            environment.items[i--] = environment.items[--environment.count];
            environment.items[environment.count] = NULL;
        }
    for (char **entry = environ; *entry != NULL; entry++) {
        char name[64];
        size_t length = strcspn(*entry, "=");
        bool ours = strncmp(*entry, "REUSE_", 6) == 0 || strncmp(*entry, "LD_PRELOAD=", 11) == 0;
        if (!ours || length >= sizeof name)
            continue;
        memcpy(name, *entry, length);
        name[length] = '\0';
        if (value_of(&environment, name) == NULL)
            add(&environment, strdup(*entry));
    }
}

/* The words of a script's first line: interpreter and at most one argument. */
static void add_interpreter(char *line)
{
    line += 2 + strspn(line + 2, " \t");
    line[strcspn(line, "\n")] = '\0';
    char *argument = line + strcspn(line, " \t");
    if (*argument != '\0') {
        *argument++ = '\0';
        argument += strspn(argument, " \t");
        for (size_t end = strlen(argument); end > 0 && strchr(" \t", argument[end - 1]) != NULL;)
            argument[--end] = '\0';
    }
    add(&command, strdup(line));
    if (*argument != '\0')
        add(&command, strdup(argument));
}

enum program_kind { CANNOT_START, NATIVE_ONLY, ELF_PROGRAM, SCRIPT };

/* What a file is; the first bytes of a script go to line. */
static enum program_kind inspect(const char *path, char line[256], const char **why)
{
    struct stat status;
    if (access(path, X_OK) != 0 || stat(path, &status) != 0 || !S_ISREG(status.st_mode))
        return CANNOT_START;
    *why = "it is set to run as another user or group";
    if (status.st_mode & (S_ISUID | S_ISGID))
        return NATIVE_ONLY;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    Elf64_Ehdr header;
    memset(line, 0, 256);
    ssize_t length = descriptor >= 0 ? read(descriptor, line, 255) : -1;
    if (descriptor >= 0)
        close(descriptor);
    *why = "it cannot be read";
    if (length < 0)
        return NATIVE_ONLY;
    if (line[0] == '#' && line[1] == '!')
        return SCRIPT;
    if (length < (ssize_t)sizeof header || memcmp(line, ELFMAG, SELFMAG) != 0)
        return CANNOT_START;
    *why = "it is no 64-bit ELF program for this processor";
    memcpy(&header, line, sizeof header);
    Elf64_Ehdr own = {0};
    descriptor = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    bool known = descriptor >= 0 && read(descriptor, &own, sizeof own) == (ssize_t)sizeof own;
    if (descriptor >= 0)
        close(descriptor);
    return known && header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_machine == own.e_machine
               ? ELF_PROGRAM
               : NATIVE_ONLY;
}

/* LD_PRELOAD for the new program, at its head the library; NULL when there is none. */
static char *make_preload(const char *library)
{
    const char *given = value_of(&environment, "LD_PRELOAD");
    char *made = NULL;
    bool has_it = given != NULL && library[0] != '\0' && strstr(given, library) != NULL;
    if (library[0] == '\0' || has_it)
        return given != NULL ? strdup(given) : NULL;
    bool more = given != NULL && given[0] != '\0';
    if (asprintf(&made, "%s%s%s", library, more ? ":" : "", more ? given : "") < 0)
        environment.failed = true;
    return made;
}

bool exec_prepare(uint64_t path, uint64_t arguments, uint64_t new_environment,
                  unsigned program_index, unsigned generation, const char *guest_library,
                  char *reason, size_t reason_size)
{
    clear(&command);
    clear(&environment);
    reason[0] = '\0';
    char *program = guest_string(path), line[256];
    if (program == NULL)
        return false;
    bool itself = strcmp(program, "/proc/self/exe") == 0;
    const char *file = itself ? output_run_program() : program, *why = "";
    enum program_kind kind = inspect(file, line, &why);
    ssize_t length = readlink("/proc/self/exe", qemu, sizeof qemu - 1);
    if (kind == NATIVE_ONLY || (kind > NATIVE_ONLY && (program_index == 0 || length <= 0)))
        snprintf(reason, reason_size, "%s is started outside of QEMU and not analysed: %s", file,
                 kind == NATIVE_ONLY ? why : "QEMU was not started by reuse-run");
    if (kind <= NATIVE_ONLY || reason[0] != '\0') {
        free(program);
        return false;
    }
    qemu[length] = '\0';
    add_guest_strings(&environment, new_environment, 0);
    uint64_t first = 0;
    char *argument_zero = NULL;
    if (arguments != 0 && guest_memory_read(arguments, &first, sizeof first) && first != 0)
        argument_zero = guest_string(first);
    const char *zero = argument_zero != NULL ? argument_zero : file;
    if (kind == SCRIPT) {
        char *end = line + 2 + strspn(line + 2, " \t");
        zero = strndup(end, strcspn(end, " \t\n"));
    }
    char *preload = make_preload(guest_library);
    add_options(program_index, generation, preload, zero);
    if (kind == SCRIPT)
        add_interpreter(line);
    add(&command, strdup(file));
    if (first != 0)
        add_guest_strings(&command, arguments, 1);
    make_environment();
    if (kind == SCRIPT)
        free((char *)zero);
    free(preload);
    free(argument_zero);
    free(program);
    return !command.failed && !environment.failed;
}

void exec_carry_over(void)
{
    execve(qemu, command.items, environment.items);
}
