/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "rss.h"

#define USUAL_KEY_OCTETS 40u /* of a driver that does not say how long its key is */
#define UDP_PORTS (RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_NONFRAG_IPV6_UDP)

/* Microsoft's own example key for "Receive Side Scaling" (Toeplitz), with its first 12 octets again for longer keys. */
static uint8_t own_key[RSS_KEY_OCTETS] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca,
	0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b,
	0xbe, 0xac, 0x01, 0xfa, 0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d};

void rss_ask(const struct rte_eth_dev_info *info, struct rte_eth_conf *conf)
{
	if (!(info->flow_type_rss_offloads & UDP_PORTS))
		return;
	conf->rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	conf->rx_adv_conf.rss_conf.rss_hf = info->flow_type_rss_offloads & UDP_PORTS;
}

/* Every queue has its turn; a driver that does not let its table be set has one of its own. What is there is read back. */
static int table_set(struct port *p, uint16_t entries)
{
	struct rte_eth_rss_reta_entry64 groups[RSS_ENTRIES / RTE_ETH_RETA_GROUP_SIZE];

	if (!entries || entries > RSS_ENTRIES)
		return -1;
	for (uint16_t i = 0; i < RSS_ENTRIES; i++) {
		groups[i / RTE_ETH_RETA_GROUP_SIZE].mask = UINT64_MAX;
		groups[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE] = i % p->queues;
	}
	rte_eth_dev_rss_reta_update(p->id, groups, entries);
	if (rte_eth_dev_rss_reta_query(p->id, groups, entries))
		return -1;
	for (uint16_t i = 0; i < entries; i++)
		p->rss.table[i] = groups[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE];
	p->rss.entries = entries;
	return 0;
}

void rss_read(struct port *p, const struct rte_eth_dev_info *info, const struct rte_eth_conf *conf)
{
	uint8_t octets = info->hash_key_size ? info->hash_key_size : USUAL_KEY_OCTETS;
	struct rte_eth_rss_conf found = {.rss_key = p->rss.key, .rss_key_len = octets};

	memset(&p->rss, 0, sizeof(p->rss));
	if (octets > RSS_KEY_OCTETS || table_set(p, info->reta_size))
		return;
	if (rte_eth_dev_rss_hash_conf_get(p->id, &found)) {
		found = (struct rte_eth_rss_conf){.rss_key = own_key, .rss_key_len = octets,
						  .rss_hf = conf->rx_adv_conf.rss_conf.rss_hf};
		if (rte_eth_dev_rss_hash_update(p->id, &found))
			return;
		memcpy(p->rss.key, own_key, octets);
	}
	p->rss.key_octets = octets;
	p->rss.ipv4 = found.rss_hf & RTE_ETH_RSS_NONFRAG_IPV4_UDP;
	p->rss.ipv6 = found.rss_hf & RTE_ETH_RSS_NONFRAG_IPV6_UDP;
}

json_t *rss_json(const struct port *p)
{
	char key[2 * RSS_KEY_OCTETS + 1];
	json_t *table;

	if (!p->rss.key_octets)
		return json_null();
	for (unsigned int i = 0; i < p->rss.key_octets; i++)
		snprintf(key + 2 * i, 3, "%02x", p->rss.key[i]);
	table = json_array();
	for (uint16_t i = 0; i < p->rss.entries; i++)
		json_array_append_new(table, json_integer(p->rss.table[i]));
	return json_pack("{s:s,s:o,s:b,s:b}", "key", key, "table", table, "ipv4", p->rss.ipv4, "ipv6", p->rss.ipv6);
}
