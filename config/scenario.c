/* SPDX-License-Identifier: MIT
 *
 * Scenarios: sections with their defaults, the cluster that they are put on. Who sits where is
 * placement.c's. */
#include "config/scenario.h"

#include <inttypes.h>
#include <string.h>

#include "config/faults.h"
#include "config/files.h"

/* A scenario as the file has it, before its sections are read. */
struct draft {
    const char *name;
    enum model_progress progress;
    uint32_t threads;
    const struct config_node *problem, *ring, *cluster, *compute, *data, *measure, *faults;
    uint64_t fault_seed;
};

static const struct config_field scenario_fields[] = {
    {.key = "name", .kind = CONFIG_TEXT, .offset = offsetof(struct draft, name)},
    {.key = "problem", .kind = CONFIG_NODE, .offset = offsetof(struct draft, problem)},
    {.key = "ring", .kind = CONFIG_NODE, .offset = offsetof(struct draft, ring)},
    {.key = "cluster",
     .kind = CONFIG_NODE,
     .offset = offsetof(struct draft, cluster),
     .required = true,
     .hint = "the path of a topology file, or this-machine"},
    {.key = "compute", .kind = CONFIG_NODE, .offset = offsetof(struct draft, compute)},
    {.key = "progress",
     .kind = CONFIG_WORD,
     .offset = offsetof(struct draft, progress),
     .words = model_progress_names,
     .n_words = MODEL_N_PROGRESS},
    {.key = "threads",
     .kind = CONFIG_COUNT32,
     .offset = offsetof(struct draft, threads),
     .least = 1,
     .most = 1 << 12},
    {.key = "faults", .kind = CONFIG_NODE, .offset = offsetof(struct draft, faults)},
    {.key = "fault_seed",
     .kind = CONFIG_COUNT64,
     .offset = offsetof(struct draft, fault_seed),
     .most = UINT64_MAX},
    {.key = "data", .kind = CONFIG_NODE, .offset = offsetof(struct draft, data)},
    {.key = "measure", .kind = CONFIG_NODE, .offset = offsetof(struct draft, measure)},
};

/* Words and enums are read through one unsigned int. */
_Static_assert(sizeof(enum ring_dtype) == sizeof(unsigned) && sizeof(enum model_progress) == sizeof(unsigned),
               "an enum is as wide as an unsigned int");

/* What was calibrated here: processors, and CUDA devices. */
static const char *const this_machine[] = {"this-machine", "this-machine-cuda"};

static void read_section(struct config_reader *reader, const struct config_node *node,
                         const struct config_section *section, void *out)
{
    if (node)
        config_read_fields(reader, node, section->key, section->fields, section->n_fields, out);
}

const struct config_mark *config_place(const struct config_node *root, const struct config_node *section,
                                       const char *key)
{
    const struct config_entry *entry = config_find(section, key);

    return entry ? &entry->value->mark : section ? &section->mark : &root->mark;
}

const struct config_mark *config_blamed(const struct config_node *root, const struct config_suspect *suspects,
                                        size_t n_suspects)
{
    const struct config_mark *first = NULL;

    for (size_t i = 0; i < n_suspects; i++) {
        const struct config_entry *entry = config_find(suspects[i].section, suspects[i].key);
        if (entry && !entry->value->mark.source->is_file)
            return &entry->value->mark;
        if (entry && !first)
            first = &entry->value->mark;
    }
    return first ? first : config_place(root, suspects[0].section, suspects[0].key);
}

static void read_problem(struct config_reader *reader, const struct config_node *root,
                         const struct draft *draft, struct ring_problem *problem)
{
    struct ring_error error;

    *problem = (struct ring_problem){
        .tokens = 65536,
        .batch = 1,
        .heads = 32,
        .head_dim = 128,
        .dtype = RING_FP32,
        .mask = RING_MASK_CAUSAL,
    };
    read_section(reader, draft->problem, &config_problem_section, problem);
    if (problem->kv_heads == 0)
        problem->kv_heads = problem->heads;
    if (!config_ok(reader))
        return;
    enum ring_status status = ring_problem_check(problem, &error);
    if (status == RING_OK)
        return;
    /* each field is in its range, so it is the two kinds of heads, or the size of all together */
    const struct config_node *section = draft->problem;
    const struct config_suspect heads[] = {{section, "kv_heads"}, {section, "heads"}},
                                sizes[] = {{section, "tokens"},
                                           {section, "batch"},
                                           {section, "heads"},
                                           {section, "head_dim"}};
    bool uneven = problem->heads % problem->kv_heads != 0;
    config_fail_as(reader, status,
                   uneven ? config_blamed(root, heads, CONFIG_N(heads))
                          : config_blamed(root, sizes, CONFIG_N(sizes)),
                   "%s", error.text);
}

static void read_compute(struct config_reader *reader, const struct config_node *node,
                         struct model_compute *out)
{
    static const char *const words[] = {"model"};
    struct config_compute_section section = {.block_s = 0};

    if (node && node->kind == CONFIG_SCALAR)
        config_read_word(reader, node, "compute", words, 1);
    else
        read_section(reader, node, &config_compute_section, &section);
    *out = (struct model_compute){.block_s = section.block_s, .core_free = section.core == 1};
}

/* The path of this machine's topology; fails where nobody has measured it yet. */
static const char *find_this_machine(struct config_reader *reader, const struct config_node *node, bool cuda)
{
    char path[4096];
    struct ring_error error;
    const char *file = cuda ? "this-machine-cuda.yaml" : "this-machine.yaml";
    enum ring_status status = config_cache_path(path, sizeof path, file, &error);

    if (status != RING_OK)
        config_fail_as(reader, status, &node->mark, "%s", error.text);
    else if (!config_exists(path))
        config_fail_as(reader, RING_IO, &node->mark,
                       "%s is not calibrated yet: no %s (run `ringlab calibrate%s` first)",
                       this_machine[cuda], path, cuda ? " --device cuda" : "");
    return config_ok(reader) ? config_text(reader, "%s", path) : NULL;
}

static void read_cluster(struct config_reader *reader, const struct config_node *node,
                         struct config_scenario *scenario)
{
    if (!config_is_scalar(reader, node, "cluster"))
        return;
    bool cuda = strcmp(node->text, this_machine[1]) == 0,
         here = cuda || strcmp(node->text, this_machine[0]) == 0;
    const char *path = here ? find_this_machine(reader, node, cuda) : config_resolve(reader, node);
    const struct config_node *root = path ? config_load_tree(reader, path, node) : NULL;
    if (!root)
        return;
    scenario->topology = config_read_topology(reader, root);
    scenario->cluster_path = config_keep_text(reader, path);
    scenario->cluster = here ? this_machine[cuda] : config_absolute(reader, path);
}

/* The key to look at where the engine refuses a plan. */
static const struct config_mark *doubtful_place(const struct config_node *root, const struct draft *draft,
                                                const struct ring_plan_spec *spec)
{
    const struct config_suspect types[] = {{draft->ring, "gradients"}, {draft->problem, "dtype"}},
                                passes[] = {{draft->ring, "keep_kv"}, {draft->ring, "pass"}};

    if (spec->gradient_dtype != RING_FP32 && spec->gradient_dtype != spec->problem.dtype)
        return config_blamed(root, types, CONFIG_N(types));
    if (spec->keep_kv && spec->pass != RING_PASS_BOTH)
        return config_blamed(root, passes, CONFIG_N(passes));
    return config_place(root, draft->ring, "pass");
}

/* What only makes sense, or not, when all is known: the engine decides, and we say where in the file it is.
 */
static void check_plan(struct config_reader *reader, const struct config_node *root,
                       const struct draft *draft, const struct ring_plan_spec *spec)
{
    struct ring_layout layout = {
        .kind = spec->layout, .tokens = spec->problem.tokens, .n_ranks = spec->n_ranks};
    struct ring_plan plan;
    struct ring_error error;

    if (!config_ok(reader))
        return;
    enum ring_status status = ring_layout_check(&layout, &error);
    if (status != RING_OK) {
        const struct config_suspect suspects[] = {{draft->ring, "devices"}, {draft->problem, "tokens"}};
        config_fail_as(reader, status, config_blamed(root, suspects, CONFIG_N(suspects)), "%s", error.text);
        return;
    }
    status = ring_plan_init(&plan, spec, &error);
    if (status != RING_OK)
        config_fail_as(reader, status, doubtful_place(root, draft, spec), "%s", error.text);
}

static void read_ring(struct config_reader *reader, const struct config_node *root, const struct draft *draft,
                      struct config_scenario *scenario)
{
    struct config_ring_section section = {
        .buffers = RING_MIN_BUFFERS,
        .layout = RING_LAYOUT_ZIGZAG,
        .pass = RING_PASS_FORWARD,
        .gradients = RING_FP32,
        .strategy = ring_plan_kinds[0]->name,
    };

    read_section(reader, draft->ring, &config_ring_section, &section);
    scenario->plan.strategy = section.strategy;
    scenario->plan.layout = section.layout;
    scenario->plan.pass = section.pass;
    scenario->plan.gradient_dtype = section.gradients;
    scenario->plan.keep_kv = section.keep_kv;
    scenario->plan.n_buffers = section.buffers;
    config_place_ranks(reader, root, draft->ring, &section, scenario);
    check_plan(reader, root, draft, &scenario->plan);
}

/* "scenarios/quickstart.yaml" is named quickstart unless it says otherwise. */
static const char *name_of_file(struct config_reader *reader, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    const char *name =
        config_text(reader, "%.*s", (int)(dot && dot > base ? (size_t)(dot - base) : strlen(base)), base);

    return config_keep_text(reader, name);
}

/* A file of another kind gets a better message than its first unknown key. */
static void check_kind(struct config_reader *reader, const struct config_node *root)
{
    static const char *const others[] = {"topology", "device"};
    const struct config_entry *schema = config_find(root, "schema");

    if (schema)
        config_fail(reader, &schema->key->mark,
                    "found a document that ringlab wrote, accepted: a scenario (`ringlab compare` takes two "
                    "results, `ringlab plot` one or more)");
    for (size_t i = 0; i < CONFIG_N(others); i++) {
        const struct config_entry *entry = config_find(root, others[i]);
        if (entry)
            config_fail(reader, &entry->key->mark, "found a %s, accepted: a scenario (with cluster: FILE)",
                        others[i]);
    }
}

static void keep_places(struct config_reader *reader, const struct config_node *root,
                        const struct draft *draft, struct config_scenario *scenario)
{
    size_t n = scenario->faults.n;
    const char **faults = config_keep(reader, n + 1, sizeof *faults);

    scenario->places.dtype = config_place_text(reader, config_place(root, draft->problem, "dtype"));
    scenario->places.threads = config_place_text(reader, config_place(root, root, "threads"));
    scenario->places.kernel = config_place_text(reader, config_place(root, draft->measure, "kernel"));
    for (size_t i = 0; i < n && config_ok(reader); i++)
        faults[i] = config_place_text(reader, &draft->faults->items[i]->mark);
    scenario->places.faults = faults;
}

struct config_scenario *config_read_scenario(struct config_reader *reader, const struct config_node *root,
                                             const char *path)
{
    struct draft draft = {.progress = MODEL_PROGRESS_POLL, .threads = 1, .fault_seed = 1};
    struct config_scenario *scenario = config_keep(reader, 1, sizeof *scenario);

    check_kind(reader, root);
    config_read_fields(reader, root, "a scenario", scenario_fields, CONFIG_N(scenario_fields), &draft);
    if (!config_ok(reader))
        return NULL;
    scenario->name = draft.name ? draft.name : name_of_file(reader, path);
    scenario->path = config_keep_text(reader, path);
    scenario->progress = draft.progress;
    scenario->data = (struct config_data){.kind = "random", .seed = 1};
    scenario->measure =
        (struct config_measure){.repeats = 5, .warmups = 1, .timeout_s = 60, .kernel = "auto"};
    read_section(reader, draft.data, &config_data_section, &scenario->data);
    read_section(reader, draft.measure, &config_measure_section, &scenario->measure);
    read_compute(reader, draft.compute, &scenario->compute);
    scenario->compute.threads = draft.threads;
    read_problem(reader, root, &draft, &scenario->plan.problem);
    read_cluster(reader, draft.cluster, scenario);
    read_ring(reader, root, &draft, scenario);
    if (config_ok(reader))
        config_check_threads(reader, root, scenario);
    scenario->faults.seed = draft.fault_seed;
    config_read_faults(reader, draft.faults, scenario->topology, &scenario->faults);
    config_seek_order(reader, draft.ring, scenario);
    if (config_ok(reader))
        keep_places(reader, root, &draft, scenario);
    return config_ok(reader) ? scenario : NULL;
}
