/* SPDX-License-Identifier: MIT
 *
 * cmocka wants these headers before its own; every test includes this one instead. */
#ifndef TESTS_CMOCKA_ALL_H
#define TESTS_CMOCKA_ALL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
