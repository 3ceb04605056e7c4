/* SPDX-License-Identifier: BSD-3-Clause */
/* What the hardware's events did not deliver as they should, told in the profile. */
#ifndef REUSE_RUNTIME_PMU_NOTES_H
#define REUSE_RUNTIME_PMU_NOTES_H

/* At the end of the process, when all threads have ended. Signals must be blocked. */
void pmu_note_losses(void);

#endif
