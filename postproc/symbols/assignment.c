/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* strcasestr */
#include "symbols/assignment.h"

#include <stdlib.h>
#include <string.h>

#include "support/memory.h"
#include "symbols/assignment_languages.h"
#include "symbols/call_sites.h"
#include "symbols/statement.h"

/* The identifier that decides what the expression is: its last one outside brackets. */
static size_t deciding_word(const struct statement *statement, size_t first, size_t last)
{
    size_t i = last;

    while (i != STATEMENT_NONE && i > first && statement_token_is(statement, i, "]")) {
        i = statement_opening(statement, i);
        i = i != STATEMENT_NONE && i > 0 ? i - 1 : STATEMENT_NONE;
    }
    return i != STATEMENT_NONE && i >= first && statement_is_word(statement, i) ? i
                                                                                : STATEMENT_NONE;
}

/* this->x is x to the reader. */
static size_t without_this(const struct statement *statement, size_t first, size_t last)
{
    return last >= first + 2 && statement_token_is(statement, first, "this") ? first + 2 : first;
}

static void take_name(const struct statement *statement, size_t first, size_t last,
                      struct assignment *out)
{
    size_t word = deciding_word(statement, first, last), shown;

    if (word == STATEMENT_NONE)
        return;
    shown = without_this(statement, first, last);
    out->name = statement_text(statement, shown, last);
    out->declared = statement_text(statement, word, word);
    out->member = word > first && (statement_token_is(statement, word - 1, ".") ||
                                   statement_token_is(statement, word - 1, "->"));
    out->kind = ASSIGNMENT_NAMED;
}

/* The target of the assignment whose = is token `equals`. */
static void take_target(const struct statement *statement, size_t equals, struct assignment *out)
{
    size_t last, first;

    if (equals == 0)
        return;
    last = equals - 1;
    first = statement_start_of_postfix(statement, last);
    /* double *tab[] = ...: the brackets belong to the declaration. */
    if (first == STATEMENT_NONE)
        return;
    take_name(statement, first, last, out);
    /* *out = malloc(n) stores through the pointer; in double *m = malloc(n) the star is a type. */
    if (out->kind == ASSIGNMENT_NAMED && first > 0 &&
        statement_token_is(statement, first - 1, "*")) {
        size_t star = first - 1;
        char *name;

        while (star > 0 && statement_token_is(statement, star - 1, "*"))
            star--;
        if (star > 0 && ((statement_is_word(statement, star - 1) &&
                          !statement_is_keyword(statement, star - 1)) ||
                         statement_token_is(statement, star - 1, ">") ||
                         statement_token_is(statement, star - 1, ",")))
            return;
        name = format_string("%.*s%s", (int)(first - star), "********", out->name);
        free(out->name);
        out->name = name;
    }
}

/* Casts and owners that hand their argument on: the target keeps what was allocated. */
static bool passes_on(const struct statement *statement, size_t i)
{
    static const char *const names[] = {"static_cast", "reinterpret_cast", "const_cast",
                                        "unique_ptr",  "shared_ptr",       NULL};

    return statement_token_in(statement, i, names);
}

/*
 * Follows the value of the call at token `call` outwards, to the left, until it is assigned,
 * returned, or used in a way that is not understood.
 */
static void follow_value(const struct statement *statement, size_t call, struct assignment *out)
{
    size_t i = call;

    /* std::malloc, ::malloc, pool->alloc: the call's own path */
    if (i > 0 &&
        (statement_token_is(statement, i - 1, "::") || statement_token_is(statement, i - 1, ".") ||
         statement_token_is(statement, i - 1, "->"))) {
        i = statement_start_of_postfix(statement, i);
        if (i == STATEMENT_NONE)
            return;
    }
    while (i > 0) {
        size_t before = i - 1;

        if (statement_token_is(statement, before, "=")) {
            take_target(statement, before, out);
            return;
        }
        if (statement_token_is(statement, before, "return")) {
            out->kind = ASSIGNMENT_RETURNED;
            return;
        }
        if (statement_token_is(statement, before, ")")) {
            size_t open = statement_opening(statement, before);

            if (open == STATEMENT_NONE || !statement_is_cast(statement, open, before) ||
                (open > 0 && statement_is_word(statement, open - 1) &&
                 !statement_token_is(statement, open - 1, "return")))
                return;
            i = open;
        } else if (statement_token_is(statement, before, "(")) {
            if (before == 0)
                return;
            if (statement_token_is(statement, before - 1, ">")) {
                size_t open = statement_opening(statement, before - 1);

                if (open == STATEMENT_NONE || open == 0 || !passes_on(statement, open - 1))
                    return;
                i = statement_start_of_postfix(statement, open - 1);
                if (i == STATEMENT_NONE)
                    return;
            } else if (statement_is_word(statement, before - 1) &&
                       !statement_is_keyword(statement, before - 1)) {
                /* std::unique_ptr<T[]> p(new T[n]): a declaration with an initialiser */
                if (before >= 2 && statement_token_is(statement, before - 2, ">"))
                    take_name(statement, before - 1, before - 1, out);
                return;
            } else {
                i = before;
            }
        } else if (statement_token_is(statement, before, "?") ||
                   statement_token_is(statement, before, ":")) {
            /* x = condition ? call : other: back to the = of the same nesting */
            int depth = 0;

            while (before > 0 && !(depth == 0 && statement_token_is(statement, before, "="))) {
                if (statement_token_is(statement, before, ")"))
                    depth++;
                else if (statement_token_is(statement, before, "(") && --depth < 0)
                    return;
                before--;
            }
            if (statement_token_is(statement, before, "="))
                take_target(statement, before, out);
            else if (statement_token_is(statement, before, "return"))
                out->kind = ASSIGNMENT_RETURNED;
            return;
        } else {
            return;
        }
    }
}

/* Class name(...), Class name{...}, Class name = ...: the declared name, if there is just one. */
static void take_declaration(const struct statement *statement, const char *class_name,
                             struct assignment *out)
{
    for (size_t i = 0; i + 1 < statement->tokens.count; i++) {
        size_t name = i + 1;

        if (!statement_token_is(statement, i, class_name))
            continue;
        if (statement_token_is(statement, name, "<")) {
            int depth = 0;

            for (; name < statement->tokens.count; name++) {
                depth += statement_token_is(statement, name, "<");
                depth -= statement_token_is(statement, name, ">");
                if (depth == 0)
                    break;
            }
            name++;
        }
        if (name >= statement->tokens.count || !statement_is_word(statement, name) ||
            statement_is_keyword(statement, name))
            return;
        if (name + 1 == statement->tokens.count || statement_token_is(statement, name + 1, "(") ||
            statement_token_is(statement, name + 1, "{") ||
            statement_token_is(statement, name + 1, "="))
            take_name(statement, name, name, out);
        return;
    }
}

/* Constructor() : member(...), member{...}: the member whose initialiser is at the position. */
static void take_initializer(const struct statement *statement, size_t position,
                             struct assignment *out)
{
    for (size_t i = 1; i + 1 < statement->tokens.count; i++) {
        const struct token *token = &statement->tokens.items[i];

        if (position < token->start || position >= token->start + token->length)
            continue;
        if (statement_is_word(statement, i) && !statement_is_keyword(statement, i) &&
            (statement_token_is(statement, i - 1, ":") ||
             statement_token_is(statement, i - 1, ",")) &&
            (statement_token_is(statement, i + 1, "(") ||
             statement_token_is(statement, i + 1, "{")))
            take_name(statement, i, i, out);
        return;
    }
}

/* The object in object.method(...) at token `call`. */
static bool take_object(const struct statement *statement, size_t call, struct assignment *out)
{
    size_t first;

    if (call < 2 || !(statement_token_is(statement, call - 1, ".") ||
                      statement_token_is(statement, call - 1, "->")))
        return false;
    first = statement_start_of_postfix(statement, call - 2);
    if (first != STATEMENT_NONE)
        take_name(statement, first, call - 2, out);
    return out->kind == ASSIGNMENT_NAMED;
}

static bool is_one_of(const char *name, const char *const *names)
{
    for (size_t i = 0; names[i] != NULL; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* Methods that make their object own more memory. */
static bool is_growing_method(const struct source_text *source, const char *callee)
{
    static const char *const names[] = {
        "resize",        "reserve", "push_back", "push_front",       "emplace_back",
        "emplace_front", "emplace", "insert",    "insert_or_assign", "try_emplace",
        "assign",        "append",  "push",      "rehash",           NULL};
    static const char *const in_rust[] = {"entry", "extend", "extend_from_slice", "push_str", NULL};

    return is_one_of(callee, names) ||
           (source->language == SOURCE_RUST && is_one_of(callee, in_rust));
}

/* Token after a cast at token i, or i: (void **), reinterpret_cast<void **>( */
static size_t after_cast(const struct statement *statement, size_t i)
{
    bool named = statement_has_token(statement, i, "reinterpret_cast");
    size_t k = i + (named ? 2 : 1);

    if (!named && !statement_has_token(statement, i, "("))
        return i;
    if (!statement_has_token(statement, k, "void"))
        return i;
    for (k++; statement_has_token(statement, k, "*") || statement_has_token(statement, k, "**");
         k++)
        continue;
    if (named && statement_has_token(statement, k, ">") &&
        statement_has_token(statement, k + 1, "("))
        return k + 2;
    return !named && statement_has_token(statement, k, ")") ? k + 1 : i;
}

/* What the call at token `call` stores its result to: its first argument, &x. */
static void take_output(const struct statement *statement, size_t call, struct assignment *out)
{
    size_t first = after_cast(statement, call + 2), last;
    int depth = 0;

    if (!statement_has_token(statement, first, "&"))
        return;
    for (last = ++first; last < statement->tokens.count; last++) {
        if (depth == 0 && (statement_has_token(statement, last, ",") ||
                           statement_has_token(statement, last, ")")))
            break;
        depth +=
            statement_has_token(statement, last, "(") || statement_has_token(statement, last, "[");
        depth -=
            statement_has_token(statement, last, ")") || statement_has_token(statement, last, "]");
    }
    if (last > first && last < statement->tokens.count)
        take_name(statement, first, last - 1, out);
}

static bool is_call_of(const struct statement *statement, size_t i, const char *callee)
{
    if (!statement_token_is(statement, i, callee))
        return false;
    if (strcmp(callee, "new") == 0)
        return true;
    return i + 1 < statement->tokens.count &&
           (statement_token_is(statement, i + 1, "(") || statement_token_is(statement, i + 1, "<"));
}

/* Last position of the call that starts at token i. */
static size_t end_of_call(const struct statement *statement, size_t i)
{
    size_t last = statement->tokens.count - 1;

    for (size_t k = i + 1; k < statement->tokens.count; k++) {
        if (statement_token_is(statement, k, "(")) {
            last = statement_closing(statement, k);
            break;
        }
        if (statement_token_is(statement, k, ",") || statement_token_is(statement, k, ")")) {
            last = k;
            break;
        }
    }
    return statement->tokens.items[last].start + statement->tokens.items[last].length;
}

/* The one call of callee in the statement, or the one that holds the position; STATEMENT_NONE: not
 * clear. */
static size_t find_call(const struct statement *statement, const char *callee, size_t position,
                        bool position_known)
{
    size_t found = STATEMENT_NONE, holding = STATEMENT_NONE, calls = 0, holders = 0;

    for (size_t i = 0; i < statement->tokens.count; i++) {
        if (!is_call_of(statement, i, callee))
            continue;
        calls++;
        found = i;
        if (position >= statement->tokens.items[i].start && position < end_of_call(statement, i)) {
            holders++;
            holding = i;
        }
    }
    if (calls == 1)
        return found;
    return position_known && holders == 1 ? holding : STATEMENT_NONE;
}

/* A macro whose name says that it allocates stands for the call when the callee is not seen. */
static size_t find_macro(const struct statement *statement)
{
    size_t found = STATEMENT_NONE;

    for (size_t i = 0; i + 1 < statement->tokens.count; i++) {
        char *word = statement_text(statement, i, i);
        bool allocates = strcasestr(word, "alloc") != NULL || strcasestr(word, "new") != NULL;

        free(word);
        if (!allocates || !statement_is_word(statement, i) || statement_is_keyword(statement, i) ||
            !statement_token_is(statement, i + 1, "("))
            continue;
        if (found != STATEMENT_NONE)
            return STATEMENT_NONE;
        found = i;
    }
    return found;
}

static size_t calls_in(const struct statement *statement, const char *callee)
{
    size_t calls = 0;

    for (size_t i = 0; i < statement->tokens.count; i++)
        calls += is_call_of(statement, i, callee);
    return calls;
}

static void split_line(const struct source_text *source, uint32_t line, struct statement *whole)
{
    *whole = (struct statement){.code = source->code, .from = source->lines[line - 1]};
    whole->to = line < source->line_count ? source->lines[line] : source->size;
    statement_split(whole);
}

size_t assignment_count_calls(const struct source_text *source, uint32_t line, const char *callee)
{
    struct statement whole;
    size_t calls;

    if (line == 0 || line > source->line_count)
        return 0;
    split_line(source, line, &whole);
    calls = calls_in(&whole, callee);
    for (const char *const *one = call_site_allocators; *one != NULL; one++)
        if (strcmp(*one, callee) != 0)
            calls += calls_in(&whole, *one);
    free(whole.tokens.items);
    return calls;
}

/*
 * With no column: the one call of callee on the line, or its first word if there is none. False if
 * there are two, which cannot be told apart.
 */
static bool find_position(const struct source_text *source, uint32_t line, const char *callee,
                          size_t *position)
{
    struct statement whole;
    size_t calls;

    split_line(source, line, &whole);
    calls = calls_in(&whole, callee);
    *position = whole.tokens.count > 0 ? whole.tokens.items[0].start : whole.from;
    for (size_t i = 0; i < whole.tokens.count; i++)
        if (is_call_of(&whole, i, callee))
            *position = whole.tokens.items[i].start;
    free(whole.tokens.items);
    return calls < 2;
}

/* The class in new T, new a::T[n], new (where) T{...}; NULL: none, or with template arguments, as
 * which debug information spells them otherwise. */
static char *created_class(const struct statement *statement, size_t call)
{
    size_t i = call + 1;

    if (statement_has_token(statement, i, "("))
        i = statement_closing(statement, i) + 1;
    while (i + 1 < statement->tokens.count && statement_token_is(statement, i + 1, "::"))
        i += 2;
    if (i >= statement->tokens.count || !statement_is_word(statement, i) ||
        statement_has_token(statement, i + 1, "<"))
        return NULL;
    return statement_text(statement, i, i);
}

static bool is_new(const struct source_text *source, size_t at)
{
    static const char word[] = "new";
    size_t end = at + sizeof(word) - 1;

    return end < source->size && memcmp(source->code + at, word, end - at) == 0 &&
           !statement_is_word_char(source->code[end]) &&
           (at == 0 || !statement_is_word_char(source->code[at - 1]));
}

/* Compilers place `new T{...}` at its last brace, of which a statement's end cannot be told: the
 * `new` that it closes, or the position itself. */
static size_t start_of_braced_new(const struct source_text *source, size_t position)
{
    int depth = 0;

    for (size_t i = position + 1; i-- > 0 && source->code[i] != ';';) {
        depth += (source->code[i] == '}') - (source->code[i] == '{');
        if (depth < 0 || (depth == 0 && i == position))
            break;
        if (depth == 0 && is_new(source, i))
            return i;
    }
    return position;
}

void assignment_find(const struct source_text *source, uint32_t line, uint32_t column,
                     const char *callee, struct assignment *out)
{
    struct statement statement = {0};
    size_t position, end, call;

    memset(out, 0, sizeof(*out));
    if (line == 0 || line > source->line_count)
        return;
    if (source->language == SOURCE_FORTRAN) {
        assignment_find_allocate(source, line, column, 0, 0, out);
        return;
    }
    position = source->lines[line - 1];
    end = line < source->line_count ? source->lines[line] - 1 : source->size;
    if (column > 0)
        position = position + column - 1 < end ? position + column - 1 : end;
    else if (!find_position(source, line, callee, &position))
        return;
    if (strcmp(callee, "new") == 0)
        position = start_of_braced_new(source, position);
    if (source->language == SOURCE_RUST && !is_growing_method(source, callee) &&
        assignment_find_rust(source, position, out))
        return;
    statement_find(source, position, &statement);
    statement_split(&statement);
    call = find_call(&statement, callee, position, column > 0);
    if (call == STATEMENT_NONE && calls_in(&statement, callee) == 0)
        call = find_macro(&statement);
    if (call != STATEMENT_NONE && strcmp(callee, "new") == 0)
        out->created = created_class(&statement, call);
    if (call != STATEMENT_NONE && is_growing_method(source, callee))
        take_object(&statement, call, out);
    else if (call != STATEMENT_NONE && strcmp(callee, "posix_memalign") == 0)
        take_output(&statement, call, out);
    else if (call != STATEMENT_NONE)
        follow_value(&statement, call, out);
    /* A constructor is not called by a name: Class name(...). */
    if (out->kind == ASSIGNMENT_UNKNOWN && strcmp(callee, "new") != 0)
        take_declaration(&statement, callee, out);
    if (out->kind == ASSIGNMENT_UNKNOWN && call == STATEMENT_NONE && column > 0)
        take_initializer(&statement, position, out);
    free(statement.tokens.items);
}

void assignment_free(struct assignment *assignment)
{
    free(assignment->name);
    free(assignment->declared);
    free(assignment->created);
    memset(assignment, 0, sizeof(*assignment));
}
