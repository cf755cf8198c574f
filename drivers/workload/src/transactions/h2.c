#include "h2.h"

#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 1 << 20 }; /* choice: no object of a profile waits for the client to open its window */

struct h2 {
    nghttp2_session *session;
    int32_t stream; /* of the last request */
    struct h2_answer answer;
};

static int begun(nghttp2_session *session, const nghttp2_frame *frame, void *of) {
    struct h2 *h2 = of;
    (void)session;
    if (frame->hd.stream_id == h2->stream) h2->answer.begun = true;
    return 0;
}

static int header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_octets,
                  const uint8_t *value, size_t octets, uint8_t flags, void *of) {
    struct h2 *h2 = of;
    char text[24];
    (void)session;
    (void)flags;
    if (frame->hd.stream_id != h2->stream || octets >= sizeof text) return 0;
    memcpy(text, value, octets);
    text[octets] = 0;
    if (name_octets == 7 && memcmp(name, ":status", 7) == 0) h2->answer.status = atoi(text);
    if (name_octets == 14 && memcmp(name, "content-length", 14) == 0) h2->answer.length = strtoll(text, NULL, 10);
    return 0;
}

static int data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *octets, size_t count, void *of) {
    struct h2 *h2 = of;
    (void)session;
    (void)flags;
    (void)octets;
    if (stream == h2->stream) h2->answer.body += (int64_t)count;
    return 0;
}

static int closed(nghttp2_session *session, int32_t stream, uint32_t error, void *of) {
    struct h2 *h2 = of;
    (void)session;
    if (stream != h2->stream) return 0;
    h2->answer.closed = true;
    h2->answer.error = error;
    return 0;
}

static nghttp2_session_callbacks *callbacks(void) {
    static _Thread_local nghttp2_session_callbacks *known;
    if (known == NULL && nghttp2_session_callbacks_new(&known) == 0) {
        nghttp2_session_callbacks_set_on_begin_headers_callback(known, begun);
        nghttp2_session_callbacks_set_on_header_callback(known, header);
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(known, data);
        nghttp2_session_callbacks_set_on_stream_close_callback(known, closed);
    }
    return known;
}

struct h2 *h2_begin(void) {
    struct h2 *h2 = calloc(1, sizeof *h2);
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW},
    };
    if (h2 == NULL || callbacks() == NULL || nghttp2_session_client_new(&h2->session, callbacks(), h2) != 0) {
        free(h2);
        return NULL;
    }
    if (nghttp2_submit_settings(h2->session, NGHTTP2_FLAG_NONE, settings, 2) != 0 ||
        nghttp2_session_set_local_window_size(h2->session, NGHTTP2_FLAG_NONE, 0, WINDOW) != 0) {
        h2_end(h2);
        return NULL;
    }
    return h2;
}

void h2_end(struct h2 *h2) {
    if (h2 == NULL) return;
    nghttp2_session_del(h2->session);
    free(h2);
}

static nghttp2_nv pair(const char *name, const char *value) {
    return (nghttp2_nv){(uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value), NGHTTP2_NV_FLAG_NONE};
}

bool h2_ask(struct h2 *h2, const char *target, const char *host) {
    const nghttp2_nv head[] = {pair(":method", "GET"), pair(":scheme", "https"), pair(":authority", host),
                               pair(":path", target),  pair("user-agent", "bmwg"), pair("accept", "*/*")};
    h2->answer = (struct h2_answer){.length = -1};
    if (!nghttp2_session_check_request_allowed(h2->session)) return false;
    h2->stream = nghttp2_submit_request(h2->session, NULL, head, sizeof head / sizeof *head, NULL, NULL);
    return h2->stream > 0;
}

const char *h2_taken(struct h2 *h2, const char *came, size_t octets) {
    ssize_t taken = nghttp2_session_mem_recv(h2->session, (const uint8_t *)came, octets);
    return taken == (ssize_t)octets ? NULL : "no HTTP/2";
}

size_t h2_pending(struct h2 *h2, const char **octets) {
    const uint8_t *next;
    ssize_t count = nghttp2_session_mem_send(h2->session, &next);
    *octets = (const char *)next;
    return count > 0 ? (size_t)count : 0;
}

const struct h2_answer *h2_answer(const struct h2 *h2) { return &h2->answer; }

const char *h2_wrong(const struct h2_answer *answer, int64_t octets) {
    static _Thread_local char status[16];
    if (answer->error != 0) return "a stream of HTTP/2 that was reset";
    if (answer->status != 200) {
        snprintf(status, sizeof status, "status %d", answer->status);
        return status;
    }
    if (answer->length >= 0 && answer->length != octets) return "an object of another size";
    return answer->body == octets ? NULL : "closed before its answer was whole";
}
