/* SPDX-License-Identifier: MIT
 *
 * One block of a grid at a time, on a CPU: every thread of it is a fiber with a stack of its own, so that
 * threads can stop at a barrier, or at an instruction of their warp, in the middle of a kernel. What the
 * kernels need and nothing more; the instructions themselves are simt.h's.
 *
 * It is a checker as well. All 32 lanes must meet at an instruction of a warp, and all threads at a barrier;
 * shared memory begins as NaN; copies can be made to land at once or as late as their waits allow, and warps
 * to run in either order, so that a kernel whose result depends on a missing wait or barrier gives itself
 * away. A violation ends the program with one line. */
#ifndef TESTS_CUDA_FIBERS_H
#define TESTS_CUDA_FIBERS_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { FIBER_LANES = 32 };

struct fiber_dim {
    unsigned x, y, z;
};

/* Where the running thread stands. */
struct fiber_place {
    struct fiber_dim thread, block, grid;
};
extern struct fiber_place fiber_place;

/* How runs are made from now on: copies land when they are waited for instead of at once; warps from the last
 * to the first. */
struct fiber_order {
    bool late_copies, last_warp_first;
};
extern struct fiber_order fiber_order;

/* Kernels run so far, and blocks of them; instructions of warps, all lanes as one. */
struct fiber_counts {
    unsigned long long kernels, blocks, instructions, copies;
};
extern struct fiber_counts fiber_counts;

/* Runs kernel(args) for every block of the grid and every thread. */
void fiber_run(void (*kernel)(const void *args), const void *args, struct fiber_dim grid, unsigned threads,
               size_t shared_bytes);

unsigned char *fiber_shared(void);

/* True if bytes at p lie in the block's shared memory. */
bool fiber_is_shared(const void *p, size_t bytes);

void fiber_barrier(void);

/* An instruction of the whole warp: mine is this lane's operands. The last lane to come runs apply on all 32;
 * then all go on. */
void fiber_together(void (*apply)(void *lanes[FIBER_LANES]), void *mine);

/* cp.async of 16 bytes, its groups, and its waits. */
void fiber_copy(void *shared, const void *global, bool there);
void fiber_copy_commit(void);
void fiber_copy_wait(unsigned n_newest);

void fiber_violation(const char *what) __attribute__((noreturn));

#ifdef __cplusplus
}
#endif

#endif
