/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include "frames.h"

#define HOP_LIMIT 64u

uint32_t frame_minimum(enum frame_format format, bool tagged)
{
	uint32_t octets = RTE_ETHER_HDR_LEN + (tagged ? 4u : 0u) + sizeof(struct signature) + FCS_OCTETS;

	if (format == FORMAT_IPV4_UDP)
		octets += sizeof(struct rte_ipv4_hdr) + sizeof(struct rte_udp_hdr);
	else if (format == FORMAT_IPV6_UDP)
		octets += sizeof(struct rte_ipv6_hdr) + sizeof(struct rte_udp_hdr);
	return octets;
}

static uint8_t *put_ethernet(struct frame_template *t, const struct frame_plan *plan)
{
	static const uint16_t types[] = {TEST_ETHERTYPE, RTE_ETHER_TYPE_IPV4, RTE_ETHER_TYPE_IPV6};
	struct rte_ether_hdr *eth = (struct rte_ether_hdr *)t->octets;
	uint8_t *next = (uint8_t *)(eth + 1);

	eth->dst_addr = plan->destination_mac;
	eth->src_addr = plan->source_mac;
	eth->ether_type = rte_cpu_to_be_16(types[plan->format]);
	if (plan->vlan) {
		struct rte_vlan_hdr *tag = (struct rte_vlan_hdr *)next;

		tag->vlan_tci = rte_cpu_to_be_16(plan->vlan);
		tag->eth_proto = eth->ether_type;
		eth->ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_VLAN);
		next += sizeof(*tag);
	}
	return next;
}

static uint8_t *put_ipv4(uint8_t *at, const struct frame_plan *plan, uint16_t ip_octets)
{
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)at;

	memset(ip, 0, sizeof(*ip));
	ip->version_ihl = RTE_IPV4_VHL_DEF;
	ip->total_length = rte_cpu_to_be_16(ip_octets);
	ip->time_to_live = HOP_LIMIT;
	ip->next_proto_id = IPPROTO_UDP;
	memcpy(&ip->src_addr, plan->source_ip, 4);
	memcpy(&ip->dst_addr, plan->destination_ip, 4);
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	return (uint8_t *)(ip + 1);
}

static uint8_t *put_ipv6(uint8_t *at, const struct frame_plan *plan, uint16_t payload_octets)
{
	struct rte_ipv6_hdr *ip = (struct rte_ipv6_hdr *)at;

	memset(ip, 0, sizeof(*ip));
	ip->vtc_flow = rte_cpu_to_be_32(6u << 28);
	ip->payload_len = rte_cpu_to_be_16(payload_octets);
	ip->proto = IPPROTO_UDP;
	ip->hop_limits = HOP_LIMIT;
	memcpy(&ip->src_addr, plan->source_ip, 16);
	memcpy(&ip->dst_addr, plan->destination_ip, 16);
	return (uint8_t *)(ip + 1);
}

void frame_template_fill(struct frame_template *t, const struct frame_plan *plan)
{
	uint8_t *at;
	uint16_t left;

	memset(t, 0, sizeof(*t));
	t->length = (uint16_t)(plan->frame_octets - FCS_OCTETS);
	t->flows = plan->flows;
	/* The fill is a fixed pattern, so that the receiver can compare it; zeroes would compress and prove less. */
	for (uint32_t i = 0; i < t->length; i++)
		t->octets[i] = (uint8_t)(i * 7u + 1u);
	at = put_ethernet(t, plan);
	left = (uint16_t)(t->length - (at - t->octets));
	if (plan->format != FORMAT_ETHERNET) {
		struct rte_udp_hdr *udp;
		uint64_t sum;

		if (plan->format == FORMAT_IPV4_UDP) {
			udp = (struct rte_udp_hdr *)put_ipv4(at, plan, left);
			left = (uint16_t)(left - sizeof(struct rte_ipv4_hdr));
		} else {
			left = (uint16_t)(left - sizeof(struct rte_ipv6_hdr));
			udp = (struct rte_udp_hdr *)put_ipv6(at, plan, left);
		}
		udp->src_port = 0;
		udp->dst_port = rte_cpu_to_be_16(TEST_DESTINATION_PORT);
		udp->dgram_len = rte_cpu_to_be_16(left);
		udp->dgram_cksum = 0;
		if (plan->format == FORMAT_IPV4_UDP) {
			struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)at;

			t->header_checksum_offset = (uint16_t)((uint8_t *)&ip->hdr_checksum - t->octets);
			t->destination_offset = (uint16_t)((uint8_t *)&ip->dst_addr - t->octets);
		} else {
			t->destination_offset =
				(uint16_t)((uint8_t *)&((struct rte_ipv6_hdr *)at)->dst_addr - t->octets);
		}
		t->source_port_offset = (uint16_t)((uint8_t *)&udp->src_port - t->octets);
		t->checksum_offset = (uint16_t)((uint8_t *)&udp->dgram_cksum - t->octets);
		t->signature_offset = (uint16_t)((uint8_t *)(udp + 1) - t->octets);
		memset(udp + 1, 0, sizeof(struct signature));
		/* The signature's words always add up to SIGNATURE_SUM: count that in place of the words. */
		sum = rte_raw_cksum(udp, left);
		if (plan->format == FORMAT_IPV4_UDP)
			sum += rte_ipv4_phdr_cksum((struct rte_ipv4_hdr *)at, 0);
		else
			sum += rte_ipv6_phdr_cksum((struct rte_ipv6_hdr *)at, 0);
		t->checksum_base = fold16(sum + SIGNATURE_SUM);
		udp->src_port = rte_cpu_to_be_16(TEST_SOURCE_PORT);
		uint16_t checksum = (uint16_t)~fold16((uint64_t)t->checksum_base + udp->src_port);
		udp->dgram_cksum = checksum ? checksum : 0xffffu;
	} else {
		t->signature_offset = (uint16_t)(at - t->octets);
	}
}

void frame_destinations_fill(struct destinations *d, const struct frame_template *t, enum frame_format format,
			     uint32_t networks, const uint8_t *first, uint32_t step_bits, uint64_t seed)
{
	const uint8_t *before = t->octets + t->destination_offset;

	memset(d, 0, sizeof(*d));
	d->networks = networks;
	d->octets = format == FORMAT_IPV4_UDP ? 4u : 16u;
	d->seed = seed;
	for (uint32_t n = 0; n < networks; n++) {
		struct destination *to = &d->network[n];
		uint64_t sum = 0;

		memcpy(to->address, first, d->octets);
		if (format == FORMAT_IPV4_UDP) {
			uint32_t address;

			memcpy(&address, first, sizeof(address));
			address = rte_cpu_to_be_32(rte_be_to_cpu_32(address) + (n << step_bits));
			memcpy(to->address, &address, sizeof(address));
		} else {
			uint64_t upper;

			memcpy(&upper, first, sizeof(upper));
			upper = rte_cpu_to_be_64(rte_be_to_cpu_64(upper) + ((uint64_t)n << step_bits));
			memcpy(to->address, &upper, sizeof(upper));
		}
		for (uint32_t i = 0; i < d->octets; i += 2u) {
			uint16_t after_word, before_word;

			memcpy(&after_word, to->address + i, sizeof(after_word));
			memcpy(&before_word, before + i, sizeof(before_word));
			sum += (uint64_t)after_word + (uint16_t)~before_word;
		}
		to->delta = fold16(sum);
	}
}

void frame_broadcast_fill(uint8_t *octets, const struct frame_template *t)
{
	struct rte_ether_hdr *eth = (struct rte_ether_hdr *)octets;

	memcpy(octets, t->octets, t->length);
	memset(&eth->dst_addr, 0xff, sizeof(eth->dst_addr));
	eth->ether_type = rte_cpu_to_be_16(BROADCAST_ETHERTYPE);
}

bool frame_is_broadcast(const uint8_t *frame, uint32_t length)
{
	const struct rte_ether_hdr *eth = (const struct rte_ether_hdr *)frame;

	return length >= RTE_ETHER_HDR_LEN && eth->ether_type == rte_cpu_to_be_16(BROADCAST_ETHERTYPE) &&
	       rte_is_broadcast_ether_addr(&eth->dst_addr);
}

int frame_signature_offset(const uint8_t *frame, uint32_t length, bool *tagged)
{
	uint32_t offset = RTE_ETHER_HDR_LEN;
	uint16_t type;

	*tagged = false;
	if (length < offset + sizeof(struct signature))
		return -1;
	type = rte_be_to_cpu_16(((const struct rte_ether_hdr *)frame)->ether_type);
	if (type == RTE_ETHER_TYPE_VLAN) {
		type = rte_be_to_cpu_16(((const struct rte_vlan_hdr *)(frame + offset))->eth_proto);
		offset += sizeof(struct rte_vlan_hdr);
		*tagged = true;
	}
	if (type == RTE_ETHER_TYPE_IPV4) {
		const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)(frame + offset);

		offset += sizeof(*ip) + sizeof(struct rte_udp_hdr);
		if (length < offset || ip->version_ihl != RTE_IPV4_VHL_DEF || ip->next_proto_id != IPPROTO_UDP)
			return -1;
	} else if (type == RTE_ETHER_TYPE_IPV6) {
		const struct rte_ipv6_hdr *ip = (const struct rte_ipv6_hdr *)(frame + offset);

		offset += sizeof(*ip) + sizeof(struct rte_udp_hdr);
		if (length < offset || ip->proto != IPPROTO_UDP)
			return -1;
	} else if (type != TEST_ETHERTYPE) {
		return -1;
	}
	if (type != TEST_ETHERTYPE) {
		const struct rte_udp_hdr *udp = (const struct rte_udp_hdr *)(frame + offset) - 1;

		if (!flow_known(rte_be_to_cpu_16(udp->src_port), rte_be_to_cpu_16(udp->dst_port)))
			return -1;
	}
	return length < offset + sizeof(struct signature) ? -1 : (int)offset;
}
