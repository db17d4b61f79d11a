/* SPDX-License-Identifier: MIT
 *
 * Quantities as text, both ways. */
#ifndef CONFIG_QUANTITY_H
#define CONFIG_QUANTITY_H

#include <stddef.h>

#include "config/config.h"

/* Reads text into SI. False with why (what is wrong with it and what is accepted, to stand behind the text in
 * a message) where it is no quantity of that unit; positive: zero is wrong too. */
bool config_quantity_parse(const char *text, enum config_unit unit, bool positive, double *out, char *why,
                           size_t size);

/* The value and the unit's own name, "0.0013744 s", with as many digits as reading it back exactly needs. */
void config_quantity_format(double value, enum config_unit unit, char *out, size_t size);

#endif
