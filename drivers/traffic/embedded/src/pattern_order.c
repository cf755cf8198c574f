/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <rte_cycles.h>

#include "pattern.h"

/* Each receiver is another port than the sender, and none is there twice. */
static int receivers_read(struct pattern_sender *s, const json_t *list, unsigned int sender, struct failure *f)
{
	if (!json_is_array(list) || json_array_size(list) >= port_count)
		return failure_set(f, "protocol", "pattern: receivers of port %u", sender);
	s->receivers = (uint32_t)json_array_size(list);
	for (uint32_t i = 0; i < s->receivers; i++) {
		const json_t *entry = json_array_get(list, i);
		json_int_t port = json_is_integer(entry) ? json_integer_value(entry) : -1;

		if (port < 0 || port >= (json_int_t)port_count || port == (json_int_t)sender)
			return failure_set(f, "protocol", "pattern: receiver %lld of port %u", port, sender);
		for (uint32_t k = 0; k < i; k++)
			if (s->receiver[k] == port)
				return failure_set(f, "protocol", "pattern: receiver %lld of port %u twice", port, sender);
		s->receiver[i] = (uint8_t)port;
	}
	return 0;
}

static int pair_prepare(struct pattern *p, unsigned int from, unsigned int to, const struct order *o, struct failure *f)
{
	struct pattern_pair *pair = &p->pair[from][to];
	const struct port *tx = &ports[from], *rx = &ports[to];
	struct frame_plan plan = o->plan;

	if (plan.format == FORMAT_IPV4_UDP && (!tx->has_ipv4 || !rx->has_ipv4))
		return failure_set(f, "address", "IPv4 frames need an IPv4 address on all ports");
	if (plan.format == FORMAT_IPV6_UDP && (!tx->has_ipv6 || !rx->has_ipv6))
		return failure_set(f, "address", "IPv6 frames need an IPv6 address on all ports");
	if (plan.format == FORMAT_IPV4_UDP) {
		memcpy(plan.source_ip, tx->ipv4, 4);
		memcpy(plan.destination_ip, rx->ipv4, 4);
	} else {
		memcpy(plan.source_ip, tx->ipv6, 16);
		memcpy(plan.destination_ip, rx->ipv6, 16);
	}
	plan.source_mac = tx->mac;
	plan.destination_mac = rx->mac;
	if (p->broadcast)
		memset(&plan.destination_mac, 0xff, sizeof(plan.destination_mac));
	frame_template_fill(&pair->template, &plan);
	if (!pair->window)
		pair->window = calloc(WINDOW_WORDS, sizeof(uint64_t));
	if (!pair->window)
		return failure_set(f, "memory", "no memory for the sequence window");
	memset(pair->window, 0, WINDOW_WORDS * sizeof(uint64_t));
	return 0;
}

int pattern_prepare(struct pattern *p, const json_t *spec, const struct order *o, double hz, struct failure *f)
{
	json_int_t sources, destinations, seed, step;
	unsigned int senders = 0;
	json_t *receivers;
	int broadcast;

	if (json_unpack((json_t *)spec, "{s:o,s:b,s:I,s:I,s:I,s:I}", "receivers", &receivers, "broadcast", &broadcast,
			"sources", &sources, "destinations", &destinations, "seed", &seed, "mac_step", &step) ||
	    json_array_size(receivers) != port_count || sources < 1 || sources > (json_int_t)MAX_ADDRESSES ||
	    destinations < 1 || destinations > (json_int_t)MAX_ADDRESSES || seed < 0 ||
	    step < 1 || step > 0xffffff || step % 2 == 0)
		return failure_set(f, "protocol", "pattern: a field is missing, of the wrong type or out of range");
	if (ports[0].xdp || ports[0].queues > 1)
		return failure_set(f, "lanes", "a pattern needs one lane, and ports that are devices of DPDK");
	if (o->loss_times || o->broadcast_every || o->mix_frames || o->networks || o->tags)
		return failure_set(f, "protocol", "pattern: frames of one size at one load, nothing beside them");
	p->number = (uint16_t)o->number;
	p->broadcast = broadcast;
	p->sources = (uint32_t)sources;
	p->destinations = (uint32_t)destinations;
	p->mac_step = (uint32_t)step;
	p->seed = (uint64_t)seed;
	p->burst_frames = (uint64_t)o->burst_frames;
	p->intended = (uint64_t)o->intended;
	p->ns_per_stamp = (double)(1u << STAMP_SHIFT) * 1e9 / hz;
	p->expected = (struct expected){.first = UINT64_MAX};
	memset(p->sender, 0, sizeof(p->sender));
	memset(p->port, 0, sizeof(p->port));
	for (unsigned int from = 0; from < port_count; from++) {
		struct pattern_sender *s = &p->sender[from];

		if (receivers_read(s, json_array_get(receivers, from), from, f))
			return -1;
		senders += s->receivers > 0;
		for (unsigned int to = 0; to < port_count; to++) {
			memset(&p->pair[from][to].got, 0, sizeof(struct counts));
			histogram_clear(&p->pair[from][to].got.latency);
		}
		for (uint32_t i = 0; i < s->receivers; i++)
			if (pair_prepare(p, from, s->receiver[i], o, f))
				return -1;
	}
	p->moving = senders > 1u;
	return senders ? 0 : failure_set(f, "protocol", "pattern: no port sends");
}
