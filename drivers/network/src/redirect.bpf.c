/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins two interfaces at their tc ingress hooks: what enters by one leaves by the other. An interface that is
 * the node's end of a pod's veth pair is entered from the pod's side (`peer`), past the node's end and its queue.
 */
#include <linux/bpf.h>
#include <linux/if_packet.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

#define INTERFACES 64

struct target {
	__u32 interface; /* number in the node's namespace */
	__u32 peer;	 /* 1: hand the frame to the other end of its pair */
	__u64 frames;	 /* sent there */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, INTERFACES);
	__type(key, __u32);
	__type(value, struct target);
} targets SEC(".maps");

SEC("tc")
int redirect(struct __sk_buff *frame)
{
	__u32 from = frame->ifindex;
	struct target *to = bpf_map_lookup_elem(&targets, &from);

	if (!to)
		return TC_ACT_SHOT; /* nothing else may take a test frame */
	__sync_fetch_and_add(&to->frames, 1);
	if (!to->peer)
		return bpf_redirect(to->interface, 0);
	/* its MAC is the pod's, which the NIC that it came by does not have */
	if (frame->pkt_type == PACKET_OTHERHOST)
		bpf_skb_change_type(frame, PACKET_HOST);
	return bpf_redirect_peer(to->interface, 0);
}

char licence[] SEC("license") = "Apache-2.0";
