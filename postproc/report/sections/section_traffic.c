/* SPDX-License-Identifier: BSD-3-Clause */
/* --traffic: bytes that each level serves, on the run's machine and on the one that was asked for.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "document/numbers.h"
#include "report/sections/section_measured.h"
#include "report/sections/section_support.h"
#include "report/sections/sections.h"
#include "report/traffic/traffic.h"

/* Of what a level is asked for, at most: that so many miss leaves its hits known. */
#define FEW_MISSES 0.1

/* For JSON: one row per region and machine, the levels in a table of their own. */
static const struct column data_columns[] = {
    {.key = "region"},
    {.key = "machine"},
    {.key = "line_size"},
    {.key = "bursts"},
    {.key = "accesses", .interval = INTERVAL_SUFFIXED},
    {.key = "ls_bytes"},
    {.key = "l2_bytes"},
    {.key = "l3_bytes"},
    {.key = "mem_bytes"},
    {.key = "l2_ls"},
    {.key = "l3_ls"},
    {.key = "mem_ls"},
    {.key = "line_use_granule"},
    {.key = "verdict"},
    {.key = "levels"},
};
enum {
    REGION,
    MACHINE,
    LINE_SIZE,
    BURSTS,
    ACCESSES,
    LS_BYTES,
    L2_BYTES,
    L3_BYTES,
    MEM_BYTES,
    L2_LS,
    L3_LS,
    MEM_LS,
    GRANULE,
    VERDICT,
    LEVELS
};

static const struct column level_columns[] = {
    {.key = "level", .heading = "level\n"},
    {.key = "bytes", .heading = "bytes\nasked for", .interval = INTERVAL_SUFFIXED},
    {.key = "byte_ratio", .heading = "per LS\nbyte"},
    {.key = "hit_ratio", .heading = "hits\n%"},
    {.key = "miss_ratio", .heading = "misses\n%", .heat = true},
    {.key = "memory_share", .heading = "share\n%"},
    {.key = "memory_impact", .heading = "impact\n%"},
    {.key = "line_utilisation", .heading = "of lines\nused %"},
    {.key = "write_back_bytes"},
    {.key = "write_back_bytes_lo"},
    {.key = "write_back_bytes_hi"},
    {.key = "shared_by"},
    {.key = "measured_bytes"},
    {.key = "measured_ratio"},
    {.key = "measured_write_back_bytes"},
    {.key = "measured_events"},
    {.key = "measured_verdict"},
};

static struct cell known(enum cell_kind kind, double value)
{
    return isfinite(value) ? cell_value(kind, value) : cell_empty();
}

/* A figure with its interval, or the bound that is all that is known. */
static struct cell figure(enum cell_kind kind, struct estimate estimate)
{
    if (!isfinite(estimate.value))
        return cell_empty();
    return traffic_is_vague(estimate) ? cell_below(kind, estimate) : cell_estimate(kind, estimate);
}

/* The value of such a figure; not where it is a bound. */
static struct cell settled(struct estimate estimate)
{
    return traffic_is_vague(estimate) ? cell_empty() : known(CELL_NUMBER, estimate.value);
}

/* What a level has of what it is asked for, and lacks, as far as the level behind it tells: misses
 * that may be ten times as many are not known, hits are while these are still few. */
static void add_hits(const struct traffic *traffic, size_t number, struct cell *hits,
                     struct cell *misses)
{
    const struct traffic_level *level = &traffic->level[number];
    const struct traffic_level *next = level + 1;
    bool last = number == traffic->levels;

    if (level->vague || last)
        return;
    if (!next->vague || level->misses_most < FEW_MISSES)
        *hits = known(CELL_SHARE, level->hit_ratio);
    if (!next->vague)
        *misses = known(CELL_SHARE, 1 - level->hit_ratio);
}

static char *level_text(const struct traffic *traffic, size_t level)
{
    if (level == traffic->levels)
        return copy_string("Mem");
    return format_string("L%u", traffic->machine->caches[level].level);
}

static void add_level(const struct traffic *traffic, struct document *document, struct table *table,
                      size_t number)
{
    const struct traffic_level *level = &traffic->level[number];
    struct row *row = table_row(table);
    char *name = level_text(traffic, number);

    row->cells[0] = cell_text(document, name);
    row->cells[1] = level->beyond ? cell_beyond() : figure(CELL_BYTES, level->bytes);
    if (!level->beyond && !level->vague)
        row->cells[2] = known(CELL_FACTOR, level->per_ls);
    add_hits(traffic, number, &row->cells[3], &row->cells[4]);
    /* What a level serves is what the one behind it is not asked for. */
    if (!level->vague && (number == traffic->levels || !level[1].beyond)) {
        row->cells[5] = known(CELL_SHARE, level->share);
        row->cells[6] = known(CELL_SHARE, level->impact);
    }
    row->cells[7] = known(CELL_SHARE, level->line_use);
    if (!level->beyond) {
        row->cells[8] = known(CELL_NUMBER, level->written_back.value);
        row->cells[9] = known(CELL_NUMBER, level->written_back.lo);
        row->cells[10] = known(CELL_NUMBER, level->written_back.hi);
    }
    if (number < traffic->levels)
        row->cells[11] = cell_value(CELL_NUMBER, traffic->machine->caches[number].sharing_cpus);
    fill_measured(traffic, document, number, &row->cells[12]);
    free(name);
}

/* Part of an access's time or bytes that makes a level worth naming. */
#define WORTH_NAMING 0.001

/* Sets of 64 x 8 lines stand for those of the machine, which may have some more ways. */
#define CROWDING_TOLD 1.5

static char *verdict_text(const struct traffic *traffic)
{
    const struct traffic_level *first = &traffic->level[0];
    double misses = 1 - first->hit_ratio;

    if (traffic->level[1].vague && first->misses_most >= WORTH_NAMING)
        return copy_string("too few misses of L1 were seen to say why");
    if (misses < WORTH_NAMING)
        return copy_string("fits: L1 serves nearly all");
    if (isfinite(first->conflicts) && first->conflicts > 1)
        return format_string("conflict: too many lines in some sets of L1 make %.2f times the "
                             "misses; change strides or pad",
                             first->conflicts);
    if (first->crowding > CROWDING_TOLD)
        return format_string("conflict: bursts saw %.2f times as many accesses as L1 misses when "
                             "fully associative come back to sets with more than 8 other lines "
                             "since (bytes below do not count those); change strides or pad",
                             first->crowding);
    if (isfinite(first->conflicts))
        return copy_string(
            "capacity: the misses are those of a fully associative cache; no sets of "
            "L1 are crowded");
    return copy_string(traffic->bursts > 0
                           ? "capacity; whether sets of L1 are crowded is told of all accesses "
                             "together alone"
                           : "capacity; whether sets of L1 are crowded is not known without "
                             "addresses");
}

static struct cell ratio_to_first(const struct traffic_level *level)
{
    return level->vague ? cell_empty() : known(CELL_FACTOR, level->per_ls);
}

static struct cell named_bytes(const struct traffic *traffic, unsigned number, bool ratio)
{
    for (size_t i = 0; i < traffic->levels; i++)
        if (traffic->machine->caches[i].level == number)
            return ratio                      ? ratio_to_first(&traffic->level[i])
                   : traffic->level[i].beyond ? cell_empty()
                                              : settled(traffic->level[i].bytes);
    return cell_empty();
}

static void add_data(const struct traffic *traffic, struct document *document, struct table *data,
                     struct table *levels, const char *verdict)
{
    const struct traffic_level *memory = &traffic->level[traffic->levels];
    struct row *row = table_row(data);

    row->cells[REGION] = cell_text(document, traffic->region);
    row->cells[MACHINE] = cell_text(document, traffic->machine->name);
    row->cells[LINE_SIZE] = cell_value(CELL_NUMBER, traffic->line_size);
    row->cells[BURSTS] =
        traffic->bursts > 0 ? cell_value(CELL_COUNT, (double)traffic->bursts) : cell_empty();
    row->cells[ACCESSES] = figure(CELL_COUNT, traffic->accesses);
    row->cells[LS_BYTES] = settled(traffic->level[0].bytes);
    row->cells[L2_BYTES] = named_bytes(traffic, 2, false);
    row->cells[L3_BYTES] = named_bytes(traffic, 3, false);
    row->cells[MEM_BYTES] = settled(memory->bytes);
    row->cells[L2_LS] = named_bytes(traffic, 2, true);
    row->cells[L3_LS] = named_bytes(traffic, 3, true);
    row->cells[MEM_LS] = ratio_to_first(memory);
    row->cells[GRANULE] = traffic->granule < traffic->line_size
                              ? cell_value(CELL_NUMBER, traffic->granule)
                              : cell_empty();
    row->cells[VERDICT] = cell_text(document, verdict);
    row->cells[LEVELS] = cell_table(levels);
}

/* What goes the other way: a sentence, as bursts tell two bounds of each. */
static char *written_back_text(const struct traffic *traffic)
{
    char *text = copy_string(""), *longer;

    for (size_t i = 1; i <= traffic->levels; i++) {
        const struct estimate *back = &traffic->level[i].written_back;
        char *to, *high, *bounds;

        if (traffic->level[i].beyond || !isfinite(back->hi) ||
            traffic_is_vague(traffic->level[i].bytes))
            continue;
        to = level_text(traffic, i);
        high = number_bytes(back->hi);
        bounds = number_bytes_range(back->lo, back->hi);
        longer = format_string("%s%s to %s %s", text, text[0] != '\0' ? "," : "", to,
                               isfinite(back->value) ? high : bounds);
        free(text);
        free(to);
        free(bounds);
        free(high);
        text = longer;
    }
    return text;
}

static void add_traffic(struct model *model, struct document *document, struct section *section,
                        const struct traffic *traffic, struct table *data)
{
    bool vague = traffic_is_vague(traffic->accesses);
    char *accesses = number_count(vague ? traffic->accesses.hi : traffic->accesses.value);
    char *title =
        format_string("%s on %s: %s%s accesses, %u-byte lines", traffic->region,
                      traffic->machine->name, vague ? "< " : "", accesses, traffic->line_size);
    char *verdict = verdict_text(traffic), *back, *remark;
    struct table *table = document_table(
        document, NULL, title, basis_of_bursts(model, document, traffic->bursts, ", predicted"),
        level_columns, sizeof(level_columns) / sizeof(*level_columns));

    for (size_t i = 0; i <= traffic->levels; i++)
        add_level(traffic, document, table, i);
    back = written_back_text(traffic);
    remark = back[0] == '\0' ? copy_string(verdict)
                             : format_string("%s. Written back%s:%s.", verdict,
                                             model->exact ? "" : ", within bounds", back);
    table_remark(document, table, remark);
    free(remark);
    free(back);
    section_table(section, table);
    add_data(traffic, document, data, table, verdict);
    free(verdict);
    free(title);
    free(accesses);
}

/* Which levels several CPUs share, and how many of the run's threads are assumed to do so at once.
 */
static void say_shared(struct document *document, struct section *section,
                       const struct traffic *traffic)
{
    char *text = copy_string(""), *longer;

    for (size_t i = 0; i < traffic->levels; i++) {
        const struct machine_cache *cache = &traffic->machine->caches[i];

        if (cache->sharing_cpus <= 1)
            continue;
        longer = format_string("%s%s L%u by %u CPUs (%.3g of the program's threads at once)", text,
                               text[0] != '\0' ? "," : "", cache->level, cache->sharing_cpus,
                               machine_threads_sharing(traffic->machine, i, traffic->threads));
        free(text);
        text = longer;
    }
    if (text[0] != '\0') {
        longer = format_string("Shared on %s:%s.", traffic->machine->name, text);
        section_paragraph(document, section, NULL, longer);
        free(longer);
    }
    free(text);
}

static void explain(const struct model *model, struct document *document, struct section *section,
                    const struct traffic *last)
{
    const char *note = line_size_text(model, document);
    char *text;

    section_paragraph(
        document, section, NULL,
        "L1's bytes are LS Bytes, those of loads and stores; of every other level line size times "
        "the misses of the one inside it, without prefetches. Written back are lines that were "
        "stored to, in addition. Share: of the bytes "
        "that the program asks for, those that come from there; impact: of the time that takes at "
        "the level's bandwidth. Always read the ratio per LS byte with hits and misses.");
    if (model->exact)
        section_paragraph(document, section, NULL,
                          "The profile counts widths of accesses for the whole program alone: of "
                          "regions LS Bytes and the ratios to them are not known, and shares count "
                          "accesses instead of bytes.");
    section_paragraph(document, section, NULL,
                      "<: the interval ends more than ten times above the estimate, so its end is "
                      "all that is known.");
    if (last->granule < last->line_size) {
        text =
            format_string("Used: of the bytes of a line that is fetched, at most so much is used "
                          "before it is evicted, seen in blocks of %u bytes.",
                          last->granule);
        section_paragraph(document, section, NULL, text);
        free(text);
    }
    if (!isfinite(last->level[0].impact)) {
        text = format_string("Impact needs the bandwidth of every level of %s: see bandwidth in a "
                             "machine description.",
                             last->machine->name);
        section_paragraph(document, section, NULL, text);
        free(text);
    }
    say_shared(document, section, last);
    if (note != NULL)
        section_paragraph(document, section, "traffic_notes", note);
}

void section_traffic(struct model *model, struct document *document)
{
    struct section *section = document_section(document, "traffic", "Traffic of each level", true);
    struct table *data = document_table(document, "traffic", NULL, NULL, data_columns,
                                        sizeof(data_columns) / sizeof(*data_columns));
    struct sector_regions regions = {0};
    struct traffic_machine machines[2];
    size_t count = traffic_machines(model, machines);
    struct traffic traffic = {0}, first = {0}, measured = {0}; /* of the whole */

    sector_regions_find(model, &regions);
    for (size_t r = 0; r < regions.count; r++) {
        for (size_t m = 0; m < count; m++) {
            traffic_of_region(model, &machines[m], &regions, r, &traffic);
            add_traffic(model, document, section, &traffic, data);
            add_measured_table(document, section, &traffic);
            if (r == 0 && m == 0)
                first = traffic;
            if (r == 0 && m + 1 == count) /* the run's own machine comes last */
                measured = traffic;
        }
    }
    explain(model, document, section, &first);
    explain_measured(document, section, &measured);
    section_table(section, data);
    traffic_machines_free(machines, count);
    free(regions.of);
}
