/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "clock.h"
#include "lanes.h"
#include "pattern.h"
#include "result.h"

static json_t *whole(uint64_t n)
{
	return json_integer((json_int_t)n);
}

/* Whether bursts left otherwise than they should, more than others did: fewer whole ones, or longer ones. */
static bool worse(const struct burst_times *one, const struct burst_times *other)
{
	if (one->bursts != other->bursts)
		return one->bursts < other->bursts;
	return one->lengths > other->lengths;
}

/* What all senders together meant for a port, and what of it came there. */
static json_t *port_json(struct pattern *p, unsigned int port, uint64_t *taken)
{
	static struct counts sum;
	const struct pattern_port *at = &p->port[port];
	uint64_t intended = 0, sent = 0, burst = 0, lateness = 0, duration = 0, backpressure = 0;
	const struct burst_times *worst = NULL; /* of the senders the one whose bursts took longest */
	json_t *out = json_object();

	memset(&sum, 0, sizeof(sum));
	histogram_clear(&sum.latency);
	for (unsigned int from = 0; from < port_count; from++) {
		const struct pattern_sender *s = &p->sender[from];

		for (uint32_t turn = 0; turn < s->receivers; turn++) {
			if (s->receiver[turn] != port)
				continue;
			intended += p->broadcast ? p->intended : pattern_share(p->intended, turn, s->receivers);
			sent += p->broadcast ? s->sent : pattern_share(s->sent, turn, s->receivers);
			burst = RTE_MAX(burst, s->largest_burst);
			lateness = (int64_t)s->largest_lateness > (int64_t)lateness ? s->largest_lateness : lateness;
			duration = RTE_MAX(duration, s->last_sent_at - s->first_sent_at);
			backpressure += s->backpressure;
			if (!worst || worse(&s->burst, worst))
				worst = &s->burst;
			counts_add(&sum, &p->pair[from][port].got);
		}
	}
	*taken = sum.received + sum.duplicate + sum.beyond_window + at->flooded + p->sender[port].returned;
	json_object_set_new(out, "intended_frames", whole(intended));
	json_object_set_new(out, "sent_frames", whole(sent));
	json_object_set_new(out, "received_frames", whole(sum.received));
	json_object_set_new(out, "duplicate_frames", whole(sum.duplicate));
	json_object_set_new(out, "reordered_frames", whole(sum.reordered));
	json_object_set_new(out, "corrupt_frames", whole(at->corrupt));
	json_object_set_new(out, "foreign_frames", whole(at->foreign));
	json_object_set_new(out, "flooded_frames", whole(at->flooded));
	json_object_set_new(out, "stale_frames", whole(at->stale));
	json_object_set_new(out, "beyond_window_frames", whole(sum.beyond_window));
	json_object_set_new(out, "backpressure_bursts", whole(backpressure));
	json_object_set_new(out, "largest_burst_frames", whole(burst));
	json_object_set_new(out, "largest_lateness_ns", whole(clock_ns(lateness)));
	json_object_set_new(out, "effective_duration_ns", whole(clock_ns(duration)));
	json_object_set_new(out, "latency", histogram_json(&sum.latency));
	if (p->burst_frames && worst)
		json_object_set_new(out, "bursts", result_bursts(worst));
	return out;
}

/* What a port sent, and what came of it where it was meant to. */
static json_t *sender_json(const struct pattern *p, unsigned int port)
{
	const struct pattern_sender *s = &p->sender[port];
	json_t *received = json_array();

	for (uint32_t turn = 0; turn < s->receivers; turn++)
		json_array_append_new(received, whole(p->pair[port][s->receiver[turn]].got.received));
	return json_pack("{s:I,s:I,s:I,s:o}", "first_sent_ns",
			 (json_int_t)(s->sent ? clock_ns(s->first_sent_at - p->start) : 0), "sent_frames", (json_int_t)s->sent, "returned_frames", (json_int_t)s->returned,
			 "received_frames", received);
}

json_t *pattern_json(struct pattern *p, uint64_t *least_received)
{
	json_t *at = json_array(), *senders = json_array();

	for (unsigned int port = 0; port < port_count; port++) {
		json_array_append_new(at, port_json(p, port, &least_received[port]));
		json_array_append_new(senders, sender_json(p, port));
	}
	return json_pack("{s:o,s:o}", "ports", at, "senders", senders);
}
