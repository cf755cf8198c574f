/* SPDX-License-Identifier: Apache-2.0 */
/* Log-linear histogram of nanoseconds: 128 buckets a power of two, so a bucket is at most 1/128 of its value wide. */
#ifndef BMWG_HISTOGRAM_H
#define BMWG_HISTOGRAM_H

#include <stdint.h>

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

/* Number of the highest bit that is set; some is. */
static inline __attribute__((always_inline)) uint32_t highest_bit(uint64_t n)
{
#ifdef __bpf__ /* a kernel's program has no instruction for it */
	uint32_t bit = 0;

#pragma unroll
	for (uint32_t step = 32u; step; step /= 2u)
		if (n >> step) {
			n >>= step;
			bit += step;
		}
	return bit;
#else
	return 63u - (uint32_t)__builtin_clzll(n);
#endif
}

static inline __attribute__((always_inline)) uint32_t histogram_index(uint64_t ns)
{
	if (ns < HISTOGRAM_SUB)
		return (uint32_t)ns;
	if (ns >> HISTOGRAM_TOP_BITS)
		return HISTOGRAM_BUCKETS - 1u;
	uint32_t shift = highest_bit(ns) - HISTOGRAM_SUB_BITS;
	return shift * HISTOGRAM_SUB + (uint32_t)(ns >> shift);
}

static inline __attribute__((always_inline)) void histogram_add(struct histogram *h, uint64_t ns)
{
	uint64_t index = histogram_index(ns);

#ifdef __bpf__ /* the kernel wants to see the bound that the arithmetic has anyhow */
	__asm__ volatile("" : "+r"(index));
	if (index >= HISTOGRAM_BUCKETS)
		return;
#endif
	h->frames[index]++;
	h->sum_ns += ns;
	if (ns < h->min_ns)
		h->min_ns = ns;
	if (ns > h->max_ns)
		h->max_ns = ns;
}

#ifndef __bpf__
#include <jansson.h>

void histogram_clear(struct histogram *h);
/* {"buckets": [[lowest_ns, highest_ns, frames], ...], "sum_ns", "min_ns", "max_ns"}; null bounds when empty. */
json_t *histogram_json(const struct histogram *h);
#endif

#endif
