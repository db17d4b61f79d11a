/* SPDX-License-Identifier: MIT
 *
 * What a test of the simulated world needs before it can begin: a cluster, a plan, a priced ring; a script of
 * single messages in the place of a ring where a test is about flows; and a repeatable source of numbers. */
#ifndef TESTS_SIM_SCENE_H
#define TESTS_SIM_SCENE_H

#include "models/ring.h"
#include "sim/sim.h"
#include "tests/support/topology_builder.h"

/* Fill cluster (after scene_init) and what else differs from the defaults, then call scene_build. A failure
 * on the way ends the program with a line. Not to be moved. */
struct scene {
    struct topology_builder cluster;
    struct ring_plan_spec spec; /* strategy "ring", fp32, full mask, contiguous, 2 buffers, 1 head of 16 */
    struct model_compute compute;
    enum model_progress progress;
    uint32_t placement[64]; /* rank i on device i */
    struct ring_plan plan;
    struct model_ring ring;
};

void scene_init(struct scene *scene);
void scene_build(struct scene *scene);
void scene_fini(struct scene *scene);

/* Makes every block bytes (a multiple of 1000 * 125 * 8 or of 1024 * 128 * 8) for so many ranks. */
void scene_set_block(struct scene *scene, uint32_t n_ranks, uint64_t bytes);

/* Plays the scene; what fails ends the program. ends_s [n_ranks]. */
void scene_play(const struct scene *scene, double *ends_s);
/* And brings all ranks' rows, rank after rank, in rows, which it inits. */
void scene_play_traced(const struct scene *scene, double *ends_s, struct ring_trace *rows);

/* One message of one block (the sender's), posted and waited for at these steps of its two ends. */
struct script_line {
    uint32_t send_step, from, to, receive_step;
};
/* Turns the built-up scene's plan into one where only these messages exist and nothing is computed; to be
 * called in place of scene_build. At most 16 messages a rank, step and direction. lines is borrowed until the
 * next. */
void scene_build_script(struct scene *scene, const struct script_line *lines, uint32_t n_lines);

/* Numbers that are the same on every machine (splitmix64; Steele, Lea, Flood 2014). */
struct dice {
    uint64_t state;
};
uint64_t dice_below(struct dice *dice, uint64_t n);
/* Spread evenly over the magnitudes between low and high. */
double dice_between(struct dice *dice, double low, double high);

#endif
