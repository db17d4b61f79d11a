/* SPDX-License-Identifier: MIT
 *
 * The simulated cluster with real data in its messages: every rank's memory lies in this process, the
 * simulation runs in a forked child, and what the ranks leave - states, dQ, the gradients that came home - is
 * in mappings that both see. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "exec/kernels/attention.h"
#include "exec/kernels/data.h"
#include "tools/passes.h"
#include "tools/play.h"
#include "tools/verify.h"

/* What one rank has. */
struct member {
    void *q, *d_out; /* d_out: of a backward pass */
    struct attention *attention;
    struct ring_buffer *slots;
    struct tool_outputs outputs;
};

struct crew {
    const struct ring_plan *plan;
    struct data_spec data;
    const struct block_kernel *kernel;
    struct member *members;       /* [n_ranks] */
    struct ring_memory *memory;   /* [n_ranks] */
    struct ring_compute *compute; /* [n_ranks] */
};

static void *allocate(uint64_t bytes)
{
    void *memory = NULL;
    uint64_t rounded = (bytes + 63) / 64 * 64;
    if (rounded < bytes || posix_memalign(&memory, 64, rounded == 0 ? 64 : rounded) != 0)
        return NULL;
    return memory;
}

/* Zeroed, and one with a child's. NULL without memory. */
static void *allocate_shared(uint64_t bytes)
{
    void *memory = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static uint64_t n_rows(const struct ring_plan *plan, uint32_t rank)
{
    return (uint64_t)plan->problem.batch * plan->problem.heads *
           ring_layout_shard(&plan->layout, rank).tokens;
}

static enum ring_status open_slots(struct crew *crew, uint32_t rank, struct ring_error *error)
{
    const struct ring_plan *plan = crew->plan;
    struct member *member = &crew->members[rank];
    struct ring_shard shard = ring_layout_shard(&plan->layout, rank);
    uint64_t half = ring_problem_kv_bytes(&plan->problem, shard.tokens) / 2;
    member->slots = calloc(plan->n_slots, sizeof *member->slots);
    crew->memory[rank] = (struct ring_memory){member->slots, plan->n_slots};
    for (uint32_t i = 0; member->slots != NULL && i < plan->n_slots; i++) {
        uint64_t bytes = ring_plan_slot_bytes(plan, rank, i);
        bool shared = i != RING_HOME_SLOT && i == ring_plan_own_gradient_slot(plan);
        member->slots[i] = (struct ring_buffer){shared ? allocate_shared(bytes) : allocate(bytes), bytes};
        if (member->slots[i].data == NULL)
            return ring_fail(error, RING_NO_MEMORY, "rank %" PRIu32 ": out of memory for its blocks", rank);
    }
    if (member->slots == NULL)
        return ring_fail(error, RING_NO_MEMORY, "rank %" PRIu32 ": out of memory", rank);
    char *home = member->slots[RING_HOME_SLOT].data;
    data_fill(&crew->data, &plan->problem, DATA_K, &shard, home);
    data_fill(&crew->data, &plan->problem, DATA_V, &shard, home + half);
    return RING_OK;
}

/* What a backward pass starts from: dO, and the state of a forward pass where the plan has none itself. */
static enum ring_status open_backward(struct crew *crew, uint32_t rank, struct ring_error *error)
{
    const struct ring_plan *plan = crew->plan;
    struct member *member = &crew->members[rank];
    struct ring_shard shard = ring_layout_shard(&plan->layout, rank);
    member->d_out =
        allocate(n_rows(plan, rank) * plan->problem.head_dim * ring_dtype_bytes(plan->problem.dtype));
    if (member->d_out == NULL)
        return ring_fail(error, RING_NO_MEMORY, "rank %" PRIu32 ": out of memory for its rows", rank);
    data_fill(&crew->data, &plan->problem, DATA_DO, &shard, member->d_out);
    enum ring_status status = attention_open_backward(member->attention, member->d_out, error);
    if (status == RING_OK && plan->pass == RING_PASS_BACKWARD)
        status = attention_prefill(member->attention, rank, &crew->data, error);
    member->outputs.d_q = attention_d_q(member->attention);
    member->outputs.gradient = member->slots[ring_plan_own_gradient_slot(plan)].data;
    return status;
}

static enum ring_status open_member(struct crew *crew, uint32_t rank, struct ring_error *error)
{
    const struct ring_plan *plan = crew->plan;
    struct member *member = &crew->members[rank];
    struct ring_shard shard = ring_layout_shard(&plan->layout, rank);
    uint64_t rows = n_rows(plan, rank), real = ring_dtype_bytes(crew->kernel->state);
    member->q = allocate(rows * plan->problem.head_dim * ring_dtype_bytes(plan->problem.dtype));
    member->outputs.out = allocate(rows * plan->problem.head_dim * real);
    member->outputs.lse = allocate(rows * real);
    if (member->q == NULL || member->outputs.out == NULL || member->outputs.lse == NULL)
        return ring_fail(error, RING_NO_MEMORY, "rank %" PRIu32 ": out of memory for its rows", rank);
    data_fill(&crew->data, &plan->problem, DATA_Q, &shard, member->q);
    enum ring_status status =
        attention_open(&member->attention, plan, rank, crew->kernel, member->q, true, error);
    if (status == RING_OK)
        crew->compute[rank] = attention_compute(member->attention);
    if (status == RING_OK)
        status = open_slots(crew, rank, error);
    if (status == RING_OK && plan->pass != RING_PASS_FORWARD)
        status = open_backward(crew, rank, error);
    return status;
}

static void close_slots(const struct ring_plan *plan, struct ring_buffer *slots)
{
    for (uint32_t i = 0; slots != NULL && i < plan->n_slots; i++) {
        if (i == RING_HOME_SLOT || i != ring_plan_own_gradient_slot(plan))
            free(slots[i].data);
        else if (slots[i].data != NULL)
            munmap(slots[i].data, (size_t)slots[i].bytes);
    }
    free(slots);
}

static void close_crew(struct crew *crew)
{
    for (uint32_t rank = 0; crew->members != NULL && rank < crew->plan->n_ranks; rank++) {
        struct member *member = &crew->members[rank];
        attention_close(member->attention);
        close_slots(crew->plan, member->slots);
        free(member->q);
        free(member->d_out);
        free(member->outputs.out);
        free(member->outputs.lse);
    }
    free(crew->members);
    free(crew->memory);
    free(crew->compute);
}

static enum ring_status open_crew(struct crew *crew, const struct tool_setup *setup, struct ring_error *error)
{
    const struct config_scenario *scenario = setup->scenario;
    const struct ring_problem *problem = &setup->plan.problem;
    uint32_t n = setup->plan.n_ranks;
    enum ring_status status = RING_OK;
    *crew = (struct crew){.plan = &setup->plan, .data = {DATA_RANDOM, scenario->data.seed}};
    for (int kind = 0; kind < DATA_N_KINDS; kind++)
        if (strcmp(data_kind_names[kind], scenario->data.kind) == 0)
            crew->data.kind = (enum data_kind)kind;
    status = block_kernel_choose(scenario->measure.kernel, problem->dtype, problem->head_dim,
                                 scenario->places.dtype, scenario->places.kernel, &crew->kernel, error);
    if (status != RING_OK)
        return status;
    crew->members = calloc(n, sizeof *crew->members);
    crew->memory = calloc(n, sizeof *crew->memory);
    crew->compute = calloc(n, sizeof *crew->compute);
    if (crew->members == NULL || crew->memory == NULL || crew->compute == NULL)
        status = ring_fail(error, RING_NO_MEMORY, "out of memory for %" PRIu32 " ranks", n);
    for (uint32_t rank = 0; status == RING_OK && rank < n; rank++)
        status = open_member(crew, rank, error);
    return status;
}

static enum ring_status judge(struct crew *crew, uint64_t max_rows, struct verify_report *reports,
                              struct ring_error *error)
{
    struct oracle *oracle = NULL;
    enum ring_status status = oracle_open(&oracle, &crew->plan->problem, &crew->data, error);
    if (status != RING_OK)
        return status;
    for (uint32_t rank = 0; rank < crew->plan->n_ranks; rank++) {
        struct member *member = &crew->members[rank];
        attention_finish(member->attention, member->outputs.out, member->outputs.lse);
        reports[rank] = (struct verify_report){.rank = rank};
        verify_rank_rough(crew->plan, rank, oracle, crew->kernel->state, member->outputs.out,
                          member->outputs.lse, crew->kernel->weight_u, max_rows, &reports[rank]);
    }
    oracle_close(oracle);
    return RING_OK;
}

static enum ring_status judge_gradients(struct crew *crew, uint64_t max_rows,
                                        struct verify_gradient_report *reports, struct ring_error *error)
{
    struct oracle_gradient *oracle = NULL;
    enum ring_status status = oracle_gradient_open(&oracle, &crew->plan->problem, &crew->data, error);
    for (uint32_t rank = 0; status == RING_OK && rank < crew->plan->n_ranks; rank++) {
        const struct tool_outputs *outputs = &crew->members[rank].outputs;
        verify_gradient_rough(crew->plan, rank, oracle, crew->kernel->state, outputs->d_q, outputs->gradient,
                              crew->kernel->weight_u, max_rows, &reports[rank]);
    }
    oracle_gradient_close(oracle);
    return status;
}

static enum ring_status dump_crew(const struct crew *crew, const char *folder, struct ring_error *error)
{
    struct tool_outputs *outputs = calloc(crew->plan->n_ranks, sizeof *outputs);
    if (outputs == NULL)
        return ring_fail(error, RING_NO_MEMORY, "out of memory");
    for (uint32_t rank = 0; rank < crew->plan->n_ranks; rank++)
        outputs[rank] = crew->members[rank].outputs;
    enum ring_status status =
        tool_verify_dump(crew->plan, &crew->data, crew->kernel->state, outputs, folder, error);
    free(outputs);
    return status;
}

/* Runs it, and holds what each rank sent to the plan. */
static enum ring_status simulate(const struct tool_setup *setup, const struct crew *crew,
                                 struct ring_error *error)
{
    uint32_t n = setup->plan.n_ranks;
    struct sim_spec spec = {&setup->ring, crew->memory, crew->compute};
    double *ends_s = calloc(n, sizeof *ends_s);
    if (ends_s == NULL)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for %" PRIu32 " ranks", n);
    struct ring_trace all;
    enum ring_status status = tool_play_traced(&spec, ends_s, &all, error);
    if (status == RING_OK)
        status = tool_passes_check(&setup->plan, &all, error);
    ring_trace_fini(&all);
    free(ends_s);
    return status;
}

enum ring_status tool_verify_simulated(const struct tool_setup *setup, uint64_t max_rows, const char *dump,
                                       struct tool_verified *verified, struct ring_error *error)
{
    struct crew crew;
    uint32_t n = setup->plan.n_ranks;
    bool backward = setup->plan.pass != RING_PASS_FORWARD;
    enum ring_status status = open_crew(&crew, setup, error);
    *verified = (struct tool_verified){.n_ranks = n,
                                       .reports = calloc(n, sizeof *verified->reports),
                                       .gradients = backward ? calloc(n, sizeof *verified->gradients) : NULL};
    bool lacks = verified->reports == NULL || (backward && verified->gradients == NULL);
    if (status == RING_OK && lacks)
        status = ring_fail(error, RING_NO_MEMORY, "out of memory for %" PRIu32 " ranks", n);
    if (status == RING_OK)
        status = simulate(setup, &crew, error);
    if (status == RING_OK)
        status = judge(&crew, max_rows, verified->reports, error);
    if (status == RING_OK && backward)
        status = judge_gradients(&crew, max_rows, verified->gradients, error);
    if (status == RING_OK && dump != NULL)
        status = dump_crew(&crew, dump, error);
    if (status == RING_OK) {
        strcpy(verified->world, "simgrid");
        snprintf(verified->kernel, sizeof verified->kernel, "%s", crew.kernel->name);
        snprintf(verified->detail, sizeof verified->detail, "%s", sim_description());
        verified->state = crew.kernel->state;
    }
    close_crew(&crew);
    return status;
}
