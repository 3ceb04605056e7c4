/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/sharing/false_sharing.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/communication/contention.h"
#include "report/sharing/structure_lines.h"

const double false_sharing_threshold = 1e-4;

/* The same in time, where that of the threads is known. */
static const double time_threshold = 0.01;

/* A line that moved fewer times was handed over, not fought over. */
static const double transfers_per_line_min = 8;

/* Parts of an array meet on few of its lines: below one in so many, and seldom more than two a
 * thread. */
static const uint64_t part_lines = 4;
/* Of a sampled run, so many observations per line say that all lines were seen. */
static const uint64_t part_observations = 4;

/* What makes flows one finding. Strings are shared, so their addresses identify them. */
struct collision_key {
    const char *members[2];
    uint32_t objects[2];
    uint64_t collision;
};

/* Who uses an element on a line that collides. */
struct element_use {
    uint64_t line, offset; /* offset: of the element in its block */
    uint64_t size;         /* of the block */
    uint32_t finding, thread;
    struct line_user_place place;
};

struct search {
    struct model *model;
    struct communication_view *view;
    uint64_t line_size;
    struct intern_table *keys;
    false_sharing_list findings;
    ARRAY(double) largest;             /* transfers of the flow that a finding's sides come from */
    ARRAY(struct data_type) instances; /* of each finding: the structure that has both sides */
    uint32_t *labels;                  /* finding of each flow; GROUP_NONE */
    ARRAY(struct element_use) uses;
};

/* ".own[3].x" -> ".own[*].x" */
static const char *without_indexes(struct model *model, const char *member)
{
    char *text = copy_string(member), *out = text;
    const char *kept;

    for (const char *in = member; *in != '\0'; in++) {
        *out++ = *in;
        if (*in != '[')
            continue;
        *out++ = '*';
        while (isdigit((unsigned char)in[1]))
            in++;
    }
    *out = '\0';
    kept = intern_table_string(model->strings, text);
    free(text);
    return kept;
}

static const char *path_of(struct search *search, uint32_t object, const char *place)
{
    char *text = format_string("%s%s", search->view->objects.items[object].name, place);
    const char *kept = intern_table_string(search->model->strings, text);

    free(text);
    return kept;
}

/* One end of a flow, and what its object's type says of it. */
struct end_place {
    uint32_t object, thread;
    uint64_t offset; /* OFFSET_UNKNOWN */
    uint64_t base;   /* where the object begins; 0 unknown */
    bool typed;
    bool in_file; /* of memory that processes share */
    struct type_place place;
    struct type_level levels[TYPE_LEVELS_MAX];
    size_t level_count;
};

static struct end_place place_of_end(struct search *search, size_t flow_number, bool source)
{
    const struct communication_view *view = search->view;
    const struct flow *flow = communication_flow(view->communication, flow_number);
    struct end_place end = {
        .object = source ? view->from_object[flow_number] : view->to_object[flow_number],
        .in_file = flow->object_kind == OBJECT_SHARED,
        .thread = source ? view->from_thread[flow_number] : view->to_thread[flow_number],
        .offset = source ? view->from_offset[flow_number] : view->to_offset[flow_number]};
    const struct data_object *object;
    uint64_t size;

    if (end.object == GROUP_NONE || end.offset == OFFSET_UNKNOWN)
        return end;
    object = &view->objects.items[end.object];
    end.base =
        flow->line_address + (source ? &flow->source : &flow->destination)->offset - end.offset;
    size = end.base == flow->object_base ? flow->object_size : object->size;
    end.typed = data_type_place(&object->type, size, end.offset, &end.place);
    end.level_count = data_type_levels(&object->type, size, end.offset, end.levels);
    return end;
}

static struct collision_side side_of(struct search *search, const struct end_place *end,
                                     unsigned width, uint64_t in_line)
{
    struct collision_side side = {.object = end->object,
                                  .thread = end->thread,
                                  .member = "",
                                  .offset = end->offset,
                                  .size = width};
    char *text;

    if (end->typed) {
        side.member = without_indexes(search->model, end->place.member);
        side.offset = end->place.offset;
        side.size = end->place.size;
        side.instance_offset =
            end->place.first_element + end->place.element * end->place.element_size;
        side.path = path_of(search, end->object, end->place.path);
        return side;
    }
    if (end->offset != OFFSET_UNKNOWN)
        /* Places in files are told in hexadecimal, as in /proc/PID/maps. */
        text = format_string(end->in_file ? "+0x%" PRIx64 : "+%" PRIu64, end->offset);
    else
        text = format_string(", byte %" PRIu64 " of a line", in_line);
    side.path = path_of(search, end->object, end->offset == 0 || width == 0 ? "" : text);
    free(text);
    return side;
}

static bool same_instance(const struct end_place *a, const struct end_place *b)
{
    return a->place.in_array == b->place.in_array &&
           (!a->place.in_array || a->place.element == b->place.element);
}

/* The outermost structure that each of the two has one of, in an array within the object; at its
 * level in both. Returns its number, or TYPE_LEVELS_MAX: none. */
static size_t nested_element(const struct end_place *a, const struct end_place *b)
{
    for (size_t i = 0; i < a->level_count && i < b->level_count; i++) {
        const struct type_level *one = &a->levels[i], *other = &b->levels[i];

        if (one->type.offset != other->type.offset || one->type.alternate != other->type.alternate)
            break;
        if (one->start != other->start && one->repeat > 0 && one->repeat == other->repeat)
            return i;
    }
    return TYPE_LEVELS_MAX;
}

/* nested: see nested_element(). */
static enum collision classify(const struct end_place *from, const struct end_place *to,
                               const struct collision_side *sides, size_t nested)
{
    /* Blocks of one place of allocation are one object. */
    if (from->object != to->object || from->base != to->base)
        return COLLISION_OBJECTS;
    if (!from->typed || !to->typed)
        return COLLISION_BYTES;
    if (!same_instance(from, to) || nested < TYPE_LEVELS_MAX)
        return COLLISION_ELEMENTS;
    if (sides[0].member != sides[1].member)
        return COLLISION_MEMBERS;
    /* Elements of an array that is a member, or bytes of one and the same. */
    return sides[0].offset != sides[1].offset ? COLLISION_ELEMENTS : COLLISION_BYTES;
}

static uint32_t number_of_finding(struct search *search, struct collision_side *sides,
                                  enum collision collision, bool inner_array)
{
    struct collision_key key;
    bool swap = sides[0].object != sides[1].object ? sides[0].object > sides[1].object
                : strcmp(sides[0].member, sides[1].member) != 0
                    ? sides[0].offset - sides[0].instance_offset >
                          sides[1].offset - sides[1].instance_offset
                    : sides[0].offset > sides[1].offset;

    if (swap) {
        struct collision_side first = sides[0];

        sides[0] = sides[1];
        sides[1] = first;
    }
    memset(&key, 0, sizeof(key));
    for (int i = 0; i < 2; i++) {
        bool any_member =
            collision == COLLISION_OBJECTS || (collision == COLLISION_ELEMENTS && !inner_array);

        key.objects[i] = sides[i].object;
        key.members[i] = any_member ? NULL : sides[i].member;
    }
    key.collision = collision;
    return intern_table_insert(search->keys, &key, sizeof(key));
}

static void note_use(struct search *search, uint32_t finding, const struct flow *flow,
                     const struct collision_side *side, uint32_t thread_id)
{
    struct element_use use = {.line = flow->line_address,
                              .offset = side->instance_offset,
                              .size = flow->object_size != 0
                                          ? flow->object_size
                                          : search->view->objects.items[side->object].size,
                              .finding = finding,
                              .thread = side->thread,
                              .place = {flow->profile_index, thread_id, flow->line_address}};

    ARRAY_PUSH(&search->uses, use);
}

/* Of the structure at that level; NULL: it has none. */
static const char *type_name(const struct search *search, const struct end_place *end, size_t level)
{
    const struct data_type *type = &search->view->objects.items[end->object].type;
    struct data_type nested = {.module = type->module, .reference = end->levels[level].type};
    struct type_members members = {0};
    const char *name = data_type_members(&nested, &members) ? members.name : NULL;

    free(members.items.items);
    return name;
}

/* The structure that the side's offset counts from; module NULL: not known. */
static struct data_type instance_of(const struct search *search, const struct end_place *end,
                                    const struct collision_side *side)
{
    const struct data_type *type = &search->view->objects.items[end->object].type;

    for (size_t i = 0; i < end->level_count; i++)
        if (end->levels[i].start == side->instance_offset)
            return (struct data_type){.module = type->module, .reference = end->levels[i].type};
    return (struct data_type){.module = NULL};
}

static void take_flow(struct search *search, size_t number)
{
    const struct flow *flow = communication_flow(search->view->communication, number);
    struct end_place from = place_of_end(search, number, true);
    struct end_place to = place_of_end(search, number, false);
    struct collision_side sides[2], from_side, to_side;
    struct false_sharing *finding;
    enum collision collision;
    bool inner_array;
    uint32_t group;
    size_t nested;

    if (from.object == GROUP_NONE || to.object == GROUP_NONE)
        return;
    from_side = side_of(search, &from, flow->source.width, flow->source.offset);
    to_side = side_of(search, &to, flow->destination.width, flow->destination.offset);
    nested = from.object == to.object && from.typed && to.typed && same_instance(&from, &to)
                 ? nested_element(&from, &to)
                 : TYPE_LEVELS_MAX;
    if (nested < TYPE_LEVELS_MAX) {
        from_side.instance_offset = from.levels[nested].start;
        to_side.instance_offset = to.levels[nested].start;
    }
    sides[0] = from_side;
    sides[1] = to_side;
    collision = classify(&from, &to, sides, nested);
    inner_array =
        collision == COLLISION_ELEMENTS && same_instance(&from, &to) && nested == TYPE_LEVELS_MAX;
    group = number_of_finding(search, sides, collision, inner_array);
    if (group == search->findings.count) {
        struct false_sharing fresh = {.collision = collision};

        ARRAY_PUSH(&search->findings, fresh);
        ARRAY_PUSH(&search->largest, 0);
        ARRAY_PUSH(&search->instances, ((struct data_type){.module = NULL}));
    }
    search->labels[number] = group;
    note_use(search, group, flow, &from_side, flow->source.thread_id);
    note_use(search, group, flow, &to_side, flow->destination.thread_id);
    search->findings.items[group].modelled += flow->modelled ? flow->transfers : 0;
    if (flow->transfers <= search->largest.items[group])
        return;
    search->largest.items[group] = flow->transfers;
    finding = &search->findings.items[group];
    memcpy(finding->sides, sides, sizeof(sides));
    search->instances.items[group] = instance_of(search, &to, &to_side);
    if (to.typed && nested < TYPE_LEVELS_MAX) {
        finding->type = type_name(search, &to, nested);
        finding->type_size = to.levels[nested].repeat;
    } else if (to.typed) {
        finding->type = inner_array ? NULL : to.place.element_type;
        finding->type_size = inner_array         ? to.place.size
                             : to.place.in_array ? to.place.element_size
                                                 : search->view->objects.items[to.object].size;
    }
}

static int compare_uses(const void *left, const void *right)
{
    const struct element_use *a = left, *b = right;

    if (a->finding != b->finding)
        return a->finding < b->finding ? -1 : 1;
    return (a->line > b->line) - (a->line < b->line);
}

/*
 * Where threads have parts of an array, few lines of it collide, somewhere in it. Where each has an
 * element, all lines with such elements do, from the array's beginning on.
 */
static bool has_parts(const struct search *search, const struct false_sharing *finding,
                      const struct element_use *uses, size_t count)
{
    uint64_t line_size = search->line_size, first = UINT64_MAX, last = 0, size = 0;
    bool all_seen = search->model->exact || count >= 2 * part_observations * finding->lines;

    if (finding->collision != COLLISION_ELEMENTS)
        return false;
    for (size_t i = 0; i < count; i++) {
        first = uses[i].offset < first ? uses[i].offset : first;
        last = uses[i].offset > last ? uses[i].offset : last;
        size = uses[i].size > size ? uses[i].size : size;
    }
    if (first < line_size && last / line_size <= finding->lines)
        return false;
    return all_seen && size / line_size > part_lines * finding->lines &&
           finding->lines <= 2 * finding->threads;
}

bool false_sharing_is_modelled(const struct false_sharing *finding)
{
    return finding->modelled > 0.5 * finding->transfers.of[MATRIX_ALL].value;
}

/* What threads spend at lines that they fight over; of places where that may matter. */
static void find_cost(const struct search *search, struct false_sharing *finding,
                      const struct element_use *uses, size_t count)
{
    struct line_user_place *places;

    if (!false_sharing_is_modelled(finding) ||
        finding->transfers.of[MATRIX_ALL].hi < transfers_per_line_min * (double)finding->lines)
        return;
    places = allocate_zeroed(count, sizeof(*places));
    for (size_t i = 0; i < count; i++)
        places[i] = uses[i].place;
    finding->cost = sharing_cost_of(search->model, places, count);
    free(places);
}

static void sum_up_uses(struct search *search)
{
    struct element_use *uses = search->uses.items;
    size_t count = search->uses.count, end;

    if (count > 0)
        qsort(uses, count, sizeof(*uses), compare_uses);
    for (size_t i = 0; i < count; i = end) {
        struct false_sharing *finding = &search->findings.items[uses[i].finding];
        struct intern_table *threads = intern_table_create();

        for (end = i; end < count && uses[end].finding == uses[i].finding; end++) {
            intern_table_insert(threads, &uses[end].thread, sizeof(uses[end].thread));
            finding->lines += end == i || uses[end].line != uses[end - 1].line;
        }
        finding->threads = intern_table_count(threads);
        finding->parts = has_parts(search, finding, uses + i, end - i);
        find_cost(search, finding, uses + i, end - i);
        intern_table_free(threads);
    }
}

static int compare_findings(const void *left, const void *right)
{
    const struct false_sharing *a = left, *b = right;
    double x = a->transfers.of[MATRIX_ALL].value, y = b->transfers.of[MATRIX_ALL].value;

    return (x < y) - (x > y);
}

false_sharing_list false_sharing_find(struct model *model, struct communication_view *view)
{
    struct search search = {.model = model, .view = view, .keys = intern_table_create()};
    struct flow_totals *totals;

    search.line_size = analysis_line_size(model->analysis);
    communication_view_label_objects(model, view);
    search.labels = allocate_zeroed(view->count, sizeof(*search.labels));
    for (size_t i = 0; i < view->count; i++) {
        search.labels[i] = GROUP_NONE;
        if (view->place[i] == FLOW_PROGRAM &&
            !communication_flow(view->communication, i)->true_sharing)
            take_flow(&search, i);
    }
    totals = allocate_zeroed(search.findings.count, sizeof(*totals));
    flow_totals_of(view->communication, search.labels, search.findings.count, totals);
    for (size_t g = 0; g < search.findings.count; g++)
        search.findings.items[g].transfers = totals[g];
    sum_up_uses(&search);
    structure_lines_plan(&search.findings, search.instances.items, model->accesses.value);
    if (search.findings.count > 0)
        qsort(search.findings.items, search.findings.count, sizeof(*search.findings.items),
              compare_findings);
    free(totals);
    free(search.uses.items);
    free(search.labels);
    free(search.instances.items);
    free(search.largest.items);
    intern_table_free(search.keys);
    return search.findings;
}

enum parting_worth worth_of(const struct false_sharing *finding, double accesses)
{
    const struct estimate *transfers = &finding->transfers.of[MATRIX_ALL];
    double cpu_ns = finding->cost.cpu_ns;
    double enough = cpu_ns > 0 ? time_threshold * cpu_ns / line_transfer_ns.value
                               : false_sharing_threshold * accesses;
    double least = fmax(enough, transfers_per_line_min * (double)finding->lines);

    if (transfers->hi < least)
        return PARTING_WORTHLESS;
    return transfers->lo > 0 && transfers->value >= least ? PARTING_WORTHY : PARTING_UNCERTAIN;
}
