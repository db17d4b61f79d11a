/* SPDX-License-Identifier: MIT
 *
 * Large memory for what the kernels read and write. */
#ifndef PAGES_H
#define PAGES_H

#include <stdint.h>

/* Memory of so many bytes, zero or not, on a vector's boundary, and from half a MiB on, where the system lets
 * us, on pages of 2 MiB: a kernel walks through more rows than the processor remembers small pages, and on a
 * virtual machine each that it has to look up costs dearly (4096 tokens of 128 dims: ten points of the peak).
 * The caller frees it with free(). NULL if there is none. */
void *block_take_pages(uint64_t bytes);

#endif
