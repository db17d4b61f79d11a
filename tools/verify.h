/* SPDX-License-Identifier: MIT
 *
 * `ringlab verify`: one run on real data, compared with the fp64 single shot. verify.c runs it and judges;
 * verify_simulated.c does the part of it that happens in this process. */
#ifndef TOOL_VERIFY_H
#define TOOL_VERIFY_H

#include "exec/kernels/verify.h"
#include "exec/kernels/verify_gradient.h"
#include "tools/setup.h"

/* What came out, in either world. */
struct tool_verified {
    char world[16], kernel[64], detail[256];
    enum ring_dtype state; /* of the accumulators, out and lse */
    uint32_t n_ranks;
    uint32_t n_repeats;                       /* runs that gave the same bits; 0: one alone */
    struct verify_report *reports;            /* [n_ranks] */
    struct verify_gradient_report *gradients; /* [n_ranks]; NULL: no backward pass */
};
void tool_verified_fini(struct tool_verified *verified);

/* Sends the data through the simulated cluster. max_rows as verify_rank; dump: a folder for .npy files, or
 * NULL. */
enum ring_status tool_verify_simulated(const struct tool_setup *setup, uint64_t max_rows, const char *dump,
                                       struct tool_verified *verified, struct ring_error *error);

/* One rank's results in the order of its tokens; verify_dump.c puts them where they belong in the sequence.
 */
struct tool_outputs {
    void *out;       /* [batch][heads][tokens][head_dim] */
    void *lse;       /* [batch][heads][tokens] */
    const void *d_q; /* as out; NULL: no backward pass */
    const void
        *gradient; /* dK, then dV: [2][batch][kv_heads][tokens][head_dim], in the type in which they travel */
};

/* Writes q, k, v, out and lse, and where there was a backward pass d_out, d_q, d_k and d_v, each
 * [batch][heads][tokens] in the order of the sequence, as DIR/NAME.npy. */
enum ring_status tool_verify_dump(const struct ring_plan *plan, const struct data_spec *data,
                                  enum ring_dtype state, const struct tool_outputs *outputs,
                                  const char *folder, struct ring_error *error);

#endif
