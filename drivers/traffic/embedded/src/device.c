/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

#include "device.h"
#include "rss.h"

static int pool_make(struct port *p, uint16_t queue, uint32_t room, uint32_t pool_frames, int memory, struct failure *f)
{
	char name[RTE_MEMPOOL_NAMESIZE];
	struct rte_mempool *pool;

	snprintf(name, sizeof(name), "pool%u.%u", p->id, queue);
	pool = p->pools[queue] = rte_pktmbuf_pool_create(name, pool_frames, 256, 0, (uint16_t)room, memory);
	if (!pool)
		return failure_set(f, "memory", "%s: %u buffers of %u octets for queue %u of %u: %s", p->name, pool_frames,
				   room, queue, p->queues, rte_strerror(rte_errno));
	/* net_af_xdp shows the kernel the first piece only; frames of others would vanish without a count. */
	if (!port_on_pci(p) && pool->nb_mem_chunks != 1)
		return failure_set(f, "memory", "%s: %u buffers lie in %u pieces, expected one", p->name, pool_frames,
				   pool->nb_mem_chunks);
	return 0;
}

static int queues_set_up(struct port *p, uint32_t descriptors, int memory)
{
	uint16_t rx = (uint16_t)descriptors, tx = (uint16_t)descriptors;

	if (rte_eth_dev_adjust_nb_rx_tx_desc(p->id, &rx, &tx))
		return -1;
	for (uint16_t queue = 0; queue < p->queues * p->step; queue++)
		if (rte_eth_rx_queue_setup(p->id, queue, rx, (unsigned int)memory, NULL, p->pools[queue / p->step]) ||
		    rte_eth_tx_queue_setup(p->id, queue, tx, (unsigned int)memory, NULL))
			return -1;
	return 0;
}

int device_configure(struct port *p, uint32_t least_room, uint32_t pool_frames, uint32_t descriptors, struct failure *f)
{
	struct rte_eth_conf conf;
	struct rte_eth_dev_info info;
	uint32_t room;
	uint16_t all;
	int memory = port_on_pci(p) ? rte_eth_dev_socket_id(p->id) : SOCKET_ID_ANY; /* beside the NIC */

	if (rte_eth_dev_info_get(p->id, &info))
		return failure_set(f, "device", "%s: the device does not describe itself", p->name);
	all = (uint16_t)(p->queues * p->step);
	if (all > RTE_MIN(info.max_rx_queues, info.max_tx_queues))
		return failure_set(f, "queues", "%s %u", p->name, RTE_MIN(info.max_rx_queues, info.max_tx_queues));
	if (p->mtu > info.max_mtu)
		p->mtu = info.max_mtu;
	room = RTE_PKTMBUF_HEADROOM + p->mtu + RTE_ETHER_HDR_LEN + 2u * RTE_VLAN_HLEN;
	room = RTE_MAX(room, RTE_MAX(least_room + RTE_PKTMBUF_HEADROOM, (uint32_t)RTE_MBUF_DEFAULT_BUF_SIZE));
	for (uint16_t queue = 0; queue < p->queues; queue++)
		if (pool_make(p, queue, room, pool_frames, memory, f))
			return -1;
	memset(&conf, 0, sizeof(conf));
	if (port_on_pci(p))
		conf.rxmode.mtu = p->mtu;
	if (p->queues > 1)
		rss_ask(&info, &conf);
	if (p->queues > 1 && port_on_pci(p) && conf.rxmode.mq_mode != RTE_ETH_MQ_RX_RSS)
		return failure_set(f, "no_rss", "%s", p->name);
	if (rte_eth_dev_configure(p->id, all, all, &conf) || queues_set_up(p, descriptors, memory) ||
	    rte_eth_dev_start(p->id))
		return failure_set(f, "device", "%s: the device cannot be set up (the tester's log says more)",
				   p->name);
	if (conf.rxmode.mq_mode == RTE_ETH_MQ_RX_RSS)
		rss_read(p, &info, &conf);
	rte_eth_promiscuous_enable(p->id);
	return rte_eth_macaddr_get(p->id, &p->mac) ? failure_set(f, "device", "%s: no MAC address", p->name) : 0;
}
