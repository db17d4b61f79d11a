/* SPDX-License-Identifier: MIT
 *
 * What a device costs: seconds for one block of attention, as a breakdown that explains itself. A device is
 * data (models/devices/NAME.yaml, read by config/, or fitted by `ringlab calibrate`); this file only
 * interpolates. */
#ifndef MODEL_DEVICE_H
#define MODEL_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/problem.h"
#include "engine/work.h"

/* Attention rate measured over block shapes, for one pass, dtype, head_dim and kind of block. rates is
 * [n_q][n_k] FLOP/s, row-major, FLOPs counted on visible pairs only. Where square, only q = k was measured
 * (n_k = 1, k_tokens unused) and a block is looked up at sqrt(q * k) tokens. */
struct model_curve {
    enum ring_pass pass; /* forward or backward */
    enum ring_dtype dtype;
    uint32_t head_dim;
    bool causal; /* blocks cut by the mask's diagonal; false: every pair of the rectangle visible */
    bool square;
    size_t n_q, n_k;
    const double *q_tokens, *k_tokens; /* ascending */
    const double *rates_flop_per_s;
    /* A full square of so many tokens, of one head, and what it took in the median of the calibration that
     * the rates are from: later looks at the machine compare with it. 0: not known. */
    double reference_tokens, reference_s;
    const char *source;
};

/* How far a device's own calibration found its figures from what it had measured and kept out of them, as
 * shares of the time measured. */
#define MODEL_GRADES(X) X(FORWARD, "forward") X(BACKWARD, "backward") X(HEAD_DIM, "head_dim") X(HOPS, "hops")

#define MODEL_GRADE_ENUM(name, text) MODEL_GRADE_##name,
enum { MODEL_GRADES(MODEL_GRADE_ENUM) MODEL_N_GRADES };
#undef MODEL_GRADE_ENUM
extern const char *const model_grade_names[MODEL_N_GRADES];
struct model_grade {
    uint32_t n;                /* blocks or hops; 0: not graded */
    double median, p95, worst; /* of the error's size */
    double bias;               /* mean of the error; below 0, predicted too fast */
};

/* All strings and arrays are owned by whoever made the device (config). 0 means absent unless said otherwise.
 */
struct model_device {
    const char *name, *source;
    uint64_t memory_bytes;
    double memory_bytes_per_s;             /* streams, for the merge */
    double peak_flop_per_s[RING_N_DTYPES]; /* dense matrix peak, 0: unknown */
    double step_s;                         /* host and launch time of each step that computes */
    uint32_t cores; /* of a processor, and the figures here are one core's; 0: a device of its own kind */
    double merge_bytes_per_element; /* memory traffic of folding a block's output into the running one, per
                                       output element (q_tokens * heads * head_dim); 0: the kernel carries the
                                       running output (and dQ) itself */
    /* Bytes read and written in a second by what a CPU does beside the kernels; 0: as memory_bytes_per_s */
    double add_bytes_per_s[RING_N_DTYPES];     /* adding a gradient of this type */
    double prepare_bytes_per_s[RING_N_DTYPES]; /* delta, of a problem of this type */
    double poll_s; /* of a core that computes and looks at the messages in flight: one look */
    const struct model_curve *curves;
    size_t n_curves;
    struct model_grade grades[MODEL_N_GRADES]; /* of a calibrated device */
};

/* Seconds of one block on one device; total_s is the sum of the five before it. */
struct model_block_cost {
    double launch_s, kernel_s;
    double merge_s;   /* folding in: the block's output or dQ; of an addition, dK and dV */
    double prepare_s; /* of the first block of a backward pass: delta */
    double poll_s;    /* looking at messages meanwhile; ring.h charges it */
    double total_s;
    double flops;
    double rate_flop_per_s;          /* of the kernel alone */
    const struct model_curve *curve; /* where the rate is from; NULL if there was nothing to compute */
    bool outside;                    /* the shape lies outside the measured curve, whose end was used */
};

/* FLOPs of both products for so many visible pairs of one head, a multiply-add counted as 2; backward counts
 * the recomputation: 2.5 x. Source: FlashAttention-2 (Dao 2023), section 4.1. */
double model_attention_flops(uint64_t visible_pairs, const struct ring_problem *problem, enum ring_pass pass);

/* RING_BAD_INPUT, naming device and curve, unless every curve has points that ascend and rates above 0: then
 * model_device_block can fail only for want of a curve. */
enum ring_status model_device_check(const struct model_device *device, struct ring_error *error);

/* Time of a block's work for all heads and the batch, pass forward or backward. work.visible_pairs 0 costs 0.
 * The rate is bilinear in log2 of the block's shape, clamped at the ends of the curve. The curve is one of
 * the pass and the dtype (fp16 and bf16 serve for each other), of the block's kind (cut by the mask or full)
 * if there is one, then of the nearest head_dim. The merge touches the queries that see the block: the
 * device's figure forward, and where that is not 0, backward 8 bytes and the dtype's for each element of dQ
 * (fp32 read and written, the block's own read). RING_BAD_INPUT, saying what the device has, if no curve
 * serves. */
enum ring_status model_device_block(const struct model_device *device, const struct ring_problem *problem,
                                    enum ring_pass pass, const struct ring_work *work,
                                    struct model_block_cost *cost, struct ring_error *error);

/* Seconds of so many bytes of memory traffic, read or written; 0 where the device does not say its bandwidth.
 */
double model_device_stream_s(const struct model_device *device, double bytes);

/* The same of adding up gradients that travel as dtype, and of making delta for a problem of dtype. */
double model_device_add_s(const struct model_device *device, enum ring_dtype dtype, double bytes);
double model_device_prepare_s(const struct model_device *device, enum ring_dtype dtype, double bytes);

#endif
