/* SPDX-License-Identifier: MIT
 *
 * What one core's floating-point units reach at best, measured: the yardstick that stands beside each figure
 * of the kernels' bench, because a core's clock drifts by several per cent within minutes. */
#ifndef PEAK_H
#define PEAK_H

/* fp32 FLOP/s of independent multiply-adds on registers, the median of a few runs of some ten microseconds
 * each, with the instruction set of the kernel of that name ("tiled-avx512", "tiled-avx2", anything else: the
 * baseline). The processor must have it. */
double peak_flop_per_s(const char *kernel_name);

/* Seconds of processor time that this thread has had: what other programs take of the core does not count. */
double peak_cpu_s(void);

#endif
