/* SPDX-License-Identifier: BSD-3-Clause */
/* What the processor under us can execute and how it saves its state. */
#ifndef REUSE_ISA_X86_PROCESSOR_H
#define REUSE_ISA_X86_PROCESSOR_H

#include <Zydis/Zydis.h>
/* Zydis brings in assert.h, whose macro code for signal handlers does not want. */
#undef assert
#include <stdbool.h>
#include <stdint.h>

/* Byte offsets in the standard (not compacted) XSAVE area; 0 if the component does not exist. */
struct x86_processor {
    bool avx, avx512; /* usable: the system saves the registers */
    uint32_t ymm_high, opmask, zmm_high, zmm_16_31;
    bool shadow_stack; /* in use by this thread: rdssp returns something */
};

/* Written once by x86_processor_detect(). */
extern struct x86_processor x86_processor;

/*
 * To be called before what is here is looked at: by whoever gives an interpreter its registers. The
 * first call asks the processor, which takes some 0.1 ms in a virtual machine, and so not for
 * programs that end before their first sample. Async-signal-safe.
 */
void x86_processor_detect(void);

/*
 * Bytes that xsave (compacted: xsavec) takes at most for these components, those that the system
 * has not enabled left out.
 */
unsigned x86_processor_save_size(uint64_t components, bool compacted);

/* Whether these components hold all of the vector registers that exist, and MXCSR. */
bool x86_processor_saves_vectors(uint64_t components);

/* Whether it executes instructions of this set; false for sets unknown here. Async-signal-safe. */
bool x86_processor_has(ZydisISASet set);

#endif
