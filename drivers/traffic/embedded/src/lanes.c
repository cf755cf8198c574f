/* SPDX-License-Identifier: Apache-2.0 */
#include <rte_launch.h>
#include <rte_lcore.h>

#include "clock.h"
#include "lanes.h"

static struct lanes_state state;
static const struct loop_order *order;

int lanes_ready(struct lane *lanes, uint16_t count, struct failure *f)
{
	for (uint16_t i = 0; i < count; i++) {
		lanes[i].trial.lane = i;
		lanes[i].trial.lanes = count;
		lanes[i].trial.crossing = count > 1 ? &lanes[i].crossing : NULL;
		lanes[i].record = (struct loop_record){0};
		if (!rte_lcore_is_enabled(i))
			return failure_set(f, "state", "lane %u has no CPU", i);
		if (count > 1 && crossing_prepare(&lanes[i].crossing, i, count, f))
			return -1;
	}
	return 0;
}

static int beside(void *of)
{
	struct lane *lane = of;

	loop_beside(&lane->trial, order, &lane->record, &state);
	return 0;
}

void lanes_run(struct lane *lanes, uint16_t count, const struct loop_order *o)
{
	if (count == 1) {
		loop_alone(&lanes[0].trial, o, &lanes[0].record);
		return;
	}
	memset(&state, 0, sizeof(state));
	order = o;
	for (uint16_t i = 1; i < count; i++)
		if (rte_eal_remote_launch(beside, &lanes[i], i))
			rte_exit(70, "lane %u does not wait for work\n", i);
	beside(&lanes[0]);
	rte_eal_mp_wait_lcore();
}

json_t *lanes_json(const struct lane *lanes, uint16_t count)
{
	json_t *out = json_array();

	for (uint16_t i = 0; i < count; i++) {
		uint64_t sent = 0, received = 0;

		for (unsigned int k = 0; k < STREAMS; k++)
			if (lanes[i].trial.streams[k].active) {
				sent += lanes[i].trial.streams[k].sent;
				received += lanes[i].trial.streams[k].got->received;
			}
		json_array_append_new(out, json_pack("{s:I,s:I,s:I,s:I,s:I,s:I}", "sent_frames", (json_int_t)sent,
						     "received_frames", (json_int_t)received, "handed_frames",
						     (json_int_t)(count > 1 ? lanes[i].crossing.handed : 0), "cpu_ns",
						     (json_int_t)lanes[i].record.cpu_ns, "passes",
						     (json_int_t)lanes[i].record.passes, "largest_gap_ns",
						     (json_int_t)clock_ns(lanes[i].record.largest_gap)));
	}
	return out;
}

static void histogram_sum(struct histogram *to, const struct histogram *from)
{
	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		to->frames[i] += from->frames[i];
	to->sum_ns += from->sum_ns;
	to->min_ns = RTE_MIN(to->min_ns, from->min_ns);
	to->max_ns = RTE_MAX(to->max_ns, from->max_ns);
}

void counts_add(struct counts *to, const struct counts *from)
{
	to->received += from->received;
	to->duplicate += from->duplicate;
	to->reordered += from->reordered;
	to->corrupt += from->corrupt;
	to->foreign += from->foreign;
	to->stale += from->stale;
	to->beyond_window += from->beyond_window;
	to->losses.first_received += from->losses.first_received;
	histogram_sum(&to->latency, &from->latency);
	for (uint32_t i = 0; i < MAX_TAGS; i++) /* a tagged frame is one lane's */
		if (from->tagged_ns[i]) {
			to->tagged_ns[i] = from->tagged_ns[i];
			to->tagged_at[i] = from->tagged_at[i];
		}
	for (uint32_t i = 0; i < MAX_NETWORKS; i++)
		to->from_network[i] += from->from_network[i];
}

static void stream_add(struct stream *to, const struct stream *from)
{
	if (from->sent && (!to->sent || from->first_sent_at < to->first_sent_at))
		to->first_sent_at = from->first_sent_at;
	to->last_sent_at = RTE_MAX(to->last_sent_at, from->last_sent_at);
	to->intended += from->intended;
	to->sent += from->sent;
	to->backpressure += from->backpressure;
	to->largest_burst = RTE_MAX(to->largest_burst, from->largest_burst);
	if ((int64_t)from->largest_lateness > (int64_t)to->largest_lateness)
		to->largest_lateness = from->largest_lateness;
	for (uint32_t i = 0; i < MAX_NETWORKS; i++)
		to->sent_to[i] += from->sent_to[i];
	counts_add(to->got, from->got);
}

void lanes_add(struct lane *lanes, uint16_t count)
{
	struct trial *all = &lanes[0].trial;
	struct loop_record *record = &lanes[0].record;

	for (uint16_t i = 1; i < count; i++) {
		const struct loop_record *other = &lanes[i].record;

		for (unsigned int k = 0; k < STREAMS; k++)
			if (all->streams[k].active)
				stream_add(&all->streams[k], &lanes[i].trial.streams[k]);
		for (unsigned int k = 0; k < PAIR; k++)
			all->unassigned[k] += lanes[i].trial.unassigned[k];
		record->largest_gap = RTE_MAX(record->largest_gap, other->largest_gap);
		record->gaps_over_1ms += other->gaps_over_1ms;
		record->passes += other->passes;
		record->no_buffer += other->no_buffer;
		record->real_time &= other->real_time;
	}
}
