/* SPDX-License-Identifier: Apache-2.0 */
/* ARP (RFC 826) and neighbour discovery (RFC 4861) for the ports' own addresses, tagged or not. */
#ifndef BMWG_NEIGHBOUR_H
#define BMWG_NEIGHBOUR_H

#include "ports.h"

/* True when the frame was ARP or ND; a question for our address is answered, a gateway's answer is kept. */
bool neighbour_input(struct port *p, const uint8_t *frame, uint32_t length);
/* Ask for each wanted gateway that is not known yet. True when nothing is left to ask. */
bool neighbour_ask(struct port *p);
bool neighbours_known(const struct port *p);

#endif
