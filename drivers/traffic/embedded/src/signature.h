/* SPDX-License-Identifier: Apache-2.0 */
/* What test frames carry, for the tester's own loop and for its programs inside the kernel (no header of DPDK). */
#ifndef BMWG_SIGNATURE_H
#define BMWG_SIGNATURE_H

#include <stdbool.h>
#include <stdint.h>

#define FCS_OCTETS 4u
#define LEAST_OCTETS 60u /* of an Ethernet frame on a link, without FCS */
#define MAX_FRAME_OCTETS 9216u
#define TEST_ETHERTYPE 0x88b5u	/* IEEE 802 local experimental */
#define BROADCAST_ETHERTYPE 0x88b6u /* IEEE 802 local experimental: no device needs to look into it */
#define TEST_SOURCE_PORT 0xc020u /* rfc2544 appendix C.2.6.4 */
#define TEST_DESTINATION_PORT 7u /* rfc2544 appendix C.2.6.4 */
#define MAX_FLOWS 16352u	 /* source ports TEST_SOURCE_PORT .. 65535 - 0xc020 is 16,352 */
/* Flows beyond have other destination ports: the n-th 16,352 TEST_SOURCE_PORT + n, behind which no service of a DUT listens. */
#define DESTINATION_PORTS 64u
#define MOST_FLOWS (MAX_FLOWS * DESTINATION_PORTS)

/*
 * The signature, first thing after the last header. The seven 16-bit words, `check` included, add up (ones'
 * complement) to SIGNATURE_SUM: that is magic number, integrity check and the reason why a UDP checksum does not
 * depend on sequence number and time stamp. `stamp` is a clock in units of 8 cycles (the tester's own loop) or of
 * 4 ns (inside the kernel), so it wraps after seconds (13 s at 2.6 GHz, 17 s): a longer latency cannot be told.
 */
#define SIGNATURE_SUM 0x5ac3u
#define STAMP_SHIFT 3u
#define XDP_STAMP_SHIFT 2u

struct signature {
	uint16_t check;
	uint16_t trial_stream; /* trial number << 1 | stream */
	uint16_t sequence_high;
	uint32_t sequence_low;
	uint32_t stamp;
} __attribute__((packed, aligned(2)));

_Static_assert(sizeof(struct signature) == 14, "a tagged 64 octet IPv4/UDP frame has 14 octets of payload");

struct frame_template {
	uint8_t octets[MAX_FRAME_OCTETS];
	uint16_t length;	   /* without FCS */
	uint16_t signature_offset;
	uint16_t source_port_offset; /* 0: no UDP */
	uint16_t checksum_offset;
	uint16_t destination_offset;	 /* of the IP destination address; 0: no IP */
	uint16_t header_checksum_offset; /* 0: no IPv4 */
	uint32_t checksum_base;	   /* folded sum of all that the UDP checksum covers, source port taken as zero */
	uint32_t flows;
};

/* Destination networks among which the frames of a stream are spread at random (rfc2544-12). */
#define MAX_NETWORKS 256u

struct destination {
	uint8_t address[16]; /* in network order; the first four octets for IPv4 */
	uint16_t delta;	     /* what it adds to a checksum in place of the template's address (ones' complement) */
	uint16_t padding[3];
};

struct destinations {
	uint32_t networks; /* 0: all frames go where the template does */
	uint32_t octets;   /* of an address: 4 or 16 */
	uint64_t seed;
	struct destination network[MAX_NETWORKS];
};

static inline __attribute__((always_inline)) uint16_t fold16(uint64_t sum)
{
	sum = (sum & 0xffffffffu) + (sum >> 32);
	sum = (sum & 0xffffffffu) + (sum >> 32);
	sum = (sum & 0xffffu) + (sum >> 16);
	sum = (sum & 0xffffu) + (sum >> 16);
	return (uint16_t)sum;
}

static inline __attribute__((always_inline)) uint16_t network16(uint16_t host)
{
	return (uint16_t)(host << 8 | host >> 8);
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "network16() swaps octets");

static inline __attribute__((always_inline)) uint64_t signature_rest(const struct signature *s)
{
	return (uint64_t)s->trial_stream + s->sequence_high + s->sequence_low + s->stamp;
}

/* 0x0000 and 0xffff are the same number in ones' complement; SIGNATURE_SUM is neither. */
static inline __attribute__((always_inline)) bool signature_valid(const struct signature *s)
{
	return fold16(signature_rest(s) + s->check) == SIGNATURE_SUM;
}

static inline __attribute__((always_inline)) void signature_write(struct signature *s, uint16_t trial_stream, uint64_t sequence, uint32_t stamp)
{
	s->trial_stream = trial_stream;
	s->sequence_high = (uint16_t)(sequence >> 32);
	s->sequence_low = (uint32_t)sequence;
	s->stamp = stamp;
	s->check = fold16((uint64_t)SIGNATURE_SUM + (uint16_t)~fold16((uint64_t)trial_stream + (uint16_t)(sequence >> 32) +
								      (uint32_t)sequence + stamp));
}

/*
 * Which of `networks` destination networks a frame goes to: a number of its own for each seed and sequence number, so that
 * the receiver knows it without asking the sender (the mixing steps are those of splitmix64).
 */
static inline __attribute__((always_inline)) uint32_t network_drawn(uint64_t seed, uint64_t sequence, uint32_t networks)
{
	uint64_t z = seed + (sequence + 1u) * 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	z ^= z >> 31;
	return (uint32_t)(((z >> 32) * networks) >> 32);
}

/*
 * The source port and the UDP checksum with it, in network order. `delta` is what another destination address than the
 * template's adds to the sum.
 */
static inline __attribute__((always_inline)) void flow_port_put(const struct frame_template *t, uint16_t source_port,
								uint16_t delta, uint16_t *port, uint16_t *checksum)
{
	uint16_t sum;

	*port = network16(source_port);
	sum = (uint16_t)~fold16((uint64_t)t->checksum_base + delta + *port);
	*checksum = sum ? sum : 0xffffu;
}

/* The source port of the flow that a frame belongs to by its number. */
static inline __attribute__((always_inline)) uint16_t flow_port(const struct frame_template *t, uint64_t sequence)
{
	return (uint16_t)(TEST_SOURCE_PORT + sequence % t->flows);
}

/* Both ports of a frame; behind the source port stands the destination port, as the template has it. */
static inline __attribute__((always_inline)) void flow_ports(const struct frame_template *t, uint64_t sequence, uint16_t delta,
							     uint16_t *port, uint16_t *checksum)
{
	uint32_t flow = (uint32_t)(sequence % t->flows);

	if (flow >= MAX_FLOWS) {
		port[1] = network16((uint16_t)(TEST_SOURCE_PORT + flow / MAX_FLOWS));
		delta = fold16((uint64_t)delta + port[1] + (uint16_t)~network16(TEST_DESTINATION_PORT));
		flow %= MAX_FLOWS;
	}
	flow_port_put(t, (uint16_t)(TEST_SOURCE_PORT + flow), delta, port, checksum);
}

/* Whether a UDP frame with these ports may be a test frame. */
static inline __attribute__((always_inline)) bool flow_known(uint16_t source_port, uint16_t destination_port)
{
	return source_port >= TEST_SOURCE_PORT &&
	       (destination_port == TEST_DESTINATION_PORT ||
		(uint16_t)(destination_port - TEST_SOURCE_PORT) < DESTINATION_PORTS);
}

/* The checksum of an IPv4 header after its destination address was changed (rfc1624, equation 3). */
static inline __attribute__((always_inline)) uint16_t header_checksum(uint16_t before, uint16_t delta)
{
	return (uint16_t)~fold16((uint64_t)(uint16_t)~before + delta);
}

#endif
