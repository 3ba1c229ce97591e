// SPDX-License-Identifier: GPL-2.0-or-later
/* hk.ko: operations on struct hk_other, and a second lock named hk_twin. */
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "hk.h"

static DEFINE_SPINLOCK(hk_twin);
static struct hk_data hk_data_twin;
static DEFINE_WW_CLASS(hk_ww_class);

struct hk_other *hk_other_alloc(void)
{
	struct hk_other *o = kzalloc(sizeof(*o), GFP_KERNEL);

	if (!o)
		return NULL;
	if (percpu_init_rwsem(&o->pcpu)) {
		kfree(o);
		return NULL;
	}
	raw_spin_lock_init(&o->raw);
	spin_lock_init(&o->lock_a);
	mutex_init(&o->m);
	ww_mutex_init(&o->ww, &hk_ww_class);
	sema_init(&o->sema, 1);
	rt_mutex_init(&o->rt);
	return o;
}

void hk_other_free(struct hk_other *o)
{
	if (!o)
		return;
	percpu_free_rwsem(&o->pcpu);
	kfree(o);
}

/* raw */

static noinline void hk_plain_raw(struct hk_work *w)
{
	struct hk_other *o = w->shared_other;
	unsigned long flags;

	raw_spin_lock(&o->raw);
	hk_got(other_raw);
	hk_enter(&o->data_raw);
	hk_leave(&o->data_raw);
	hk_left(other_raw);
	raw_spin_unlock(&o->raw);
	raw_spin_lock_irqsave(&o->raw, flags);
	hk_got(other_raw);
	hk_enter(&o->data_raw);
	hk_leave(&o->data_raw);
	hk_left(other_raw);
	raw_spin_unlock_irqrestore(&o->raw, flags);
	cpu_relax();
}

static noinline void hk_tail_raw(struct hk_work *w)
{
	struct hk_other *o = w->shared_other;

	raw_spin_lock_irq(&o->raw);
	hk_got(other_raw);
	hk_enter(&o->data_raw);
	hk_leave(&o->data_raw);
	hk_left(other_raw);
	raw_spin_unlock_irq(&o->raw);
}

static noinline void hk_try_raw(struct hk_work *w)
{
	struct hk_other *o = w->own_other;

	if (raw_spin_trylock(&o->raw)) {
		hk_got(other_raw);
		hk_enter(&o->data_raw);
		if (raw_spin_trylock(&o->raw))
			atomic_inc(&hk_broken);
		else
			hk_failed(other_raw);
		hk_leave(&o->data_raw);
		hk_left(other_raw);
		raw_spin_unlock(&o->raw);
	} else {
		hk_failed(other_raw);
	}
}

void hk_pairs_other_raw(struct hk_work *w, unsigned int pairs)
{
	struct hk_other *o = w->own_other;

	while (pairs--) {
		raw_spin_lock(&o->raw);
		raw_spin_unlock(&o->raw);
	}
}

/* lock_a, and one of each structure in one function. */

static noinline void hk_plain_other_a(struct hk_work *w)
{
	struct hk_other *o = w->shared_other;

	spin_lock(&o->lock_a);
	hk_got(other_lock_a);
	hk_enter(&o->data_a);
	hk_leave(&o->data_a);
	hk_left(other_lock_a);
	spin_unlock(&o->lock_a);
	cpu_relax();
}

static noinline void hk_both_a(struct hk_work *w)
{
	struct hk_other *other = w->shared_other;
	struct hk_obj *o = w->shared;

	spin_lock(&other->lock_a);
	spin_lock_nested(&o->lock_a, SINGLE_DEPTH_NESTING);
	hk_got(other_lock_a);
	hk_got(obj_lock_a);
	hk_enter(&other->data_a);
	hk_enter(&o->data_a);
	hk_leave(&o->data_a);
	hk_leave(&other->data_a);
	hk_left(obj_lock_a);
	hk_left(other_lock_a);
	spin_unlock(&o->lock_a);
	spin_unlock(&other->lock_a);
}

void hk_pairs_other_lock_a(struct hk_work *w, unsigned int pairs)
{
	struct hk_other *o = w->own_other;

	while (pairs--) {
		spin_lock(&o->lock_a);
		spin_unlock(&o->lock_a);
	}
}

/* m, ww */

static noinline void hk_plain_m(struct hk_work *w)
{
	struct hk_other *o = w->shared_other;

	mutex_lock(&o->m);
	hk_got(other_m);
	hk_enter(&o->data_m);
	hk_leave(&o->data_m);
	hk_left(other_m);
	mutex_unlock(&o->m);
}

void hk_pairs_other_m(struct hk_work *w, unsigned int pairs)
{
	struct hk_other *o = w->own_other;

	while (pairs--) {
		mutex_lock(&o->m);
		mutex_unlock(&o->m);
	}
}

static noinline void hk_plain_ww(struct hk_work *w)
{
	struct hk_other *o = w->shared_other;

	if (ww_mutex_lock(&o->ww, NULL)) {
		atomic_inc(&hk_broken);
		return;
	}
	hk_got(other_ww);
	hk_enter(&o->data_ww);
	if (ww_mutex_trylock(&o->ww, NULL))
		atomic_inc(&hk_broken);
	else
		hk_failed(other_ww);
	hk_leave(&o->data_ww);
	hk_left(other_ww);
	ww_mutex_unlock(&o->ww);
	cpu_relax();
}

void hk_pairs_other_ww(struct hk_work *w, unsigned int pairs)
{
	struct hk_other *o = w->own_other;

	while (pairs--) {
		if (ww_mutex_lock(&o->ww, NULL))
			return;
		ww_mutex_unlock(&o->ww);
	}
}

/* sema */

static noinline void hk_plain_sema(struct hk_work *w)
{
	struct hk_other *o = w->shared_other;

	down(&o->sema);
	hk_got(other_sema);
	hk_enter(&o->data_sema);
	hk_leave(&o->data_sema);
	hk_left(other_sema);
	up(&o->sema);
}

static noinline void hk_forms_sema(struct hk_work *w)
{
	struct hk_other *o = w->shared_other;

	if (!down_interruptible(&o->sema)) {
		hk_got(other_sema);
		hk_enter(&o->data_sema);
		hk_leave(&o->data_sema);
		hk_left(other_sema);
		up(&o->sema);
	} else {
		hk_count(HK_other_sema, HK_INTERRUPTED);
	}
	if (!down_killable(&o->sema)) {
		hk_got(other_sema);
		hk_enter(&o->data_sema);
		hk_leave(&o->data_sema);
		hk_left(other_sema);
		up(&o->sema);
	} else {
		hk_count(HK_other_sema, HK_INTERRUPTED);
	}
	if (!down_timeout(&w->own_other->sema, HZ)) {
		hk_got(other_sema);
		hk_left(other_sema);
		up(&w->own_other->sema);
	} else {
		atomic_inc(&hk_broken);
	}
}

static noinline void hk_try_sema(struct hk_work *w)
{
	struct hk_other *o = w->own_other;

	/* The trylock that answers 0 when it has the lock. */
	if (!down_trylock(&o->sema)) {
		hk_got(other_sema);
		hk_enter(&o->data_sema);
		if (!down_trylock(&o->sema))
			atomic_inc(&hk_broken);
		else
			hk_failed(other_sema);
		hk_leave(&o->data_sema);
		hk_left(other_sema);
		up(&o->sema);
	} else {
		hk_failed(other_sema);
	}
}

/* A signal is there already: the wait for what we hold ends at once. */
static noinline void hk_signal_sema(struct hk_work *w)
{
	struct hk_other *o = w->own_other;

	down(&o->sema);
	hk_got(other_sema);
	send_sig(SIGINT, current, 1);
	if (!down_interruptible(&o->sema))
		atomic_inc(&hk_broken);
	else
		hk_count(HK_other_sema, HK_INTERRUPTED);
	flush_signals(current);
	hk_left(other_sema);
	up(&o->sema);
}

void hk_pairs_other_sema(struct hk_work *w, unsigned int pairs)
{
	struct hk_other *o = w->own_other;

	while (pairs--) {
		down(&o->sema);
		up(&o->sema);
	}
}

/* rt */

static noinline void hk_plain_rt(struct hk_work *w)
{
	struct hk_other *o = w->shared_other;

	rt_mutex_lock(&o->rt);
	hk_got(other_rt);
	hk_enter(&o->data_rt);
	hk_leave(&o->data_rt);
	hk_left(other_rt);
	rt_mutex_unlock(&o->rt);
	if (!rt_mutex_lock_interruptible(&o->rt)) {
		hk_got(other_rt);
		hk_enter(&o->data_rt);
		hk_leave(&o->data_rt);
		hk_left(other_rt);
		rt_mutex_unlock(&o->rt);
	} else {
		hk_count(HK_other_rt, HK_INTERRUPTED);
	}
}

static noinline void hk_try_rt(struct hk_work *w)
{
	struct hk_other *o = w->own_other;

	if (rt_mutex_trylock(&o->rt)) {
		hk_got(other_rt);
		hk_enter(&o->data_rt);
		if (rt_mutex_trylock(&o->rt))
			atomic_inc(&hk_broken);
		else
			hk_failed(other_rt);
		hk_leave(&o->data_rt);
		hk_left(other_rt);
		rt_mutex_unlock(&o->rt);
	} else {
		hk_failed(other_rt);
	}
}

void hk_pairs_other_rt(struct hk_work *w, unsigned int pairs)
{
	struct hk_other *o = w->own_other;

	while (pairs--) {
		rt_mutex_lock(&o->rt);
		rt_mutex_unlock(&o->rt);
	}
}

/* pcpu */

static noinline void hk_read_pcpu(struct hk_work *w)
{
	struct hk_other *o = w->shared_other;

	percpu_down_read(&o->pcpu);
	hk_got_shared(other_pcpu);
	hk_look(&o->data_pcpu);
	hk_left_shared(other_pcpu);
	percpu_up_read(&o->pcpu);
}

/* A writer waits for an RCU grace period: not in each round. */
static noinline void hk_write_pcpu(struct hk_work *w)
{
	struct hk_other *o = w->shared_other;

	if (w->round % 16)
		return;
	percpu_down_write(&o->pcpu);
	hk_got(other_pcpu);
	hk_enter(&o->data_pcpu);
	if (percpu_down_read_trylock(&o->pcpu))
		atomic_inc(&hk_broken);
	else
		hk_failed_shared(other_pcpu);
	hk_leave(&o->data_pcpu);
	hk_left(other_pcpu);
	percpu_up_write(&o->pcpu);
}

static noinline void hk_try_pcpu(struct hk_work *w)
{
	struct hk_other *o = w->own_other;

	if (percpu_down_read_trylock(&o->pcpu)) {
		hk_got_shared(other_pcpu);
		hk_left_shared(other_pcpu);
		percpu_up_read(&o->pcpu);
	} else {
		hk_failed_shared(other_pcpu);
	}
}

void hk_pairs_other_pcpu(struct hk_work *w, unsigned int pairs)
{
	struct hk_other *o = w->own_other;

	while (pairs--) {
		percpu_down_read(&o->pcpu);
		percpu_up_read(&o->pcpu);
	}
}

/* The other hk_twin. */

static noinline void hk_plain_twin(struct hk_work *w)
{
	spin_lock(&hk_twin);
	hk_got(twin_more);
	hk_enter(&hk_data_twin);
	hk_leave(&hk_data_twin);
	hk_left(twin_more);
	spin_unlock(&hk_twin);
}

static noinline void hk_irqsave_twin(struct hk_work *w)
{
	unsigned long flags;

	spin_lock_irqsave(&hk_twin, flags);
	hk_got(twin_more);
	hk_enter(&hk_data_twin);
	hk_leave(&hk_data_twin);
	hk_left(twin_more);
	spin_unlock_irqrestore(&hk_twin, flags);
	cpu_relax();
}

void hk_pairs_twin_more(struct hk_work *w, unsigned int pairs)
{
	while (pairs--) {
		spin_lock(&hk_twin);
		spin_unlock(&hk_twin);
	}
}

const struct hk_step hk_more_steps[] = { { hk_plain_raw, HK_other_raw },
					 { hk_tail_raw, HK_other_raw },
					 { hk_try_raw, HK_other_raw },
					 { hk_plain_other_a, HK_other_lock_a },
					 { hk_both_a, HK_SEVERAL },
					 { hk_plain_m, HK_other_m },
					 { hk_plain_ww, HK_other_ww },
					 { hk_plain_sema, HK_other_sema },
					 { hk_forms_sema, HK_other_sema },
					 { hk_try_sema, HK_other_sema },
					 { hk_signal_sema, HK_other_sema },
					 { hk_plain_rt, HK_other_rt },
					 { hk_try_rt, HK_other_rt },
					 { hk_read_pcpu, HK_other_pcpu },
					 { hk_write_pcpu, HK_other_pcpu },
					 { hk_try_pcpu, HK_other_pcpu },
					 { hk_plain_twin, HK_twin_more },
					 { hk_irqsave_twin, HK_twin_more },
					 {} };
