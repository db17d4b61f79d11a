/* SPDX-License-Identifier: MIT
 *
 * Device files: what a device is and the curves measured on it. What the curves mean is models/device.c's. */
#include <math.h>
#include <string.h>

#include "config/files.h"
#include "config/load.h"

/* A device as the file has it, before its lists are read. */
struct draft {
    struct model_device device;
    double memory_bytes;
    const struct config_node *peak, *add, *prepare, *curves, *grades;
};

static const struct config_field device_fields[] = {
    {.key = "name",
     .kind = CONFIG_TEXT,
     .offset = offsetof(struct draft, device.name),
     .required = true,
     .hint = "the device's name"},
    {.key = "source", .kind = CONFIG_TEXT, .offset = offsetof(struct draft, device.source)},
    {.key = "memory",
     .kind = CONFIG_QUANTITY,
     .offset = offsetof(struct draft, memory_bytes),
     .unit = CONFIG_BYTES,
     .positive = true},
    {.key = "memory_bandwidth",
     .kind = CONFIG_QUANTITY,
     .offset = offsetof(struct draft, device.memory_bytes_per_s),
     .unit = CONFIG_BYTES_PER_S},
    {.key = "cores",
     .kind = CONFIG_COUNT32,
     .offset = offsetof(struct draft, device.cores),
     .least = 1,
     .most = 1 << 16},
    {.key = "peak", .kind = CONFIG_NODE, .offset = offsetof(struct draft, peak)},
    {.key = "step_overhead",
     .kind = CONFIG_QUANTITY,
     .offset = offsetof(struct draft, device.step_s),
     .unit = CONFIG_SECONDS},
    {.key = "merge",
     .kind = CONFIG_QUANTITY,
     .offset = offsetof(struct draft, device.merge_bytes_per_element),
     .unit = CONFIG_BYTES},
    {.key = "add", .kind = CONFIG_NODE, .offset = offsetof(struct draft, add)},
    {.key = "prepare", .kind = CONFIG_NODE, .offset = offsetof(struct draft, prepare)},
    {.key = "poll",
     .kind = CONFIG_QUANTITY,
     .offset = offsetof(struct draft, device.poll_s),
     .unit = CONFIG_SECONDS},
    {.key = "grades", .kind = CONFIG_NODE, .offset = offsetof(struct draft, grades)},
    {.key = "curves", .kind = CONFIG_NODE, .offset = offsetof(struct draft, curves)},
};

struct curve_draft {
    enum ring_pass pass;
    enum ring_dtype dtype;
    uint32_t head_dim;
    unsigned blocks; /* an index into block_kinds */
    const char *source;
    const struct config_node *tokens, *q_tokens, *k_tokens, *rates, *reference;
};

static const char *const block_kinds[] = {"full", "causal"};

static const struct config_field curve_fields[] = {
    {.key = "pass",
     .kind = CONFIG_WORD,
     .offset = offsetof(struct curve_draft, pass),
     .words = ring_pass_names,
     .n_words = 2 /* a curve is of one pass, not both */},
    {.key = "dtype",
     .kind = CONFIG_WORD,
     .offset = offsetof(struct curve_draft, dtype),
     .required = true,
     .words = ring_dtype_names,
     .n_words = RING_N_DTYPES,
     .hint = "fp32, bf16, fp16 or fp64"},
    {.key = "head_dim",
     .kind = CONFIG_COUNT32,
     .offset = offsetof(struct curve_draft, head_dim),
     .required = true,
     .least = 1,
     .most = 4096,
     .hint = "the head dimension it was measured at"},
    {.key = "blocks",
     .kind = CONFIG_WORD,
     .offset = offsetof(struct curve_draft, blocks),
     .required = true,
     .words = block_kinds,
     .n_words = 2,
     .hint = "full or causal"},
    {.key = "source", .kind = CONFIG_TEXT, .offset = offsetof(struct curve_draft, source)},
    {.key = "tokens", .kind = CONFIG_NODE, .offset = offsetof(struct curve_draft, tokens)},
    {.key = "q_tokens", .kind = CONFIG_NODE, .offset = offsetof(struct curve_draft, q_tokens)},
    {.key = "k_tokens", .kind = CONFIG_NODE, .offset = offsetof(struct curve_draft, k_tokens)},
    {.key = "rates",
     .kind = CONFIG_NODE,
     .offset = offsetof(struct curve_draft, rates),
     .required = true,
     .hint = "a list of rates, e.g. [300 TFLOP/s, 450 TFLOP/s]"},
    {.key = "reference", .kind = CONFIG_NODE, .offset = offsetof(struct curve_draft, reference)},
};

struct reference_draft {
    uint32_t tokens;
    double time_s;
};

static const struct config_field reference_fields[] = {
    {.key = "tokens",
     .kind = CONFIG_COUNT32,
     .offset = offsetof(struct reference_draft, tokens),
     .required = true,
     .least = 1,
     .most = 1 << 14, /* runs time it again between their repeats: it must not take seconds */
     .hint = "the side of the full square that was timed"},
    {.key = "time",
     .kind = CONFIG_QUANTITY,
     .offset = offsetof(struct reference_draft, time_s),
     .required = true,
     .positive = true,
     .unit = CONFIG_SECONDS,
     .hint = "what it took, e.g. 2.7 ms"},
};

_Static_assert(RING_PASS_FORWARD == 0 && RING_PASS_BACKWARD == 1, "a curve's pass is one of the first two");

/* Block sizes: whole numbers that ascend. */
static const double *read_tokens(struct config_reader *reader, const struct config_node *list,
                                 const char *what, size_t *n)
{
    if (!config_is_list(reader, list, what))
        return NULL;
    if (list->n == 0)
        config_fail(reader, &list->mark, "%s: found an empty list, accepted: at least one block size", what);
    double *tokens = config_keep(reader, list->n, sizeof *tokens);
    for (size_t i = 0; i < list->n && config_ok(reader); i++) {
        tokens[i] = (double)config_read_count(reader, list->items[i], what, 1, UINT64_C(1) << 31);
        if (i > 0 && config_ok(reader) && tokens[i] <= tokens[i - 1])
            config_fail(reader, &list->items[i]->mark, "%s %s does not ascend (before it stands %.0f)", what,
                        config_found(reader, list->items[i]), tokens[i - 1]);
    }
    *n = list->n;
    return tokens;
}

/* n values in a row; sizes names the list that says how many there must be. */
static void check_length(struct config_reader *reader, const struct config_node *row, size_t n,
                         const char *sizes)
{
    if (config_is_list(reader, row, "rates") && row->n != n)
        config_fail(reader, &row->mark, "rates: found %zu, accepted: %zu, one for each of %s", row->n, n,
                    sizes);
}

static void read_row(struct config_reader *reader, const struct config_node *row, double *rates)
{
    for (size_t i = 0; i < row->n && config_ok(reader); i++)
        rates[i] = config_read_quantity(reader, row->items[i], "rates", CONFIG_FLOP_PER_S, true);
}

/* [n_q][n_k] rates from a list of rows, or from a single list where only squares were measured. All lengths
 * are looked at first, so that a wrong file cannot ask for n_q * n_k values that it does not have. */
static const double *read_rates(struct config_reader *reader, const struct config_node *list,
                                const struct model_curve *curve)
{
    check_length(reader, list, curve->n_q, curve->square ? "tokens" : "q_tokens");
    for (size_t i = 0; !curve->square && config_ok(reader) && i < list->n; i++)
        check_length(reader, list->items[i], curve->n_k, "k_tokens");
    double *rates = config_ok(reader) ? config_keep(reader, curve->n_q * curve->n_k, sizeof *rates) : NULL;
    if (rates && curve->square)
        read_row(reader, list, rates);
    for (size_t i = 0; !curve->square && rates && i < list->n; i++)
        read_row(reader, list->items[i], rates + i * curve->n_k);
    return rates;
}

static void read_curve(struct config_reader *reader, const struct config_node *node,
                       struct model_curve *curve)
{
    struct curve_draft draft = {.pass = RING_PASS_FORWARD};

    config_read_fields(reader, node, "a curve", curve_fields, CONFIG_N(curve_fields), &draft);
    if (!config_ok(reader))
        return;
    if (draft.tokens ? draft.q_tokens || draft.k_tokens : !draft.q_tokens || !draft.k_tokens) {
        config_fail(
            reader, &node->mark,
            "a curve's block sizes are wrong, accepted: either tokens (square blocks) or both q_tokens and "
            "k_tokens");
        return;
    }
    *curve = (struct model_curve){
        .pass = draft.pass,
        .dtype = draft.dtype,
        .head_dim = draft.head_dim,
        .causal = draft.blocks == 1,
        .square = draft.tokens != NULL,
        .n_k = 1,
        .source = draft.source,
    };
    if (curve->square) {
        curve->q_tokens = read_tokens(reader, draft.tokens, "tokens", &curve->n_q);
    } else {
        curve->q_tokens = read_tokens(reader, draft.q_tokens, "q_tokens", &curve->n_q);
        curve->k_tokens = read_tokens(reader, draft.k_tokens, "k_tokens", &curve->n_k);
    }
    if (config_ok(reader))
        curve->rates_flop_per_s = read_rates(reader, draft.rates, curve);
    struct reference_draft reference = {.tokens = 0};
    if (draft.reference && config_ok(reader))
        config_read_fields(reader, draft.reference, "reference", reference_fields, CONFIG_N(reference_fields),
                           &reference);
    curve->reference_tokens = reference.tokens;
    curve->reference_s = reference.time_s;
}

/* peak: {bf16: 989 TFLOP/s, ...}: the dtypes are the fields. */
static void read_by_dtype(struct config_reader *reader, const struct config_node *node, const char *what,
                          enum config_unit unit, double *values)
{
    struct config_field fields[RING_N_DTYPES];

    if (!node)
        return;

    for (size_t i = 0; i < RING_N_DTYPES; i++)
        fields[i] = (struct config_field){
            .key = ring_dtype_names[i],
            .kind = CONFIG_QUANTITY,
            .offset = i * sizeof *values,
            .unit = unit,
        };
    config_read_fields(reader, node, what, fields, RING_N_DTYPES, values);
}

static void read_curves(struct config_reader *reader, const struct config_node *list,
                        struct model_device *device)
{
    if (!config_is_list(reader, list, "curves"))
        return;
    struct model_curve *curves = config_keep(reader, list->n, sizeof *curves);
    for (size_t i = 0; i < list->n && config_ok(reader); i++)
        read_curve(reader, list->items[i], &curves[i]);
    device->curves = curves;
    device->n_curves = list->n;
}

const struct model_device *config_read_device(struct config_reader *reader, const struct config_node *root)
{
    const struct config_node *node = NULL;
    const struct config_field top = {
        .key = "device", .kind = CONFIG_NODE, .required = true, .hint = "device: {name: ..., curves: ...}"};
    struct draft draft = {.peak = NULL};

    config_read_fields(reader, root, "a device file", &top, 1, &node);
    if (config_ok(reader))
        config_read_fields(reader, node, "device", device_fields, CONFIG_N(device_fields), &draft);
    draft.device.memory_bytes = (uint64_t)llround(draft.memory_bytes);
    read_by_dtype(reader, draft.peak, "peak", CONFIG_FLOP_PER_S, draft.device.peak_flop_per_s);
    read_by_dtype(reader, draft.add, "add", CONFIG_BYTES_PER_S, draft.device.add_bytes_per_s);
    read_by_dtype(reader, draft.prepare, "prepare", CONFIG_BYTES_PER_S, draft.device.prepare_bytes_per_s);
    if (draft.grades)
        config_read_grades(reader, draft.grades, draft.device.grades);
    if (draft.curves)
        read_curves(reader, draft.curves, &draft.device);
    struct model_device *device = config_keep(reader, 1, sizeof *device);
    if (!device)
        return NULL;
    *device = draft.device;
    return device;
}

const struct model_device *config_load_device(struct config_reader *reader, const struct config_node *node)
{
    const char *path = config_is_scalar(reader, node, "device") ? config_resolve(reader, node) : NULL;

    if (!path)
        return NULL;
    const struct config_name *known = config_names_find(&reader->devices, path);
    if (known)
        return known->item;
    const struct config_node *root = config_load_tree(reader, path, node);
    const struct model_device *device = root ? config_read_device(reader, root) : NULL;
    if (device && !config_names_put(&reader->devices, path, 0, device))
        config_fail_memory(reader);
    return device;
}
