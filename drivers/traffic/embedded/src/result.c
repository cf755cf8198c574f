/* SPDX-License-Identifier: Apache-2.0 */
#include <time.h>

#include "clock.h"
#include "extra.h"
#include "pattern.h"
#include "result.h"
#include "watchdog.h"

#define COUNTED_LOOK_NS 1000000 /* between two looks at the interfaces' counters */
#define COUNTED_LOOKS 50u	/* a poll of an emulated NIC was seen to take milliseconds */

static json_t *count(uint64_t n)
{
	return json_integer((json_int_t)n);
}

static json_t *tagged_json(const struct stream *s, uint32_t tags)
{
	json_t *out = json_array();

	for (uint32_t i = 0; i < tags; i++)
		json_array_append_new(out, s->got->tagged_ns[i] ? count(s->got->tagged_ns[i] - 1u) : json_null());
	return out;
}

/* When a tagged frame was sent, since the first frame was. */
static uint64_t tagged_at_ns(const struct counts *c, uint32_t i, uint64_t first_sent_at)
{
	uint64_t arrived_ns = clock_ns(c->tagged_at[i] - first_sent_at), latency_ns = c->tagged_ns[i] - 1u;

	return arrived_ns > latency_ns ? arrived_ns - latency_ns : 0;
}

static json_t *tagged_at_json(const struct stream *s, uint32_t tags)
{
	json_t *out = json_array();

	for (uint32_t i = 0; i < tags; i++)
		json_array_append_new(out, s->got->tagged_ns[i] ? count(tagged_at_ns(s->got, i, s->first_sent_at)) : json_null());
	return out;
}

static json_t *networks_json(const uint64_t *frames, uint32_t networks)
{
	json_t *out = json_array();

	for (uint32_t i = 0; i < networks; i++)
		json_array_append_new(out, count(frames[i]));
	return out;
}

json_t *result_bursts(const struct burst_times *b)
{
	return json_pack("{s:o,s:o,s:o,s:o,s:o}", "bursts", count(b->bursts), "lengths_ns", count(clock_ns(b->lengths)),
			 "longest_ns", count(clock_ns(b->longest)), "intervals_ns", count(clock_ns(b->intervals)),
			 "shortest_interval_ns", count(clock_ns(b->shortest)));
}

static json_t *stream_json(struct stream *s, const struct pace *pace, uint32_t tags)
{
	json_t *out = json_object();

	json_object_set_new(out, "intended_frames", count(s->intended));
	json_object_set_new(out, "sent_frames", count(s->sent));
	json_object_set_new(out, "received_frames", count(s->got->received));
	json_object_set_new(out, "duplicate_frames", count(s->got->duplicate));
	json_object_set_new(out, "reordered_frames", count(s->got->reordered));
	json_object_set_new(out, "corrupt_frames", count(s->got->corrupt));
	json_object_set_new(out, "foreign_frames", count(s->got->foreign));
	json_object_set_new(out, "stale_frames", count(s->got->stale));
	json_object_set_new(out, "beyond_window_frames", count(s->got->beyond_window));
	json_object_set_new(out, "backpressure_bursts", count(s->backpressure));
	json_object_set_new(out, "largest_burst_frames", count(s->largest_burst));
	json_object_set_new(out, "largest_lateness_ns", count(clock_ns(s->largest_lateness)));
	json_object_set_new(out, "effective_duration_ns", count(clock_ns(s->last_sent_at - s->first_sent_at)));
	json_object_set_new(out, "broadcast_sent_frames", count(s->broadcast_sent));
	json_object_set_new(out, "broadcast_received_frames", count(s->got->broadcast_received));
	json_object_set_new(out, "broadcast_least_between_frames", count(s->broadcast_least));
	json_object_set_new(out, "broadcast_most_between_frames", count(s->broadcast_most));
	json_object_set_new(out, "latency", histogram_json(&s->got->latency));
	if (s->burst_frames)
		json_object_set_new(out, "bursts", result_bursts(&s->burst));
	if (s->to->networks) {
		json_object_set_new(out, "sent_by_network", networks_json(s->sent_to, s->to->networks));
		json_object_set_new(out, "received_by_network", networks_json(s->got->from_network, s->to->networks));
	}
	if (tags) {
		json_object_set_new(out, "tagged_ns", tagged_json(s, tags));
		json_object_set_new(out, "tagged_at_ns", tagged_at_json(s, tags));
	}
	if (pace) {
		uint64_t last = 0;
		bool any = account_last_lost(s, &last);

		json_object_set_new(out, "losses", losses_json(&s->got->losses, pace, any, last));
	}
	return out;
}

json_t *result_counters(void)
{
	json_t *out = json_array();

	for (unsigned int i = 0; i < port_count; i++)
		json_array_append_new(out, port_counters(&ports[i]));
	return out;
}

static json_int_t rx_packets(const json_t *counters, size_t port)
{
	return json_integer_value(json_object_get(json_array_get(counters, port), "rx_packets"));
}

/* Whether the interfaces counted the frames that each port took in; true where the kernel counts none. */
static bool counted(const uint64_t *taken, const json_t *before, const json_t *after)
{
	for (size_t port = 0; port < port_count; port++)
		if (json_is_object(json_array_get(after, port)) &&
		    rx_packets(after, port) - rx_packets(before, port) < (json_int_t)taken[port])
			return false;
	return true;
}

/* A driver adds to its counts when a poll ends, after its frames were handed on. */
static json_t *counters_after(const uint64_t *taken, const json_t *before)
{
	json_t *after = result_counters();

	for (unsigned int looks = 1; looks < COUNTED_LOOKS && !counted(taken, before, after); looks++) {
		json_decref(after);
		nanosleep(&(struct timespec){.tv_nsec = COUNTED_LOOK_NS}, NULL);
		after = result_counters();
	}
	return after;
}

/* What trials of all kinds tell, beside `counted` frames. */
static json_t *result_of(const char *name, json_t *frames, json_t *unassigned, const uint64_t *taken,
			 const struct loop_record *record, uint64_t wall_cycles, json_t *counters_before, json_t *lanes)
{
	json_t *after = counters_after(taken, counters_before), *links = json_array();

	for (unsigned int i = 0; i < port_count; i++)
		json_array_append_new(links, count(port_link_mbps(&ports[i])));
	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:b,s:b,s:o,s:o,s:o,s:o}", name, frames,
			 "port_counters_before", counters_before, "port_counters", after,
			 "unassigned_frames", unassigned, "link_mbps", links,
			 "largest_gap_ns", count(clock_ns(record->largest_gap)),
			 "gaps_over_1ms", count(record->gaps_over_1ms), "loop_passes", count(record->passes),
			 "no_buffer_events", count(record->no_buffer), "wall_time_ns", count(clock_ns(wall_cycles)),
			 "residual_wait_ns", count(clock_ns(record->residual)),
			 "aborted", record->aborted, "real_time", record->real_time, "watchdogs", watchdogs_json(record->started_ns),
			 "started_ns", count(record->started_ns), "extras", extras_json(), "lanes", lanes);
}

json_t *result_json(struct trial *t, const struct loop_record *record, const struct pace *pace, uint64_t wall_cycles,
		     json_t *counters_before, json_t *lanes)
{
	uint64_t taken[PORTS] = {0};
	json_t *streams = json_array(), *unassigned = json_array();

	for (unsigned int i = 0; i < STREAMS; i++) {
		const struct stream *s = &t->streams[i];

		if (s->active)
			taken[s->rx - ports] = s->got->received + s->got->duplicate;
	}
	for (unsigned int i = 0; i < STREAMS; i++)
		json_array_append_new(streams,
				      t->streams[i].active ? stream_json(&t->streams[i], pace, t->expected.tags) : json_null());
	for (unsigned int i = 0; i < PAIR; i++)
		json_array_append_new(unassigned, count(t->unassigned[i]));
	return result_of("streams", streams, unassigned, taken, record, wall_cycles, counters_before, lanes);
}

json_t *result_pattern(struct pattern *p, const struct loop_record *record, uint64_t wall_cycles, json_t *counters_before)
{
	uint64_t taken[PORTS];
	json_t *frames = pattern_json(p, taken);

	return result_of("pattern", frames, json_array(), taken, record, wall_cycles, counters_before, json_pack("[{}]"));
}
