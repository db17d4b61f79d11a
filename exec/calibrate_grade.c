/* SPDX-License-Identifier: MIT
 *
 * What was measured, as the model takes it; and how right the model then is about what was held out. */
#include "exec/calibration.h"

#include <math.h>
#include <string.h>

void exec_calibration_device(const struct exec_calibration *c, struct exec_calibrated *out)
{
    *out = (struct exec_calibrated){
        .device = {.name = "this-machine-core",
                   .cores = 1,
                   .memory_bytes_per_s = c->copy_bytes_per_s,
                   .step_s = c->step_s,
                   .poll_s = c->poll_s,
                   .curves = out->curves},
    };
    memcpy(out->device.add_bytes_per_s, c->add_bytes_per_s, sizeof c->add_bytes_per_s);
    memcpy(out->device.prepare_bytes_per_s, c->prepare_bytes_per_s, sizeof c->prepare_bytes_per_s);
    memcpy(out->device.grades, c->grades, sizeof c->grades);
    for (size_t i = 0; i < c->n_tokens; i++)
        out->tokens[i] = (double)c->tokens[i];
    for (size_t i = 0; i < c->n_tables; i++) {
        const struct exec_kernel_table *table = &c->tables[i];
        for (size_t q = 0; q < c->n_tokens; q++)
            memcpy(&out->rates[i][q * c->n_tokens], table->full[q], c->n_tokens * sizeof(double));
        struct model_curve full = {
            .pass = table->pass,
            .dtype = table->dtype,
            .head_dim = table->head_dim,
            .n_q = c->n_tokens,
            .n_k = c->n_tokens,
            .q_tokens = out->tokens,
            .k_tokens = out->tokens,
            .rates_flop_per_s = out->rates[i],
            .reference_tokens = (double)table->reference_tokens,
            .reference_s = table->reference_s,
            .source = table->kernel,
        };
        struct model_curve causal = full;
        causal.causal = causal.square = true;
        causal.n_k = 1;
        causal.k_tokens = NULL;
        causal.rates_flop_per_s = table->causal;
        causal.reference_tokens = causal.reference_s = 0;
        out->curves[out->device.n_curves++] = full;
        out->curves[out->device.n_curves++] = causal;
    }
}

struct model_grade exec_grade(const double *predicted_s, const double *measured_s, size_t n)
{
    struct model_grade grade = {.n = (uint32_t)n};
    double sizes[EXEC_MAX_SHAPES];

    n = n < EXEC_MAX_SHAPES ? n : EXEC_MAX_SHAPES;
    for (size_t i = 0; i < n; i++) {
        double error = predicted_s[i] / measured_s[i] - 1;
        grade.bias += error / (double)n;
        sizes[i] = fabs(error);
    }
    grade.median = exec_median(sizes, n); /* puts them in order */
    grade.p95 = sizes[(95 * n + 99) / 100 - 1];
    grade.worst = sizes[n - 1];
    return grade;
}

/* Which of the grades of blocks a shape counts for. */
static unsigned grade_of(const struct exec_calibration *c, const struct exec_block_shape *shape)
{
    if (shape->table >= c->n_tables)
        return MODEL_GRADE_HEAD_DIM;
    return shape->pass == RING_PASS_FORWARD ? MODEL_GRADE_FORWARD : MODEL_GRADE_BACKWARD;
}

/* What the model says of one head's block, without the launch, which the bench has not. */
static double ask(const struct model_device *device, const struct exec_block_shape *shape)
{
    struct ring_problem problem = {.tokens = shape->k_tokens,
                                   .batch = 1,
                                   .heads = 1,
                                   .kv_heads = 1,
                                   .head_dim = shape->head_dim,
                                   .dtype = shape->dtype};
    uint64_t q = shape->q_tokens, k = shape->k_tokens;
    struct ring_work work = {q, k, shape->causal ? q * (q + 1) / 2 : q * k};
    struct model_block_cost cost;

    return model_device_block(device, &problem, shape->pass, &work, &cost, NULL) == RING_OK ? cost.kernel_s
                                                                                            : NAN;
}

static void grade_hops(struct exec_calibration *c)
{
    struct model_size_class classes[EXEC_MAX_CLASSES];
    struct model_link link = {.classes = classes};
    double predicted_s[EXEC_MAX_HOPS], measured_s[EXEC_MAX_HOPS];
    size_t n = 0;

    link.n_classes = exec_calibration_classes(c->hops, c->n_hops, classes);
    for (size_t i = 0; i < c->n_hops; i++) {
        if (!c->hops[i].held_out)
            continue;
        const struct model_size_class *serves = model_link_class(&link, c->hops[i].bytes);
        predicted_s[n] = serves->latency_s + (double)c->hops[i].bytes / serves->bytes_per_s;
        measured_s[n++] = c->hops[i].time_s;
    }
    if (n > 0)
        c->grades[MODEL_GRADE_HOPS] = exec_grade(predicted_s, measured_s, n);
}

void exec_calibration_grade(struct exec_calibration *c)
{
    static struct exec_calibrated calibrated; /* large */
    double predicted_s[EXEC_MAX_SHAPES], measured_s[EXEC_MAX_SHAPES];

    exec_calibration_device(c, &calibrated);
    for (unsigned kind = 0; kind < MODEL_GRADE_HOPS; kind++) {
        size_t n = 0;
        for (size_t i = 0; i < c->n_shapes; i++) {
            const struct exec_block_shape *shape = &c->shapes[i];
            if (!shape->held_out || grade_of(c, shape) != kind)
                continue;
            predicted_s[n] = ask(&calibrated.device, shape);
            measured_s[n] = shape->time_s;
            n += isfinite(predicted_s[n]) && measured_s[n] > 0;
        }
        if (n > 0)
            c->grades[kind] = exec_grade(predicted_s, measured_s, n);
    }
    grade_hops(c);
}
