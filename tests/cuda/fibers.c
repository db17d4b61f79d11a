/* SPDX-License-Identifier: MIT
 *
 * See fibers.h. The scheduler goes round the threads; a fiber comes back to it whenever it has to wait. */
#include "tests/cuda/fibers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { STACK_BYTES = 256 * 1024, MAX_THREADS = 1024, MAX_PENDING = 256, SHARED_LIMIT = 163 * 1024 };

struct copy {
    void *shared;
    const void *global; /* NULL: zeros */
    unsigned group;
};

enum state { READY, AT_BARRIER, IN_WARP, ENDED };

struct fiber {
    enum state state;
    struct fiber_dim thread;
    void *operands; /* IN_WARP */
    unsigned warp, turn;
    unsigned n_pending, group; /* of copies: those under way, and the number of the group now open */
    struct copy pending[MAX_PENDING];
#if defined(__x86_64__)
    void *stack_pointer;
#else
    ucontext_t context;
#endif
};

struct warp {
    unsigned n_here, turn; /* lanes that have come to the instruction; instructions done */
    void (*apply)(void *lanes[FIBER_LANES]);
};

struct fiber_place fiber_place;
struct fiber_order fiber_order;
struct fiber_counts fiber_counts;

static struct fiber fibers[MAX_THREADS];
static struct warp warps[MAX_THREADS / FIBER_LANES];
static struct fiber *running;
static unsigned n_threads, n_at_barrier, n_ended;
static unsigned char *stacks, *shared;
static size_t shared_bytes_now;
static void (*kernel_now)(const void *args);
static const void *args_now;

void fiber_violation(const char *what)
{
    fprintf(stderr, "thread %u of block %u,%u,%u: %s\n", fiber_place.thread.x, fiber_place.block.x,
            fiber_place.block.y, fiber_place.block.z, what);
    abort();
}

static void body(void)
{
    kernel_now(args_now);
    running->state = ENDED;
    n_ended++;
}

#if defined(__x86_64__)
/* System V x86-64: what a call must keep goes on the stack, and the other stack's is taken from it. */
void fiber_switch(void **save, void *load);
void fiber_start(void);
__asm__(".text\n.globl fiber_switch\n.type fiber_switch, @function\nfiber_switch:\n"
        "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
        "movq %rsp, (%rdi)\nmovq %rsi, %rsp\n"
        "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n"
        ".size fiber_switch, .-fiber_switch\n.section .note.GNU-stack,\"\",@progbits\n.text\n");

static void *scheduler;

static void wait_for_turn(void)
{
    fiber_switch(&running->stack_pointer, scheduler);
}

void fiber_start(void)
{
    body();
    wait_for_turn();
}

static void make(struct fiber *fiber, unsigned char *stack)
{
    void **top = (void **)(void *)(stack + STACK_BYTES) - 8; /* a call's frame: 16 n + 8 within fiber_start */
    memset(top, 0, 8 * sizeof(*top));
    union {
        void (*code)(void);
        void *word;
    } start = {.code = fiber_start};
    top[6] = start.word;
    fiber->stack_pointer = top;
}

static void resume(struct fiber *fiber)
{
    fiber_switch(&scheduler, fiber->stack_pointer);
}
#else
static ucontext_t scheduler;

static void wait_for_turn(void)
{
    swapcontext(&running->context, &scheduler);
}

static void make(struct fiber *fiber, unsigned char *stack)
{
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = stack;
    fiber->context.uc_stack.ss_size = STACK_BYTES;
    fiber->context.uc_link = &scheduler;
    makecontext(&fiber->context, body, 0);
}

static void resume(struct fiber *fiber)
{
    swapcontext(&scheduler, &fiber->context);
}
#endif

/* Lets a warp's lanes run until each waits or has ended. True if one of them ran. */
static bool run_warp(unsigned warp)
{
    bool ran = false, again = true;
    while (again) {
        again = false;
        for (unsigned lane = 0; lane < FIBER_LANES; lane++) {
            struct fiber *fiber = &fibers[warp * FIBER_LANES + lane];
            if (fiber->state == IN_WARP && fiber->turn != warps[warp].turn)
                fiber->state = READY;
            if (fiber->state != READY)
                continue;
            running = fiber;
            fiber_place.thread = fiber->thread;
            resume(fiber);
            again = ran = true;
        }
    }
    return ran;
}

static void run_block(void)
{
    memset(shared, 0xff, shared_bytes_now); /* NaN in every type */
    n_at_barrier = n_ended = 0;
    for (unsigned i = 0; i < n_threads; i++) {
        fibers[i].state = READY;
        fibers[i].thread = (struct fiber_dim){i, 0, 0};
        fibers[i].warp = i / FIBER_LANES;
        fibers[i].n_pending = fibers[i].group = 0;
        make(&fibers[i], stacks + (size_t)i * STACK_BYTES);
    }
    memset(warps, 0, sizeof(warps));
    unsigned n_warps = n_threads / FIBER_LANES;
    while (n_ended < n_threads) {
        bool ran = false;
        for (unsigned i = 0; i < n_warps; i++)
            ran = run_warp(fiber_order.last_warp_first ? n_warps - 1 - i : i) || ran;
        if (n_at_barrier == n_threads) {
            n_at_barrier = 0;
            for (unsigned i = 0; i < n_threads; i++)
                fibers[i].state = READY;
        } else if (!ran) {
            fiber_violation(n_at_barrier > 0 ? "some threads wait at a barrier that others never reach"
                                             : "some lanes wait for others of their warp that never come");
        }
    }
    for (unsigned i = 0; i < n_threads; i++)
        if (fibers[i].n_pending > 0 && fiber_order.late_copies)
            fiber_violation("the kernel ended with copies under way");
}

void fiber_run(void (*kernel)(const void *args), const void *args, struct fiber_dim grid, unsigned threads,
               size_t shared_bytes)
{
    if (threads == 0 || threads > MAX_THREADS || threads % FIBER_LANES != 0)
        fiber_violation("a block is not of 1 to 32 whole warps");
    if (shared_bytes > SHARED_LIMIT)
        fiber_violation("a block wants more shared memory than sm_80 has");
    stacks = aligned_alloc(4096, (size_t)threads * STACK_BYTES);
    shared = aligned_alloc(128, (shared_bytes + 255) / 128 * 128);
    if (stacks == NULL || shared == NULL)
        fiber_violation("no memory");
    kernel_now = kernel;
    args_now = args;
    n_threads = threads;
    shared_bytes_now = shared_bytes;
    fiber_place.grid = grid;
    fiber_counts.kernels++;
    for (unsigned z = 0; z < grid.z; z++)
        for (unsigned y = 0; y < grid.y; y++)
            for (unsigned x = 0; x < grid.x; x++) {
                fiber_place.block = (struct fiber_dim){x, y, z};
                fiber_counts.blocks++;
                run_block();
            }
    free(stacks);
    free(shared);
}

unsigned char *fiber_shared(void)
{
    return shared;
}

bool fiber_is_shared(const void *p, size_t bytes)
{
    const unsigned char *at = p;
    return at >= shared && at + bytes <= shared + shared_bytes_now;
}

void fiber_barrier(void)
{
    running->state = AT_BARRIER;
    n_at_barrier++;
    wait_for_turn();
}

void fiber_together(void (*apply)(void *lanes[FIBER_LANES]), void *mine)
{
    struct warp *warp = &warps[running->warp];
    if (warp->n_here > 0 && warp->apply != apply)
        fiber_violation("lanes of one warp have come to different instructions");
    warp->apply = apply;
    running->operands = mine;
    running->turn = warp->turn;
    if (++warp->n_here < FIBER_LANES) {
        running->state = IN_WARP;
        wait_for_turn();
        return;
    }
    void *lanes[FIBER_LANES];
    for (unsigned lane = 0; lane < FIBER_LANES; lane++)
        lanes[lane] = fibers[running->warp * FIBER_LANES + lane].operands;
    apply(lanes);
    fiber_counts.instructions++;
    warp->n_here = 0;
    warp->turn++;
}

static void land(const struct copy *copy)
{
    if (copy->global != NULL)
        memcpy(copy->shared, copy->global, 16);
    else
        memset(copy->shared, 0, 16);
}

void fiber_copy(void *to, const void *global, bool there)
{
    struct copy copy = {to, there ? global : NULL, running->group};
    if (!fiber_is_shared(to, 16) || (size_t)to % 16 != 0 || (size_t)global % 16 != 0)
        fiber_violation("an asynchronous copy is not aligned, or not into shared memory");
    fiber_counts.copies++;
    if (!fiber_order.late_copies)
        land(&copy);
    else if (running->n_pending == MAX_PENDING)
        fiber_violation("more copies under way than the shim keeps");
    else
        running->pending[running->n_pending++] = copy;
}

void fiber_copy_commit(void)
{
    running->group++;
}

void fiber_copy_wait(unsigned n_newest)
{
    unsigned n_left = 0;
    for (unsigned i = 0; i < running->n_pending; i++)
        if (running->pending[i].group + n_newest < running->group)
            land(&running->pending[i]);
        else
            running->pending[n_left++] = running->pending[i];
    running->n_pending = n_left;
}
