// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * events: does what LKST has events for, once, and tells what a tracer must
 * have seen.
 *
 *   echo queue > /proc/events	wait queues
 *   echo thread > /proc/events	a kernel thread
 *   echo timer > /proc/events	timers of both sorts
 *   echo tasklet > /proc/events	tasklets of both priorities
 *   echo spin > /proc/events	spinlocks
 *   echo lock > /proc/events	other locks
 *   echo memory > /proc/events	memory
 *   echo oops > /proc/events	a kernel thread that follows a bad pointer
 *   cat /proc/events		a line for each event expected of the last command:
 *				how many, the event, its variables
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/proc_fs.h>
#include <linux/rwsem.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/timer.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include <linux/wait.h>

static char told[4096];
static size_t told_length;
static DEFINE_MUTEX(commands);

static __printf(1, 2) void expect(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	told_length += vscnprintf(told + told_length,
				  sizeof(told) - told_length, format,
				  arguments);
	va_end(arguments);
}

/* --- Wait queues ----------------------------------------------------------------------- */

static wait_queue_head_t events_queue;

static void do_queue(void)
{
	DECLARE_WAITQUEUE(plain, current);
	DECLARE_WAITQUEUE(exclusive, current);
	DEFINE_WAIT(waits);
	DEFINE_WAIT(woken);

	init_waitqueue_head(&events_queue);
	expect("1 PROCESS_INIT_WQH queue=0x%lx queue_name=&events_queue\n",
	       (long)&events_queue);
	add_wait_queue(&events_queue, &plain);
	remove_wait_queue(&events_queue, &plain);
	expect("1 PROCESS_ADD_WQ queue=0x%lx entry=0x%lx\n",
	       (long)&events_queue, (long)&plain);
	expect("1 PROCESS_REM_WQ queue=0x%lx entry=0x%lx\n",
	       (long)&events_queue, (long)&plain);
	add_wait_queue_exclusive(&events_queue, &exclusive);
	remove_wait_queue(&events_queue, &exclusive);
	expect("1 PROCESS_ADD_WQ queue=0x%lx entry=0x%lx\n",
	       (long)&events_queue, (long)&exclusive);
	expect("1 PROCESS_REM_WQ queue=0x%lx entry=0x%lx\n",
	       (long)&events_queue, (long)&exclusive);
	/* One that is in the queue already is not put in again. */
	prepare_to_wait(&events_queue, &waits, TASK_UNINTERRUPTIBLE);
	prepare_to_wait(&events_queue, &waits, TASK_UNINTERRUPTIBLE);
	finish_wait(&events_queue, &waits);
	expect("1 PROCESS_ADD_WQ queue=0x%lx entry=0x%lx\n",
	       (long)&events_queue, (long)&waits);
	expect("1 PROCESS_REM_WQ queue=0x%lx entry=0x%lx\n",
	       (long)&events_queue, (long)&waits);
	/* The waker takes it out; finish_wait() finds nothing to do. */
	prepare_to_wait(&events_queue, &woken, TASK_UNINTERRUPTIBLE);
	wake_up(&events_queue);
	finish_wait(&events_queue, &woken);
	expect("1 PROCESS_ADD_WQ queue=0x%lx entry=0x%lx\n",
	       (long)&events_queue, (long)&woken);
	/* Other tasks' entries may lie at this address of a stack later. */
	expect("1 PROCESS_REM_WQ queue=0x0 entry=0x%lx TID=%d\n", (long)&woken,
	       current->pid);
}

/* --- Threads --------------------------------------------------------------------------- */

static int events_thread(void *unused)
{
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

static void do_thread(void)
{
	struct task_struct *task =
		kthread_create(events_thread, NULL, "events_thread");

	if (IS_ERR(task))
		return;
	expect("1 PROCESS_LTHREADGEN child_tid=%d thread_fn=0x%lx\n", task->pid,
	       (long)events_thread);
	expect("+ PROCESS_WAKEUP wakee_tid=%d wakee_comm=events_thread\n",
	       task->pid);
	expect("+ PROCESS_CONTEXTSWITCH prev_tid=%d prev_comm=events_thread\n",
	       task->pid);
	expect("+ PROCESS_CONTEXTSWITCH next_tid=%d next_comm=events_thread\n",
	       task->pid);
	expect("1 X_PROCESS_EXIT code=0 TID=%d\n", task->pid);
	wake_up_process(task);
	msleep(20);
	kthread_stop(task);
}

static int events_oopser(void *unused)
{
	expect("1 X_OOPS TID=%d\n", current->pid);
	return READ_ONCE(*(int *)8);
}

static void do_oops(void)
{
	kthread_run(events_oopser, NULL, "events_oopser");
	msleep(500);
}

/* --- Timers ---------------------------------------------------------------------------- */

static struct timer_list events_timer;
static struct hrtimer events_hrtimer;

static void events_due(struct timer_list *timer)
{
}

static enum hrtimer_restart events_hrdue(struct hrtimer *timer)
{
	return HRTIMER_NORESTART;
}

static void do_timer(void)
{
	unsigned long far = jiffies + 1000 * HZ;
	u64 at;

	timer_setup(&events_timer, events_due, 0);
	events_timer.expires = far;
	add_timer(&events_timer);
	timer_delete(&events_timer);
	expect("1 TIMER_ADD timer=0x%lx callback=0x%lx expires=%lu\n",
	       (long)&events_timer, (long)events_due, far);
	mod_timer(&events_timer, jiffies + 2);
	msleep(50);
	expect("2 TIMER_ADD timer=0x%lx callback=0x%lx\n", (long)&events_timer,
	       (long)events_due);
	expect("2 X_TIMER_DEL timer=0x%lx\n", (long)&events_timer);
	expect("1 X_TIMER_EXPIRE timer=0x%lx callback=0x%lx\n",
	       (long)&events_timer, (long)events_due);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
	hrtimer_setup(&events_hrtimer, events_hrdue, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS);
#else
	hrtimer_init(&events_hrtimer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	events_hrtimer.function = events_hrdue;
#endif
	at = ktime_get_ns() + NSEC_PER_SEC * 1000;
	hrtimer_start(&events_hrtimer, ns_to_ktime(at), HRTIMER_MODE_ABS);
	hrtimer_cancel(&events_hrtimer);
	expect("1 X_TIMER_HRADD timer=0x%lx callback=0x%lx expires_ns=%llu\n",
	       (long)&events_hrtimer, (long)events_hrdue, at);
	hrtimer_start(&events_hrtimer, ktime_add_ns(ktime_get(), NSEC_PER_MSEC),
		      HRTIMER_MODE_ABS);
	msleep(50);
	/* 7.2 does not tell of one that is taken out because it is due. */
	expect("+ X_TIMER_HRDEL timer=0x%lx\n", (long)&events_hrtimer);
	expect("1 X_TIMER_HREXPIRE timer=0x%lx callback=0x%lx\n",
	       (long)&events_hrtimer, (long)events_hrdue);
}

/* --- Tasklets -------------------------------------------------------------------------- */

static struct tasklet_struct events_tasklet, events_tasklet_hi;

static void events_run(struct tasklet_struct *tasklet)
{
}

static void do_tasklet(void)
{
	tasklet_setup(&events_tasklet, events_run);
	tasklet_setup(&events_tasklet_hi, events_run);
	tasklet_schedule(&events_tasklet);
	tasklet_hi_schedule(&events_tasklet_hi);
	msleep(50);
	tasklet_kill(&events_tasklet);
	tasklet_kill(&events_tasklet_hi);
	expect("1 INT_TASKLET_ENTRY tasklet=0x%lx callback=0x%lx\n",
	       (long)&events_tasklet, (long)events_run);
	expect("1 INT_TASKLETHI_ENTRY tasklet=0x%lx callback=0x%lx\n",
	       (long)&events_tasklet_hi, (long)events_run);
	expect("+ X_INT_SOFTIRQ_ENTRY vec=6\n");
	expect("+ X_INT_SOFTIRQ_EXIT vec=6\n");
	expect("+ X_INT_SOFTIRQ_ENTRY vec=0\n");
	expect("+ X_INT_SOFTIRQ_EXIT vec=0\n");
}

/* --- Locks ----------------------------------------------------------------------------- */

static DEFINE_SPINLOCK(events_spin);
static DEFINE_MUTEX(events_mutex);
static DECLARE_RWSEM(events_rwsem);
static DEFINE_RWLOCK(events_rwlock);
static DECLARE_COMPLETION(events_taken);

static int events_holder(void *unused)
{
	mutex_lock(&events_mutex);
	complete(&events_taken);
	msleep(50);
	mutex_unlock(&events_mutex);
	return 0;
}

static void do_spin(void)
{
	unsigned long flags;

	spin_lock(&events_spin);
	if (spin_trylock(&events_spin))
		pr_err("a lock that is held can be had\n");
	spin_unlock(&events_spin);
	spin_lock_irqsave(&events_spin, flags);
	spin_unlock_irqrestore(&events_spin, flags);
	if (spin_trylock(&events_spin))
		spin_unlock(&events_spin);
	expect("2 LK_SPINLOCK lock=0x%lx free=1\n", (long)&events_spin);
	expect("1 LK_SPINTRYLOCK lock=0x%lx free=0\n", (long)&events_spin);
	expect("1 LK_SPINTRYLOCK lock=0x%lx free=1\n", (long)&events_spin);
	expect("3 LK_SPINUNLOCK lock=0x%lx\n", (long)&events_spin);
}

static void do_lock(void)
{
	struct task_struct *task;

	down_read(&events_rwsem);
	up_read(&events_rwsem);
	write_lock(&events_rwlock);
	write_unlock(&events_rwlock);
	expect("1 X_LK_LOCK kind=rwsem mode=r lock=0x%lx\n",
	       (long)&events_rwsem);
	expect("1 X_LK_UNLOCK kind=rwsem mode=r lock=0x%lx\n",
	       (long)&events_rwsem);
	expect("1 X_LK_LOCK kind=rwlock mode=w lock=0x%lx\n",
	       (long)&events_rwlock);
	expect("1 X_LK_UNLOCK kind=rwlock mode=w lock=0x%lx\n",
	       (long)&events_rwlock);
	reinit_completion(&events_taken);
	task = kthread_run(events_holder, NULL, "events_holder");
	if (IS_ERR(task))
		return;
	expect("1 X_LK_WAIT kind=mutex mode=x lock=0x%lx owner=%d\n",
	       (long)&events_mutex, task->pid);
	wait_for_completion(&events_taken);
	mutex_lock(&events_mutex);
	mutex_unlock(&events_mutex);
	expect("2 X_LK_LOCK kind=mutex mode=x lock=0x%lx\n",
	       (long)&events_mutex);
	expect("2 X_LK_UNLOCK kind=mutex mode=x lock=0x%lx\n",
	       (long)&events_mutex);
	expect("1 X_LK_WAITED kind=mutex mode=x lock=0x%lx ret=0\n",
	       (long)&events_mutex);
}

/* --- Memory ---------------------------------------------------------------------------- */

static void do_memory(void)
{
	void *small = kmalloc(1234, GFP_KERNEL);
	struct page *pages = alloc_pages(GFP_KERNEL, 3);

	if (small)
		expect("+ X_MEM_ALLOC ptr=0x%lx size=1234\n+ X_MEM_FREE ptr=0x%lx\n",
		       (long)small, (long)small);
	if (pages)
		expect("+ X_MEM_PAGEALLOC page=0x%lx order=3\n+ X_MEM_PAGEFREE page=0x%lx order=3\n",
		       (long)pages, (long)pages);
	kfree(small);
	if (pages)
		__free_pages(pages, 3);
}

/* --- /proc/events ---------------------------------------------------------------------- */

static const struct {
	const char *name;
	void (*does)(void);
} command[] = {
	{ "queue", do_queue },	 { "thread", do_thread },
	{ "timer", do_timer },	 { "tasklet", do_tasklet },
	{ "spin", do_spin },	 { "lock", do_lock },
	{ "memory", do_memory }, { "oops", do_oops },
};

static ssize_t events_write(struct file *file, const char __user *from,
			    size_t size, loff_t *at)
{
	char word[16];
	size_t i;

	if (size >= sizeof(word) || copy_from_user(word, from, size))
		return -EINVAL;
	word[size] = '\0';
	strim(word);
	for (i = 0; i < ARRAY_SIZE(command); i++) {
		if (strcmp(word, command[i].name))
			continue;
		mutex_lock(&commands);
		told_length = 0;
		told[0] = '\0';
		command[i].does();
		mutex_unlock(&commands);
		return size;
	}
	return -EINVAL;
}

static ssize_t events_read(struct file *file, char __user *to, size_t size,
			   loff_t *at)
{
	return simple_read_from_buffer(to, size, at, told, told_length);
}

static const struct proc_ops events_ops = {
	.proc_read = events_read,
	.proc_write = events_write,
};

static int __init events_init(void)
{
	return proc_create("events", 0600, NULL, &events_ops) ? 0 : -ENOMEM;
}

static void __exit events_exit(void)
{
	remove_proc_entry("events", NULL);
}

module_init(events_init);
module_exit(events_exit);
MODULE_DESCRIPTION("What LKST has events for");
MODULE_LICENSE("GPL");
