/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "histogram.h"

void histogram_clear(struct histogram *h)
{
	memset(h, 0, sizeof(*h));
	h->min_ns = UINT64_MAX;
}

static void bucket_range(uint32_t index, uint64_t *lowest, uint64_t *highest)
{
	uint32_t shift = index < 2u * HISTOGRAM_SUB ? 0 : index / HISTOGRAM_SUB - 1u;

	*lowest = (uint64_t)(index - shift * HISTOGRAM_SUB) << shift;
	*highest = *lowest + (1ull << shift) - 1u;
}

json_t *histogram_json(const struct histogram *h)
{
	json_t *buckets = json_array();
	uint64_t total = 0;

	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		uint64_t lowest, highest;

		if (!h->frames[i])
			continue;
		total += h->frames[i];
		bucket_range(i, &lowest, &highest);
		json_array_append_new(buckets, json_pack("[I,I,I]", (json_int_t)lowest, (json_int_t)highest,
							 (json_int_t)h->frames[i]));
	}
	json_t *out = json_pack("{s:o,s:I}", "buckets", buckets, "sum_ns", (json_int_t)h->sum_ns);
	json_object_set_new(out, "min_ns", total ? json_integer((json_int_t)h->min_ns) : json_null());
	json_object_set_new(out, "max_ns", total ? json_integer((json_int_t)h->max_ns) : json_null());
	return out;
}
