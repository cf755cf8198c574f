/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "account.h"
#include "clock.h"
#include "extra.h"
#include "neighbour.h"

static inline uint64_t *window_word(struct stream *s, uint64_t sequence)
{
	return &s->window[(sequence % WINDOW_FRAMES) / 64u];
}

/* The window moves up to hold `sequence`: bits of numbers not seen yet are cleared. */
static void window_advance(struct stream *s, uint64_t sequence)
{
	uint64_t from = s->highest;

	if (sequence - from >= WINDOW_FRAMES) {
		memset(s->window, 0, WINDOW_FRAMES / 8u);
	} else {
		for (uint64_t n = from; n <= sequence;) {
			if (n % 64u == 0) {
				*window_word(s, n) = 0;
				n += 64u;
			} else {
				n = (n | 63u) + 1u;
			}
		}
	}
	s->highest = sequence + 1u;
}

static void account_sequence(struct trial *t, struct stream *s, uint64_t sequence, uint32_t stamp_delta)
{
	uint64_t bit = 1ull << (sequence % 64u);
	uint64_t *word;

	if (sequence >= s->highest) {
		if (sequence > s->highest)
			losses_note(&s->losses, s->highest, sequence - s->highest, s->losses.previous, t->now);
		s->losses.previous = t->now;
		window_advance(s, sequence);
		word = window_word(s, sequence);
	} else {
		if (s->highest - sequence > WINDOW_FRAMES - 64u) {
			s->beyond_window++;
			return;
		}
		word = window_word(s, sequence);
		if (*word & bit) {
			s->duplicate++;
			return;
		}
		s->reordered++; /* rfc4737-3.3: below the next expected number */
	}
	*word |= bit;
	s->received++;
	s->losses.first_received += sequence < t->first;
	uint64_t latency_ns = (uint64_t)((double)stamp_delta * t->ns_per_stamp + 0.5);

	histogram_add(&s->latency, latency_ns);
	if (t->tags && sequence >= t->tag_first) {
		uint64_t number = (sequence - t->tag_first) / t->tag_step;

		if (number < t->tags && sequence == t->tag_first + number * t->tag_step) {
			uint64_t arrived_ns = clock_ns(t->now - s->first_sent_at);

			s->tagged_ns[number] = latency_ns + 1u;
			s->tagged_at_ns[number] = arrived_ns > latency_ns ? arrived_ns - latency_ns : 0;
		}
	}
}

bool account_last_lost(struct stream *s, uint64_t *last)
{
	uint64_t lowest = s->highest > WINDOW_FRAMES - 64u ? s->highest - (WINDOW_FRAMES - 64u) : 0;

	if (s->sent > s->highest) {
		losses_note(&s->losses, s->highest, s->sent - s->highest, s->losses.previous, 0);
		*last = s->sent - 1u;
		return true;
	}
	if (s->received == s->sent)
		return false;
	for (uint64_t sequence = s->highest; sequence-- > lowest;)
		if (!(*window_word(s, sequence) & 1ull << (sequence % 64u))) {
			*last = sequence;
			return true;
		}
	*last = s->losses.last_missing; /* before the window: as it was when the next frame came */
	return true;
}

/* Length and fill as sent; headers are the DUT's to change (MAC, TTL), so they are not compared. */
static bool intact(const struct frame_template *template, const uint8_t *frame, uint32_t length, uint32_t offset)
{
	uint32_t fill = offset + sizeof(struct signature);

	return length == template->length && offset == template->signature_offset &&
	       memcmp(frame + fill, template->octets + fill, length - fill) == 0;
}

void account_frame(struct trial *t, unsigned int port, const uint8_t *frame, uint32_t length, uint32_t stamp)
{
	struct stream *s = NULL;
	const struct signature *signature;
	bool tagged;
	int offset;

	for (unsigned int i = 0; i < 2; i++)
		if (t->streams[i].active && t->streams[i].rx == &ports[port])
			s = &t->streams[i];
	offset = frame_signature_offset(frame, length, &tagged);
	if (offset < 0) {
		if (s && frame_is_broadcast(frame, length)) {
			s->broadcast_received++;
			return;
		}
		if (neighbour_input(&ports[port], frame, length) || extras_input(port, frame, length))
			return;
		if (s)
			s->foreign++;
		else
			t->unassigned[port]++;
		return;
	}
	if (!s) {
		t->unassigned[port]++;
		return;
	}
	signature = (const struct signature *)(frame + offset);
	if (!signature_valid(signature)) {
		s->corrupt++;
		return;
	}
	if (signature->trial_stream >> 1 != t->number) {
		s->stale++;
		return;
	}
	uint64_t sequence = (uint64_t)signature->sequence_high << 32 | signature->sequence_low;

	if ((signature->trial_stream & 1u) != s->index) {
		t->unassigned[port]++;
		return;
	}
	if (sequence >= s->sent || !intact(stream_template(s, sequence), frame, length, (uint32_t)offset)) {
		s->corrupt++;
		return;
	}
	account_sequence(t, s, sequence, stamp - signature->stamp);
}
