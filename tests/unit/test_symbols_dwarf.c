/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names of code and data against addr2line, llvm-symbolizer and nm, on programs that are compiled
 * here in the ways that people compile theirs. addr2line of binutils 2.40 gives the wrong file to
 * DWARF 5 line sequences that begin in file 1 (it says file 0), and the caller's name to inlined
 * functions without a linkage name, so those programs are compared with llvm-symbolizer.
 */
#define _GNU_SOURCE /* asprintf */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/compiled_module.h"

static char directory[] = "/tmp/reuse-symbols-XXXXXX";

static const char c_source[] = "#include <stdio.h>\n"
                               "int table[100] = {1};\n"
                               "static double hidden[7];\n"
                               "static inline int square(int x)\n"
                               "{\n"
                               "    return x * x;\n"
                               "}\n"
                               "static inline int twice(int x)\n"
                               "{\n"
                               "    hidden[x & 3] += x;\n"
                               "    return square(x) + square(x + 1);\n"
                               "}\n"
                               "__attribute__((noinline)) int count(int n)\n"
                               "{\n"
                               "    static int calls;\n"
                               "    calls += n;\n"
                               "    for (int i = 0; i < n; i++)\n"
                               "        table[i % 100] += twice(table[(i * 7) % 100]);\n"
                               "    return calls;\n"
                               "}\n"
                               "int main(int argc, char **argv)\n"
                               "{\n"
                               "    (void)argv;\n"
                               "    puts(\"x\");\n"
                               "    return count(argc) + table[argc] + (int)hidden[argc];\n"
                               "}\n";

static const char cpp_source[] =
    "#include <algorithm>\n"
    "#include <numeric>\n"
    "#include <vector>\n"
    "namespace space {\n"
    "int table[100];\n"
    "static double hidden[7];\n"
    "struct S { static int shared; int v; int get() const { return v; } };\n"
    "int S::shared = 3;\n"
    "}\n"
    "template <class T> T add(T a, T b) { return a + b; }\n"
    "int main(int argc, char **)\n"
    "{\n"
    "    std::vector<int> v(argc * 100);\n"
    "    std::iota(v.begin(), v.end(), 1);\n"
    "    std::sort(v.begin(), v.end(), [](int a, int b) { return a > b; });\n"
    "    auto late = [&](int x) { static int calls; return calls += x + v[0]; };\n"
    "    space::table[argc] = add(v[0], late(argc));\n"
    "    space::hidden[argc] = space::table[argc];\n"
    "    space::S s{argc};\n"
    "    return (int)space::hidden[1] + s.get() + space::S::shared;\n"
    "}\n";

/* One frame as a symboliser prints it. */
struct printed_frame {
    char function[512], file[512];
    unsigned line;
};

enum { FRAMES_MAX = 64 };

struct oracle {
    FILE *stream;
    char next[1024]; /* line read ahead: an address */
};

static bool next_line(struct oracle *oracle, char *line, size_t size)
{
    do {
        if (fgets(line, (int)size, oracle->stream) == NULL)
            return false;
        line[strcspn(line, "\n")] = '\0';
    } while (*line == '\0');
    return true;
}

static void parse_place(const char *text, struct printed_frame *frame)
{
    const char *colon;
    char *copy = strdup(text), *extra = strstr(copy, " (discriminator");

    if (extra != NULL)
        *extra = '\0';
    colon = strrchr(copy, ':');
    assert_non_null(colon);
    snprintf(frame->file, sizeof(frame->file), "%.*s", (int)(colon - copy), copy);
    frame->line = (unsigned)strtoul(colon + 1, NULL, 10);
    free(copy);
}

/* The frames of the next address; the number of frames, or -1 at the end. */
static int next_answer(struct oracle *oracle, uint64_t *address, struct printed_frame *frames)
{
    int count = 0;
    char line[1024];

    if (*oracle->next == '\0' && !next_line(oracle, oracle->next, sizeof(oracle->next)))
        return -1;
    *address = strtoull(oracle->next, NULL, 16);
    *oracle->next = '\0';
    while (next_line(oracle, line, sizeof(line))) {
        if (strncmp(line, "0x", 2) == 0) {
            strcpy(oracle->next, line);
            break;
        }
        assert_true(count < FRAMES_MAX);
        snprintf(frames[count].function, sizeof(frames[count].function), "%.511s", line);
        assert_true(next_line(oracle, line, sizeof(line)));
        parse_place(line, &frames[count++]);
    }
    return count;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

/*
 * The other's name holds ours, up to template arguments (which gcc and the symbolisers write in
 * different ways).
 */
static void check_function(const char *ours, const char *theirs)
{
    char *name;

    /* The second: a name that they could not read. */
    if (strcmp(theirs, "??") == 0 || strncmp(theirs, "_Z", 2) == 0)
        return;
    assert_non_null(ours);
    assert_true(asprintf(&name, "%.*s", (int)strcspn(ours, "<("), ours) >= 0);
    if (strstr(theirs, name) == NULL)
        fail_msg("function '%s' is '%s' elsewhere", ours, theirs);
    free(name);
}

/* Every instruction of the program: same chain of functions, files and lines. */
static void compare_with(const char *symboliser, const char *program)
{
    struct printed_frame frames[FRAMES_MAX];
    struct oracle oracle = {.next = ""};
    struct opened_module opened = {0};
    char *command, *path;
    uint64_t address;
    size_t compared = 0, inlined = 0;
    int count;

    /* Padding between functions belongs to none, and each symboliser guesses differently. */
    assert_true(run_command("objdump -d --no-show-raw-insn %s | "
                            "awk '/^ *[0-9a-f]+:\\t/ && !/nop|data16|xchg +%%ax,%%ax/ "
                            "{ sub(\":\", \"\", $1); print \"0x\" $1 }' > addresses",
                            program));
    assert_true(asprintf(&command, "%s %s < addresses", symboliser, program) > 0);
    assert_true(asprintf(&path, "%s/%s", directory, program) > 0);
    oracle.stream = popen(command, "r");
    assert_non_null(oracle.stream);
    opened_module_open(&opened, path, (const uint8_t *)"", 0);
    assert_int_equal(symbol_module_state(opened.module), MODULE_DEBUG);
    while ((count = next_answer(&oracle, &address, frames)) >= 0) {
        source_frames ours = {0};

        /* Start-up code and stubs have no line; names are guesses. */
        if (frames[count - 1].line == 0)
            continue;
        symbol_module_frames(opened.module, address, &ours);
        if (ours.count != (size_t)count)
            fail_msg("%s 0x%lx: %zu frames, %s has %d", program, (unsigned long)address, ours.count,
                     symboliser, count);
        for (int i = 0; i < count; i++) {
            const char *file = ours.items[i].file != NULL ? ours.items[i].file : "??";

            /* Code without a line: the nearest one of the function is ours. */
            if (frames[i].line != 0 && (strcmp(base_name(file), base_name(frames[i].file)) != 0 ||
                                        ours.items[i].line != frames[i].line))
                fail_msg("%s 0x%lx frame %d: %s:%u, %s has %s:%u", program, (unsigned long)address,
                         i, file, ours.items[i].line, symboliser, frames[i].file, frames[i].line);
            check_function(ours.items[i].function, frames[i].function);
        }
        compared++;
        inlined += count > 1;
        free(ours.items);
    }
    assert_true(compared > 30);
    if (strstr(program, "O2") != NULL)
        assert_true(inlined > 0);
    opened_module_close(&opened);
    pclose(oracle.stream);
    free(path);
    free(command);
}

static const char addr2line[] = "addr2line -C -f -i -a -e";
static const char llvm_symbolizer[] = "llvm-symbolizer -a -f -i --output-style=GNU -e";

static void test_dwarf_4_like_addr2line(void **state)
{
    (void)state;
    assert_true(run_command("gcc -g -gdwarf-4 -O0 -o c4O0 test.c"));
    compare_with(addr2line, "c4O0");
    assert_true(run_command("gcc -g -gdwarf-4 -O2 -o c4O2 test.c"));
    compare_with(addr2line, "c4O2");
    assert_true(run_command("g++ -g -gdwarf-4 -O0 -o cpp4O0 test.cc"));
    compare_with(addr2line, "cpp4O0");
}

static void test_gcc_like_llvm_symbolizer(void **state)
{
    (void)state;
    if (!have_command("llvm-symbolizer"))
        skip();
    assert_true(run_command("g++ -g -gdwarf-4 -O2 -o cpp4O2 test.cc"));
    compare_with(llvm_symbolizer, "cpp4O2");
    assert_true(run_command("gcc -g -gdwarf-5 -O2 -o c5O2 test.c"));
    compare_with(llvm_symbolizer, "c5O2");
    assert_true(run_command("g++ -g -gdwarf-5 -O0 -o cpp5O0 test.cc"));
    compare_with(llvm_symbolizer, "cpp5O0");
    assert_true(run_command("g++ -g -gdwarf-5 -O2 -o cpp5O2 test.cc"));
    compare_with(llvm_symbolizer, "cpp5O2");
    assert_true(run_command("g++ -g -gdwarf-5 -gz -O2 -o zlib5O2 test.cc"));
    compare_with(llvm_symbolizer, "zlib5O2");
}

static void test_clang_like_llvm_symbolizer(void **state)
{
    (void)state;
    if (!have_command("clang++") || !have_command("llvm-symbolizer"))
        skip();
    assert_true(run_command("clang++ -g -gdwarf-5 -O0 -o clang5O0 test.cc"));
    compare_with(llvm_symbolizer, "clang5O0");
    assert_true(run_command("clang++ -g -gdwarf-5 -O2 -o clang5O2 test.cc"));
    compare_with(llvm_symbolizer, "clang5O2");
    assert_true(run_command("clang++ -g -gdwarf-4 -O2 -o clang4O2 test.cc"));
    compare_with(llvm_symbolizer, "clang4O2");
}

static void expect_frame(struct opened_module *opened, uint64_t address, const char *function,
                         const char *file)
{
    source_frames frames = {0};

    symbol_module_frames(opened->module, address, &frames);
    assert_true(frames.count > 0);
    assert_non_null(frames.items[0].function);
    assert_string_equal(frames.items[0].function, function);
    if (file == NULL)
        assert_null(frames.items[0].file);
    else
        assert_string_equal(base_name(frames.items[0].file), file);
    free(frames.items);
}

static uint64_t symbol_of(const char *nm, const char *program, const char *name, uint64_t *size);

/* An instruction that the compiler gives line 0 to, as it does to code that it moves. */
static void test_code_without_a_line(void **state)
{
    struct opened_module opened = {0};
    source_frames frames = {0};
    char *path;

    (void)state;
    write_source("lineless.c",
                 "int count(int x)\n"
                 "{\n"
                 "    x *= 3;\n"
                 "    __asm__ volatile(\".loc 1 0\\n\"\n"
                 "                     \"lineless: nop\\n.size lineless, 1\" : \"+r\"(x));\n"
                 "    return x + 1;\n"
                 "}\n"
                 "int main(int argc, char **argv)\n"
                 "{\n"
                 "    (void)argv;\n"
                 "    return count(argc);\n"
                 "}\n");
    assert_true(run_command("gcc -g -O0 -o lineless lineless.c"));
    assert_true(asprintf(&path, "%s/lineless", directory) > 0);
    opened_module_open(&opened, path, (const uint8_t *)"", 0);
    symbol_module_frames(opened.module, symbol_of("nm", "lineless", "lineless", NULL), &frames);
    assert_int_equal(frames.count, 1);
    assert_string_equal(frames.items[0].function, "count");
    assert_in_range(frames.items[0].line, 3, 6);
    free(frames.items);
    opened_module_close(&opened);
    free(path);
}

/* Address and size of a symbol as nm prints them. */
static uint64_t symbol_of(const char *nm, const char *program, const char *name, uint64_t *size)
{
    unsigned long address = 0, bytes = 0;
    char *command, line[1024], symbol[512], type;
    FILE *stream;

    assert_true(asprintf(&command, "%s -S %s", nm, program) > 0);
    stream = popen(command, "r");
    assert_non_null(stream);
    while (fgets(line, sizeof(line), stream) != NULL) {
        unsigned long a, s;

        if (sscanf(line, "%lx %lx %c %511s", &a, &s, &type, symbol) == 4 &&
            strcmp(symbol, name) == 0) {
            address = a;
            bytes = s;
        }
    }
    pclose(stream);
    free(command);
    assert_true(address != 0);
    if (size != NULL)
        *size = bytes;
    return address;
}

static void expect_variable(struct opened_module *opened, const char *program, const char *symbol,
                            const char *name, const char *file, unsigned line)
{
    uint64_t size, address = symbol_of("nm", program, symbol, &size);
    /* The first byte, one inside, and the last one, as samples would hit them. */
    uint64_t addresses[] = {address, address + size / 2, address + size - 1};
    struct data_symbol found[3];

    symbol_module_variables(opened->module, addresses, 3, found);
    for (size_t i = 0; i < 3; i++) {
        assert_non_null(found[i].name);
        assert_string_equal(found[i].name, name);
        assert_int_equal(found[i].address, address);
        assert_int_equal(found[i].size, size);
        assert_non_null(found[i].file);
        assert_string_equal(base_name(found[i].file), file);
        assert_int_equal(found[i].line, line);
    }
}

static void check_c_variables(const char *compiler, const char *program)
{
    struct opened_module opened = {0};
    char *path, *calls;

    assert_true(run_command("%s -o %s test.c", compiler, program));
    assert_true(asprintf(&path, "%s/%s", directory, program) > 0);
    opened_module_open(&opened, path, (const uint8_t *)"", 0);
    expect_variable(&opened, program, "table", "table", "test.c", 2);
    expect_variable(&opened, program, "hidden", "hidden", "test.c", 3);
    /* Compilers number static locals (gcc) or put the function before them (clang). */
    assert_true(run_command("nm %s | awk '$3 ~ /calls/ { print $3 }' > name", program));
    calls = calloc(1, 256);
    FILE *stream = fopen("name", "r");
    assert_non_null(stream);
    assert_int_equal(fscanf(stream, "%255s", calls), 1);
    fclose(stream);
    expect_variable(&opened, program, calls, "calls", "test.c", 15);
    free(calls);
    opened_module_close(&opened);
    free(path);
}

static void test_variables_like_nm(void **state)
{
    (void)state;
    check_c_variables("gcc -g -gdwarf-4 -O0", "v4");
    check_c_variables("gcc -g -gdwarf-5 -O2", "v5");
    check_c_variables("gcc -g -gdwarf-5 -gz -O2", "v5z");
    if (have_command("clang"))
        check_c_variables("clang -g -gdwarf-5 -O0", "vclang");
}

static void check_cpp_variables(const char *compiler, const char *program)
{
    struct opened_module opened = {0};
    char *path;

    assert_true(run_command("%s -o %s test.cc", compiler, program));
    assert_true(asprintf(&path, "%s/%s", directory, program) > 0);
    opened_module_open(&opened, path, (const uint8_t *)"", 0);
    expect_variable(&opened, program, "_ZN5space5tableE", "space::table", "test.cc", 5);
    expect_variable(&opened, program, "_ZN5spaceL6hiddenE", "space::hidden", "test.cc", 6);
    opened_module_close(&opened);
    free(path);
}

static void test_cpp_variables_are_demangled(void **state)
{
    (void)state;
    check_cpp_variables("g++ -g -gdwarf-5 -O1", "vcpp5");
    check_cpp_variables("g++ -g -gdwarf-4 -O1", "vcpp4");
    if (have_command("clang++"))
        check_cpp_variables("clang++ -g -O1", "vcppclang");
}

static size_t build_id_of(const char *program, uint8_t *bytes)
{
    size_t size = 0;
    unsigned byte;
    FILE *stream;
    char *command;

    assert_true(asprintf(&command, "readelf -n %s | sed -n 's/.*Build ID: //p'", program) > 0);
    stream = popen(command, "r");
    assert_non_null(stream);
    while (size < BUILD_ID_MAX && fscanf(stream, "%2x", &byte) == 1)
        bytes[size++] = (uint8_t)byte;
    pclose(stream);
    free(command);
    assert_true(size == BUILD_ID_MAX);
    return size;
}

static void make_library(const char *name)
{
    assert_true(run_command("gcc -g -O1 -fPIC -shared -Wl,--build-id=sha1 -o %s test.c", name));
}

static void test_stripped_library_has_dynamic_symbols(void **state)
{
    struct opened_module opened = {0};
    char *path;
    uint64_t address;

    (void)state;
    make_library("libstripped.so");
    address = symbol_of("nm", "libstripped.so", "count", NULL);
    assert_true(run_command("strip libstripped.so"));
    assert_true(asprintf(&path, "%s/libstripped.so", directory) > 0);
    opened_module_open(&opened, path, (const uint8_t *)"", 0);
    assert_int_equal(symbol_module_state(opened.module), MODULE_STRIPPED);
    expect_frame(&opened, address + 4, "count", NULL);
    opened_module_close(&opened);
    free(path);
}

/* As assembler code has it: symbols without sizes, few of which are exported. */
static const char labels_source[] =
    "__asm__(\".text\\n.balign 16\\n.globl ahead\\n.type ahead, %function\\nahead: .skip 64\\n\"\n"
    "        \".size ahead, 64\\n.globl exported\\nexported: .skip 64\\n\"\n"
    "        \"pointed: .skip 64\\nloaded: .skip 64\\ncalled: .skip 64\\n\"\n"
    "        \".globl described\\ndescribed: .cfi_startproc\\n.skip 64\\n\"\n"
    "        \".globl inside\\ninside: .skip 64\\n.cfi_endproc\\nbehind: .skip 64\\n\");\n"
    "extern char pointed[], loaded[] __attribute__((visibility(\"hidden\")));\n"
    "void called(void) __attribute__((visibility(\"hidden\")));\n"
    "char *volatile table[] = {pointed};\n"
    "int count(char **p) { *p = loaded; called(); return 1; }\n";

static void expect_start(struct opened_module *opened, uint64_t address, uint64_t expected)
{
    source_frames frames = {0};
    uint64_t start = 0;

    symbol_module_frames(opened->module, address, &frames);
    assert_int_equal(frames.count, 1);
    assert_null(frames.items[0].function);
    assert_true(symbol_module_function_start(opened->module, address, &start));
    assert_int_equal(start, expected);
    free(frames.items);
}

static void test_symbols_without_size_name_their_own_code(void **state)
{
    static const char program[] = "liblabels.so";
    struct opened_module opened = {0};
    uint64_t exported, start;
    source_frames frames = {0};
    char *path;

    (void)state;
    write_source("labels.c", labels_source);
    assert_true(run_command("gcc -O1 -fPIC -shared -o %s labels.c", program));
    exported = symbol_of("nm", program, "ahead", NULL) + 64;
    assert_true(asprintf(&path, "%s/%s", directory, program) > 0);
    opened_module_open(&opened, path, (const uint8_t *)"", 0);
    expect_frame(&opened, exported + 60, "exported", NULL);
    expect_frame(&opened, exported + 64 + 60, "pointed", NULL);
    expect_frame(&opened, exported + 3 * 64 + 60, "called", NULL);
    expect_frame(&opened, exported + 5 * 64 + 60, "described", NULL);
    expect_frame(&opened, exported + 6 * 64 + 60, "behind", NULL);
    opened_module_close(&opened);

    memset(&opened, 0, sizeof(opened));
    assert_true(run_command("strip %s", program));
    opened_module_open(&opened, path, (const uint8_t *)"", 0);
    expect_frame(&opened, exported, "exported", NULL);
    expect_frame(&opened, exported + 60, "exported", NULL);
    for (uint64_t i = 1; i <= 3; i++) {
        expect_start(&opened, exported + i * 64, exported + i * 64);
        expect_start(&opened, exported + i * 64 + 60, exported + i * 64);
    }
    expect_frame(&opened, exported + 4 * 64, "described", NULL);
    expect_frame(&opened, exported + 5 * 64 + 60, "described", NULL);
    /* Nothing says where it begins, but it is no part of what is described. */
    symbol_module_frames(opened.module, exported + 6 * 64 + 60, &frames);
    assert_null(frames.items[0].function);
    assert_false(symbol_module_function_start(opened.module, exported + 6 * 64 + 60, &start));
    free(frames.items);
    opened_module_close(&opened);
    free(path);
}

static void test_symbol_table_without_debug_information(void **state)
{
    struct opened_module opened = {0};
    char *path;
    uint64_t address;

    (void)state;
    assert_true(run_command("gcc -O1 -o nodebug test.c"));
    address = symbol_of("nm", "nodebug", "count", NULL);
    assert_true(asprintf(&path, "%s/nodebug", directory) > 0);
    opened_module_open(&opened, path, (const uint8_t *)"", 0);
    assert_int_equal(symbol_module_state(opened.module), MODULE_SYMBOLS);
    expect_frame(&opened, address + 4, "count", NULL);
    opened_module_close(&opened);
    free(path);
}

static void test_debug_file_by_build_id(void **state)
{
    const char *directories[1];
    struct opened_module opened = {0};
    uint8_t build_id[BUILD_ID_MAX];
    char *path, *debug;
    uint64_t address;
    size_t size;

    (void)state;
    make_library("libseparate.so");
    address = symbol_of("nm", "libseparate.so", "count", NULL);
    size = build_id_of("libseparate.so", build_id);
    assert_true(
        run_command("id=$(readelf -n libseparate.so | sed -n 's/.*Build ID: //p'); "
                    "d=debug/.build-id/$(echo $id | cut -c1-2); mkdir -p $d && "
                    "objcopy --only-keep-debug libseparate.so $d/$(echo $id | cut -c3-).debug && "
                    "strip libseparate.so"));
    assert_true(asprintf(&path, "%s/libseparate.so", directory) > 0);
    assert_true(asprintf(&debug, "%s/debug", directory) > 0);
    directories[0] = debug;
    opened.search = (struct file_search){
        .sysroot = "", .debug_directories = directories, .debug_directory_count = 1};
    opened_module_open(&opened, path, build_id, size);
    assert_int_equal(symbol_module_state(opened.module), MODULE_DEBUG);
    expect_frame(&opened, address + 4, "count", "test.c");
    expect_variable(&opened, "debug/.build-id/*/*.debug", "table", "table", "test.c", 2);
    opened_module_close(&opened);

    /* The debug file alone is enough when the module itself is gone. */
    assert_int_equal(unlink("libseparate.so"), 0);
    opened.search = (struct file_search){
        .sysroot = "", .debug_directories = directories, .debug_directory_count = 1};
    opened_module_open(&opened, path, build_id, size);
    assert_int_equal(symbol_module_state(opened.module), MODULE_DEBUG);
    expect_frame(&opened, address + 4, "count", "test.c");
    opened_module_close(&opened);
    free(debug);
    free(path);
}

static void check_debug_link(const char *linker_option, const char *place)
{
    struct opened_module opened = {0};
    char *path;
    uint64_t address;

    assert_true(run_command("mkdir -p %s && gcc -g -O1 -fPIC -shared %s -o liblinked.so test.c",
                            place, linker_option));
    address = symbol_of("nm", "liblinked.so", "count", NULL);
    assert_true(run_command("objcopy --only-keep-debug liblinked.so %s/liblinked.debug && "
                            "strip liblinked.so && "
                            "objcopy --add-gnu-debuglink=%s/liblinked.debug liblinked.so",
                            place, place));
    assert_true(asprintf(&path, "%s/liblinked.so", directory) > 0);
    opened_module_open(&opened, path, (const uint8_t *)"", 0);
    assert_int_equal(symbol_module_state(opened.module), MODULE_DEBUG);
    expect_frame(&opened, address + 4, "count", "test.c");
    opened_module_close(&opened);

    /* A debug file of another build is not taken, by build-id or by checksum. */
    assert_true(run_command("gcc -g -O2 -fPIC -shared %s -o other.so test.c && "
                            "objcopy --only-keep-debug other.so %s/liblinked.debug",
                            linker_option, place));
    opened_module_open(&opened, path, (const uint8_t *)"", 0);
    assert_int_equal(symbol_module_state(opened.module), MODULE_STRIPPED);
    opened_module_close(&opened);
    assert_true(run_command("rm %s/liblinked.debug", place));
    free(path);
}

static void test_debug_file_by_link(void **state)
{
    (void)state;
    check_debug_link("-Wl,--build-id=sha1", ".");
    check_debug_link("-Wl,--build-id=sha1", ".debug");
    check_debug_link("-Wl,--build-id=none", ".");
}

static void test_sysroot_is_a_prefix(void **state)
{
    struct opened_module opened = {0};
    uint64_t address;
    char *root;

    (void)state;
    make_library("libhere.so");
    address = symbol_of("nm", "libhere.so", "count", NULL);
    assert_true(run_command("mkdir -p root/usr/lib && mv libhere.so root/usr/lib"));
    assert_true(asprintf(&root, "%s/root", directory) > 0);
    opened.search = (struct file_search){.sysroot = root};
    opened_module_open(&opened, "/usr/lib/libhere.so", (const uint8_t *)"", 0);
    assert_int_equal(symbol_module_state(opened.module), MODULE_DEBUG);
    expect_frame(&opened, address + 4, "count", "test.c");
    opened_module_close(&opened);
    free(root);
}

static void test_other_builds_and_missing_files_are_not_used(void **state)
{
    static const uint8_t other[BUILD_ID_MAX] = {1, 2, 3};
    struct opened_module opened = {0};
    source_frames frames = {0};
    char *path;

    (void)state;
    make_library("libother.so");
    assert_true(asprintf(&path, "%s/libother.so", directory) > 0);
    opened_module_open(&opened, path, other, sizeof(other));
    assert_int_equal(symbol_module_state(opened.module), MODULE_WRONG_BUILD_ID);
    symbol_module_frames(opened.module, 0x1119, &frames);
    assert_int_equal(frames.count, 1);
    assert_null(frames.items[0].function);
    opened_module_close(&opened);
    opened_module_open(&opened, "/nonexistent/lib.so", other, sizeof(other));
    assert_int_equal(symbol_module_state(opened.module), MODULE_MISSING);
    opened_module_close(&opened);
    opened_module_open(&opened, "[vdso]", (const uint8_t *)"", 0);
    assert_int_equal(symbol_module_state(opened.module), MODULE_VIRTUAL);
    opened_module_close(&opened);
    free(frames.items);
    free(path);
}

static void test_stubs_have_names(void **state)
{
    struct opened_module opened = {0};
    unsigned long address = 0;
    FILE *stream;
    char *path;

    (void)state;
    assert_true(run_command("gcc -g -O1 -o stubs test.c"));
    stream = popen("objdump -d stubs | sed -n 's/^0*\\([0-9a-f]*\\) <puts@plt>:/\\1/p'", "r");
    assert_non_null(stream);
    assert_int_equal(fscanf(stream, "%lx", &address), 1);
    pclose(stream);
    assert_true(asprintf(&path, "%s/stubs", directory) > 0);
    opened_module_open(&opened, path, (const uint8_t *)"", 0);
    expect_frame(&opened, address, "puts@plt", NULL);
    expect_frame(&opened, address + 6, "puts@plt", NULL);
    opened_module_close(&opened);
    free(path);
}

static void test_common_parts_moved_by_dwz(void **state)
{
    struct opened_module opened = {0};
    char *path;
    uint64_t address;

    (void)state;
    if (!have_command("dwz"))
        skip();
    assert_true(run_command("gcc -g -O1 -Wl,--build-id=sha1 -o dwz1 test.c && "
                            "sed 's/twice/double_up/' test.c > test2.c && "
                            "gcc -g -O1 -Wl,--build-id=sha1 -o dwz2 test2.c && "
                            "dwz -m common.debug -r dwz1 dwz2 2>/dev/null"));
    address = symbol_of("nm", "dwz1", "count", NULL);
    assert_true(asprintf(&path, "%s/dwz1", directory) > 0);
    opened_module_open(&opened, path, (const uint8_t *)"", 0);
    expect_frame(&opened, address, "count", "test.c");
    expect_variable(&opened, "dwz1", "table", "table", "test.c", 2);
    opened_module_close(&opened);
    free(path);
}

static int setup(void **state)
{
    (void)state;
    if (module_folder_enter(directory) != 0)
        return -1;
    write_source("test.c", c_source);
    write_source("test.cc", cpp_source);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return module_folder_leave(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dwarf_4_like_addr2line),
        cmocka_unit_test(test_gcc_like_llvm_symbolizer),
        cmocka_unit_test(test_clang_like_llvm_symbolizer),
        cmocka_unit_test(test_code_without_a_line),
        cmocka_unit_test(test_variables_like_nm),
        cmocka_unit_test(test_cpp_variables_are_demangled),
        cmocka_unit_test(test_stripped_library_has_dynamic_symbols),
        cmocka_unit_test(test_symbols_without_size_name_their_own_code),
        cmocka_unit_test(test_symbol_table_without_debug_information),
        cmocka_unit_test(test_debug_file_by_build_id),
        cmocka_unit_test(test_debug_file_by_link),
        cmocka_unit_test(test_sysroot_is_a_prefix),
        cmocka_unit_test(test_other_builds_and_missing_files_are_not_used),
        cmocka_unit_test(test_stubs_have_names),
        cmocka_unit_test(test_common_parts_moved_by_dwz),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
