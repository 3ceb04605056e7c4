/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "isa/x86/fetch.h"

#include "isa/x86/decode.h"
#include "isa/x86/decode_cache.h"

#include "signal_safe.h"

bool x86_block_matches(struct interpreter *it, const struct block *block)
{
    uint8_t now[BLOCK_CODE_MAX];
    return memory_read_target(it, block->ip, now, block->code_size) &&
           memcmp(now, block->code, block->code_size) == 0;
}

struct block *x86_fetch_block(struct interpreter *it, uint64_t ip, unsigned generation)
{
    uint8_t code[BLOCK_CODE_MAX];
    size_t size = 0;
    while (size < sizeof code) {
        uint64_t at = ip + size;
        size_t piece = 64 - at % 64;
        if (piece > sizeof code - size)
            piece = sizeof code - size;
        if (!memory_read_target(it, at, code + size, piece))
            break;
        size += piece;
    }
    struct block *own = &it->own_block;
    own->ops = it->own_ops;
    own->code = it->own_code;
    x86_decode_block(own, ip, code, size, generation);
    /* A place where nothing can be decoded may hold code later. */
    if (own->code_size == 0)
        return own;
    struct block *cached = decode_cache_insert(generation, own);
    return cached ? cached : own;
}

struct block *x86_shorten_block(struct interpreter *it, const struct block *block, unsigned count)
{
    ZydisDecoder decoder;
    ZydisDecodedInstruction instruction;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    unsigned size = 0;
    for (unsigned i = 0; i < count; i++) {
        if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, block->code + size,
                                                        block->code_size - size, &instruction)))
            break;
        size += instruction.length;
    }
    struct block *own = &it->own_block;
    unsigned ops = 0;
    while (ops < block->ops_count && block->ops[ops].instruction < count) {
        it->own_ops[ops] = block->ops[ops];
        ops++;
    }
    it->own_ops[ops] = (struct micro_op){
        .code = OP_END,
        .d = REGISTER_ZERO,
        .s = REGISTER_ZERO,
        .base = REGISTER_ZERO,
        .index = REGISTER_ZERO,
        .instruction = (uint8_t)count,
        .displacement = (int64_t)(block->ip + size),
    };
    if (own != block)
        *own = *block;
    own->ops = it->own_ops;
    own->ops_count = (uint16_t)(ops + 1);
    own->cached = 0;
    return own;
}
