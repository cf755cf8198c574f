/* What waits until a time, in the order in which it came; each thing is in one queue at most. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct link {
    struct link *before, *after;
    struct queue *in;
    int64_t due_ns;
};

struct queue {
    struct link *first, *last;
};

static inline void queue_leave(struct link *one) {
    struct queue *in = one->in;
    if (in == NULL) return;
    *(one->before ? &one->before->after : &in->first) = one->after;
    *(one->after ? &one->after->before : &in->last) = one->before;
    one->in = NULL;
}

static inline void queue_enter(struct link *one, struct queue *in, int64_t due_ns) {
    queue_leave(one);
    *one = (struct link){.before = in->last, .in = in, .due_ns = due_ns};
    *(in->last ? &in->last->after : &in->first) = one;
    in->last = one;
}

/* The first where it is due, or NULL. */
static inline struct link *queue_due(const struct queue *of, int64_t now_ns) {
    return of->first != NULL && of->first->due_ns <= now_ns ? of->first : NULL;
}
