/* SPDX-License-Identifier: Apache-2.0 */
/* Log-linear histogram of nanoseconds: 128 buckets a power of two, so a bucket is at most 1/128 of its value wide. */
#ifndef BMWG_HISTOGRAM_H
#define BMWG_HISTOGRAM_H

#include <stdint.h>
#include <string.h>
#include <jansson.h>

#define HISTOGRAM_SUB_BITS 7u
#define HISTOGRAM_SUB (1u << HISTOGRAM_SUB_BITS)
#define HISTOGRAM_TOP_BITS 36u /* 68 s; a time stamp wraps before that */
#define HISTOGRAM_BUCKETS ((HISTOGRAM_TOP_BITS - HISTOGRAM_SUB_BITS + 1u) * HISTOGRAM_SUB)

struct histogram {
	uint64_t frames[HISTOGRAM_BUCKETS];
	uint64_t sum_ns;
	uint64_t min_ns;
	uint64_t max_ns;
};

static inline uint32_t histogram_index(uint64_t ns)
{
	if (ns < HISTOGRAM_SUB)
		return (uint32_t)ns;
	if (ns >> HISTOGRAM_TOP_BITS)
		return HISTOGRAM_BUCKETS - 1u;
	uint32_t shift = 63u - (uint32_t)__builtin_clzll(ns) - HISTOGRAM_SUB_BITS;
	return shift * HISTOGRAM_SUB + (uint32_t)(ns >> shift);
}

static inline void histogram_add(struct histogram *h, uint64_t ns)
{
	h->frames[histogram_index(ns)]++;
	h->sum_ns += ns;
	if (ns < h->min_ns)
		h->min_ns = ns;
	if (ns > h->max_ns)
		h->max_ns = ns;
}

void histogram_clear(struct histogram *h);
/* {"buckets": [[lowest_ns, highest_ns, frames], ...], "sum_ns", "min_ns", "max_ns"}; null bounds when empty. */
json_t *histogram_json(const struct histogram *h);

#endif
