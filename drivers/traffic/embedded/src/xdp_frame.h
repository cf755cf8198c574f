/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a frame inside the kernel: its headers, where its signature stands, and whether its fill is as sent.
 * Every access is bounded in the words that the kernel's verifier follows. For xdp.bpf.c alone.
 */
#ifndef BMWG_XDP_FRAME_H
#define BMWG_XDP_FRAME_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "xdp_layout.h"

#define HOP(type) ((uint16_t)((type) << 8 | (type) >> 8)) /* in network order */
#define VLAN HOP(0x8100)
#define IPV4 HOP(0x0800)
#define IPV6 HOP(0x86dd)
#define ARP HOP(0x0806)
#define UDP 17
#define ICMPV6 58
#define SOLICITATION 135
#define ADVERTISEMENT 136
#define ETHERNET_OCTETS 14u
#define TAG_OCTETS 4u
#define IPV4_OCTETS 20u
#define IPV6_OCTETS 40u
#define UDP_OCTETS 8u
#define WORDS 16u	  /* of eight octets, compared in one go */

/* Where the signature of a frame of our own kind stands, as frame_signature_offset() has it for the tester's own loop. */
static __always_inline const uint8_t *signature_find(const uint8_t *data, const uint8_t *end, bool *control)
{
	const uint8_t *at = data + ETHERNET_OCTETS;
	uint16_t type;

	*control = false;
	if (at + sizeof(struct signature) > end)
		return 0;
	type = *(const uint16_t *)(data + 12);
	if (type == VLAN) {
		type = *(const uint16_t *)(at + 2);
		at += TAG_OCTETS;
	}
	if (type == HOP(TEST_ETHERTYPE))
		return at + sizeof(struct signature) > end ? 0 : at;
	if (type == ARP) {
		*control = true;
		return 0;
	}
	if (type == IPV4) {
		at += IPV4_OCTETS + UDP_OCTETS;
		if (at > end || *(at - 28) != 0x45 || *(at - 19) != UDP)
			return 0;
	} else if (type == IPV6) {
		at += IPV6_OCTETS + UDP_OCTETS;
		if (at > end)
			return 0;
		if (*(at - 42) == ICMPV6) {
			*control = *(at - 8) == SOLICITATION || *(at - 8) == ADVERTISEMENT;
			return 0;
		}
		if (*(at - 42) != UDP)
			return 0;
	} else {
		return 0;
	}
	if (!flow_known(network16(*(const uint16_t *)(at - 8)), network16(*(const uint16_t *)(at - 6))))
		return 0;
	return at + sizeof(struct signature) > end ? 0 : at;
}

static __always_inline bool is_broadcast(const uint8_t *data, const uint8_t *end)
{
	return data + ETHERNET_OCTETS <= end && *(const uint16_t *)(data + 12) == HOP(BROADCAST_ETHERTYPE) &&
	       *(const uint16_t *)data == 0xffffu && *(const uint16_t *)(data + 2) == 0xffffu &&
	       *(const uint16_t *)(data + 4) == 0xffffu;
}

/*
 * The fill behind the signature, as sent: from octet `from` of the frame and octet `sent` of the template on. Headers are
 * the DUT's to change (MAC, TTL), so they are not compared.
 */
static __always_inline bool fill_intact(const uint8_t *data, const uint8_t *end, const struct frame_template *t,
					uint32_t from, uint32_t sent)
{
	const uint8_t *at = data + from;
	const uint8_t *with = t->octets + sent;
	uint64_t differ = 0;

	for (uint32_t i = 0; i < XDP_FRAME_OCTETS / (8u * WORDS); i++) {
		if (at + 8u * WORDS > end)
			break;
#pragma unroll
		for (uint32_t k = 0; k < WORDS; k++)
			differ |= *(const uint64_t *)(at + 8u * k) ^ *(const uint64_t *)(with + 8u * k);
		at += 8u * WORDS;
		with += 8u * WORDS;
	}
	for (uint32_t i = 0; i < WORDS; i++) {
		if (at + 8u > end)
			break;
		differ |= *(const uint64_t *)at ^ *(const uint64_t *)with;
		at += 8u;
		with += 8u;
	}
	for (uint32_t i = 0; i < 7u; i++) {
		if (at + 1u > end)
			break;
		differ |= *at ^ *with;
		at++;
		with++;
	}
	return !differ;
}

#endif
