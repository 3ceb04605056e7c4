/* SPDX-License-Identifier: BSD-3-Clause */
/* Allocations as people write them. "name: X" is what a reader would call the block of the call on
 * that line; "place" is where there is no such name, and "sites" where the line has several such.
 */
#include <stdlib.h>
#include <string.h>

struct node {
    struct node *next;
    double *values;
};

static double *table[8];
static void *sink;

static void *xmalloc(size_t n)
{
    void *p = malloc(n);
    if (p == NULL)
        abort();
    return p;
}

static void *get(size_t n)
{
    return malloc(n);
}

static void keep(void *p)
{
    sink = p;
}

static void keep_both(void *p, void *q)
{
    keep(p);
    keep(q);
}

static double *make_vector(size_t n)
{
    double *vector = calloc(n, sizeof(double)); /* name: vector */
    return vector;
}

static void fill(struct node *node, double **out, size_t n)
{
    node->values = (double *)malloc(n);       /* name: node->values */
    node->next =                              /* a statement of two lines */
        (struct node *)malloc(sizeof(*node)); /* name: node->next */
    *out = malloc(n);                         /* name: *out */
}

int main(void)
{
    struct node node;
    double *first = malloc(80), *second = malloc(160); /* name: first|second */
    double *out, *grown, *wrapped, *got, *copied;
    char *text;

    table[3] = malloc(8);               /* name: table[3] */
    wrapped = xmalloc(100);             /* name: wrapped */
    got = get(100);                     /* name: got */
    keep(malloc(3));                    /* place */
    keep_both(malloc(4), calloc(5, 6)); /* sites */
    grown = realloc(first, 800);        /* name: grown */
    if ((copied = malloc(17)) == NULL)  /* name: copied */
        return 1;
    text = strdup("text"); /* name: text */
    fill(&node, &out, 100);
    keep(make_vector(10));
    keep(second), keep(table[3]), keep(wrapped), keep(got), keep(grown), keep(copied), keep(text);
    return 0;
}
