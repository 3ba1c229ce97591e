/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who is to blame for waits in user space.
 *
 * By whom and when a lock is let go that others sleep for is told by the
 * system call that wakes them: glibc's mark comes after it, when they may have
 * gone on, and locks of a program's own have no other. The mark and the
 * functions of the C library tell how long the lock was held.
 *
 * Of a lock that has neither, a hold begins where its word names an owner, or
 * where a wait for it ends.
 */
#ifndef LK_USER_BLAME_H
#define LK_USER_BLAME_H

#include "lk_user_event.h"
#include "lk_blame.h"

/* A place in the table while it is being filled: no task, and no lock. */
#define LK_HOLD_TAKEN 1ul

/* A hold that was not seen to begin: of another task's, which may look at its own meanwhile. */
static void lk_blame_user_holds(struct lk_cpu *cpu, struct task_struct *task,
				const struct lk_event *ev, u64 start_ns)
{
	unsigned int set = lk_hold_set((unsigned long)task), i;
	struct lk_hold *h = lk_holds[set];
	unsigned long *key = lk_hold_key[set];
	struct lk_busy *b;

	for (i = 0; i < LK_WAYS; i++, h++, key++)
		if (!READ_ONCE(*key) && cmpxchg(key, 0, LK_HOLD_TAKEN) == 0)
			break;
	if (i == LK_WAYS) {
		cpu->counts.holds_full++;
		return;
	}
	lk_hold_fill(h, ev->lock, ev->kind, ev->mode == LK_R ? LK_W : ev->mode, LK_PLACE_UNKNOWN,
		     false);
	h->task = task;
	h->tid = task->pid;
	h->user_name = ev->user_name;
	h->got = h->told = 1;
	h->start_ns = start_ns;
	lk_blame_fresh(h);
	b = lk_busy_of(h);
	if (READ_ONCE(task->__state) != TASK_RUNNING && !lk_task_waits(task)) {
		b->ready = false;
		b->run_delay = lk_run_delay(task);
		b->off_ns = start_ns;
	}
	smp_store_release(key, (unsigned long)task);
}

static struct task_struct *lk_blame_user_task(s32 tid)
{
	struct task_struct *task = tid ? pid_task(find_pid_ns(tid, &init_pid_ns), PIDTYPE_PID) :
					 NULL;

	return task && READ_ONCE(task->mm) == current->mm ? task : NULL;
}

/* A wait begins; the lock's word may say who has it, of whom nothing was known. */
static void lk_blame_user_owner(struct lk_cpu *cpu, const struct lk_event *ev)
{
	struct task_struct *owner = lk_blame_user_task(ev->owner);
	struct lk_hold *h = lk_held_by_task(cpu, ev->lock, LK_WANT_LOCK);

	if (h && h->kind == LK_FUTEX) /* it has not got what it waits for */
		lk_hold_drop(cpu, h);
	if (owner && owner != current &&
	    !lk_hold_find((unsigned long)owner, ev->lock, LK_WANT_LOCK))
		lk_blame_user_holds(cpu, owner, ev, ev->begin_ns);
}

/* A wait is over; of what is no pthread lock nothing else will say that it is held. */
static void lk_blame_user_got(struct lk_cpu *cpu, const struct lk_event *ev)
{
	if (ev->kind == LK_FUTEX && !ev->ret && !lk_held_by_task(cpu, ev->lock, LK_WANT_LOCK))
		lk_blame_user_holds(cpu, current, ev, ev->begin_ns + ev->wait_ns);
}

/* Who has a lock of the present task's program; seldom. */
static struct lk_hold *lk_blame_user_hold(const struct lk_event *ev, struct task_struct **task)
{
	struct lk_hold *found = NULL, *h = &lk_holds[0][0];
	const unsigned long *key = &lk_hold_key[0][0];
	unsigned int i;

	*task = NULL;
	for (i = 0; i < LK_HOLD_SETS * LK_WAYS; i++, key++, h++) {
		struct task_struct *holder;

		if (*key <= LK_HOLD_TAKEN || h->lock != ev->lock || !lk_is_user(h->kind) ||
		    !h->got || (found && h->start_ns >= found->start_ns))
			continue;
		holder = lk_blame_user_task(h->tid);
		if (!holder || (unsigned long)holder != *key)
			continue;
		found = h;
		*task = holder;
	}
	return found;
}

/* The first open wait for a lock of the present task's program, or NULL. */
static const struct lk_blame *lk_blame_user_wait(unsigned long lock)
{
	unsigned long id = lk_blame_id(LK_FUTEX, lock, current->mm);
	unsigned int home = lk_blame_home(id), turn, i;
	unsigned long far = READ_ONCE(lk_blame_sets[home].far) | 1;

	for (turn = 0; far; turn++, far >>= 1) {
		unsigned int set = (home + turn) % LK_BLAME_SETS;

		for (i = 0; far & 1 && i < LK_BLAME_WAYS; i++)
			if (READ_ONCE(lk_blame_sets[set].id[i]) == id)
				return lk_blame_at(set, i);
	}
	return NULL;
}

/*
 * The present task wakes those that sleep at a word of its program. A pthread rwlock is not
 * let go by this: its sleepers are at other words than its first.
 */
static void lk_user_wakes(const struct lk_at *at, unsigned long lock)
{
	u64 now = lk_now_ns();
	struct lk_cpu *cpu = lk_this_cpu();
	const struct lk_blame *e;
	struct lk_user_wait u;
	struct pt_regs regs;
	struct lk_hold *h;
	unsigned int kind;

	if (unlikely(!cpu || !lk_kernel.blames || !current->mm))
		return;
	cpu->stay_masked = 1;
	if (!lk_user_first(cpu, at))
		return;
	cpu->ev.op = LK_NONE;
	cpu->ev.valid = 0;
	h = lk_held_by_task(cpu, lock, LK_WANT_LOCK);
	if (h && (h->tid != current->pid || !h->got))
		h = NULL;
	e = lk_blame_user_wait(lock);
	kind = e ? READ_ONCE(e->w.kind) : LK_FUTEX;
	/* Where the C library has no marks, its function has told. */
	if (!e || lk_user_ignores(1u << kind) || kind == LK_PTHREAD_RWLOCK ||
	    (kind == LK_PTHREAD_MUTEX && !h && !lk_kernel.mutex_late))
		goto out;
	lk_op_event(cpu, LK_RELEASE, lock, kind, LK_X);
	if (lk_user_regs(current, &regs)) {
		lk_user_caller_of(&regs, lock, &u);
		lk_user_event(cpu, u.place, u.name, u.caller);
	} else {
		lk_user_event(cpu, LK_PLACE_UNKNOWN, LK_PLACE_UNKNOWN, 0);
	}
	lk_blame_release(cpu, at, h, now);
	cpu->ev.op = LK_NONE;
	cpu->ev.valid = 0;
out:
	if (h && h->kind == LK_FUTEX)
		lk_hold_drop(cpu, h);
}

#endif
