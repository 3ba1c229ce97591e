/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waits and holds of locks in user space, as events like those of the
 * kernel's locks.
 *
 * A wait is one sleep in a futex. Its begin and end are the kernel's own
 * functions, so where nothing waits there is nothing to see. Holds are told by
 * the C library: by its marks where it has them, by its functions elsewhere.
 */
#ifndef LK_USER_EVENT_H
#define LK_USER_EVENT_H

#include "lk_hold.h"
#include "lk_user.h"

static int _stp_pid; /* SystemTap's runtime has it further on */

/* lk_record.h */
static u32 lk_stack_number(struct lk_cpu *cpu, const u32 *ips, u32 n);

static inline void lk_user_event(struct lk_cpu *cpu, u32 place, u32 name, unsigned long ip)
{
	cpu->ev.ip = place;
	cpu->ev.user_name = name;
	cpu->ev.user_ip = ip;
}

/* Not of a process, or of a kind, that the report is about; or of SystemTap's own process. */
static inline bool lk_user_ignores(unsigned int kinds)
{
	if (lk_kernel.chains) /* any of them may be part of a chain */
		return false;
	return (lk_opt.started && !(lk_opt.kinds & kinds)) ||
	       (lk_opt.pid && current->tgid != lk_opt.pid) || current->tgid == _stp_pid;
}

/*
 * Is this the first handler of an event? Where one has a condition and another has not,
 * SystemTap does not say that they stand at one point: that is told by the registers.
 * At a function's return the address in them is another one for each handler. Between
 * two handlers of a point in a program interrupts may come, with events of their own: the
 * others get back what the first one has kept.
 *
 * A task may come by twice with the same registers, as where it lets go of two locks in a
 * row. The handlers of a point are always called in one order, so the one that was first is
 * then called again.
 */
static bool lk_user_first(struct lk_cpu *cpu, const struct lk_at *at)
{
	u32 switches = current->nvcsw + current->nivcsw;
	unsigned long where = at->return_ip ? 0 : at->regs->ip;
	struct lk_event *ev = &cpu->ev, *kept = &cpu->user_ev;
	bool here = kept->user_at == where && kept->sp == at->regs->sp && kept->task == current &&
		    kept->switches == switches;
	bool again = *at->mark || (here && (kept->point != at->point ||
					    kept->calls < lk_point_handlers(at->point)));

	if (again) {
		if (!*at->mark && kept->point == at->point)
			kept->calls++;
		*ev = *kept;
	} else {
		ev->point = at->point;
		ev->calls = 1;
		ev->user_at = where;
		ev->sp = at->regs->sp;
		ev->task = current;
		ev->switches = switches;
	}
	*at->mark = LK_MARK_EVENT;
	return !again;
}

/* A handler has made its event, or found it. */
static int lk_user_kept(int told)
{
	struct lk_cpu *cpu = lk_this_cpu();

	if (cpu)
		cpu->user_ev = cpu->ev;
	return told;
}

static struct lk_wait *lk_user_open_wait(void)
{
	unsigned int set = lk_wait_set(current), i;

	if (lk_wait_set_empty(set))
		return NULL;
	for (i = 0; i < LK_WAYS; i++)
		if (lk_wait_task[set][i] == current && lk_is_user(lk_waits[set][i].kind))
			return &lk_waits[set][i];
	return NULL;
}

/* A wait is over, and its lock is asked for: the hold, if there will be one, was waited for. */
static void lk_user_hold_waited(struct lk_cpu *cpu, const struct lk_event *ev)
{
	struct lk_hold *h = lk_held_by_task(cpu, ev->lock, LK_WANT_LOCK);

	if (!h || h->got)
		return;
	if (ev->ret) {
		lk_hold_drop(cpu, h);
		return;
	}
	h->contended = 1;
	h->wait_ns += ev->wait_ns;
	h->block_ns += ev->block_ns;
}

/* With no handler of the program's the kernel itself may go on, and the call's words are gone. */
static bool lk_user_is_restarted(const struct pt_regs *regs)
{
	return regs->orig_ax == 219 && !lk_user_is_compat(current, regs); /* restart_syscall */
}

static bool lk_user_goes_on(const struct lk_wait *w, const struct lk_user_wait *u, u64 now)
{
	struct pt_regs regs;

	if (!lk_is_interrupted(w) || !lk_is_of_task(w, current) || !lk_user_regs(current, &regs) ||
	    w->user_sp != regs.sp)
		return false;
	if (lk_user_is_restarted(&regs)) /* however long it was stopped */
		return true;
	return u && !u->idle && w->lock == u->lock && now - w->phase_ns < LK_RESTART_NS;
}

/* The function that sleeps in a futex is entered. 1: a wait for a lock has begun. */
static int lk_user_begin(const struct lk_at *at)
{
	u64 now = lk_now_ns();
	struct lk_cpu *cpu = lk_this_cpu();
	struct lk_user_wait u;
	struct lk_wait *w;
	bool known;

	if (unlikely(!cpu))
		return 0;
	cpu->stay_masked = 1;
	if (!lk_user_first(cpu, at))
		return cpu->ev.op == LK_BEGIN && cpu->ev.valid;
	cpu->ev.op = LK_NONE;
	cpu->ev.valid = 0;
	if (lk_user_ignores(LK_USER_KINDS))
		return 0;
	known = lk_user_wait_of(current, &u);
	w = lk_user_open_wait();
	if (w && lk_user_goes_on(w, known ? &u : NULL, now)) {
		w->flags = LK_F_GOES_ON;
		return 0;
	}
	if (w)
		lk_task_wait_lose(cpu, w);
	if (!known)
		return 0;
	if (u.idle) {
		cpu->counts.idle++;
		return 0;
	}
	w = lk_task_wait_new(cpu, current);
	if (!w)
		return 0;
	lk_wait_open(w, u.lock, u.kind, u.mode, 0, now);
	w->owner = u.proven ? u.owner : 0;
	w->mm = current->mm;
	w->user_sp = u.sp;
	w->user_ip = u.caller;
	w->user_place = u.place;
	w->user_name = u.name;
	lk_event(cpu, LK_BEGIN, w, 1);
	lk_user_event(cpu, u.place, u.name, u.caller);
	return 1;
}

/*
 * It returns. The word had changed already: that was no wait. A signal: the lock
 * function comes back, unless the thread is being ended.
 */
static int lk_user_end(const struct lk_at *at, s64 ret)
{
	struct lk_cpu *cpu = lk_this_cpu();
	struct lk_wait *w;
	int told;

	if (unlikely(!cpu))
		return 0;
	cpu->stay_masked = 1;
	if (!lk_user_first(cpu, at))
		return cpu->ev.op == LK_END && cpu->ev.valid;
	cpu->ev.op = LK_NONE;
	cpu->ev.valid = 0;
	w = lk_user_open_wait();
	if (!w)
		return 0;
	/* Another's, or interrupted before: this is the end of another sleep. */
	if (!lk_is_of_task(w, current) || lk_is_interrupted(w)) {
		lk_task_wait_lose(cpu, w);
		return 0;
	}
	switch (ret) {
	case -EAGAIN:
		if (w->flags == LK_F_GOES_ON) { /* it had slept before */
			ret = 0;
			break;
		}
		if (unlikely(lk_kernel.chains))
			lk_chain_none(cpu, w);
		if (unlikely(lk_kernel.blames))
			lk_blame_none(cpu, w);
		lk_task_wait_drop(w);
		return 0;
	case -ERESTARTSYS:
	case -ERESTARTNOINTR:
	case -ERESTART_RESTARTBLOCK:
	case -EINTR:
		if (!fatal_signal_pending(current)) {
			w->flags = LK_F_RESTARTS;
			w->phase_ns = lk_now_ns();
			return 0;
		}
		ret = -EINTR;
		break;
	}
	told = lk_wait_close(cpu, w, min_t(s64, ret, 0), lk_now_ns());
	lk_user_event(cpu, w->user_place, w->user_name, w->user_ip);
	cpu->ev.at_return = 1;
	lk_task_wait_drop(w);
	if (lk_kernel.tracks_user)
		lk_user_hold_waited(cpu, &cpu->ev);
	return told;
}

/* --- The C library's functions --------------------------------------------------------- */

/* At a probe in a program: its registers. */
#define LK_AT_USER(c) \
	(&(struct lk_at){ .regs = (c)->uregs, .point = (c)->probe_point, .mark = LK_MARK(c) })

/* The event that a handler tells of, unless it is not wanted. */
static bool lk_user_op(struct lk_cpu *cpu, const struct lk_at *at, enum lk_op op,
		       unsigned long lock, unsigned int kind, unsigned int mode,
		       const struct lk_hold *h)
{
	struct lk_user_wait u;

	cpu->ev.op = LK_NONE;
	cpu->ev.valid = 0;
	if (lk_user_ignores(1u << kind))
		return false;
	if (h) {
		u.place = h->ip;
		u.name = h->user_name;
		u.caller = 0;
	} else {
		lk_user_caller_of(at->regs, lock, &u);
	}
	lk_op_event(cpu, op, lock, kind, mode);
	lk_user_event(cpu, u.place, u.name, u.caller);
	return true;
}

static struct lk_hold *lk_user_hold_new(struct lk_cpu *cpu, const struct lk_at *at,
					unsigned long lock, unsigned int kind, unsigned int mode,
					bool tries)
{
	struct lk_hold *h = lk_recent_new(cpu);

	lk_hold_fill(h, lock, kind, mode, cpu->ev.ip, tries);
	h->user_name = cpu->ev.user_name;
	lk_recent_ready(cpu, h);
	if (lk_kernel.stacks)
		h->stack = lk_stack_number(cpu, &cpu->ev.ip, 1);
	if (lk_kernel.orders)
		lk_order_user(cpu, at, h);
	return h;
}

/* Does the mutex itself say that the present task has it? */
static bool lk_user_is_mine(unsigned long lock, unsigned int kind)
{
	struct lk_pthread_mutex m;

	return kind == LK_PTHREAD_MUTEX && lk_user_peek(current, lock, &m, sizeof(m)) &&
	       m.owner == task_pid_vnr(current);
}

/* A lock function is entered. 1: an acquire. */
static int lk_user_ask(const struct lk_at *at, unsigned long lock, unsigned int kind,
		       unsigned int mode, enum lk_tries tries)
{
	struct lk_cpu *cpu = lk_this_cpu();
	struct lk_hold *h;

	if (unlikely(!cpu))
		return 0;
	if (!lk_user_first(cpu, at))
		return cpu->ev.op == LK_ACQUIRE && cpu->ev.valid;
	if (!lk_user_op(cpu, at, LK_ACQUIRE, lock, kind, mode, NULL))
		return 0;
	h = lk_held_by_task(cpu, lock, LK_WANT_LOCK);
	if (h && h->got && (h->mode == LK_R || tries || lk_user_is_mine(lock, kind))) {
		cpu->counts.recursive += !tries;
		if (!tries)
			return 1;
	} else if (h) {
		cpu->counts.endless += h->got;
		lk_hold_drop(cpu, h);
	}
	h = lk_user_hold_new(cpu, at, lock, kind, mode, tries);
	h->start_ns = lk_now_ns();
	return 1;
}

static void lk_user_hold_got(struct lk_cpu *cpu, struct lk_hold *h)
{
	struct lk_event *ev = &cpu->ev;
	struct lk_wait *w = lk_user_open_wait();

	if (w && w->lock == h->lock) /* interrupted, and got without another sleep */
		lk_task_wait_lose(cpu, w);
	ev->wait_ns = h->wait_ns;
	ev->spin_ns = h->spin_ns;
	ev->block_ns = h->block_ns;
	h->got = h->told = 1;
	if (lk_kernel.blames)
		lk_blame_fresh(h);
	h->start_ns = lk_now_ns();
}

/* The lock has been taken. 1: an acquired. */
static int lk_user_got(const struct lk_at *at, unsigned long lock, unsigned int kind,
		       unsigned int mode)
{
	struct lk_cpu *cpu = lk_this_cpu();
	struct lk_hold *h;

	if (unlikely(!cpu))
		return 0;
	if (!lk_user_first(cpu, at))
		return cpu->ev.op == LK_ACQUIRED && cpu->ev.valid;
	h = lk_held_by_task(cpu, lock, LK_WANT_LOCK);
	if (h && h->got && mode != LK_R) {
		cpu->counts.endless++;
		lk_hold_drop(cpu, h);
		h = NULL;
	}
	if (!lk_user_op(cpu, at, LK_ACQUIRED, lock, kind, mode, h))
		return 0;
	if (!h)
		h = lk_user_hold_new(cpu, at, lock, kind, mode, false);
	lk_user_hold_got(cpu, h);
	return 1;
}

/*
 * A lock function, or a trylock, returns. EOWNERDEAD has got it too. What happened is
 * the event; 1: it is the one that `op` asks for.
 */
static int lk_user_returned(const struct lk_at *at, unsigned int kind, bool tries, enum lk_op op)
{
	struct lk_cpu *cpu = lk_this_cpu();
	struct lk_hold *h;
	int value;

	if (unlikely(!cpu))
		return 0;
	if (!lk_user_first(cpu, at))
		return cpu->ev.op == op && cpu->ev.valid;
	h = lk_held_by_task(cpu, kind, tries ? LK_WANT_TRIED : LK_WANT_ASKED);
	value = regs_return_value(at->regs);
	if (value == EOWNERDEAD)
		value = 0;
	if (!h || !lk_user_op(cpu, at, tries && value ? LK_TRYFAIL : LK_ACQUIRED, h->lock, kind,
			      h->mode, h)) {
		cpu->ev.op = LK_NONE;
		cpu->ev.valid = 0;
		return 0;
	}
	if (value) {
		cpu->ev.ret = tries ? 0 : -value;
		lk_hold_drop(cpu, h);
		return cpu->ev.op == op;
	}
	lk_user_hold_got(cpu, h);
	return cpu->ev.op == op;
}

/* How the present task has a lock, by the lock itself. */
static unsigned int lk_user_mode(unsigned long lock, unsigned int kind)
{
	struct lk_pthread_rwlock rw;

	if (kind != LK_PTHREAD_RWLOCK)
		return LK_X;
	return lk_user_peek(current, lock, &rw, sizeof(rw)) &&
			       rw.cur_writer == task_pid_vnr(current) ?
		       LK_W :
		       LK_R;
}

/* The lock is let go; `late`: it may have been so for a while. 1: a release. */
static int lk_user_gave(const struct lk_at *at, unsigned long lock, unsigned int kind, bool late)
{
	u64 now = lk_now_ns();
	struct lk_cpu *cpu = lk_this_cpu();
	struct lk_hold *h;

	if (unlikely(!cpu))
		return 0;
	if (!lk_user_first(cpu, at))
		return cpu->ev.op == LK_RELEASE && cpu->ev.valid;
	h = lk_held_by_task(cpu, lock, LK_WANT_LOCK);
	if (h && !h->got) {
		lk_hold_drop(cpu, h);
		h = NULL;
	}
	if (!lk_user_op(cpu, at, LK_RELEASE, lock, kind, h ? h->mode : lk_user_mode(lock, kind),
			NULL))
		return 0;
	if (!h) {
		cpu->counts.held++;
		cpu->ev.got_known = 1;
		if (lk_kernel.blames && !late)
			lk_blame_release(cpu, at, NULL, now);
		return 1;
	}
	lk_ended(cpu, h, now);
	cpu->ev.user_name = h->user_name;
	if (lk_kernel.blames && !late)
		lk_blame_release(cpu, at, h, now);
	lk_hold_drop(cpu, h);
	return cpu->ev.valid;
}

#endif
