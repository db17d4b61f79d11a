/* SPDX-License-Identifier: MIT
 *
 * Which core a rank runs on, where there are more ranks than cores. */
#ifndef EXEC_PIN_H
#define EXEC_PIN_H

#include <stdint.h>

/* Keeps this thread, and those it will start, on one of the cores that it may run on: the one with that
 * number among them, counted round. Without effect where the system refuses. */
void exec_pin(uint32_t core);

#endif
