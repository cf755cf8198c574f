/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "order.h"
#include "ports.h"

/* Which sizes the frames have in turn; an empty list: all have the one size of the order. */
static int mix_read(const json_t *list, struct order *o, uint32_t least, struct failure *f)
{
	uint32_t sizes[MIX_SIZES], count = 0;

	if (!json_is_array(list) || json_array_size(list) > MIX_FRAMES)
		return failure_set(f, "protocol", "trial: a mix is a list of at most %u sizes", MIX_FRAMES);
	o->mix_frames = (uint32_t)json_array_size(list);
	for (uint32_t i = 0, n; i < o->mix_frames; i++) {
		json_int_t octets = json_integer_value(json_array_get(list, i));

		if (octets < (json_int_t)least || octets > (json_int_t)o->plan.frame_octets)
			return failure_set(f, "frame", "frame size %lld of the mix cannot be built", octets);
		o->mix[i] = (uint32_t)octets;
		for (n = 0; n < count && sizes[n] != o->mix[i]; n++)
			;
		if (n == MIX_SIZES)
			return failure_set(f, "frame", "a mix has at most %u sizes", MIX_SIZES);
		if (n == count)
			sizes[count++] = o->mix[i];
	}
	return 0;
}

static int octet_read(const char *text)
{
	int value = 0;

	for (unsigned int i = 0; i < 2; i++) {
		char c = text[i];

		if (c >= '0' && c <= '9')
			value = value * 16 + (c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value * 16 + (c - 'a' + 10);
		else
			return -1;
	}
	return value;
}

/* The first destination of each stream, 32 hexadecimal digits; an IPv4 address stands in the first eight. */
static int destinations_read(const json_t *list, struct order *o, struct failure *f)
{
	const json_int_t most_bits = o->plan.format == FORMAT_IPV4_UDP ? 24 : 56;

	if (!o->networks)
		return 0;
	if (o->networks > (json_int_t)MAX_NETWORKS || o->plan.format == FORMAT_ETHERNET || o->step_bits < 0 ||
	    o->step_bits > most_bits || json_array_size(list) != 2)
		return failure_set(f, "protocol", "trial: destination networks that no frame can go to");
	for (unsigned int s = 0; s < 2; s++) {
		const char *text = json_string_value(json_array_get(list, s));

		if (!text || strlen(text) != 32)
			return failure_set(f, "protocol", "trial: a destination has 32 hexadecimal digits");
		for (unsigned int i = 0; i < 16; i++) {
			int octet = octet_read(text + 2 * i);

			if (octet < 0)
				return failure_set(f, "protocol", "trial: a destination has 32 hexadecimal digits");
			o->first_destination[s][i] = (uint8_t)octet;
		}
	}
	return 0;
}

/* Every lane has one at least, and not more than there are; each is one that a test frame may have. */
static int source_ports_check(const struct order *o, struct failure *f)
{
	if (json_is_null(o->source_ports))
		return 0;
	for (unsigned int s = 0; s < STREAMS; s++)
		for (uint16_t lane = 0; lane < ports[0].queues; lane++) {
			const json_t *list = json_array_get(json_array_get(o->source_ports, s), lane);

			if (!json_array_size(list) || json_array_size(list) > MAX_FLOWS)
				return failure_set(f, "protocol", "trial: source ports that no lane can have");
			for (size_t i = 0; i < json_array_size(list); i++) {
				json_int_t port = json_integer_value(json_array_get(list, i));

				if (port < (json_int_t)TEST_SOURCE_PORT || port > 65535)
					return failure_set(f, "protocol", "trial: source port %lld", port);
			}
		}
	return 0;
}

int order_read(const json_t *spec, struct order *o, struct failure *f)
{
	json_int_t octets, vlan, flows, format, burst;
	int forward, reverse, loss_times;
	json_t *mix, *destinations, *source_ports;
	uint32_t least;

	memset(o, 0, sizeof(*o));
	if (json_unpack((json_t *)spec, "{s:I,s:I,s:I,s:I,s:I,s:I,s:F,s:b,s:b,s:I,s:F,s:F,s:I,s:F,s:F,s:b,s:I,s:I,s:I,s:I,s:o,"
					  "s:I,s:I,s:I,s:o,s:I,s:F,s:o,s:I}",
			"number", &o->number, "frame_octets", &octets, "vlan", &vlan, "flows", &flows, "format",
			&format, "intended", &o->intended, "load_fps", &o->load_fps, "forward", &forward,
			"reverse", &reverse, "burst_limit", &burst, "drain_quiet_s", &o->quiet_s, "drain_limit_s",
			&o->limit_s, "first", &o->first, "then_load_fps", &o->then_load_fps, "late_s", &o->late_s,
			"loss_times", &loss_times, "broadcast_every", &o->broadcast_every, "tag_first",
			&o->tag_first, "tag_step", &o->tag_step, "tags", &o->tags, "mix", &mix, "networks", &o->networks,
			"step_bits", &o->step_bits, "seed", &o->seed, "destinations", &destinations,
			"burst_frames", &o->burst_frames, "burst_fps", &o->burst_fps, "source_ports", &source_ports,
			"added_tags", &o->added_tags))
		return failure_set(f, "protocol", "trial: a field is missing or of the wrong type");
	if (!ports[0].attached || !ports[1].attached)
		return failure_set(f, "state", "no ports are attached");
	if (format < FORMAT_ETHERNET || format > FORMAT_IPV6_UDP || vlan < 0 || vlan > 4094 || flows < 1 ||
	    flows > (json_int_t)(o->networks || ports[0].queues > 1 ? MAX_FLOWS : MOST_FLOWS) || burst < 1 ||
	    burst > (json_int_t)BURST_LIMIT || o->intended < 1 ||
	    o->load_fps < 1 || !(forward || reverse) || o->number < 1 || o->number > 32767 || o->first < 1 ||
	    o->first > o->intended || (o->first < o->intended && o->then_load_fps < 1) || o->late_s < 0 ||
	    o->broadcast_every < 0 || o->tag_first < 0 || o->tag_step < 1 || o->tags < 0 ||
	    o->tags > (json_int_t)MAX_TAGS || o->networks < 0 || o->seed < 0 || o->burst_frames < 0 ||
	    o->added_tags < (vlan ? -1 : 0) || o->added_tags > (vlan ? 0 : 1) ||
	    (o->burst_frames && (o->burst_fps < o->load_fps || o->first < o->intended ||
				 o->intended % o->burst_frames)))
		return failure_set(f, "protocol", "trial: a field is out of range");
	least = frame_minimum((enum frame_format)format, vlan != 0);
	if (octets < (json_int_t)least || octets > (json_int_t)MAX_FRAME_OCTETS)
		return failure_set(f, "frame", "frame size %lld cannot be built in this format", octets);
	o->plan = (struct frame_plan){.format = (enum frame_format)format, .frame_octets = (uint32_t)octets,
				      .vlan = (uint16_t)vlan, .flows = (uint32_t)flows};
	o->burst_limit = (uint32_t)burst;
	o->forward = forward;
	o->reverse = reverse;
	o->loss_times = loss_times;
	o->source_ports = source_ports;
	if (source_ports_check(o, f))
		return -1;
	if (destinations_read(destinations, o, f))
		return -1;
	return mix_read(mix, o, least, f);
}
