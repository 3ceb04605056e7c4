/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <string.h>

#include "support/memory.h"
#include "symbols/assignment_languages.h"
#include "symbols/statement.h"

/* Text of a statement before the position: [start, position). */
struct before {
    const char *code;
    size_t start, position;
};

static size_t back_over_blanks(const char *code, size_t i)
{
    while (i > 0 && isspace((unsigned char)code[i - 1]))
        i--;
    return i;
}

static size_t back_over_word(const char *code, size_t i)
{
    while (i > 0 && statement_is_word_char(code[i - 1]))
        i--;
    return i;
}

/* Box::new(, Some(: what is bound to these owns their argument; of other calls nobody knows. */
static bool is_owner(const char *code, size_t open)
{
    static const char *const owners[] = {"new", "Some", "Ok", "from", "pin"};
    size_t word = back_over_word(code, open), length = open - word;

    for (size_t i = 0; i < sizeof(owners) / sizeof(*owners); i++)
        if (length == strlen(owners[i]) && memcmp(code + word, owners[i], length) == 0)
            return true;
    return false;
}

/*
 * Back to what ends the statement before: ; { or } outside of brackets that are closed again. A
 * block's { that is not closed is where an inner statement begins; a structure's is not, but its
 * field is found first. False: the position is in an argument of a call.
 */
static bool go_back(const struct source_text *source, size_t position, struct before *before)
{
    int depth = 0;

    *before = (struct before){source->code, position, position};
    for (; before->start > 0; before->start--) {
        char c = source->code[before->start - 1];

        if (depth == 0 && (c == ';' || c == '{' || c == '}'))
            break;
        if (depth == 0 && c == '(' && !is_owner(source->code, before->start - 1))
            return false;
        depth += (c == ')' || c == ']') - (c == '(' || c == '[');
        if (depth < 0)
            depth = 0;
    }
    return true;
}

static size_t skip_blanks(const struct before *before, size_t i)
{
    while (i < before->position && isspace((unsigned char)before->code[i]))
        i++;
    return i;
}

static size_t end_of_word(const struct before *before, size_t i)
{
    while (i < before->position && statement_is_word_char(before->code[i]))
        i++;
    return i;
}

static bool is_word(const struct before *before, size_t i, const char *word)
{
    size_t length = strlen(word);

    return end_of_word(before, i) - i == length && memcmp(before->code + i, word, length) == 0;
}

static void take(const struct before *before, size_t first, size_t end, size_t declared,
                 struct assignment *out)
{
    out->name = format_string("%.*s", (int)(end - first), before->code + first);
    out->declared = format_string("%.*s", (int)(end - declared), before->code + declared);
    out->member = declared > first;
    out->kind = ASSIGNMENT_NAMED;
}

/* let name = , let mut name: Type = */
static bool take_let(const struct before *before, size_t first, struct assignment *out)
{
    size_t name = skip_blanks(before, first + strlen("let")), end, next;

    if (is_word(before, name, "mut"))
        name = skip_blanks(before, name + strlen("mut"));
    end = end_of_word(before, name);
    next = skip_blanks(before, end);
    if (end == name || next == before->position ||
        (before->code[next] != ':' && before->code[next] != '='))
        return false;
    take(before, name, end, name, out);
    return true;
}

/* a.b.c = , but not == and not => */
static bool take_path(const struct before *before, size_t first, struct assignment *out)
{
    size_t end = first, declared = first, next;

    for (;;) {
        size_t word = end_of_word(before, end);

        if (word == end)
            return false;
        declared = end;
        end = word;
        if (end == before->position || before->code[end] != '.')
            break;
        end++;
    }
    next = skip_blanks(before, end);
    if (next + 1 >= before->position || before->code[next] != '=' ||
        strchr("=>", before->code[next + 1]) != NULL)
        return false;
    if (is_word(before, first, "self") && declared > first) {
        take(before, first + strlen("self."), end, declared, out);
        out->member = true;
    } else {
        take(before, first, end, declared, out);
    }
    return true;
}

static size_t back_over_brackets(const char *code, size_t i)
{
    int depth = 0;

    while (i > 0) {
        char c = code[--i];

        depth += (c == ')' || c == ']') - (c == '(' || c == '[');
        if (depth <= 0)
            break;
    }
    return i;
}

/* Where a.b(c).d begins: calls of methods have the column of the method. */
static size_t start_of_chain(const char *code, size_t position)
{
    size_t i = position, before = back_over_blanks(code, i);

    while (before > 0 && (code[before - 1] == '.' || code[before - 1] == ':')) {
        if (code[before - 1] == ':' && (before < 2 || code[before - 2] != ':'))
            break;
        before -= code[before - 1] == ':' ? 2 : 1;
        before = back_over_blanks(code, before);
        while (before > 0 && strchr(")]", code[before - 1]) != NULL)
            before = back_over_brackets(code, before);
        i = back_over_word(code, before);
        before = back_over_blanks(code, i);
    }
    return i;
}

/* Type { field: expression }: what stands before the expression is a word, a colon and blanks, and
 * before these { or a comma. */
static bool take_field(const struct source_text *source, size_t position, struct assignment *out)
{
    const char *code = source->code;
    struct before all = {code, 0, position};
    size_t i = back_over_blanks(code, start_of_chain(code, position)), end, first;

    if (i < 2 || code[i - 1] != ':' || code[i - 2] == ':')
        return false;
    end = i - 1;
    first = back_over_word(code, end);
    i = back_over_blanks(code, first);
    if (first == end || i == 0 || strchr("{,", code[i - 1]) == NULL)
        return false;
    take(&all, first, end, first, out);
    out->member = true;
    return true;
}

bool assignment_find_rust(const struct source_text *source, size_t position, struct assignment *out)
{
    struct before before;
    size_t first;

    if (take_field(source, position, out))
        return true;
    if (!go_back(source, position, &before))
        return false;
    first = skip_blanks(&before, before.start);
    if (is_word(&before, first, "let"))
        return take_let(&before, first, out);
    return take_path(&before, first, out);
}
