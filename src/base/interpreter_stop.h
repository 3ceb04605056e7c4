/* SPDX-License-Identifier: BSD-3-Clause */
/* Why the interpreter stopped: interpreter_run() returns it, bursts keep it in the profile. */
#ifndef REUSE_INTERPRETER_STOP_H
#define REUSE_INTERPRETER_STOP_H

enum interpreter_stop {
    INTERPRETER_FULL = 0,         /* the caller's buffer is full; call again to go on */
    INTERPRETER_BUDGET,           /* instruction budget used up */
    INTERPRETER_SYSTEM_CALL,      /* syscall, sysenter, int */
    INTERPRETER_POISONED_BRANCH,  /* target or condition unknown */
    INTERPRETER_POISONED_ADDRESS, /* a memory operand's address unknown */
    INTERPRETER_UNREADABLE,       /* a load or an instruction fetch would fault */
    INTERPRETER_UNKNOWN,          /* undecodable, privileged or far control transfer */
    INTERPRETER_STORE_BUFFER,     /* private store buffer full */
    INTERPRETER_STOP_COUNT
};

#endif
