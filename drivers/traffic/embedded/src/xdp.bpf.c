/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tester inside the kernel: `send` makes, paces, signs and stamps frames (BPF_PROG_TEST_RUN with live frames),
 * `receive0` and `receive1` account for what arrives at a port. Everything that is no test frame passes on.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "xdp_layout.h"
#include "xdp_frame.h"

#define MILLISECOND 1000000u

struct xdp_shared shared;

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, XDP_STREAMS);
	__type(key, uint32_t);
	__type(value, uint32_t);
} ports SEC(".maps");

/* ---- sending ---- */

/* Bursts that repeat: the next frame of this one, or the first of the next. */
static __always_inline void next_in_burst(struct xdp_sender *s)
{
	const bool over = s->burst_place + 1u >= s->burst_frames;
	const struct xdp_step *step = over ? &s->step[1] : &s->step[0];
	uint64_t fraction = (uint64_t)(over ? s->burst_fraction : s->next_fraction) + step->fraction;

	if (!over) {
		s->burst_place++;
		s->next_ns += step->ns + (fraction >> 32);
		s->next_fraction = (uint32_t)fraction;
		return;
	}
	s->burst_place = 0;
	s->burst_ns += step->ns + (fraction >> 32);
	s->burst_fraction = (uint32_t)fraction;
	s->next_ns = s->burst_ns;
	s->next_fraction = s->burst_fraction;
}

static __always_inline void next_due(const struct xdp_sending *g, struct xdp_sender *s)
{
	const struct xdp_step *step = s->sent < s->first ? &s->step[0] : &s->step[1];
	uint64_t fraction = (uint64_t)s->next_fraction + step->fraction;

	if (s->sent == s->first && s->sent < s->intended) {
		s->next_ns = g->start_ns + s->then_ns;
		s->next_fraction = 0;
		return;
	}
	s->next_ns += step->ns + (fraction >> 32);
	s->next_fraction = (uint32_t)fraction;
}

/*
 * The whole frame anew: a page that comes back holds what the DUT made of it. Word by word in this program: one call of
 * bpf_xdp_store_bytes() costs more than the copy of a frame of 64 octets, and as much as that of 1,518.
 */
static __always_inline int frame_fill(struct xdp_md *ctx, const struct xdp_sending *g, const struct frame_template *t)
{
	uint32_t length = t->length;
	const uint8_t *from = t->octets;
	uint8_t *at, *end;

	if (length < ETHERNET_OCTETS || length > XDP_FRAME_OCTETS)
		return -1;
	if (length != g->frame_octets && bpf_xdp_adjust_tail(ctx, (int)length - (int)g->frame_octets))
		return -1;
	at = (uint8_t *)(long)ctx->data;
	end = (uint8_t *)(long)ctx->data_end;
	for (uint32_t i = 0; i < XDP_FRAME_OCTETS / (8u * WORDS); i++) {
		if (at + 8u * WORDS > end)
			break;
#pragma unroll
		for (uint32_t k = 0; k < WORDS; k++)
			*(uint64_t *)(at + 8u * k) = *(const uint64_t *)(from + 8u * k);
		at += 8u * WORDS;
		from += 8u * WORDS;
	}
	for (uint32_t i = 0; i < WORDS; i++) {
		if (at + 8u > end)
			break;
		*(uint64_t *)at = *(const uint64_t *)from;
		at += 8u;
		from += 8u;
	}
	for (uint32_t i = 0; i < 7u; i++) {
		if (at + 1u > end)
			break;
		*at++ = *from++;
	}
	return 0;
}

static __always_inline int frame_sign(struct xdp_md *ctx, const struct frame_template *t, uint16_t trial_stream,
				      uint64_t sequence, uint64_t now)
{
	uint8_t *data = (uint8_t *)(long)ctx->data, *end = (uint8_t *)(long)ctx->data_end;
	struct signature *signature = (struct signature *)(data + (t->signature_offset & 0x7fu));

	if ((uint8_t *)(signature + 1) > end)
		return -1;
	signature_write(signature, trial_stream, sequence, (uint32_t)(now >> XDP_STAMP_SHIFT));
	if (t->source_port_offset && t->flows > 1) {
		uint16_t *port = (uint16_t *)(data + (t->source_port_offset & 0x7fu));
		uint16_t *checksum = (uint16_t *)(data + (t->checksum_offset & 0x7fu));

		if ((uint8_t *)(port + 2) > end || (uint8_t *)(checksum + 1) > end)
			return -1;
		flow_ports(t, sequence, 0, port, checksum);
	}
	return 0;
}

/* Another destination than the template's, as frame_address() has it for the tester's own loop. */
static __always_inline int frame_address(struct xdp_md *ctx, const struct frame_template *t, const struct destinations *d,
					 uint32_t network, uint64_t sequence)
{
	uint8_t *data = (uint8_t *)(long)ctx->data, *end = (uint8_t *)(long)ctx->data_end;
	const struct destination *to = &d->network[network & (MAX_NETWORKS - 1u)];
	uint8_t *address = data + (t->destination_offset & 0x7fu);
	uint16_t *port = (uint16_t *)(data + (t->source_port_offset & 0x7fu));
	uint16_t *checksum = (uint16_t *)(data + (t->checksum_offset & 0x7fu));

	if (address + sizeof(to->address) > end || (uint8_t *)(port + 2) > end || (uint8_t *)(checksum + 1) > end)
		return -1;
	if (t->header_checksum_offset) {
		uint16_t *header = (uint16_t *)(data + (t->header_checksum_offset & 0x7fu));

		if ((uint8_t *)(header + 1) > end)
			return -1;
		*header = header_checksum(*header, to->delta);
		__builtin_memcpy(address, to->address, 4);
	} else {
		__builtin_memcpy(address, to->address, sizeof(to->address));
	}
	flow_ports(t, sequence, to->delta, port, checksum);
	return 0;
}

static __always_inline int send_broadcast(struct xdp_md *ctx, struct xdp_sending *g, uint32_t i)
{
	struct xdp_sender *s = &g->sender[i];
	uint64_t between = s->sent - s->broadcast_after;

	if (frame_fill(ctx, g, &shared.template[i][XDP_BROADCAST]))
		return XDP_DROP;
	if (!s->broadcast_sent || between < s->broadcast_least)
		s->broadcast_least = between;
	if (between > s->broadcast_most)
		s->broadcast_most = between;
	s->broadcast_after = s->sent;
	s->broadcast_sent++;
	return (int)bpf_redirect_map(&ports, i, 0);
}

/* The frame that is due, if one is; 0: none was. */
static __always_inline int send_due(struct xdp_md *ctx, struct xdp_sending *g, uint32_t i, uint64_t now,
				    const bool special)
{
	struct xdp_sender *s = &g->sender[i];
	uint64_t sequence = s->sent;
	uint32_t place = 0, network = 0;
	const struct destinations *d = &shared.to[i];
	const struct frame_template *t;
	int64_t lateness;

	if (!s->active)
		return 0;
	/* One broadcast frame beside every `broadcast_every` test frames (rfc2544-11.1). */
	if (s->broadcast_every && s->broadcast_sent < sequence / s->broadcast_every)
		return send_broadcast(ctx, g, i);
	if (sequence >= s->intended || now < s->next_ns) {
		s->in_a_row = 0;
		return 0;
	}
	if (s->in_a_row >= g->burst_limit) { /* late: bursts of a declared size at most */
		s->in_a_row = 0;
		return 0;
	}
	if (s->mix_frames)
		place = 1u + (s->mix_order[sequence % s->mix_frames % XDP_MIX_FRAMES] & (XDP_MIX_SIZES - 1u));
	t = &shared.template[i][place];
	if (special && d->networks)
		network = network_drawn(d->seed, sequence, d->networks) & (MAX_NETWORKS - 1u);
	if (frame_fill(ctx, g, t) || frame_sign(ctx, t, (uint16_t)(g->number << 1 | i), sequence, now) ||
	    (special && d->networks && frame_address(ctx, t, d, network, sequence))) {
		s->size_refused++;
		return XDP_DROP;
	}
	if (special && d->networks)
		s->sent_to[network]++;
	lateness = (int64_t)(now - s->next_ns);
	if (lateness > s->largest_lateness_ns)
		s->largest_lateness_ns = lateness;
	if (!sequence)
		s->first_sent_ns = now;
	if (special && s->burst_frames)
		burst_note(&s->burst, s->burst_place, s->burst_frames, sequence ? s->last_sent_ns : 0, now);
	s->last_sent_ns = now;
	s->in_a_row++;
	if (s->in_a_row > s->largest_burst)
		s->largest_burst = s->in_a_row;
	s->sent = sequence + 1u;
	if (special && s->burst_frames)
		next_in_burst(s);
	else
		next_due(g, s);
	return (int)bpf_redirect_map(&ports, i, 0);
}

static __always_inline bool finished(const struct xdp_sender *s)
{
	return !s->active || (s->sent >= s->intended &&
			      (!s->broadcast_every || s->broadcast_sent >= s->sent / s->broadcast_every));
}

/* `special` is known when it is built: what a plain trial does not ask for costs it nothing. */
static __always_inline int send_frame(struct xdp_md *ctx, const bool special)
{
	struct xdp_sending *g = &shared.sending;
	uint64_t now = bpf_ktime_get_ns(), from;
	uint32_t first = g->turn & 1u;
	int act;

	if (g->probe)
		return (int)bpf_redirect_map(&ports, (g->probe - 1u) & 1u, 0);
	if (!g->start_ns) {
		g->before_ns = now;
		g->sender[0].next_ns = g->sender[1].next_ns = now + XDP_START_NS;
		g->sender[0].burst_ns = g->sender[1].burst_ns = now + XDP_START_NS;
		g->start_ns = now + XDP_START_NS;
		return XDP_DROP;
	}
	if (now < g->start_ns)
		return XDP_DROP;
	if (now > g->start_ns + g->last_ns)
		return XDP_DROP;
	if (finished(&g->sender[0]) && finished(&g->sender[1]))
		return XDP_DROP;
	from = g->before_ns > g->start_ns ? g->before_ns : g->start_ns;
	if (now - from > g->largest_gap_ns)
		g->largest_gap_ns = now - from;
	if (now - from > MILLISECOND)
		g->gaps_over_1ms++;
	g->before_ns = now;
	g->passes++;
	act = send_due(ctx, g, first, now, special);
	if (!act) {
		act = send_due(ctx, g, first ^ 1u, now, special);
		return act ? act : XDP_DROP;
	}
	g->turn = first ^ 1u;
	return act;
}

SEC("xdp") int send(struct xdp_md *ctx)
{
	return send_frame(ctx, false);
}

/* To many networks, or in bursts that repeat. */
SEC("xdp") int send_special(struct xdp_md *ctx)
{
	return send_frame(ctx, true);
}

/* ---- receiving ---- */

static __always_inline int account(struct xdp_md *ctx, uint32_t port)
{
	const uint8_t *data = (const uint8_t *)(long)ctx->data, *end = (const uint8_t *)(long)ctx->data_end;
	struct xdp_receiving *r = &shared.receiving[port];
	const uint32_t stream = port ^ 1u;
	const struct xdp_sender *s = &shared.sending.sender[stream];
	const struct frame_template *t;
	const struct signature *signature;
	uint64_t now, sequence;
	uint32_t place = 0, offset, due, sent_offset;
	bool control, filled_up;

	signature = (const struct signature *)signature_find(data, end, &control);
	if (!signature) {
		if (r->expects && is_broadcast(data, end)) {
			r->counts.broadcast_received++;
			return XDP_DROP;
		}
		if (!control) {
			if (r->expects)
				r->counts.foreign++;
			else
				r->unassigned++;
		}
		return XDP_PASS;
	}
	now = bpf_ktime_get_ns();
	r->arrivals++;
	r->last_arrival_ns = now;
	if (!r->expects) {
		r->unassigned++;
		return XDP_DROP;
	}
	if (!signature_valid(signature)) {
		r->counts.corrupt++;
		return XDP_DROP;
	}
	if (signature->trial_stream >> 1 != r->number) {
		r->counts.stale++;
		return XDP_DROP;
	}
	sequence = (uint64_t)signature->sequence_high << 32 | signature->sequence_low;
	if ((signature->trial_stream & 1u) != stream) {
		r->unassigned++;
		return XDP_DROP;
	}
	if (s->mix_frames)
		place = 1u + (s->mix_order[sequence % s->mix_frames % XDP_MIX_FRAMES] & (XDP_MIX_SIZES - 1u));
	t = &shared.template[stream][place];
	offset = (uint32_t)((const uint8_t *)signature - data);
	due = t->length + (uint32_t)r->added_octets;
	sent_offset = offset - (uint32_t)r->added_octets;
	/* A link fills up what became too short for it; of so few octets the signature leaves three at most. */
	filled_up = r->added_octets < 0 && due < LEAST_OCTETS && (uint64_t)(end - data) == LEAST_OCTETS;
	if (sequence >= *(const volatile uint64_t *)&s->sent || ((uint64_t)(end - data) != due && !filled_up) ||
	    sent_offset != t->signature_offset || offset > 0x7fu ||
	    (!filled_up && !fill_intact(data, end, t, (offset & 0x7fu) + sizeof(struct signature),
					(sent_offset & 0x7fu) + sizeof(struct signature)))) {
		r->counts.corrupt++;
		return XDP_DROP;
	}
	count_sequence(&r->counts, shared.window[stream], &r->expected, sequence,
		       (uint64_t)((uint32_t)(now >> XDP_STAMP_SHIFT) - signature->stamp) << XDP_STAMP_SHIFT, now);
	return XDP_DROP;
}

SEC("xdp") int receive0(struct xdp_md *ctx)
{
	return account(ctx, 0);
}

SEC("xdp") int receive1(struct xdp_md *ctx)
{
	return account(ctx, 1);
}

char licence[] SEC("license") = "Apache-2.0";
