/* SPDX-License-Identifier: ISC */
/* The entry of every fuzz target, as libFuzzer and replay.c call it. */
#ifndef HPN_REGRESS_FUZZ_H
#define HPN_REGRESS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#endif
