/* SPDX-License-Identifier: Apache-2.0 */
#include <netinet/icmp6.h>
#include <string.h>
#include <rte_arp.h>
#include <rte_ip.h>

#include "neighbour.h"

#define HOP_LIMIT_ND 255u /* RFC 4861 section 7.1: anything else came through a router */
#define ETHER_MINIMUM 60u
#define NA_SOLICITED_OVERRIDE 0x60000000u

struct nd_message { /* solicitation or advertisement with its one link-layer address option */
	uint8_t type, code;
	uint16_t checksum;
	uint32_t flags;
	uint8_t target[16];
	uint8_t option_type, option_length;
	struct rte_ether_addr mac;
} __attribute__((packed, aligned(2)));

static uint8_t *start_frame(uint8_t *frame, const struct port *p, const struct rte_ether_addr *to,
			    uint16_t vlan_tci, uint16_t type)
{
	struct rte_ether_hdr *eth = (struct rte_ether_hdr *)frame;

	memset(frame, 0, 128);
	eth->dst_addr = *to;
	eth->src_addr = p->mac;
	eth->ether_type = rte_cpu_to_be_16(type);
	if (!vlan_tci)
		return (uint8_t *)(eth + 1);
	struct rte_vlan_hdr *tag = (struct rte_vlan_hdr *)(eth + 1);

	tag->vlan_tci = rte_cpu_to_be_16(vlan_tci);
	tag->eth_proto = eth->ether_type;
	eth->ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_VLAN);
	return (uint8_t *)(tag + 1);
}

static bool finish_frame(struct port *p, const uint8_t *frame, const uint8_t *end)
{
	uint32_t length = (uint32_t)(end - frame);

	return port_send(p, frame, (uint16_t)(length < ETHER_MINIMUM ? ETHER_MINIMUM : length));
}

static bool arp_send(struct port *p, uint16_t opcode, const struct rte_ether_addr *to, const uint8_t *target_ip,
		     const struct rte_ether_addr *target_mac, uint16_t vlan_tci)
{
	uint8_t frame[128];
	struct rte_arp_hdr *arp =
		(struct rte_arp_hdr *)start_frame(frame, p, to, vlan_tci, RTE_ETHER_TYPE_ARP);

	arp->arp_hardware = rte_cpu_to_be_16(RTE_ARP_HRD_ETHER);
	arp->arp_protocol = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4);
	arp->arp_hlen = RTE_ETHER_ADDR_LEN;
	arp->arp_plen = 4;
	arp->arp_opcode = rte_cpu_to_be_16(opcode);
	arp->arp_data.arp_sha = p->mac;
	memcpy(&arp->arp_data.arp_sip, p->ipv4, 4);
	if (target_mac)
		arp->arp_data.arp_tha = *target_mac;
	memcpy(&arp->arp_data.arp_tip, target_ip, 4);
	return finish_frame(p, frame, (uint8_t *)(arp + 1));
}

static bool nd_send(struct port *p, uint8_t type, const struct rte_ether_addr *to, const uint8_t *to_ip,
		    const uint8_t *target, uint16_t vlan_tci)
{
	uint8_t frame[128];
	struct rte_ipv6_hdr *ip =
		(struct rte_ipv6_hdr *)start_frame(frame, p, to, vlan_tci, RTE_ETHER_TYPE_IPV6);
	struct nd_message *nd = (struct nd_message *)(ip + 1);
	bool advert = type == ND_NEIGHBOR_ADVERT;

	ip->vtc_flow = rte_cpu_to_be_32(6u << 28);
	ip->payload_len = rte_cpu_to_be_16(sizeof(*nd));
	ip->proto = IPPROTO_ICMPV6;
	ip->hop_limits = HOP_LIMIT_ND;
	memcpy(&ip->src_addr, p->ipv6, 16);
	memcpy(&ip->dst_addr, to_ip, 16);
	nd->type = type;
	nd->flags = advert ? rte_cpu_to_be_32(NA_SOLICITED_OVERRIDE) : 0;
	memcpy(nd->target, target, 16);
	nd->option_type = advert ? ND_OPT_TARGET_LINKADDR : ND_OPT_SOURCE_LINKADDR;
	nd->option_length = 1;
	nd->mac = p->mac;
	nd->checksum = rte_ipv6_udptcp_cksum(ip, nd);
	return finish_frame(p, frame, (uint8_t *)(nd + 1));
}

static void arp_input(struct port *p, const struct rte_arp_hdr *arp, uint16_t vlan_tci)
{
	const struct rte_ether_addr *from = &arp->arp_data.arp_sha;

	if (!p->has_ipv4)
		return;
	if (arp->arp_opcode == rte_cpu_to_be_16(RTE_ARP_OP_REQUEST) && !memcmp(&arp->arp_data.arp_tip, p->ipv4, 4))
		arp_send(p, RTE_ARP_OP_REPLY, from, (const uint8_t *)&arp->arp_data.arp_sip, from, vlan_tci);
	if (arp->arp_opcode == rte_cpu_to_be_16(RTE_ARP_OP_REPLY) && p->gateway_ipv4.wanted &&
	    !memcmp(&arp->arp_data.arp_sip, p->gateway_ipv4.address, 4)) {
		p->gateway_ipv4.mac = *from;
		p->gateway_ipv4.known = true;
	}
}

static void nd_input(struct port *p, const struct rte_ether_addr *from, const struct rte_ipv6_hdr *ip,
		     const struct nd_message *nd, uint16_t vlan_tci)
{
	static const uint8_t all_nodes[16] = {0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
	static const uint8_t none[16];

	if (!p->has_ipv6 || ip->hop_limits != HOP_LIMIT_ND || nd->code != 0)
		return;
	if (nd->type == ND_NEIGHBOR_SOLICIT && !memcmp(nd->target, p->ipv6, 16))
		nd_send(p, ND_NEIGHBOR_ADVERT, from,
			memcmp(&ip->src_addr, none, 16) ? (const uint8_t *)&ip->src_addr : all_nodes, p->ipv6,
			vlan_tci);
	if (nd->type == ND_NEIGHBOR_ADVERT && p->gateway_ipv6.wanted &&
	    !memcmp(nd->target, p->gateway_ipv6.address, 16)) {
		p->gateway_ipv6.mac = *from;
		p->gateway_ipv6.known = true;
	}
}

bool neighbour_input(struct port *p, const uint8_t *frame, uint32_t length)
{
	const struct rte_ether_hdr *eth = (const struct rte_ether_hdr *)frame;
	const uint8_t *at = frame + RTE_ETHER_HDR_LEN;
	const uint8_t *end = frame + length;
	uint16_t vlan_tci = 0, type;

	if (length < ETHER_MINIMUM - 18u)
		return false;
	type = rte_be_to_cpu_16(eth->ether_type);
	if (type == RTE_ETHER_TYPE_VLAN) {
		const struct rte_vlan_hdr *tag = (const struct rte_vlan_hdr *)at;

		vlan_tci = rte_be_to_cpu_16(tag->vlan_tci) & 0xfffu;
		type = rte_be_to_cpu_16(tag->eth_proto);
		at += sizeof(*tag);
	}
	if (type == RTE_ETHER_TYPE_ARP && at + sizeof(struct rte_arp_hdr) <= end) {
		arp_input(p, (const struct rte_arp_hdr *)at, vlan_tci);
		return true;
	}
	if (type == RTE_ETHER_TYPE_IPV6 && at + sizeof(struct rte_ipv6_hdr) + 24 <= end) {
		const struct rte_ipv6_hdr *ip = (const struct rte_ipv6_hdr *)at;
		const struct nd_message *nd = (const struct nd_message *)(ip + 1);

		if (ip->proto != IPPROTO_ICMPV6 ||
		    (nd->type != ND_NEIGHBOR_SOLICIT && nd->type != ND_NEIGHBOR_ADVERT))
			return false;
		nd_input(p, &eth->src_addr, ip, nd, vlan_tci);
		return true;
	}
	return false;
}

bool neighbours_known(const struct port *p)
{
	return (!p->gateway_ipv4.wanted || p->gateway_ipv4.known) &&
	       (!p->gateway_ipv6.wanted || p->gateway_ipv6.known);
}

bool neighbour_ask(struct port *p)
{
	static const struct rte_ether_addr broadcast = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};

	if (p->gateway_ipv4.wanted && !p->gateway_ipv4.known)
		arp_send(p, RTE_ARP_OP_REQUEST, &broadcast, p->gateway_ipv4.address, NULL, p->vlan);
	if (p->gateway_ipv6.wanted && !p->gateway_ipv6.known) {
		const uint8_t *a = p->gateway_ipv6.address;
		const uint8_t group[16] = {0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, a[13], a[14], a[15]};
		const struct rte_ether_addr mac = {{0x33, 0x33, 0xff, a[13], a[14], a[15]}};

		nd_send(p, ND_NEIGHBOR_SOLICIT, &mac, group, a, p->vlan);
	}
	return neighbours_known(p);
}
