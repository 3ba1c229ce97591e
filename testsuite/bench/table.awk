# SPDX-License-Identifier: GPL-2.0-or-later
# From the guest's lines (see guest) to the TSV, and into the file `verdicts` lines
# "kept|broken|note|fail TEXT". Variables: bound_lock, bound_stack, bound_idle,
# bound_hold, bound_klockstat.
BEGIN { FS = OFS = "\t" }

$1 == "run" {
	at = $2 FS $3 FS $4
	elapsed[at, ++n[at]] = $5
	acquisitions[at] = $6
	if ($2 == "truth") {
		contended += $7
		truths++
	}
}
$1 == "count" { counted[$2 FS $3 FS $4] = $5 }
$1 == "lost" && $2 ~ /^lock(contend|chain|hold)/ { lost[$2 ~ /^lockhold/] += $5 }
$1 == "fail" {
	failed++
	verdict("fail", $2 ($3 == "-" ? "" : " by " $3) ($4 == "-" ? "" : ", threads=" $4) ": " $5)
}

function verdict(word, text) {
	print word, text > "verdicts"
}

function median(at,	i, j, s) {
	for (i = 1; i <= n[at]; i++) {
		for (j = i - 1; j && s[j] > elapsed[at, i]; j--)
			s[j + 1] = s[j]
		s[j + 1] = elapsed[at, i]
	}
	i = int((n[at] + 1) / 2)
	return n[at] % 2 ? s[i] : (s[i] + s[i + 1]) / 2
}

# What a tool adds, in parts of what another one does.
function ratio_to(tool, records, threads, over,	at) {
	at = tool FS records FS threads
	return n[at] ? sprintf("%.3f", over / (median(at) - base[threads])) : "-"
}

function row(tool, records, threads,	at, over, all, count, ratio, truth) {
	at = tool FS records FS threads
	if (!n[at] || !base[threads] || !contended)
		return
	over = median(at) - base[threads]
	all = threads == 1 || records == "hold" || records == "order"
	truth = all ? acquisitions[at] : contended
	ratio = "-"
	if (records == "chain" && threads > 1)
		ratio = ratio_to("lockcontend", "stack", threads, over)
	else if (threads > 1 || records == "hold")
		ratio = ratio_to("bpftrace", records, threads, over)
	count = tool != "nothing" ? counted[at] : threads > 1 ? contended : "-"
	print tool, records, threads, sprintf("%.1f", over / truth), ratio,
		sprintf("%.0f", over + base[threads]), sprintf("%.0f", base[threads]),
		count == "-" ? count : sprintf("%.0f", count), acquisitions[at]
	if (tool == "lockcontend")
		judge(records, threads, over, ratio)
	else if (tool == "lockblame" || tool == "lockstat" || tool == "lockorder")
		verdict("note", sprintf("%s, threads=%d: %.0f ns", tool, threads, over / truth))
	else if (tool == "lockchain")
		judge_chain(threads, over, ratio)
	else if (tool == "guarded-read" && n["bare-probe" FS records FS threads])
		verdict("note", sprintf("a guarded read: %.0f ns, beside the probe's %.0f ns",
			(median(at) - median("bare-probe" FS records FS threads)) / truth,
			(median("bare-probe" FS records FS threads) - base[threads]) / truth))
	else if (tool ~ /^lockhold/)
		judge_hold(tool, threads, ratio, ratio_to("klockstat", records, threads, over))
	# Of orders every lock's are counted; a wait is charged to each who held meanwhile.
	if (tool != "nothing" && records !~ /^(order|blame)$/ && (threads > 1 || records == "hold") && (count < 0.99 * truth || count > 1.01 * truth))
		verdict("note", sprintf("%s by %s counted %d %s a run, the workload %d", tool, records, count,
			all ? "acquisitions" : "contended acquisitions", truth))
}

# Of all kinds it is told only: its peers see mutexes and nothing else.
function judge_hold(tool, threads, ratio, klockstat,	what) {
	what = sprintf("%s, threads=%d", tool == "lockhold" ? "holds of all kinds" : "holds of mutexes", threads)
	if (tool == "lockhold")
		verdict("note", sprintf("%s: %s of what bpftrace adds, %s of klockstat's", what, ratio, klockstat))
	else {
		if (ratio != "-")
			verdict(ratio + 0 <= bound_hold ? "kept" : "broken",
				sprintf("%s: %s of what bpftrace adds (at most %.2f)", what, ratio, bound_hold))
		if (klockstat != "-")
			verdict(klockstat + 0 <= bound_klockstat ? "kept" : "broken",
				sprintf("%s: %s of what klockstat adds (at most %.2f)", what, klockstat, bound_klockstat))
	}
}

# Nobody else tells chains: what they cost beside the same waits by stack.
function judge_chain(threads, over, ratio) {
	if (threads == 1)
		verdict(over <= bound_idle * base[1] ? "kept" : "broken",
			sprintf("chains, where nothing waits: %+.2f %% of the time (at most %.0f %%)",
				100 * over / base[1], 100 * bound_idle))
	else
		verdict("note", sprintf("chains: %s of what lockcontend by stack adds", ratio))
}

function judge(records, threads, over, ratio,	bound) {
	bound = records == "lock" ? bound_lock : bound_stack
	if (threads == 1)
		verdict(over <= bound_idle * base[1] ? "kept" : "broken",
			sprintf("by %s, where nothing waits: %+.2f %% of the time (at most %.0f %%)", records,
				100 * over / base[1], 100 * bound_idle))
	else if (ratio != "-")
		verdict(ratio + 0 <= bound ? "kept" : "broken",
			sprintf("by %s: %s of what bpftrace adds (at most %.2f)", records, ratio, bound))
}

END {
	if (truths)
		contended /= truths
	for (threads = 2; threads; threads--)
		base[threads] = median("nothing" FS "-" FS threads) + 0
	print "#locktap 1 bench"
	print "#tool", "records", "threads", "added_ns", "ratio", "elapsed_ns", "base_ns", "contended", "acquisitions"
	for (threads = 2; threads; threads--) {
		row("nothing", "-", threads)
		row("lockcontend", "lock", threads)
		row("bpftrace", "lock", threads)
		row("lockcontend", "stack", threads)
		row("bpftrace", "stack", threads)
		row("lockchain", "chain", threads)
		row("lockblame", "blame", threads)
		row("lockstat", "stat", threads)
		row("lockhold-mutex", "hold", threads)
		row("lockhold", "hold", threads)
		row("bpftrace", "hold", threads)
		row("klockstat", "hold", threads)
		row("lockorder", "order", threads)
		row("bare-probe", "guard", threads)
		row("guarded-read", "guard", threads)
	}
	print "#loss failed=" failed + 0 " lockcontend_lost=" lost[0] + 0 " lockhold_lost=" lost[1] + 0
	if (!base[1] || !base[2] || !contended)
		verdict("fail", "the workload alone was not measured")
	verdict("end", "")
}
