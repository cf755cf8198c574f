/* SPDX-License-Identifier: Apache-2.0 */
/* What a trial counted, as JSON. */
#ifndef BMWG_RESULT_H
#define BMWG_RESULT_H

#include "account.h"

struct pattern;

struct loop_record {
	uint64_t largest_gap, gaps_over_1ms, passes, no_buffer;
	uint64_t residual; /* cycles of receiving after the last frame could leave */
	uint64_t started_ns; /* CLOCK_MONOTONIC when the first frame was due */
	uint64_t cpu_ns;     /* of a CPU that sending took, receiving meanwhile included */
	bool aborted, real_time;
};

json_t *result_counters(void);
json_t *result_bursts(const struct burst_times *b);
/* `pace` (NULL: not asked for) gives the times of losses. Takes `counters_before` and `lanes` over. */
json_t *result_json(struct trial *t, const struct loop_record *record, const struct pace *pace, uint64_t wall_cycles,
		    json_t *counters_before, json_t *lanes);
/* The same of a trial between more ports. */
json_t *result_pattern(struct pattern *p, const struct loop_record *record, uint64_t wall_cycles, json_t *counters_before);

#endif
