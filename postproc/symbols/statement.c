/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbols/statement.h"

#include <ctype.h>
#include <string.h>

#include "support/memory.h"

bool statement_is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

bool statement_token_is(const struct statement *statement, size_t i, const char *text)
{
    const struct token *token = &statement->tokens.items[i];

    return strlen(text) == token->length &&
           memcmp(statement->code + token->start, text, token->length) == 0;
}

bool statement_token_in(const struct statement *statement, size_t i, const char *const *texts)
{
    for (; *texts != NULL; texts++)
        if (statement_token_is(statement, i, *texts))
            return true;
    return false;
}

bool statement_is_word(const struct statement *statement, size_t i)
{
    char c = statement->code[statement->tokens.items[i].start];

    return isalpha((unsigned char)c) || c == '_';
}

bool statement_is_keyword(const struct statement *statement, size_t i)
{
    static const char *const keywords[] = {
        "return",   "if",     "while", "for",    "switch", "case",   "else",    "do",
        "goto",     "sizeof", "new",   "delete", "throw",  "using",  "typedef", "co_return",
        "co_await", "not",    "and",   "or",     "catch",  "assert", NULL};

    return statement_token_in(statement, i, keywords);
}

/* Operators of more than one character matter here: == is not an assignment, -> is a path. */
static size_t operator_length(const char *code, size_t size)
{
    static const char *const operators[] = {"<<=", ">>=", "->*", "==", "!=", "<=", ">=", "+=",
                                            "-=",  "*=",  "/=",  "%=", "&=", "|=", "^=", "->",
                                            "::",  "&&",  "||",  "++", "--", "<<"};

    for (size_t i = 0; i < sizeof(operators) / sizeof(*operators); i++) {
        size_t length = strlen(operators[i]);

        if (length <= size && memcmp(code, operators[i], length) == 0)
            return length;
    }
    return 1;
}

void statement_split(struct statement *statement)
{
    for (size_t i = statement->from; i < statement->to;) {
        struct token token = {.start = i};
        char c = statement->code[i];

        if (isspace((unsigned char)c)) {
            i++;
            continue;
        }
        if (statement_is_word_char(c))
            while (i + token.length < statement->to &&
                   statement_is_word_char(statement->code[i + token.length]))
                token.length++;
        else
            token.length = operator_length(statement->code + i, statement->to - i);
        ARRAY_PUSH(&statement->tokens, token);
        i += token.length;
    }
}

/* A statement of more than this many lines is a table or a macro. */
enum { STATEMENT_LINES_MAX = 24 };

/* From after the ; { or } before the position to the ; or { after it. */
void statement_find(const struct source_text *source, size_t position, struct statement *statement)
{
    int depth = 0, lines = 0;
    size_t i = position;

    statement->code = source->code;
    while (i > 0 && lines <= STATEMENT_LINES_MAX) {
        char c = source->code[i - 1];

        if (c == ')')
            depth++;
        else if (c == '(' && depth > 0)
            depth--;
        else if (depth == 0 && (c == ';' || c == '{' || c == '}'))
            break;
        lines += c == '\n';
        i--;
    }
    statement->from = i;
    depth = lines = 0;
    for (i = position; i < source->size && lines <= STATEMENT_LINES_MAX; i++) {
        char c = source->code[i];

        depth += (c == '(') - (c == ')');
        lines += c == '\n';
        if (c == ';' || (c == '}' && depth <= 0))
            break;
    }
    statement->to = i;
}

/* The token that opens the bracket closed at `close`, or NONE. */
size_t statement_opening(const struct statement *statement, size_t close)
{
    char last = statement->code[statement->tokens.items[close].start];
    char first = last == ')' ? '(' : last == ']' ? '[' : last == '}' ? '{' : '<';
    int depth = 0;

    for (size_t i = close + 1; i-- > 0;) {
        const struct token *token = &statement->tokens.items[i];
        char c = statement->code[token->start];

        if (token->length != 1)
            continue;
        if (c == last)
            depth++;
        else if (c == first && --depth == 0)
            return i;
    }
    return STATEMENT_NONE;
}

size_t statement_closing(const struct statement *statement, size_t open)
{
    int depth = 0;

    for (size_t i = open; i < statement->tokens.count; i++) {
        if (statement_token_is(statement, i, "("))
            depth++;
        else if (statement_token_is(statement, i, ")") && --depth == 0)
            return i;
    }
    return statement->tokens.count - 1;
}

/* (double *), (struct node **), (T<int> const &): what a cast can hold. */
bool statement_is_cast(const struct statement *statement, size_t open, size_t close)
{
    static const char *const allowed[] = {"*", "&", "::", "<", ">", ",", "[", "]", NULL};

    if (close == open + 1)
        return false;
    for (size_t i = open + 1; i < close; i++)
        if (!statement_token_in(statement, i, allowed) &&
            (!statement_is_word(statement, i) || statement_is_keyword(statement, i)))
            return false;
    return true;
}

/* First token of the postfix expression (a.b[i]->c, A::b) that ends at token `last`;
 * STATEMENT_NONE: none. */
size_t statement_start_of_postfix(const struct statement *statement, size_t last)
{
    size_t i = last;

    for (;;) {
        while (statement_token_is(statement, i, "]") || statement_token_is(statement, i, ")")) {
            size_t open = statement_opening(statement, i);

            if (open == STATEMENT_NONE || open == 0)
                return STATEMENT_NONE;
            /* (*p).x and (a)[i]: a parenthesised start, not a call. */
            if (statement_token_is(statement, i, ")") &&
                (!statement_is_word(statement, open - 1) ||
                 statement_is_keyword(statement, open - 1)))
                return open;
            i = open - 1;
        }
        if (!statement_is_word(statement, i) || statement_is_keyword(statement, i))
            return STATEMENT_NONE;
        if (i == 0 || !(statement_token_is(statement, i - 1, ".") ||
                        statement_token_is(statement, i - 1, "->") ||
                        statement_token_is(statement, i - 1, "::")))
            return i;
        if (i == 1)
            return statement_token_is(statement, 0, "::") ? 0 : STATEMENT_NONE;
        /* ::name at the start of an expression */
        if (statement_token_is(statement, i - 1, "::") && !statement_is_word(statement, i - 2) &&
            !statement_token_is(statement, i - 2, ">"))
            return i - 1;
        if (statement_token_is(statement, i - 2, ">"))
            return STATEMENT_NONE;
        i -= 2;
    }
}

char *statement_text(const struct statement *statement, size_t first, size_t last)
{
    size_t from = statement->tokens.items[first].start;
    size_t to = statement->tokens.items[last].start + statement->tokens.items[last].length;
    char *text = allocate_zeroed(to - from + 1, 1), *out = text;

    for (size_t i = from; i < to; i++)
        if (!isspace((unsigned char)statement->code[i]))
            *out++ = statement->code[i];
    return text;
}

/* statement_token_is() where the statement may have ended before. */
bool statement_has_token(const struct statement *statement, size_t i, const char *text)
{
    return i < statement->tokens.count && statement_token_is(statement, i, text);
}
