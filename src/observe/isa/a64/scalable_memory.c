/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads and stores of scalable vectors. Signal-safe. */
#include "isa/a64/scalable.h"
#include "isa/memory.h"
#include "isa/report.h"

#include "signal_safe.h"

/* Room that the stores of any instruction here may need, in lines of the store buffer. */
enum { STORE_LINES_MAX = 2 * (VECTOR_BYTES / 4) + 2 };

unsigned a64_scalable_span(const struct a64_scalable_memory *memory, unsigned vector_length)
{
    switch (memory->shape) {
    case SHAPE_REGISTER:
        return vector_length;
    case SHAPE_PREDICATE:
        return vector_length / 8;
    case SHAPE_ELEMENTS:
        return vector_length / memory->element * memory->memory * memory->registers;
    case SHAPE_BROADCAST:
    case SHAPE_SEGMENT:
        return memory->memory;
    default:
        return 0;
    }
}

uint64_t a64_scalable_start(const struct a64_scalable_memory *memory,
                            const struct a64_operation *op, const uint64_t *r,
                            unsigned vector_length)
{
    uint64_t address = r[op->n];
    if (memory->address == SCALABLE_BY_REGISTER)
        address += r[op->m] << memory->scale;
    else if (memory->address == SCALABLE_BY_VECTORS)
        address += (uint64_t)memory->immediate * a64_scalable_span(memory, vector_length);
    else
        address += (uint64_t)memory->immediate;
    return address & A64_ADDRESS_MASK;
}

/* A transfer on its way. */
struct transfer {
    struct interpreter *it;
    const struct a64_operation *op;
    struct a64_step *step;
    struct a64_scalable_memory memory;
    uint64_t address;
    uint64_t mask; /* a bit for each byte of a vector; only those of elements' first bytes count */
    bool mask_known;
    unsigned lanes;
};

static bool active(const struct transfer *t, unsigned lane)
{
    return !t->mask_known || t->mask >> lane * t->memory.element & 1;
}

static void report_span(struct transfer *t, uint64_t address, unsigned bytes)
{
    enum access_kind kind = t->memory.loads ? ACCESS_LOAD : ACCESS_STORE;
    for (unsigned done = 0; done < bytes; done += ACCESS_WIDTH_MAX) {
        unsigned left = bytes - done;
        report_access(&t->step->out, t->step->ip, address + done,
                      access_tail(left < ACCESS_WIDTH_MAX ? left : ACCESS_WIDTH_MAX, kind, false));
    }
}

static enum memory_outcome read_span(struct interpreter *it, uint64_t address, uint8_t *bytes,
                                     unsigned size)
{
    enum memory_outcome outcome = MEMORY_KNOWN;
    for (unsigned done = 0; done < size && outcome != MEMORY_FAULT; done += ACCESS_WIDTH_MAX) {
        unsigned left = size - done, piece = left < ACCESS_WIDTH_MAX ? left : ACCESS_WIDTH_MAX;
        enum memory_outcome now = memory_read(it, address + done, bytes + done, piece);
        outcome = now == MEMORY_KNOWN ? outcome : now;
    }
    return outcome;
}

static void set_element(uint8_t *vector, unsigned lane, const struct a64_scalable_memory *memory,
                        const uint8_t *bytes)
{
    uint64_t value = 0;
    memcpy(&value, bytes, memory->memory);
    if (memory->is_signed)
        value = (uint64_t)bytes_signed(value, memory->memory);
    memcpy(vector + lane * memory->element, &value, memory->element);
}

/* First and last selected lane; false: none. */
static bool selected(const struct transfer *t, unsigned *first, unsigned *last)
{
    bool any = false;
    *first = *last = 0;
    for (unsigned lane = 0; lane < t->lanes; lane++) {
        if (!active(t, lane))
            continue;
        if (!any)
            *first = lane;
        *last = lane;
        any = true;
    }
    return any;
}

static enum interpreter_stop load_elements(struct transfer *t)
{
    const struct a64_scalable_memory *memory = &t->memory;
    unsigned group = memory->memory * memory->registers, first, last;
    uint8_t bytes[SCALABLE_SPAN_MAX];
    enum memory_outcome outcome = MEMORY_KNOWN;
    bool any = selected(t, &first, &last), solid = t->mask_known;
    for (unsigned lane = any ? first : 0; any && lane <= last; lane++)
        solid = solid && active(t, lane);
    if (any && solid)
        outcome = read_span(t->it, t->address + first * group, bytes + first * group,
                            (last - first + 1) * group);
    /* Under an unknown mask nothing is known to be read. */
    for (unsigned lane = 0; t->mask_known && !solid && any && lane <= last; lane++) {
        if (!active(t, lane) || outcome == MEMORY_FAULT)
            continue;
        enum memory_outcome now =
            memory_read(t->it, t->address + lane * group, bytes + lane * group, group);
        outcome = now == MEMORY_KNOWN ? outcome : now;
    }
    if (outcome == MEMORY_FAULT)
        return INTERPRETER_UNREADABLE;
    for (unsigned i = 0; i < memory->registers; i++) {
        uint8_t *vector = t->it->vector[(t->op->d + i) % 32];
        memset(vector, 0, VECTOR_BYTES);
        for (unsigned lane = 0; t->mask_known && lane < t->lanes; lane++)
            if (active(t, lane))
                set_element(vector, lane, memory, bytes + lane * group + i * memory->memory);
    }
    if (outcome != MEMORY_KNOWN || !t->mask_known)
        t->step->fresh = t->op->writes;
    if (any)
        report_span(t, t->address + first * group, (last - first + 1) * group);
    return INTERPRETER_FULL;
}

static enum interpreter_stop store_elements(struct transfer *t)
{
    const struct a64_scalable_memory *memory = &t->memory;
    unsigned group = memory->memory * memory->registers, first, last;
    if (!selected(t, &first, &last))
        return INTERPRETER_FULL;
    for (unsigned lane = first; lane <= last; lane++) {
        for (unsigned i = 0; active(t, lane) && i < memory->registers; i++) {
            unsigned v = (t->op->d + i) % 32;
            bool known = t->mask_known && !(t->step->poison & vector_bit(v));
            const uint8_t *bytes = t->it->vector[v] + lane * memory->element;
            store_buffer_write(&t->it->store, t->address + lane * group + i * memory->memory,
                               known ? bytes : NULL, memory->memory);
        }
    }
    report_span(t, t->address + first * group, (last - first + 1) * group);
    return INTERPRETER_FULL;
}

/* Whole registers, without a predicate. */
static enum interpreter_stop transfer_register(struct transfer *t)
{
    unsigned size = a64_scalable_span(&t->memory, t->it->vector_length), d = t->op->d;
    bool predicate = t->memory.shape == SHAPE_PREDICATE;
    uint8_t *bytes = predicate ? (uint8_t *)&t->it->predicate[d] : t->it->vector[d];
    bool unknown = predicate ? t->it->predicate_poison >> d & 1 : t->step->poison & vector_bit(d);
    if (t->memory.loads) {
        uint8_t loaded[VECTOR_BYTES] = {0};
        enum memory_outcome outcome = memory_read(t->it, t->address, loaded, size);
        if (outcome == MEMORY_FAULT)
            return INTERPRETER_UNREADABLE;
        memcpy(bytes, loaded, predicate ? sizeof *t->it->predicate : VECTOR_BYTES);
        unknown = outcome != MEMORY_KNOWN;
        if (predicate)
            t->it->predicate_poison = (t->it->predicate_poison & ~(1u << d)) | (uint32_t)unknown
                                                                                   << d;
        else if (unknown)
            t->step->fresh = t->op->writes;
    } else {
        store_buffer_write(&t->it->store, t->address, unknown ? NULL : bytes, size);
    }
    report_span(t, t->address, size);
    return INTERPRETER_FULL;
}

/* One element, or one segment, to all that are selected. */
static enum interpreter_stop broadcast(struct transfer *t)
{
    const struct a64_scalable_memory *memory = &t->memory;
    bool segment = memory->shape == SHAPE_SEGMENT;
    unsigned first, last, size = memory->memory;
    uint8_t bytes[32], *vector = t->it->vector[t->op->d];
    if (segment) {
        /* Lanes within the segment are selected by the predicate; only whole ones are modelled. */
        uint64_t low = (UINT64_C(1) << size) - 1, lowest = field(t->op->word, 23, 2);
        static const uint64_t every[4] = {~UINT64_C(0), 0x5555555555555555, 0x1111111111111111,
                                          0x0101010101010101};
        bool whole = t->mask_known && (~t->mask & every[lowest] & low) == 0;
        if (!whole || t->it->vector_length % size != 0) {
            t->step->fresh = t->op->writes;
            report_span(t, t->address, size);
            return INTERPRETER_FULL;
        }
    } else if (!selected(t, &first, &last)) {
        memset(vector, 0, VECTOR_BYTES);
        return INTERPRETER_FULL;
    }
    enum memory_outcome outcome = memory_read(t->it, t->address, bytes, size);
    if (outcome == MEMORY_FAULT)
        return INTERPRETER_UNREADABLE;
    memset(vector, 0, VECTOR_BYTES);
    if (segment)
        for (unsigned at = 0; at < t->it->vector_length; at += size)
            memcpy(vector + at, bytes, size);
    else
        for (unsigned lane = 0; lane < t->lanes; lane++)
            if (active(t, lane))
                set_element(vector, lane, memory, bytes);
    if (outcome != MEMORY_KNOWN || !t->mask_known)
        t->step->fresh = t->op->writes;
    report_span(t, t->address, size);
    return INTERPRETER_FULL;
}

static uint64_t lane_address(const struct transfer *t, unsigned lane)
{
    const struct a64_scalable_memory *memory = &t->memory;
    const uint64_t *r = t->it->r;
    bool bases = memory->address == SCALABLE_BASES || memory->address == SCALABLE_BASES_REGISTER;
    const uint8_t *vector = t->it->vector[bases ? t->op->n : register_at(t->op->word, 16)];
    uint64_t element = 0, address;
    memcpy(&element, vector + lane * memory->element, memory->element);
    switch (memory->address) {
    case SCALABLE_BASES:
        address = element + (uint64_t)memory->immediate;
        break;
    case SCALABLE_BASES_REGISTER:
        address = element + r[t->op->m];
        break;
    case SCALABLE_OFFSETS_UXTW:
        address = r[t->op->n] + ((element & UINT32_MAX) << memory->scale);
        break;
    case SCALABLE_OFFSETS_SXTW:
        address = r[t->op->n] + ((uint64_t)(int64_t)(int32_t)element << memory->scale);
        break;
    default:
        address = r[t->op->n] + (element << memory->scale);
        break;
    }
    return address & A64_ADDRESS_MASK;
}

/* An unknown mask leaves it open which accesses there are. */
static enum interpreter_stop transfer_scattered(struct transfer *t)
{
    const struct a64_scalable_memory *memory = &t->memory;
    uint8_t loaded[VECTOR_BYTES] = {0}, *vector = t->it->vector[t->op->d];
    struct access *start = t->step->out;
    bool known = !(t->step->poison & vector_bit(t->op->d));
    if (!t->mask_known)
        return INTERPRETER_POISONED_ADDRESS;
    for (unsigned lane = 0; lane < t->lanes; lane++) {
        uint64_t address = lane_address(t, lane);
        uint8_t bytes[8];
        if (!active(t, lane))
            continue;
        if (!memory->loads) {
            store_buffer_write(&t->it->store, address,
                               known ? vector + lane * memory->element : NULL, memory->memory);
        } else {
            enum memory_outcome outcome = memory_read(t->it, address, bytes, memory->memory);
            if (outcome == MEMORY_FAULT) {
                t->step->out = start;
                return INTERPRETER_UNREADABLE;
            }
            if (outcome == MEMORY_POISONED)
                t->step->fresh = t->op->writes;
            set_element(loaded, lane, memory, bytes);
        }
        report_span(t, address, memory->memory);
    }
    if (memory->loads)
        memcpy(vector, loaded, sizeof loaded);
    return INTERPRETER_FULL;
}

/* Elements that the first-fault register excludes may have any value. */
static bool excludes_elements(const struct interpreter *it)
{
    return it->predicate_poison >> PREDICATE_FFR & 1 ||
           it->predicate[PREDICATE_FFR] != store_buffer_mask(it->vector_length);
}

static enum interpreter_stop transfer(struct transfer *t)
{
    if (t->memory.shape == SHAPE_SCATTERED)
        return transfer_scattered(t);
    t->address = a64_scalable_start(&t->memory, t->op, t->it->r, t->it->vector_length);
    switch (t->memory.shape) {
    case SHAPE_ELEMENTS:
        return t->memory.loads ? load_elements(t) : store_elements(t);
    case SHAPE_BROADCAST:
    case SHAPE_SEGMENT:
        return broadcast(t);
    default:
        return transfer_register(t);
    }
}

enum interpreter_stop a64_scalable_transfer(struct interpreter *it, const struct a64_operation *op,
                                            struct a64_step *step)
{
    struct transfer t = {.it = it, .op = op, .step = step};
    if (!a64_scalable_memory(op->word, &t.memory))
        return INTERPRETER_UNKNOWN;
    if (store_buffer_room(&it->store) < STORE_LINES_MAX)
        return INTERPRETER_STORE_BUFFER;
    t.mask = it->predicate[op->a];
    t.mask_known = !(it->predicate_poison >> op->a & 1);
    t.lanes = it->vector_length / t.memory.element;
    enum interpreter_stop why = transfer(&t);
    if (t.memory.forgives && excludes_elements(it))
        step->fresh = op->writes;
    return why;
}
