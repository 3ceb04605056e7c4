/* SPDX-License-Identifier: BSD-3-Clause */
/* See instructions.h. */
#include "instructions.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "operands.h"

enum { CHUNK = 4096, CHUNKS_MAX = 4096, CODE_MAX = 16 };

/* Written under `lock` before the number is given out, never changed afterwards. */
static struct instruction *chunks[CHUNKS_MAX];

/* Everything below is read and written under `lock`. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t count = 1;               /* number 0 is taken */
static unsigned char (*codes)[CODE_MAX]; /* encodings, by number: code at an address may change */
static uint32_t *index_table;            /* hash of ip and code -> number */
static uint32_t index_size;

static uint64_t hash_of(uint64_t ip, const unsigned char code[CODE_MAX])
{
    uint64_t words[2];
    memcpy(words, code, sizeof words);
    uint64_t hash = (ip ^ words[0] * 0x9e3779b97f4a7c15u ^ words[1]) * 0xd6e8feb86659fd93u;
    return hash ^ hash >> 32;
}

static uint32_t *slot_of(uint64_t ip, const unsigned char code[CODE_MAX])
{
    for (uint64_t i = hash_of(ip, code);; i++) {
        uint32_t *slot = &index_table[i & (index_size - 1)];
        if (*slot == 0 ||
            (instruction_at(*slot)->ip == ip && memcmp(codes[*slot], code, CODE_MAX) == 0))
            return slot;
    }
}

/* Room for one more instruction in chunks, codes and index_table. */
static bool make_room(void)
{
    if (count >= (uint32_t)CHUNK * CHUNKS_MAX)
        return false;
    if (chunks[count / CHUNK] == NULL) {
        unsigned char(*more)[CODE_MAX] =
            realloc(codes, ((size_t)count / CHUNK + 1) * CHUNK * sizeof *codes);
        if (more == NULL)
            return false;
        codes = more;
        chunks[count / CHUNK] = calloc(CHUNK, sizeof **chunks);
        if (chunks[count / CHUNK] == NULL)
            return false;
    }
    if (count * 2 < index_size)
        return true;
    uint32_t *old = index_table, size = index_size ? 2 * index_size : 4 * CHUNK;
    uint32_t *table = calloc(size, sizeof *table);
    if (table == NULL)
        return count + 1 < index_size;
    index_table = table;
    index_size = size;
    for (uint32_t i = 1; i < count; i++)
        *slot_of(instruction_at(i)->ip, codes[i]) = i;
    free(old);
    return true;
}

uint32_t instruction_number(uint64_t ip, const void *code, size_t size)
{
    struct instruction instruction = {.ip = ip};
    if (!operands_decode(code, size, &instruction))
        return INSTRUCTION_NONE;
    unsigned char padded[CODE_MAX] = {0};
    memcpy(padded, code, size < CODE_MAX ? size : CODE_MAX);

    uint32_t number = 0;
    pthread_mutex_lock(&lock);
    if (make_room()) {
        uint32_t *slot = slot_of(ip, padded);
        if (*slot == 0) {
            memcpy(codes[count], padded, CODE_MAX);
            chunks[count / CHUNK][count % CHUNK] = instruction;
            *slot = count;
            __atomic_store_n(&count, count + 1, __ATOMIC_RELEASE);
        }
        number = *slot;
    }
    pthread_mutex_unlock(&lock);
    return number;
}

const struct instruction *instruction_at(uint32_t number)
{
    static const struct instruction unknown;
    return number == 0 ? &unknown : &chunks[number / CHUNK][number % CHUNK];
}

uint32_t instruction_count(void)
{
    return __atomic_load_n(&count, __ATOMIC_ACQUIRE);
}

void instructions_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
}
