#include "exec/calibrate.h"
enum ring_status exec_calibrate(const struct exec_calibrate_spec *spec, struct ring_error *error)
{
    (void)spec;
    return ring_fail(error, RING_UNSUPPORTED, "calibrate is not there yet");
}
