/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <rte_byteorder.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include "extra.h"

#define EXTRAS 4u
#define EXTRA_OCTETS 1514u
#define PIECES 4u
#define PIECE_OCTETS 64u

static struct extra {
	unsigned int port;
	uint8_t octets[EXTRA_OCTETS];
	uint16_t length;
	uint16_t answers_from; /* UDP port; 0: nobody answers */
	struct {
		uint8_t octets[PIECE_OCTETS];
		uint16_t length;
	} holds[PIECES]; /* what a right answer has, in this order */
	unsigned int pieces;
	uint64_t interval, next, sent, answered, verified;
} extras[EXTRAS];
static unsigned int extra_count;
static uint64_t first_after; /* test frames that had left when the first of these frames did */
/* When one of them left, and the least and most time from one to the next. */
static uint64_t last_left, least_between, most_between;
static double ticks_hz;

static int nibble(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int octets_read(const char *text, uint8_t *octets, size_t least, size_t most, uint16_t *length)
{
	size_t digits = text ? strlen(text) : 0;

	if (digits % 2 || digits / 2 < least || digits / 2 > most)
		return -1;
	for (size_t i = 0; i < digits / 2; i++) {
		int high = nibble(text[2 * i]), low = nibble(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return -1;
		octets[i] = (uint8_t)(high << 4 | low);
	}
	*length = (uint16_t)(digits / 2);
	return 0;
}

static int pieces_read(struct extra *e, const json_t *list)
{
	if (json_array_size(list) > PIECES)
		return -1;
	for (size_t i = 0; i < json_array_size(list); i++)
		if (octets_read(json_string_value(json_array_get(list, i)), e->holds[i].octets, 1, PIECE_OCTETS,
				&e->holds[i].length))
			return -1;
	e->pieces = (unsigned int)json_array_size(list);
	return 0;
}

/* Whether an answer has all that a right one has, in its order. */
static bool answer_right(const struct extra *e, const uint8_t *at, const uint8_t *end)
{
	for (unsigned int i = 0; i < e->pieces; i++) {
		uint16_t length = e->holds[i].length;

		while (at + length <= end && memcmp(at, e->holds[i].octets, length))
			at++;
		if (at + length > end)
			return false;
		at += length;
	}
	return true;
}

int extras_prepare(const json_t *list, uint64_t start, double hz, struct failure *f)
{
	extra_count = 0;
	first_after = last_left = most_between = 0;
	least_between = UINT64_MAX;
	ticks_hz = hz;
	if (json_array_size(list) > EXTRAS)
		return failure_set(f, "protocol", "trial: at most %u kinds of frames beside the stream", EXTRAS);
	for (size_t i = 0; i < json_array_size(list); i++) {
		struct extra *e = &extras[i];
		json_int_t port, answers_from;
		const char *text;
		json_t *holds;
		double interval_s, after_s;

		memset(e, 0, sizeof(*e));
		if (json_unpack(json_array_get(list, i), "{s:I,s:s,s:F,s:F,s:I,s:o}", "port", &port, "octets",
				&text, "interval_s", &interval_s, "after_s", &after_s, "answers_from", &answers_from, "answer_holds",
				&holds) ||
		    port < 0 || port >= (json_int_t)PAIR || interval_s < 0.001 || after_s < 0 || answers_from < 0 ||
		    answers_from > 65535 || octets_read(text, e->octets, RTE_ETHER_HDR_LEN, EXTRA_OCTETS, &e->length) || pieces_read(e, holds))
			return failure_set(f, "protocol", "trial: a frame beside the stream cannot be sent");
		e->port = (unsigned int)port;
		e->answers_from = (uint16_t)answers_from;
		e->interval = (uint64_t)(interval_s * hz);
		e->next = start + (uint64_t)(after_s * hz);
	}
	extra_count = (unsigned int)json_array_size(list);
	return 0;
}

static uint64_t extras_sent(void)
{
	uint64_t sent = 0;

	for (unsigned int i = 0; i < extra_count; i++)
		sent += extras[i].sent;
	return sent;
}

static void apart(uint64_t ticks)
{
	if (ticks < least_between)
		least_between = ticks;
	if (ticks > most_between)
		most_between = ticks;
}

/* 0 where fewer than two left. */
static json_int_t in_ns(uint64_t ticks)
{
	return ticks == UINT64_MAX ? 0 : (json_int_t)((double)ticks * 1e9 / ticks_hz);
}

void extras_send(uint64_t now, uint64_t test_frames)
{
	for (unsigned int i = 0; i < extra_count; i++)
		if (now >= extras[i].next) {
			if (!extras_sent())
				first_after = test_frames;
			extras[i].next += extras[i].interval;
			if (!port_send(&ports[extras[i].port], extras[i].octets, extras[i].length))
				continue;
			if (extras_sent())
				apart(now - last_left);
			last_left = now;
			extras[i].sent++;
		}
}

uint64_t extras_next(void)
{
	uint64_t next = UINT64_MAX;

	for (unsigned int i = 0; i < extra_count; i++)
		next = extras[i].next < next ? extras[i].next : next;
	return next;
}

uint64_t extras_answered(unsigned int port)
{
	uint64_t answered = 0;

	for (unsigned int i = 0; i < extra_count; i++)
		answered += extras[i].port == port ? extras[i].answered : 0;
	return answered;
}

bool extras_input(unsigned int port, const uint8_t *frame, uint32_t length)
{
	const struct rte_ether_hdr *eth = (const struct rte_ether_hdr *)frame;
	const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)(eth + 1);
	const struct rte_udp_hdr *udp = (const struct rte_udp_hdr *)(ip + 1);

	if (!extra_count || length < sizeof(*eth) + sizeof(*ip) + sizeof(*udp) ||
	    eth->ether_type != rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4) || ip->version_ihl != RTE_IPV4_VHL_DEF ||
	    ip->next_proto_id != IPPROTO_UDP)
		return false;
	for (unsigned int i = 0; i < extra_count; i++)
		if (extras[i].port == port && extras[i].answers_from &&
		    udp->src_port == rte_cpu_to_be_16(extras[i].answers_from)) {
			/* any lane may get one */
			__atomic_add_fetch(&extras[i].answered, 1, __ATOMIC_RELAXED);
			__atomic_add_fetch(&extras[i].verified,
					   answer_right(&extras[i], (const uint8_t *)(udp + 1), frame + length),
					   __ATOMIC_RELAXED);
			return true;
		}
	return false;
}

json_t *extras_json(void)
{
	json_t *out = json_array();

	for (unsigned int i = 0; i < extra_count; i++)
		json_array_append_new(out, json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "port", (json_int_t)extras[i].port,
						     "sent_frames", (json_int_t)extras[i].sent, "answered_frames",
						     (json_int_t)extras[i].answered, "verified_frames",
						     (json_int_t)extras[i].verified, "first_after_frames",
						     (json_int_t)first_after, "least_between_ns", in_ns(least_between),
						     "most_between_ns", in_ns(most_between)));
	return out;
}
