/* What a connection exchanges; see exchange.h. */
#include "exchange.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BLOCK = 1 << 18 };

_Thread_local struct counts counts;
_Thread_local struct phase phase;
_Thread_local struct queue waiting, pausing, resting;
_Thread_local struct connection *free_ones;
_Thread_local size_t standing, opening;
_Thread_local int polled;
static _Thread_local char block[BLOCK];

const char *word_of(int error) {
    const char *name = strerrorname_np(error);
    return name ? name : "an unknown error";
}

void end(struct connection *one) {
    if (one->established) phase_open(&phase, now_ns(), -1);
    if (one->state != ASKING) opening--;
    queue_leave(&one->link);
    SSL_free(one->tls);
    h2_end(one->h2);
    free(one->head.octets);
    close(one->socket);
    standing--;
    one->free = free_ones;
    free_ones = one;
}

void fail(struct connection *one, const char *why) {
    if (one->counted && (one->asks || !load.held)) tally_word(&counts.failures, why);
    end(one);
}

void fail_by(struct connection *one, int error) {
    if (one->counted && (error == ECONNRESET || error == EPIPE)) counts.resets++;
    fail(one, word_of(error));
}

void look_for(struct connection *one, uint32_t interest) {
    if (one->interest == interest) return;
    struct epoll_event event = {.events = interest, .data.ptr = one};
    if (epoll_ctl(polled, one->interest ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, one->socket, &event) < 0) {
        perror("epoll_ctl"); /* nobody would look at it: its function had no part in that */
        exit(1);
    }
    one->interest = interest;
}

/* Wait for what OpenSSL wants, or end the connection by why it failed. */
static void go_on_or_fail(struct connection *one, int result) {
    int kind = SSL_get_error(one->tls, result);
    if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE) {
        look_for(one, kind == SSL_ERROR_WANT_READ ? EPOLLIN : EPOLLOUT);
        return;
    }
    char why[WORD];
    int error = tls_failed(one->tls, result, why, sizeof why);
    if (error) fail_by(one, error);
    else fail(one, why);
}

/* Send what HTTP/2 has to say; false where the connection has ended over it. */
static bool said(struct connection *one) {
    const char *octets;
    size_t count;
    while ((count = h2_pending(one->h2, &octets)) > 0) {
        int sent = SSL_write(one->tls, octets, (int)count);
        if (sent > 0) continue;
        int kind = SSL_get_error(one->tls, sent);
        if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE) fail_by(one, ENOBUFS);
        else go_on_or_fail(one, sent);
        return false;
    }
    return true;
}

/* Send as it is what fits the empty buffer of a new connection or of one between two requests; false: it has ended. */
static bool sent(struct connection *one, const struct request *request) {
    ssize_t octets = send(one->socket, request->text, request->octets, MSG_NOSIGNAL);
    if (octets == (ssize_t)request->octets) return true;
    fail_by(one, octets >= 0 || errno == EAGAIN ? ENOBUFS : errno);
    return false;
}

void ask_for_tunnel(struct connection *one) {
    one->state = TUNNELLING;
    if (sent(one, &tunnel)) look_for(one, EPOLLIN);
}

bool tunnelled(struct connection *one) {
    ssize_t got = recv(one->socket, block, BLOCK, 0);
    if (got < 0) {
        if (errno != EAGAIN) fail_by(one, errno);
        return false;
    }
    const char *wrong = "closed before its tunnel stood";
    bool whole = false;
    if (got > 0) wrong = tunnel_taken(&one->head, block, (size_t)got, &whole);
    if (wrong != NULL) fail(one, wrong);
    else if (whole) one->state = SHAKING;
    return whole;
}

void ask(struct connection *one) {
    if (one->state != ASKING) opening--;
    one->state = ASKING;
    if (one->done) one->asked_ns = now_ns();
    one->first_ns = 0;
    one->left = -1;
    one->asks = true;
    size_t object = load_object(&load, one->number, one->done);
    const struct request *request = &requests[object];
    if (one->h2 != NULL) {
        if (!h2_ask(one->h2, load.objects[object].target, load.host)) {
            fail(one, "no further stream of HTTP/2");
            return;
        }
        if (!said(one)) return;
    } else if (one->tls == NULL) {
        if (!sent(one, request)) return;
    } else {
        int octets = SSL_write(one->tls, request->text, (int)request->octets);
        if (octets <= 0) {
            int kind = SSL_get_error(one->tls, octets);
            if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE) fail_by(one, ENOBUFS);
            else go_on_or_fail(one, octets);
            return;
        }
    }
    look_for(one, EPOLLIN);
}

void ask_next(struct connection *one, int64_t now) {
    queue_enter(&one->link, &waiting, now + load.timeout_ns);
    counts.tried += one->counted;
    ask(one);
}

static void complete(struct connection *one) {
    int64_t now = now_ns();
    bool within = phase_complete(&phase, now);
    counts.answered++;
    if (one->counted && (within || !load.held)) { /* held ones ask before the phase as well */
        times_add(&counts.first, one->first_ns - one->asked_ns);
        times_add(&counts.last, now - one->asked_ns);
        size_t at = load_object(&load, one->number, one->done);
        counts.body_octets += (uint64_t)load.objects[at].octets;
        counts.objects[at]++;
    }
    one->done++;
    one->asks = false;
    queue_leave(&one->link);
    if (load.held) {
        bool asks_again = one->done < load.held_transactions;
        queue_enter(&one->link, asks_again ? &pausing : &resting, one->asked_ns + load.pause_ns);
    } else if (one->done < load.per_connection) {
        ask_next(one, now);
    } else {
        end(one);
    }
}

static int64_t object_octets(const struct connection *one) {
    return load.objects[load_object(&load, one->number, one->done)].octets;
}

/* Take what came by HTTP/2; false where nothing more is to be read of it now. */
static bool taken(struct connection *one, size_t octets) {
    const char *wrong = h2_taken(one->h2, block, octets);
    if (wrong != NULL) {
        fail(one, wrong);
        return false;
    }
    if (!said(one)) return false;
    const struct h2_answer *answer = h2_answer(one->h2);
    if (!one->asks) return true; /* settings and the like, between two requests */
    if (answer->begun && !one->first_ns) one->first_ns = now_ns();
    if (!answer->closed) return true;
    wrong = h2_wrong(answer, object_octets(one));
    if (wrong != NULL) fail(one, wrong);
    else complete(one);
    return false;
}

void receive(struct connection *one) {
    for (;;) {
        ssize_t got;
        if (one->tls == NULL) {
            got = recv(one->socket, block, BLOCK, 0);
            if (got < 0) {
                if (errno != EAGAIN) fail_by(one, errno);
                return;
            }
        } else {
            got = SSL_read(one->tls, block, BLOCK);
            if (got <= 0 && SSL_get_error(one->tls, (int)got) != SSL_ERROR_ZERO_RETURN) {
                go_on_or_fail(one, (int)got);
                return;
            }
        }
        if (got <= 0) {
            if (!one->asks) { /* a held one, between two requests */
                one->asks = true;
                counts.tried += one->counted;
            }
            fail(one, "closed before its answer was whole");
            return;
        }
        if (one->h2 != NULL) {
            if (!taken(one, (size_t)got)) return;
            continue;
        }
        if (!one->asks) {
            fail(one, "octets that nobody asked for");
            return;
        }
        if (!one->first_ns) one->first_ns = now_ns();
        size_t octets = (size_t)got;
        if (one->left < 0) {
            const char *wrong = head_taken(&one->head, block, &octets, &one->left);
            if (wrong == NULL && one->left < 0) continue;
            if (wrong == NULL && one->left != object_octets(one)) wrong = "an object of another size";
            if (wrong != NULL) {
                fail(one, wrong);
                return;
            }
        }
        one->left -= (int64_t)octets;
        if (one->left < 0) {
            fail(one, "more octets than were announced");
            return;
        }
        if (one->left == 0) {
            complete(one);
            return;
        }
    }
}

void shake(struct connection *one) {
    int result = SSL_connect(one->tls);
    if (result != 1) {
        go_on_or_fail(one, result);
        return;
    }
    if (one->counted) {
        char agreed[WORD];
        tls_agreed(one->tls, agreed, sizeof agreed);
        tally_word(&counts.negotiated, agreed);
        counts.resumed += (uint64_t)SSL_session_reused(one->tls);
    }
    if (load.http2) {
        one->h2 = tls_http2(one->tls) ? h2_begin() : NULL;
        if (one->h2 == NULL) {
            fail(one, "no HTTP/2 by ALPN");
            return;
        }
    }
    ask(one);
}
