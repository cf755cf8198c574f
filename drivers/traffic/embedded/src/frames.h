/* SPDX-License-Identifier: Apache-2.0 */
/* Test frames: RFC 2544 appendix C (IPv4/UDP), RFC 5180 (IPv6/UDP), or a bare Ethernet frame. */
#ifndef BMWG_FRAMES_H
#define BMWG_FRAMES_H

#include <string.h>

#include <rte_byteorder.h>
#include <rte_ether.h>

#include "signature.h"

enum frame_format { FORMAT_ETHERNET, FORMAT_IPV4_UDP, FORMAT_IPV6_UDP };

struct frame_plan {
	enum frame_format format;
	uint32_t frame_octets; /* FCS included */
	uint16_t vlan;	       /* 0: no tag */
	uint32_t flows;
	struct rte_ether_addr source_mac, destination_mac;
	uint8_t source_ip[16], destination_ip[16]; /* first four octets for IPv4 */
};

/* Another source port than the template's, for a frame that has one. */
static inline void frame_port(uint8_t *frame, const struct frame_template *t, uint16_t source_port)
{
	if (t->source_port_offset)
		flow_port_put(t, source_port, 0, (uint16_t *)(frame + t->source_port_offset),
			      (uint16_t *)(frame + t->checksum_offset));
}

static inline void frame_sign(uint8_t *frame, const struct frame_template *t, uint16_t trial_stream,
			      uint64_t sequence, uint32_t stamp)
{
	signature_write((struct signature *)(frame + t->signature_offset), trial_stream, sequence, stamp);
	if (t->source_port_offset && t->flows > 1)
		flow_ports(t, sequence, 0, (uint16_t *)(frame + t->source_port_offset),
			   (uint16_t *)(frame + t->checksum_offset));
}

/* Another destination than the template's, with the checksums that go with it; the frame has an IP header. */
static inline void frame_address(uint8_t *frame, const struct frame_template *t, const struct destination *to,
				 uint32_t octets, uint16_t source_port)
{
	uint16_t *header = (uint16_t *)(frame + t->header_checksum_offset);

	memcpy(frame + t->destination_offset, to->address, octets);
	if (t->header_checksum_offset)
		*header = header_checksum(*header, to->delta);
	flow_port_put(t, source_port, to->delta, (uint16_t *)(frame + t->source_port_offset),
		   (uint16_t *)(frame + t->checksum_offset));
}

/*
 * Fill `d` with `networks` destinations for the frames of a template: the first one, and each `step_bits` further up (4:
 * networks of 16 addresses), in the whole address for IPv4, in the upper half for IPv6.
 */
void frame_destinations_fill(struct destinations *d, const struct frame_template *t, enum frame_format format,
			     uint32_t networks, const uint8_t *first, uint32_t step_bits, uint64_t seed);

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
