/* SPDX-License-Identifier: MIT
 *
 * `ringlab-rank calibrate --device cuda`: measures this machine's devices with all ranks at work at once,
 * each on the device that a run would give it, and writes a device and a topology that scenarios name as
 * `this-machine-cuda`. Several ranks that share a device are measured sharing it. */
#ifndef EXEC_CUDA_CALIBRATE_H
#define EXEC_CUDA_CALIBRATE_H

#include "exec/calibrate.h"
#include "exec/cuda/device.h"
#include "exec/cuda/move.h"

struct exec_device_calibrate_spec {
    struct exec_calibrate_spec common; /* path NULL: this-machine-cuda.yaml in config's cache folder */
    const struct exec_device_runtime *runtime;
    enum exec_move move;   /* how blocks go from rank to rank */
    double (*now_s)(void); /* the host's clock, seconds; NULL: the real one */
};

/* Collective. RING_UNSUPPORTED and *no_device where some rank finds none; RING_IO where the files cannot be
 * written: both are written or neither. */
enum ring_status exec_calibrate_device(const struct exec_device_calibrate_spec *spec, bool *no_device,
                                       struct ring_error *error);

#endif
