/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "clock.h"
#include "losses.h"

static int by_sequence(const void *left, const void *right)
{
	const struct loss_run *a = left, *b = right;

	return (a->first > b->first) - (a->first < b->first);
}

static json_t *since_start(const struct pace *pace, uint64_t at)
{
	return at <= pace->start ? json_null() : json_integer((json_int_t)clock_ns(at - pace->start));
}

json_t *losses_json(const struct losses *l, const struct pace *pace, bool any, uint64_t last_lost)
{
	struct loss_run sorted[LOSS_RUNS_KEPT];
	json_t *longest = json_array(), *out = json_object();

	for (unsigned int i = 0; i < l->count; i++)
		sorted[i] = l->kept[i];
	qsort(sorted, l->count, sizeof(sorted[0]), by_sequence);
	for (unsigned int i = 0; i < l->count; i++)
		json_array_append_new(longest, json_pack("{s:I,s:I,s:o,s:o}", "first_frame", (json_int_t)sorted[i].first,
							 "frames", (json_int_t)sorted[i].frames, "before_ns",
							 since_start(pace, sorted[i].before), "after_ns",
							 since_start(pace, sorted[i].after)));
	json_object_set_new(out, "runs", json_integer((json_int_t)l->runs));
	json_object_set_new(out, "longest", longest);
	json_object_set_new(out, "first_received_frames", json_integer((json_int_t)l->first_received));
	json_object_set_new(out, "reduced_at_ns",
			    pace->then_at == UINT64_MAX
				    ? json_null()
				    : json_integer((json_int_t)clock_ns(pace->then_at - pace->start)));
	json_object_set_new(out, "last_lost_ns",
			    any ? json_integer((json_int_t)clock_ns(pace_due_at(pace, last_lost))) : json_null());
	return out;
}
