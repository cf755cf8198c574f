/* SPDX-License-Identifier: Apache-2.0 */
/* Test frames: RFC 2544 appendix C (IPv4/UDP), RFC 5180 (IPv6/UDP), or a bare Ethernet frame. */
#ifndef BMWG_FRAMES_H
#define BMWG_FRAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <rte_byteorder.h>
#include <rte_ether.h>

#define FCS_OCTETS 4u
#define MAX_FRAME_OCTETS 9216u
#define TEST_ETHERTYPE 0x88b5u	/* IEEE 802 local experimental */
#define BROADCAST_ETHERTYPE 0x88b6u /* IEEE 802 local experimental: no device needs to look into it */
#define TEST_SOURCE_PORT 0xc020u /* rfc2544 appendix C.2.6.4 */
#define TEST_DESTINATION_PORT 7u /* rfc2544 appendix C.2.6.4 */
#define MAX_FLOWS 16352u	 /* source ports TEST_SOURCE_PORT .. 65535 - 0xc020 is 16,352 */

enum frame_format { FORMAT_ETHERNET, FORMAT_IPV4_UDP, FORMAT_IPV6_UDP };

/*
 * The signature, first thing after the last header. The seven 16-bit words, `check` included, add up (ones'
 * complement) to SIGNATURE_SUM: that is magic number, integrity check and the reason why a UDP checksum does not
 * depend on sequence number and time stamp. `stamp` is the TSC in units of 8 cycles, so it wraps after seconds
 * (13 s at 2.6 GHz): a longer latency cannot be told.
 */
#define SIGNATURE_SUM 0x5ac3u
#define STAMP_SHIFT 3u

struct signature {
	uint16_t check;
	uint16_t trial_stream; /* trial number << 1 | stream */
	uint16_t sequence_high;
	uint32_t sequence_low;
	uint32_t stamp;
} __attribute__((packed));

_Static_assert(sizeof(struct signature) == 14, "a tagged 64 octet IPv4/UDP frame has 14 octets of payload");

struct frame_template {
	uint8_t octets[MAX_FRAME_OCTETS];
	uint16_t length;	   /* without FCS */
	uint16_t signature_offset;
	uint16_t source_port_offset; /* 0: no UDP */
	uint16_t checksum_offset;
	uint32_t checksum_base;	   /* folded sum of all that the UDP checksum covers, source port taken as zero */
	uint32_t flows;
};

struct frame_plan {
	enum frame_format format;
	uint32_t frame_octets; /* FCS included */
	uint16_t vlan;	       /* 0: no tag */
	uint32_t flows;
	struct rte_ether_addr source_mac, destination_mac;
	uint8_t source_ip[16], destination_ip[16]; /* first four octets for IPv4 */
};

static inline uint16_t fold16(uint64_t sum)
{
	sum = (sum & 0xffffffffu) + (sum >> 32);
	sum = (sum & 0xffffffffu) + (sum >> 32);
	sum = (sum & 0xffffu) + (sum >> 16);
	sum = (sum & 0xffffu) + (sum >> 16);
	return (uint16_t)sum;
}

static inline uint64_t signature_rest(const struct signature *s)
{
	return (uint64_t)s->trial_stream + s->sequence_high + s->sequence_low + s->stamp;
}

/* 0x0000 and 0xffff are the same number in ones' complement; SIGNATURE_SUM is neither. */
static inline bool signature_valid(const struct signature *s)
{
	return fold16(signature_rest(s) + s->check) == SIGNATURE_SUM;
}

static inline void frame_sign(uint8_t *frame, const struct frame_template *t, uint16_t trial_stream,
			      uint64_t sequence, uint32_t stamp)
{
	struct signature *s = (struct signature *)(frame + t->signature_offset);

	s->trial_stream = trial_stream;
	s->sequence_high = (uint16_t)(sequence >> 32);
	s->sequence_low = (uint32_t)sequence;
	s->stamp = stamp;
	s->check = fold16((uint64_t)SIGNATURE_SUM + (uint16_t)~fold16(signature_rest(s)));
	if (t->source_port_offset && t->flows > 1) {
		uint16_t port = rte_cpu_to_be_16((uint16_t)(TEST_SOURCE_PORT + sequence % t->flows));
		uint16_t sum = (uint16_t)~fold16((uint64_t)t->checksum_base + port);

		*(uint16_t *)(frame + t->source_port_offset) = port;
		*(uint16_t *)(frame + t->checksum_offset) = sum ? sum : 0xffffu;
	}
}

/* Smallest frame, FCS included, that holds the headers and the signature. */
uint32_t frame_minimum(enum frame_format format, bool tagged);
void frame_template_fill(struct frame_template *t, const struct frame_plan *plan);
/* A broadcast frame of the modifier (rfc2544-11.1), as long as the test frames; and whether a frame is one. */
void frame_broadcast_fill(uint8_t *octets, const struct frame_template *t);
bool frame_is_broadcast(const uint8_t *frame, uint32_t length);

/*
 * Where the signature of a received frame of our own kind stands: after the test EtherType, or after UDP headers
 * with the test's ports. -1: not a frame of our kind. `tagged` tells whether an 802.1Q tag was there.
 */
int frame_signature_offset(const uint8_t *frame, uint32_t length, bool *tagged);

#endif
