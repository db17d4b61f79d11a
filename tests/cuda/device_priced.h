/* SPDX-License-Identifier: MIT
 *
 * A device whose clock is made of prices: nothing is computed and nothing is copied, everything takes as
 * long as it says here, and the host's clock stands still but for launches and questions. What is measured on
 * it is known beforehand. Memory is that of device_stream.h's device. */
#ifndef TESTS_CUDA_DEVICE_PRICED_H
#define TESTS_CUDA_DEVICE_PRICED_H

#include "exec/cuda/device.h"

struct device_price {
    double flop_per_s;     /* of a large forward block in 16 bits with head_dim 128 */
    double launch_s;       /* of the host, for each kernel or copy */
    double kernel_s;       /* the least that a kernel takes */
    double question_s;     /* of the host, for asking an event in vain */
    double copy_latency_s; /* of each copy */
    double in_bytes_per_s, out_bytes_per_s, within_bytes_per_s, peer_bytes_per_s;
    double add_bytes_per_s; /* read and written */
    double merge_share;     /* that folding a block in takes longer than beginning a state */
    double slowed;          /* times as long that a block takes which begins while a copy is under way */
    int n_sharing;          /* ranks that share the device: each has so much less of its rate */
};

extern const struct device_price device_price_usual;

/* From here on; the clock begins at 0. */
void device_priced_set(const struct device_price *price);
double device_priced_now(void);

/* What a block's products alone run at, FLOP/s: less for short blocks, three quarters of it backward, an
 * eighth in fp32, and more for larger head_dims. */
double device_priced_rate(enum ring_pass pass, enum ring_dtype dtype, uint32_t head_dim, double q_tokens,
                          double k_tokens);

extern const struct exec_device_runtime device_priced_runtime;

#endif
