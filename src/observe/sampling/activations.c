/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/activations.h"

#include <string.h>

#include "sampling/progress.h"

#include "signal_safe.h"

enum { REGISTER_WIDTH = 8 };

static const uint32_t all_but_stack_pointer =
    (UINT32_MAX >> (32 - ACTIVATION_REGISTERS)) & ~(UINT32_C(1) << INTERPRETER_STACK_POINTER);

static void add_look(struct activations *activations, const uint64_t registers[])
{
    struct activation_look *look = &activations->look[activations->looks++];

    look->stack_pointer = registers[INTERPRETER_STACK_POINTER];
    memcpy(look->registers, registers, sizeof look->registers);
}

void activations_look(struct activations *activations, const uint64_t registers[])
{
    activations->looks = activations->count = 0;
    add_look(activations, registers);
}

/* Callers have larger stack pointers; what a caller calls next has not. */
void activations_look_return(struct activations *activations, const uint64_t registers[])
{
    unsigned n = activations->looks;

    if (n > 0 && n < ACTIVATIONS_MAX &&
        registers[INTERPRETER_STACK_POINTER] > activations->look[n - 1].stack_pointer)
        add_look(activations, registers);
}

static void find_look(const struct activations *activations, struct activation *activation)
{
    activation->looked = false;
    for (unsigned i = 0; i < activations->looks && !activation->looked; i++) {
        const struct activation_look *look = &activations->look[i];

        activation->looked = look->stack_pointer == activation->stack_pointer;
        memcpy(activation->at_look, look->registers, sizeof activation->at_look);
    }
}

static void add(struct activations *activations, uint64_t place, const uint64_t registers[],
                uint32_t unknown, uint64_t accesses)
{
    struct activation *activation = &activations->burst[activations->count++];

    activation->place = place;
    activation->stack_pointer = registers[INTERPRETER_STACK_POINTER];
    find_look(activations, activation);
    memcpy(activation->first, registers, sizeof activation->first);
    memcpy(activation->last, registers, sizeof activation->last);
    activation->known = all_but_stack_pointer & ~unknown;
    activation->rose = activation->fell = 0;
    activation->begin = activation->end = accesses;
}

void activations_begin(struct activations *activations, bool looked, const uint64_t registers[])
{
    activations->count = 0;
    if (!looked)
        activations->looks = 0;
    add(activations, 0, registers, 0, 0);
}

static void follow(struct activation *activation, const uint64_t registers[], uint32_t unknown,
                   uint64_t accesses)
{
    activation->known &= ~unknown;
    for (uint32_t left = activation->known; left; left &= left - 1) {
        int number = __builtin_ctz(left);
        double change =
            progress_change(REGISTER_WIDTH, activation->last[number], registers[number]);

        activation->rose |= (uint32_t)(change > 0) << number;
        activation->fell |= (uint32_t)(change < 0) << number;
    }
    memcpy(activation->last, registers, sizeof activation->last);
    activation->end = accesses;
}

void activations_follow(struct activations *activations, const uint64_t registers[],
                        uint32_t unknown, uint64_t accesses)
{
    for (unsigned i = 0; i < activations->count; i++)
        if (activations->burst[i].stack_pointer == registers[INTERPRETER_STACK_POINTER])
            follow(&activations->burst[i], registers, unknown, accesses);
}

void activations_return(struct activations *activations, uint64_t place, const uint64_t registers[],
                        uint32_t unknown, uint64_t accesses)
{
    unsigned n = activations->count;

    if (n > 0 && n < ACTIVATIONS_MAX &&
        registers[INTERPRETER_STACK_POINTER] > activations->burst[n - 1].stack_pointer)
        add(activations, place, registers, unknown, accesses);
    else
        activations_follow(activations, registers, unknown, accesses);
}

bool activation_moved(const struct activations *activations, unsigned number_of, unsigned number,
                      struct activation_move *move)
{
    const struct activation *activation = &activations->burst[number_of];
    uint32_t bit = UINT32_C(1) << number;

    if (activation->end == activation->begin || !(activation->known & bit) ||
        (activation->rose & activation->fell & bit))
        return false;
    move->within =
        progress_change(REGISTER_WIDTH, activation->first[number], activation->last[number]);
    move->before_known = activation->looked;
    move->before = activation->looked ? progress_change(REGISTER_WIDTH, activation->at_look[number],
                                                        activation->first[number])
                                      : 0;
    return move->within != 0 || move->before != 0;
}
