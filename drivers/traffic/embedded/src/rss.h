/* SPDX-License-Identifier: Apache-2.0 */
/* By which key and table a device spreads frames over its queues, where it can count UDP ports in. */
#ifndef BMWG_RSS_H
#define BMWG_RSS_H

#include <rte_ethdev.h>

#include "ports.h"

/* Ask for it in `conf` where the device has it; else `conf` stays as it is. */
void rss_ask(const struct rte_eth_dev_info *info, struct rte_eth_conf *conf);
/* Let every queue have its turn, and read what a started device does, as far as it tells; one that tells no key is given one. */
void rss_read(struct port *p, const struct rte_eth_dev_info *info, const struct rte_eth_conf *conf);
/* {"key", "table", "ipv4", "ipv6"}; null where nobody can tell where a frame will go. */
json_t *rss_json(const struct port *p);

#endif
