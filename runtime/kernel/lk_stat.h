/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The events of Solaris' lockstat: which one a wait, a hold or a failure is.
 *
 * What blocks a reader or a writer is told by the lock's own word when the
 * wait begins; how a mutex was waited for, when it ends.
 */
#ifndef LK_STAT_H
#define LK_STAT_H

#include "lk_base.h"

/* The numbers are Solaris', as far as it has them. */
enum lk_stat_event {
	LK_EV_MUTEX_SPIN = 0,
	LK_EV_MUTEX_BLOCK = 1,
	LK_EV_SPIN = 2,
	LK_EV_WRITER_BY_WRITER = 4,
	LK_EV_WRITER_BY_READERS = 5,
	LK_EV_READER_BY_WRITER = 6,
	LK_EV_READER_BY_WANTED = 7,
	LK_EV_SEM_BLOCK = 8,
	LK_EV_TRYFAIL = 9,
	LK_EV_MUTEX_HOLD = 32,
	LK_EV_SPIN_HOLD = 33,
	LK_EV_WRITER_HOLD = 34,
	LK_EV_READER_HOLD = 35,
	LK_EV_SEM_HOLD = 36,
	LK_EV_RECURSIVE = 60,
	LK_EV_NO_ROOM = 61,
	LK_EV_UNSEEN = 62,
	LK_EVENTS = 64
};

#define LK_EV_BITS(lo, hi) GENMASK_ULL(hi, lo)
#define LK_EV_WAITS LK_EV_BITS(LK_EV_MUTEX_SPIN, LK_EV_SEM_BLOCK)
#define LK_EV_CONTENTION (LK_EV_WAITS | BIT_ULL(LK_EV_TRYFAIL))
#define LK_EV_HOLDS LK_EV_BITS(LK_EV_MUTEX_HOLD, LK_EV_SEM_HOLD)
#define LK_EV_ERRORS LK_EV_BITS(LK_EV_RECURSIVE, LK_EV_UNSEEN)

static inline bool lk_stat_wants(enum lk_stat_event event)
{
	return lk_opt.events >> event & 1;
}

/* Seen by probes at each time that a lock is taken and let go. */
static inline bool lk_stat_wants_holds(void)
{
	return lk_opt.events & (LK_EV_HOLDS | BIT_ULL(LK_EV_RECURSIVE) | BIT_ULL(LK_EV_UNSEEN));
}

/*
 * kernel/locking/rwsem.c: bit 0 is the writer's, readers count from bit 8; a
 * waiting reader has taken its own bias off by the time it tells. Where
 * neither is there, who held the lock has just let go: bit 0 of the owner says
 * whether it was a reader.
 */
static u32 lk_stat_rwsem(unsigned long lock, bool *writer)
{
	const struct rw_semaphore *sem = (const void *)lock;
	unsigned long count = atomic_long_read(&sem->count);
	u32 readers = (count & LONG_MAX) >> 8;

	*writer = count & 1;
	if (!*writer && !readers)
		*writer = !(atomic_long_read(&sem->owner) & 1);
	return readers;
}

/*
 * asm-generic/qrwlock.h: the low byte is the writer's, bit 8 that of one that
 * waits, readers count from bit 9. A reader has taken its own bias off, a
 * writer has changed nothing yet.
 */
static u32 lk_stat_rwlock(unsigned long lock, bool *writer)
{
	u32 word = READ_ONCE(*(u32 *)lock), readers = word >> 9;

	*writer = word & 0xff || !(word & 0x100 || readers);
	return readers;
}

/*
 * kernel/locking/percpu-rwsem.c: `block` is set by a writer that keeps readers
 * out; as long as it waits for those that are in, it is named in `writer`.
 */
static u32 lk_stat_percpu(unsigned long lock, bool *writer)
{
	struct percpu_rw_semaphore *sem = (void *)lock;

	*writer = lk_percpu_block(lock) && !lk_peek_pointer(&sem->writer.task);
	return lk_percpu_readers(lock);
}

/* What blocks this wait, which begins. */
static void lk_stat_begin(struct lk_wait *w)
{
	bool writer;
	u32 readers;

	w->switches = current->nvcsw;
	w->readers = 0;
	switch (w->kind) {
	case LK_RWSEM:
		readers = lk_stat_rwsem(w->lock, &writer);
		break;
	case LK_RWLOCK:
		readers = lk_stat_rwlock(w->lock, &writer);
		break;
	case LK_PERCPU_RWSEM:
		readers = lk_stat_percpu(w->lock, &writer);
		break;
	case LK_MUTEX:
	case LK_RTMUTEX:
		w->event = LK_EV_MUTEX_SPIN; /* until it sleeps */
		return;
	case LK_SEM:
		w->event = LK_EV_SEM_BLOCK;
		return;
	default:
		w->event = LK_EV_SPIN;
		return;
	}
	if (w->mode == LK_R) {
		w->event = writer ? LK_EV_READER_BY_WRITER : LK_EV_READER_BY_WANTED;
	} else if (writer) {
		w->event = LK_EV_WRITER_BY_WRITER;
	} else {
		w->event = LK_EV_WRITER_BY_READERS;
		w->readers = readers;
	}
}

/* It is over: a task that has left its CPU by itself has slept. */
static void lk_stat_end(struct lk_event *ev, const struct lk_wait *w)
{
	ev->event = w->event;
	ev->readers = w->readers;
	if (w->event == LK_EV_MUTEX_SPIN && w->switches != (u32)current->nvcsw)
		ev->event = LK_EV_MUTEX_BLOCK;
}

static enum lk_stat_event lk_stat_hold(const struct lk_event *ev)
{
	switch (ev->kind) {
	case LK_MUTEX:
	case LK_RTMUTEX:
		return LK_EV_MUTEX_HOLD;
	case LK_SEM:
		return LK_EV_SEM_HOLD;
	case LK_RWSEM:
	case LK_RWLOCK:
	case LK_PERCPU_RWSEM:
		return ev->mode == LK_R ? LK_EV_READER_HOLD : LK_EV_WRITER_HOLD;
	default:
		return LK_EV_SPIN_HOLD;
	}
}

/* Which one the present event is; LK_EVENTS: none. */
static enum lk_stat_event lk_stat_event(const struct lk_event *ev)
{
	switch (ev->op) {
	case LK_END:
		return ev->event;
	case LK_TRYFAIL:
		return LK_EV_TRYFAIL;
	case LK_RELEASE:
		return ev->hold.seen ? lk_stat_hold(ev) : LK_EV_UNSEEN;
	case LK_ACQUIRE:
	case LK_ACQUIRED:
		return ev->recursive ? LK_EV_RECURSIVE : LK_EVENTS;
	default:
		return LK_EVENTS;
	}
}

static inline bool lk_stat_timed(enum lk_stat_event event)
{
	return BIT_ULL(event) & (LK_EV_WAITS | LK_EV_HOLDS);
}

#endif
