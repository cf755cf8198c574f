/* One thread over epoll; see client.h. */
#include "exchange.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum {
    AT_ONCE = 32, /* choice: connections that open before answers are looked at again */
    EVENTS = 512,
};
static const int64_t LOOK_NS = 50000000; /* choice: how late a missing answer is noticed */

struct load load;
SSL_CTX *context;
struct request requests[OBJECTS], tunnel;
_Atomic int64_t still_opening, all_stand_ns;

static int64_t time_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t now_ns(void) { return time_of(CLOCK_MONOTONIC); }

static void unsent(const char *why) {
    counts.unsent++;
    tally_word(&counts.why_unsent, why);
}

static void step(struct connection *one, uint32_t events) {
    if (one->state == CONNECTING) {
        int error = 0;
        socklen_t size = sizeof error;
        if (events & (EPOLLERR | EPOLLHUP)) getsockopt(one->socket, SOL_SOCKET, SO_ERROR, &error, &size);
        if (error) {
            fail_by(one, error);
            return;
        }
        phase_open(&phase, now_ns(), 1);
        one->established = true;
        counts.established++;
        if (!load_encrypted(&load, one->number)) {
            ask(one);
            return;
        }
        if (tunnel.text != NULL) {
            ask_for_tunnel(one);
            return;
        }
        one->state = SHAKING;
    }
    if (one->state == TUNNELLING && !tunnelled(one)) return;
    if (one->state == SHAKING && one->tls == NULL && (one->tls = tls_begin(context, &load, one->socket)) == NULL) {
        fail_by(one, ENOMEM);
        return;
    }
    if (one->state == SHAKING) shake(one);
    else receive(one);
}

static void begin(int64_t number, int64_t due_ns, int64_t now, bool counted) {
    counts.due += counted;
    if (now - due_ns > load.late_ns && !load.held) {
        if (counted) unsent("the client was late");
        return;
    }
    int made = socket(load.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (made < 0) {
        if (counted) unsent(word_of(errno));
        return;
    }
    int yes = 1;
    setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    int64_t asked_ns = now_ns();
    bool plain = load.name != NULL && !load_encrypted(&load, number);
    struct sockaddr_storage *to = plain ? &load.plain_address : &load.address;
    if (connect(made, (struct sockaddr *)to, load.address_size) < 0 && errno != EINPROGRESS) {
        int error = errno;
        close(made);
        if (!counted) return;
        if (error == EADDRNOTAVAIL || error == EAGAIN || error == ENOBUFS) {
            unsent(word_of(error));
            return;
        }
        counts.opened++;
        counts.tried++;
        tally_word(&counts.failures, word_of(error));
        return;
    }
    struct connection *one = free_ones;
    if (one != NULL) free_ones = one->free;
    else one = room_for(NULL, 1, sizeof *one);
    *one = (struct connection){
        .number = number, .socket = made, .asked_ns = asked_ns, .counted = counted, .asks = true, .left = -1};
    counts.opened += counted;
    counts.tried += counted;
    standing++;
    opening++;
    queue_enter(&one->link, &waiting, asked_ns + load.timeout_ns);
    look_for(one, EPOLLOUT);
}

static void ask_again_and_fail_the_overdue(int64_t now) {
    struct link *due;
    while (now < phase.to_ns && (due = queue_due(&pausing, now))) ask_next((struct connection *)due, now);
    while ((due = queue_due(&waiting, now))) fail((struct connection *)due, "no answer in time");
}

/* Take the thread's CPU time at both ends of the sustain phase, each when it is first seen to be over. */
static void look_at_cpu(int64_t now) {
    static _Thread_local int64_t began_ns = -1;
    static _Thread_local bool ended;
    if (now < phase.from_ns || ended) return;
    if (began_ns < 0) began_ns = time_of(CLOCK_THREAD_CPUTIME_ID);
    if (now < phase.to_ns) return;
    ended = true;
    counts.cpu_ns = time_of(CLOCK_THREAD_CPUTIME_ID) - began_ns;
}

/* The ramp down: held ones close, others are overdue. */
static void end_all(void) {
    while (waiting.first != NULL && !load.held) fail((struct connection *)waiting.first, "no answer in time");
    struct queue *each[] = {&waiting, &pausing, &resting};
    for (int at = 0; at < 3; at++)
        while (each[at]->first != NULL) end((struct connection *)each[at]->first);
}

void *offer(void *of) {
    struct share *share = of;
    static _Thread_local struct epoll_event events[EVENTS];
    int64_t number = share->number, every = load_connections(&load), from_ns = share->began_ns + load.ramp_ns;
    int64_t due_ns = share->began_ns + load_due_ns(&load, number);
    bool ready = false, stands = !load.held;
    polled = epoll_create1(EPOLL_CLOEXEC);
    if (polled < 0) {
        perror("epoll_create1");
        exit(1);
    }
    phase = phase_of(load.interval_ns, load.sustain_ns);
    if (stands) phase_begin(&phase, from_ns, load.sustain_ns);
    for (;;) {
        int64_t now = now_ns();
        for (int turn = 0; number < every && due_ns <= now && turn < AT_ONCE; turn++) {
            begin(number, due_ns, now, load.held || due_ns >= from_ns);
            number += load.threads;
            due_ns = share->began_ns + load_due_ns(&load, number);
            now = now_ns();
        }
        ask_again_and_fail_the_overdue(now);
        if (!ready && load.held && now >= from_ns && number >= every && opening == 0) {
            ready = true; /* rfc9411-4.3.4: the sustain phase begins when all clients are active */
            if (--still_opening == 0) all_stand_ns = now;
        }
        if (!stands && all_stand_ns) {
            stands = true;
            phase_begin(&phase, all_stand_ns, load.sustain_ns);
        }
        look_at_cpu(now);
        bool all = load.held || (!standing && number >= every);
        if (stands && now >= phase.to_ns && (all || now >= phase.to_ns + load.timeout_ns)) break;
        int64_t wait_ns = LOOK_NS;
        if (stands && now < phase.to_ns && phase.to_ns - now < wait_ns) wait_ns = phase.to_ns - now;
        if (number < every && due_ns - now < wait_ns) wait_ns = due_ns - now;
        if (pausing.first != NULL && pausing.first->due_ns - now < wait_ns) wait_ns = pausing.first->due_ns - now;
        struct timespec wait = {.tv_nsec = wait_ns > 0 ? wait_ns : 0};
        int found = epoll_pwait2(polled, events, EVENTS, &wait, NULL);
        for (int at = 0; at < found; at++) step(events[at].data.ptr, events[at].events);
    }
    for (; number < every; number += load.threads) { /* of a client that was overrun to the end */
        due_ns = share->began_ns + load_due_ns(&load, number);
        counts.due += due_ns >= from_ns;
        if (due_ns >= from_ns) unsent("the client was late");
    }
    phase_advance(&phase, now_ns());
    end_all();
    share->counts = counts;
    share->phase = phase;
    return NULL;
}
