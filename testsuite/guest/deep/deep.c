// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Waits for one spinlock on each CPU in turn, far from the end of a task's
 * stack and near the end of the stack that interrupts have: what is
 * remembered of the one reaches beyond the end of the other. While the module is
 * loaded it does that once; /sys/module/deep/parameters/ has how often it waited.
 */
#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/spinlock.h>
#include <linux/version.h>

#define ROUNDS 10

static unsigned int in_tasks, in_interrupts;
module_param(in_tasks, uint, 0444);
module_param(in_interrupts, uint, 0444);

static DEFINE_SPINLOCK(deep_lock);
static DECLARE_COMPLETION(deep_done);
static DECLARE_COMPLETION(deep_cpu_done);
static bool held, asked;

/* Has the lock until somebody waits for it. */
static int deep_holder(void *unused)
{
	unsigned long flags;

	spin_lock_irqsave(&deep_lock, flags);
	smp_store_release(&held, true);
	while (!smp_load_acquire(&asked))
		cpu_relax();
	udelay(100);
	spin_unlock_irqrestore(&deep_lock, flags);
	complete(&deep_done);
	return 0;
}

static __always_inline void deep_wait(void)
{
	unsigned long flags;

	smp_store_release(&asked, true);
	spin_lock_irqsave(&deep_lock, flags);
	spin_unlock_irqrestore(&deep_lock, flags);
}

/* By its name it is a function of locks itself, and its caller is who waits. */
static noinline void rwsem_deep(void)
{
	char room[1024];

	OPTIMIZER_HIDE_VAR(room[0]);
	memset(room, 1, sizeof(room));
	barrier_data(room);
	deep_wait();
	barrier_data(room);
}

static int deep_task(void *unused)
{
	rwsem_deep();
	in_tasks++;
	return 0;
}

static enum hrtimer_restart deep_due(struct hrtimer *timer)
{
	deep_wait();
	in_interrupts++;
	return HRTIMER_NORESTART;
}

static struct hrtimer deep_timer;

static void deep_setup(void)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
	hrtimer_setup(&deep_timer, deep_due, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_PINNED_HARD);
#else
	hrtimer_init(&deep_timer, CLOCK_MONOTONIC,
		     HRTIMER_MODE_REL_PINNED_HARD);
	deep_timer.function = deep_due;
#endif
}

static int deep_interrupt(void *unused)
{
	hrtimer_start(&deep_timer, ns_to_ktime(100000),
		      HRTIMER_MODE_REL_PINNED_HARD);
	return 0;
}

static void deep_once(unsigned int cpu, struct task_struct *holder,
		      int (*way)(void *))
{
	held = asked = false;
	reinit_completion(&deep_done);
	kthread_bind(holder, cpumask_any_but(cpu_online_mask, cpu));
	wake_up_process(holder);
	/* Who sleeps may depend on the CPU that the holder does not let go. */
	while (!smp_load_acquire(&held))
		cpu_relax();
	way(NULL);
	wait_for_completion(&deep_done);
	hrtimer_cancel(&deep_timer);
}

/* On its CPU, in tasks and in interrupts by turns. */
static int deep_cpu(void *number)
{
	unsigned int i;

	for (i = 0; i < 2 * ROUNDS; i++) {
		struct task_struct *holder =
			kthread_create(deep_holder, NULL, "deep_holder");

		if (IS_ERR(holder))
			break;
		deep_once((unsigned long)number, holder,
			  i % 2 ? deep_interrupt : deep_task);
	}
	complete(&deep_cpu_done);
	return 0;
}

static int __init deep_init(void)
{
	unsigned long cpu;

	if (num_online_cpus() < 2)
		return -ENODEV;
	deep_setup();
	for_each_online_cpu (cpu) {
		struct task_struct *task =
			kthread_create(deep_cpu, (void *)cpu, "deep/%lu", cpu);

		if (IS_ERR(task))
			return PTR_ERR(task);
		kthread_bind(task, cpu);
		wake_up_process(task);
		wait_for_completion(&deep_cpu_done);
	}
	return 0;
}

static void __exit deep_exit(void)
{
}

module_init(deep_init);
module_exit(deep_exit);
MODULE_DESCRIPTION("Waits for a spinlock on stacks of different depth");
MODULE_LICENSE("GPL");
