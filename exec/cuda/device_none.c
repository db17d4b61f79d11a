/* SPDX-License-Identifier: MIT
 *
 * The runtime of a build without CUDA: it has no device and says why. */
#include "exec/cuda/device.h"

static enum ring_status count(int *n_devices, struct ring_error *error)
{
    *n_devices = 0;
    return ring_fail(error, RING_UNSUPPORTED, "built without CUDA");
}

const struct exec_device_runtime *exec_device_runtime(void)
{
    static const struct exec_device_runtime none = {.count = count};

    return &none;
}
