/* SPDX-License-Identifier: MIT
 *
 * From a device's measured curves to the seconds of one block. Nothing is fitted here: a rate is read off the
 * curve at the block's own shape, between the measured points and never beyond them. */
#include "models/device.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MODEL_NAME(name, text) text,
const char *const model_grade_names[MODEL_N_GRADES] = {MODEL_GRADES(MODEL_NAME)};
#undef MODEL_NAME

double model_attention_flops(uint64_t visible_pairs, const struct ring_problem *problem, enum ring_pass pass)
{
    double forward = 4.0 * (double)problem->head_dim * (double)visible_pairs; /* Q K^T and P V */

    switch (pass) {
    case RING_PASS_BACKWARD: /* five products where the forward pass has two */
        return 2.5 * forward;
    case RING_PASS_BOTH:
        return 3.5 * forward;
    case RING_PASS_FORWARD:
    case RING_N_PASSES:
        break;
    }
    return forward;
}

static const char *device_name(const struct model_device *device)
{
    return device->name ? device->name : "(unnamed)";
}

static bool ascends(const double *axis, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(axis[i] > (i > 0 ? axis[i - 1] : 0)) || !isfinite(axis[i]))
            return false;
    return n > 0;
}

enum ring_status model_device_check(const struct model_device *device, struct ring_error *error)
{
    for (size_t i = 0; i < device->n_curves; i++) {
        const struct model_curve *curve = &device->curves[i];
        size_t n_rates = curve->n_q * (curve->square ? 1 : curve->n_k);

        if (!ascends(curve->q_tokens, curve->n_q) ||
            (!curve->square && !ascends(curve->k_tokens, curve->n_k)))
            return ring_fail(error, RING_BAD_INPUT, "device %s, curve %zu: the token counts do not ascend",
                             device_name(device), i);
        for (size_t j = 0; j < n_rates; j++)
            if (!(curve->rates_flop_per_s[j] > 0) || !isfinite(curve->rates_flop_per_s[j]))
                return ring_fail(error, RING_BAD_INPUT,
                                 "device %s, curve %zu: a rate is %g FLOP/s, wanted more than 0",
                                 device_name(device), i, curve->rates_flop_per_s[j]);
        if (curve->head_dim < 1)
            return ring_fail(error, RING_BAD_INPUT, "device %s, curve %zu: head_dim is 0, wanted at least 1",
                             device_name(device), i);
    }
    if (device->merge_bytes_per_element > 0 && !(device->memory_bytes_per_s > 0))
        return ring_fail(error, RING_BAD_INPUT,
                         "device %s has a merge of %g bytes an element but no memory bandwidth",
                         device_name(device), device->merge_bytes_per_element);
    return RING_OK;
}

/* Where value stands on an ascending axis: between points low and low + 1, this far along in log2. */
struct position {
    size_t low, high;
    double along;
    bool outside;
};

static struct position locate(const double *axis, size_t n, double value)
{
    if (value <= axis[0])
        return (struct position){.outside = value < axis[0]};
    if (value >= axis[n - 1])
        return (struct position){.low = n - 1, .high = n - 1, .outside = value > axis[n - 1]};
    size_t high = 1;
    while (axis[high] < value)
        high++;
    double along = log2(value / axis[high - 1]) / log2(axis[high] / axis[high - 1]);
    return (struct position){.low = high - 1, .high = high, .along = along};
}

static double between(double low, double high, double along)
{
    return low + along * (high - low);
}

static double read_rate(const struct model_curve *curve, double q_tokens, double k_tokens, bool *outside)
{
    const double *rates = curve->rates_flop_per_s;

    if (curve->square) {
        struct position at = locate(curve->q_tokens, curve->n_q, sqrt(q_tokens * k_tokens));
        *outside = at.outside;
        return between(rates[at.low], rates[at.high], at.along);
    }
    struct position q = locate(curve->q_tokens, curve->n_q, q_tokens);
    struct position k = locate(curve->k_tokens, curve->n_k, k_tokens);
    const double *low = &rates[q.low * curve->n_k], *high = &rates[q.high * curve->n_k];
    *outside = q.outside || k.outside;
    return between(between(low[k.low], low[k.high], k.along), between(high[k.low], high[k.high], k.along),
                   q.along);
}

/* The two 16-bit types run on the same units at the same rate. */
static enum ring_dtype dtype_class(enum ring_dtype dtype)
{
    return dtype == RING_FP16 ? RING_BF16 : dtype;
}

/* How badly a curve stands in for a block: kind first, then head_dim, then the dtype itself. */
struct misfit {
    bool kind;
    double head_dim;
    bool dtype;
};

static bool fits_better(struct misfit a, struct misfit b)
{
    if (a.kind != b.kind)
        return !a.kind;
    if (a.head_dim != b.head_dim)
        return a.head_dim < b.head_dim;
    return !a.dtype && b.dtype;
}

static const struct model_curve *find_curve(const struct model_device *device,
                                            const struct ring_problem *problem, enum ring_pass pass,
                                            bool causal)
{
    const struct model_curve *best = NULL;
    struct misfit best_misfit = {.kind = true};

    for (size_t i = 0; i < device->n_curves; i++) {
        const struct model_curve *curve = &device->curves[i];
        if (curve->pass != pass || dtype_class(curve->dtype) != dtype_class(problem->dtype))
            continue;
        struct misfit misfit = {
            .kind = curve->causal != causal,
            .head_dim = fabs(log2((double)curve->head_dim / (double)problem->head_dim)),
            .dtype = curve->dtype != problem->dtype,
        };
        if (!best || fits_better(misfit, best_misfit)) {
            best = curve;
            best_misfit = misfit;
        }
    }
    return best;
}

static enum ring_status no_curve(const struct model_device *device, const struct ring_problem *problem,
                                 enum ring_pass pass, struct ring_error *error)
{
    char list[512] = "";
    size_t used = 0;

    for (size_t i = 0; i < device->n_curves && used < sizeof list; i++) {
        const struct model_curve *curve = &device->curves[i];
        char item[64];
        snprintf(item, sizeof item, "%s %s", ring_pass_names[curve->pass], ring_dtype_names[curve->dtype]);
        if (strstr(list, item))
            continue;
        int n = snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", item);
        used += n > 0 ? (size_t)n : 0;
    }
    return ring_fail(error, RING_BAD_INPUT, "device %s has no %s curve for %s; it has %s",
                     device_name(device), ring_pass_names[pass], ring_dtype_names[problem->dtype],
                     list[0] ? list : "no curves at all");
}

double model_device_stream_s(const struct model_device *device, double bytes)
{
    return device->memory_bytes_per_s > 0 ? bytes / device->memory_bytes_per_s : 0;
}

double model_device_add_s(const struct model_device *device, enum ring_dtype dtype, double bytes)
{
    double rate = device->add_bytes_per_s[dtype];
    return rate > 0 ? bytes / rate : model_device_stream_s(device, bytes);
}

double model_device_prepare_s(const struct model_device *device, enum ring_dtype dtype, double bytes)
{
    double rate = device->prepare_bytes_per_s[dtype];
    return rate > 0 ? bytes / rate : model_device_stream_s(device, bytes);
}

/* Reading and writing the running output, or dQ, once more for each block: 0 where the kernel does it itself.
 */
static double price_merge(const struct model_device *device, const struct ring_problem *problem,
                          enum ring_pass pass, const struct ring_work *work)
{
    if (device->merge_bytes_per_element <= 0)
        return 0;
    double elements = (double)problem->batch * problem->heads * (double)work->q_tokens * problem->head_dim;
    double bytes_per_element =
        pass == RING_PASS_FORWARD ? device->merge_bytes_per_element : 8.0 + ring_dtype_bytes(problem->dtype);
    return model_device_stream_s(device, elements * bytes_per_element);
}

enum ring_status model_device_block(const struct model_device *device, const struct ring_problem *problem,
                                    enum ring_pass pass, const struct ring_work *work,
                                    struct model_block_cost *cost, struct ring_error *error)
{
    *cost = (struct model_block_cost){.outside = false};
    if (work->visible_pairs == 0)
        return RING_OK;
    if (pass != RING_PASS_FORWARD && pass != RING_PASS_BACKWARD)
        return ring_fail(error, RING_BAD_INPUT,
                         "a block belongs to the forward or the backward pass, not to 'both'");

    bool cut = work->visible_pairs < work->q_tokens * work->k_tokens;
    cost->curve = find_curve(device, problem, pass, cut);
    if (!cost->curve)
        return no_curve(device, problem, pass, error);
    cost->flops = model_attention_flops(work->visible_pairs, problem, pass) * problem->batch * problem->heads;
    cost->rate_flop_per_s =
        read_rate(cost->curve, (double)work->q_tokens, (double)work->k_tokens, &cost->outside);

    cost->launch_s = device->step_s;
    cost->kernel_s = cost->flops / cost->rate_flop_per_s;
    cost->merge_s = price_merge(device, problem, pass, work);
    cost->total_s = cost->launch_s + cost->kernel_s + cost->merge_s;
    return RING_OK;
}
