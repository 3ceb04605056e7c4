/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers for people: three significant digits and a unit. The caller frees the texts. */
#ifndef REUSE_POSTPROC_NUMBERS_H
#define REUSE_POSTPROC_NUMBERS_H

char *number_count(double count);   /* 950, 12.3 k, 4.56 M */
char *number_bytes(double bytes);   /* 640 B, 32 KiB, 1.5 MiB */
char *number_time(double ns);       /* 15 ns, 1.5 ms, 12.3 s */
char *number_percent(double share); /* 0.123 -> "12.3"; without the sign */

/* "0.34 to 5.23 M": both ends in the unit of the upper one, or one number where they look alike. */
char *number_count_range(double lo, double hi);
char *number_bytes_range(double lo, double hi);
char *number_time_range(double lo, double hi);

/* Shades from 0, nothing, to 9, all: how hot a share of the whole is. */
int number_heat(double share);

#endif
