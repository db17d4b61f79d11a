/* SPDX-License-Identifier: MIT
 *
 * Running states of online softmax (m, l, o): emptying, merging and normalising them. Not in the hot path:
 * kernels fold keys in by themselves. All arithmetic is in double, and each number is rounded once to the
 * state's type. */
#include <math.h>

#include "exec/kernels/block.h"
#include "exec/kernels/data.h"

void block_state_clear(const struct block_state *into)
{
    for (size_t row = 0; row < into->rows; row++) {
        data_store(into->state, into->m, row, -INFINITY);
        data_store(into->state, into->l, row, 0.0);
    }
    for (size_t i = 0; i < into->rows * into->head_dim; i++)
        data_store(into->state, into->o, i, 0.0);
}

/* exp(m - top), where a side that is empty counts nothing, also against another empty side. */
static double weight(double m, double top)
{
    return m == -INFINITY ? 0.0 : exp(m - top);
}

void block_state_merge(const struct block_state *into, const struct block_state *other)
{
    enum ring_dtype t = into->state;
    for (size_t row = 0; row < into->rows; row++) {
        double m_a = data_load(t, into->m, row), m_b = data_load(t, other->m, row);
        double top = m_a > m_b ? m_a : m_b;
        double a = weight(m_a, top), b = weight(m_b, top);
        data_store(t, into->m, row, top);
        data_store(t, into->l, row, a * data_load(t, into->l, row) + b * data_load(t, other->l, row));
        for (size_t i = row * into->head_dim; i < (row + 1) * into->head_dim; i++)
            data_store(t, into->o, i, a * data_load(t, into->o, i) + b * data_load(t, other->o, i));
    }
}

void block_state_finish(const struct block_state *from, void *out, void *lse)
{
    enum ring_dtype t = from->state;
    for (size_t row = 0; row < from->rows; row++) {
        double m = data_load(t, from->m, row), l = data_load(t, from->l, row);
        data_store(t, lse, row, l == 0.0 ? -INFINITY : m + log(l));
        for (size_t i = row * from->head_dim; i < (row + 1) * from->head_dim; i++)
            data_store(t, out, i, l == 0.0 ? 0.0 : data_load(t, from->o, i) / l);
    }
}
