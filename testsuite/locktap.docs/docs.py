# SPDX-License-Identifier: GPL-2.0-or-later
"""docs.py SOURCE BUILD: prints a PASS: or FAIL: line for each thing that the documentation
says and that can be looked up: options, examples, files, manual pages.

An example is run where that costs nothing: a report's command with --dry-run, which
checks each option and value; a script with fake-stap in stap's place; a picture or a
saved report from a small file; the list of a program's locks from our own program's.  Of the
others the options are looked up in the help text.  The current folder is scratch, and
fake-stap is in the path.
"""
import fnmatch
import glob
import json
import os
import re
import shlex
import subprocess
import sys

source, build = sys.argv[1:3]
locktap = os.path.join(build, "locktap")
failed = []


def check(good, name, detail=""):
    print(f"{'PASS' if good else 'FAIL'}: docs: {name}")
    if not good:
        failed.append(name)
        if detail:
            print("  " + str(detail).strip().replace("\n", "\n  "))


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def run(words, **more):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, **more)
    return done.returncode, done.stdout + done.stderr


# --- The documents --------------------------------------------------------------------------

FROM_TROFF = [(r"\(aq", "'"), (r"\(dq", '"'), (r"\(ha", "^"), (r"\(ti", "~"), (r"\(bu", "*"), (r"\-", "-"),
              (r"\&", ""), (r"\|", ""), (r"\c", ""), (r"\e", "\\")]


def plain(text):
    """A line of a manual page, without troff's escapes."""
    text = re.sub(r"\\f(\(..|\[[^]]*\]|.)", "", text)
    for escape, character in FROM_TROFF:
        text = text.replace(escape, character)
    return text


def split_macro(line):
    """The words of a .BR line, quoted ones as one."""
    return [plain(w) for w in re.findall(r'"((?:[^"]|"")*)"|(\S+)', line) for w in w if w]


def macro_text(line):
    """What a font macro prints: alternating fonts have no blanks between their words."""
    name, _, rest = line.partition(" ")
    words = split_macro(rest)
    return ("" if len(name) == 3 else " ").join(words)


pages = sorted(glob.glob(source + "/man/*.[1-9]"))
generated = sorted(set(glob.glob(build + "/man/*.[13]")) - set(pages))
texts = [os.path.join(source, name) for name in ("README.md", "CONTRIBUTING", "CHANGES")]
page_names = {re.sub(r"\.(\d)$", r"(\1)", os.path.basename(p)) for p in pages + generated}


def page_blocks(path):
    """The lines between .nf and .fi, each block with the number of its first line."""
    block, section = None, ""
    for number, line in enumerate(text_of(path).split("\n"), 1):
        section = line if line.startswith(".SH ") else section
        if section == ".SH SYNOPSIS":
            continue
        if line == ".nf":
            block = (number + 1, [])
        elif line == ".fi" and block:
            yield block
            block = None
        elif block and not line.startswith((".ta", ".TP", ".PP", ".sp")):
            block[1].append(plain(macro_text(line) if line.startswith(".") else line))


def markdown_blocks(path):
    """Fenced blocks of sh, and those that are indented by four blanks."""
    fenced = block = None
    for number, line in enumerate(text_of(path).split("\n"), 1):
        if line.startswith("```"):
            if fenced is not None and block:
                yield block
            fenced = line[3:] if fenced is None else None
            block = (number + 1, []) if fenced == "sh" else None
        elif fenced is not None:
            if block:
                block[1].append(line)
        elif line.startswith("    "):
            block = block or (number, [])
            block[1].append(line[4:])
        elif block:
            yield block
            block = None


def inline_examples(path):
    """`locktap ...' and the like within the text."""
    in_fence = False
    for number, line in enumerate(text_of(path).split("\n"), 1):
        if line.startswith("```"):
            in_fence = not in_fence
        elif not in_fence:
            for code in re.findall(r"`([^`]+)`", line):
                if re.match(r"(locktap|stap|make|\./bootstrap|testsuite/lab/lab|[A-Z_]+=\S* make) ", code):
                    yield number, code


PROGRAMS = ("locktap", "stap", "staprun", "make", "./bootstrap", "testsuite/lab/lab", "testsuite/bench/bench",
            "examples/workloads/lockgen")


def commands_of(block):
    """The command lines of a block, with the lines that they go on in."""
    number, lines = block
    pending, begun = "", 0
    for at, line in enumerate(lines):
        if not pending:
            words = re.sub(r"^[$#] ", "", line).split()
            while words and re.match(r"[A-Z_]+=", words[0]):
                words.pop(0)
            if not words or words[0] not in PROGRAMS:
                continue
            begun = number + at
            pending = re.sub(r"^[$#] ", "", line)
        else:
            pending += "\n" + line
        if pending.endswith("\\"):
            pending = pending[:-1]
            continue
        try:
            lexer = shlex.shlex(pending, posix=True, punctuation_chars=True)
            lexer.whitespace_split = True
            words = list(lexer)
        except ValueError:
            continue
        if words[-1] in ("|", "&&"):
            continue
        yield begun, pending, words
        pending = ""
    if pending:
        yield begun, pending, None


def simple_commands(words):
    """The parts between | and ; and &&, without redirections; a # ends all."""
    command, skip = [], False
    for word in words:
        if word.startswith("#"):
            break
        if skip:
            skip = False
        elif word in ("|", ";", "&&", "||", "&", "(", ")"):
            if command:
                yield command
            command = []
        elif word in (">", ">>", "<", ">|"):
            skip = True
        else:
            command.append(word)
    if command:
        yield command


# --- What a command knows ---------------------------------------------------------------------

helps = {}


def help_of(command):
    if command not in helps:
        helps[command] = run([locktap, *([command] if command else []), "--help"])[1]
    return helps[command]


def help_options(command):
    """Long and short options of a help text that argp has made."""
    options = set()
    for line in help_of(command).split("\n"):
        head = re.match(r" {2,6}(-.*?)(?: {2,}|$)", line)
        if head:
            options.update(re.findall(r"(?<![\w-])(--[a-z][a-z-]*|-\w|-\?)(?![\w-])", head.group(1)))
    return options


commands = sorted(line.split("\t")[0] for line in run([locktap, "--complete", ""])[1].splitlines())
reports = [c for c in commands if os.path.exists(f"{source}/scripts/lock{c}.stp")]
scripts = {os.path.basename(p): p for p in
           glob.glob(source + "/scripts/*.stp") + glob.glob(source + "/examples/*.stp")}


def globals_of(script):
    return set(re.findall(r"^global (\w+)", text_of(script), re.M))


def given_options(words):
    for word in words:
        if word == "--":
            return
        if word.startswith("--"):
            yield word.partition("=")[0]
        elif word.startswith("-") and len(word) > 1:
            yield word[:2]


# --- Examples --------------------------------------------------------------------------------

STAP_OPTIONS = "T c x I G D e E L l t v d o p m k".split()
STAP_VALUED = "T c x I G D e E L l d o p m".split()
LAB_CALLS = "setup run stap locktap module path clean".split()


def fill(word):
    """A word of an example, with what it stands for."""
    word = word.replace("PREFIX", "prefix").replace("~/", "home/")
    return re.sub(r"\bPID\b", "1", word)


def join_substitutions(words):
    """shlex takes $(pidof x) apart: a number or a word stands for it."""
    joined = " ".join(w if w in ("(", ")") or w.endswith("$") else shlex.quote(w) for w in words)
    return shlex.split(re.sub(r"\$ \( [^)]*\)( (?=/))?", "1", joined))


def check_report_command(command, words):
    if "--" in words:
        words = words[:words.index("--") + 1] + ["true"] + words[words.index("--") + 2:]
    return run([locktap, command, "-n", *words])


def script_of(words):
    """The script among stap's words, and what -G, -x and so on have."""
    given, rest, i = [], [], 0
    while i < len(words):
        word = words[i]
        if word.startswith("-") and len(word) > 1 and not word.startswith("--"):
            letter, value = word[1], word[2:]
            if letter in STAP_VALUED and not value:
                i += 1
                value = words[i] if i < len(words) else None
            given.append((letter, value))
        elif not word.startswith("--"):
            rest.append(word)
        i += 1
    return given, rest


def check_stap(words):
    """Options of stap, those of the script by its globals and by the values that locktap takes."""
    given, rest = script_of(words)
    for letter, value in given:
        if letter not in STAP_OPTIONS or value is None:
            return 1, f"stap has no option -{letter}, or it has no value"
        if letter == "D" and value.startswith("LOCKTAP_") and value.partition("=")[0] not in sizes:
            return 1, f"there is no table size {value}"
    if any(letter in "eElL" for letter, _ in given):
        return 0, ""
    name = os.path.basename(rest[0]) if rest else "script.stp"
    if name not in scripts:
        return (0, "") if name in ("script.stp", "...") else (1, f"there is no script {name}")
    if rest[1:] not in ([], ["user"]):
        return 1, f"arguments of the script: {rest[1:]}"
    settings = [value for letter, value in given if letter == "G"]
    unknown = [s for s in settings if s.partition("=")[0] not in globals_of(scripts[name])]
    if unknown or not all(re.fullmatch(r"\w+=[\w.-]+", s) for s in settings):
        return 1, f"{name}: {unknown or 'what stap does not take'} behind -G"
    command = name[len("lock"):-len(".stp")]
    if command not in reports:
        return 0, ""
    options = ["--user"] if "user" in rest else []
    options += [f"-x{value}" for letter, value in given if letter == "x"]
    for setting in settings:
        option, _, value = setting.partition("=")
        if option == "pid":
            options += ["-x", value]
        elif option in ("hist", "all", "snapshot", "stacks", "trace", "rates"):
            if value not in ("0", "1"):
                return 1, f"{setting}: 0 or 1"
            options += [f"--{option}"] if value == "1" else []
        else:
            options.append(f"--{option.replace('_', '-')}={value}")
    return check_report_command(command, options)


def check_options(command, words):
    missing = [o for o in given_options(words) if o not in help_options(command)]
    return (1, f"locktap {command} --help does not have {missing}") if missing else (0, "")


def program_of(word):
    """A program or library that an example names stands for one that is there."""
    return os.path.join(build, "examples/workloads/lockgen") if word.startswith(("/usr/", "/lib/")) else word


def check_locktap(words):
    if not words:
        return 1, "no command"
    command, words = words[0], words[1:]
    if command.startswith("-"):
        return run([locktap, command])
    if command == "COMMAND":
        return 0, ""
    if command not in commands:
        return 1, f"there is no command {command}"
    if command in reports:
        return check_report_command(command, words)
    if command == "run":
        if words and words[0] == "--help":
            return run([locktap, "run", "--help"])
        given, rest = script_of(words)
        named = [os.path.basename(w) for w in rest]
        real = [scripts.get(n, n) for n in named[:1]] + rest[1:]
        text = [w for letter, value in given for w in (f"-{letter}", value) if letter in "eGTx"]
        if not named and not any(letter == "e" for letter, _ in given):
            return check_options(command, [w for w in words if w.startswith("--")])
        printed = ["--print"] if "-e" in text or "--print" in words else []
        return run([locktap, "run", *printed, *real, *text])
    wrong, said = check_options(command, words)
    if wrong:
        return wrong, said
    if command in ("graph", "report") and words and "-" not in words and os.path.exists(words[-1]):
        return run([locktap, command, *words])
    if command == "sites" and "-d" in words:
        return run([locktap, "sites", *map(program_of, words)])
    return 0, ""


def check_lab(words):
    call, words = words[0], words[1:]
    if call == "--help":
        return 0, ""
    if call not in LAB_CALLS:
        return 1, f"lab has no call {call}"
    usage = run([source + "/testsuite/lab/lab", "--help"])[1]
    missing = [o for o in given_options(words) if not re.search(rf"^  {o} ", usage, re.M)]
    if missing:
        return 1, f"lab --help does not have {missing}"
    behind = words[words.index("--") + 1:] if "--" in words else []
    return check_stap(behind) if call == "stap" else check_locktap(behind) if call == "locktap" else (0, "")


def check_make(words):
    rules = text_of(source + "/Makefile.am")
    if "-C" in words:
        folder = words[words.index("-C") + 1]
        if folder != "build" and not os.path.exists(f"{source}/{folder}/Makefile"):
            return 1, f"{folder} has no Makefile"
        words = [w for w in words if w not in ("-C", folder)]
    for word in words:
        if word.startswith("-") or "=" in word or word in ("install", "dist", "check", "..."):
            continue
        if not re.search(rf"^{re.escape(word)}:", rules, re.M):
            return 1, f"Makefile.am has no {word}"
    return 0, ""


def check_bench(words):
    usage = run([source + "/testsuite/bench/bench", "--help"])[1]
    missing = [o for o in given_options(words) if not re.search(rf"(^|[ ,]){o}\b", usage)]
    return (1, f"bench --help does not have {missing}") if missing else (0, "")


def check_lockgen(words):
    code = "".join(text_of(p) for p in glob.glob(source + "/examples/workloads/*.[ch]"))
    missing = [w for w in [words[0], *(w.partition("=")[0] for w in words[1:])] if f'"{w}"' not in code]
    return (1, f"lockgen does not know {missing}") if missing else (0, "")


def check_bootstrap(words):
    usage = run([source + "/bootstrap", "--help"])[1]
    return (0, "") if all(f"./bootstrap {w}" in usage for w in words) else (1, f"bootstrap has no {words}")


def check_staprun(words):
    modules = [os.path.basename(w) for w in words if w.endswith(".ko")]
    return (0, "") if modules else (1, "no module")


CHECKS = {"locktap": check_locktap, "stap": check_stap, "staprun": check_staprun, "make": check_make,
          "./bootstrap": check_bootstrap, "testsuite/lab/lab": check_lab, "testsuite/bench/bench": check_bench,
          "examples/workloads/lockgen": check_lockgen}


def check_example(where, text, words):
    name = f"{where}: {' '.join(text.split())}"
    if words is None:
        check(False, name, "quotes that do not end")
        return
    for command in simple_commands(join_substitutions(words)):
        while command and re.match(r"[A-Z_]+=", command[0]):
            command.pop(0)
        if not command or command[0] not in CHECKS:
            continue
        status, said = CHECKS[command[0]]([fill(w) for w in command[1:]])
        if status:
            check(False, name, said)
            return
    check(True, name)


def check_examples():
    seen = set()
    for path in pages + texts:
        blocks = page_blocks(path) if path in pages else markdown_blocks(path)
        count = 0
        for block in blocks:
            for number, text, words in commands_of(block):
                count += 1
                check_example(f"{os.path.basename(path)}:{number}", text, words)
        if path in texts:
            for number, code in inline_examples(path):
                if code not in seen:
                    seen.add(code)
                    check_example(f"{os.path.basename(path)}:{number}", code, shlex.split(code))
        if path.endswith("README.md"):
            check(count >= 20, "README.md: its examples are found", count)


# --- Options -----------------------------------------------------------------------------------

def page_options(path):
    """Options that are explained: those of the lines behind .TP, with their first words."""
    tags, after_tag = [], False
    for line in text_of(path).split("\n"):
        if after_tag:
            tags.append(macro_text(line) if line.startswith((".B", ".I")) else plain(line))
        after_tag = line == ".TP"
    return tags


def check_script_options():
    """-G OPTION=VALUE of each script, in its page and in the script."""
    for command in reports:
        page = f"{source}/man/lock{command}.8"
        text = text_of(page)
        own = text[text.index(".SS The report's own options"):]
        own = own[:own.index("\n.SS ", 1)]
        tags = re.findall(r"^\.TP\n(.*)", own, re.M)
        told = {m.group(1) for t in tags for m in [re.match(r"(\w+) ?=", macro_text(t))] if m}
        check(told == globals_of(scripts[f"lock{command}.stp"]), f"lock{command}(8): options are those of the script",
              told ^ globals_of(scripts[f"lock{command}.stp"]))


def check_command_pages():
    """Each command has a page or a part of locktap(1); testsuite/locktap.scripts compares the options."""
    main = text_of(source + "/man/locktap.1")
    for command in commands:
        check(f"locktap-{command}(1)" in page_names or f"\n.SS locktap {command}\n" in main,
              f"locktap {command} has a manual page")


def check_sizes():
    told = set(re.findall(r"DLOCKTAP_(\w+)", "".join(map(plain, map(text_of, pages + texts)))))
    check(told <= {s[len("LOCKTAP_"):] for s in sizes}, "table sizes that are told exist", told)
    for size in sorted(sizes):
        where = [p for p in pages if f"D{size}=" in text_of(p).replace("\\-", "-").replace("\\fP", "")]
        check(where, f"{size} is in a manual page")


def check_loss():
    """Each key of a loss line is explained."""
    keys = set()
    for path in glob.glob(source + "/runtime/kernel/lk_report*.h"):
        text = text_of(path)
        for first in re.findall(r"LK_LOSS\(([^,]*),", text):
            keys.update(re.findall(r'"(\w+)"', first))
    told = {plain(w) for p in pages for t in page_options(p) for w in re.findall(r"\w+", t)}
    check(len(keys) >= 20, "keys of the loss line are found", sorted(keys))
    for key in sorted(keys):
        check(key in told, f"{key} of the loss line is in a manual page")
    words = set(re.findall(r'\{ (?:REPORT_\w+, )?"(\w+)",', text_of(source + "/runtime/locktap/report_loss.c")))
    check(keys <= words, "locktap report has words for each key of the loss line", keys - words)


def check_seen():
    """Samples of reports: what their loss line counts is what the command's report is made of."""
    words = {"hold": "holds", "order": "orders", "stat": "events"}
    for path in pages:
        command = None
        for number, lines in page_blocks(path):
            for at, line in enumerate(lines):
                made = re.search(r"\b(?:locktap (\w+)|stap lock(\w+)\.stp)", line)
                command = (made.group(1) or made.group(2)) if made else command
                seen = re.match(r"loss: \d+ (\w+) seen", line)
                if seen and command in reports:
                    check(seen.group(1) == words.get(command, "waits"),
                          f"{os.path.basename(path)}:{number + at}: the loss line of {command}", line)


def check_columns():
    """Each column of a tsv is explained where the page has the tsv."""
    for command in reports:
        header = re.search(r'"#((?:\w+\\t)+\w+)\\n"', text_of(f"{source}/runtime/kernel/lk_report_{command}.h"))
        columns = set(header.group(1).split("\\t")) if header else set()
        check(len(columns) > 10, f"{command}: columns of its tsv are found")
        part = text_of(f"{source}/man/lock{command}.8").split("\n.SS tsv\n")[1]
        part = re.split(r"\n\.S[HS] (?!tsv)", part)[0]
        told = set(re.findall(r"\w+", " ".join(macro_text(line) for line in part.split("\n") if line.startswith(".B"))))
        check(columns <= told, f"lock{command}(8) explains the columns of its tsv", columns - told)


# --- Files, pages -------------------------------------------------------------------------------

FOLDERS = "runtime|tapset|scripts|examples|testsuite|man|build-aux|completion|packaging|schedule"


def check_files():
    for path in pages + texts:
        text = plain(text_of(path)) if path in pages else text_of(path)
        for name in sorted(set(re.findall(rf"(?<![\w/.-])((?:{FOLDERS})/[\w./-]*\w/?)", text))):
            there = [name, name.rstrip("/"), name + ".in"]
            found = any(os.path.exists(os.path.join(root, n)) for n in there for root in (source, build))
            if not found and re.search(r"[A-Z]{3}|\.ko$", name):
                continue        # a placeholder; made in place, later
            check(found, f"{os.path.basename(path)}: {name} exists")


def is_ours(name):
    """Pages of others cannot be looked up here."""
    return name.startswith(("lock", "lkst", "ltt")) and name != "lockstat(1M)"


def check_references():
    referred = {}
    for path in pages + generated + texts:
        text = text_of(path)
        if path in texts:
            found = re.findall(r"\b([a-z][a-z.-]*\(\d\w*\))", text)
        else:
            found = []
            for line in text.split("\n"):
                line = macro_text(line) if line.startswith((".BR ", ".IR ", ".RB ")) else plain(line)
                line = re.sub(r"\blocktap (\w+) ?\(1\)", "locktap(1)", line)
                found += re.findall(r"(?<![\w/])([a-z][\w.-]*) ?(\(\d[a-zM]*\))", line)
            found = [a + b for a, b in found]
        own = re.sub(r"\.(\d)$", r"(\1)", os.path.basename(path))
        for name in sorted(set(found)):
            referred.setdefault(name, set()).add(own)
            if is_ours(name):
                check(name in page_names, f"{own}: {name} exists")
    for name in sorted(page_names):
        check(referred.get(name, set()) - {name}, f"{name}: another page leads there")


def check_see_also():
    for path in pages:
        text = text_of(path)
        check("\n.SH SEE ALSO\n" in text, f"{os.path.basename(path)}: SEE ALSO")
        check(re.search(r"^\.SH NAME\n[\w., \\-]+ \\- ", text, re.M), f"{os.path.basename(path)}: NAME")
        check(re.search(r'^\.TH \S+ \d "" locktap "', text, re.M), f"{os.path.basename(path)}: its heading")
        if path.endswith((".1", ".8")):
            check("\n.SH EXIT STATUS\n" in text, f"{os.path.basename(path)}: EXIT STATUS")


def section_of(text, name):
    part = text[text.index(f"\n.SH {name}\n"):]
    return part[:part.find("\n.SH ", 1)] if "\n.SH " in part[1:] else part


def check_main_page():
    """locktap(1): what it leads to, and what of it is a list."""
    text = text_of(source + "/man/locktap.1")
    see = section_of(text, "SEE ALSO")
    led = {a + b for a, b in re.findall(r"([\w.-]+) (\(\d\))", plain(see))}
    wanted = {n for n in page_names if n[-2] in "178"} - {"locktap(1)"}
    check(wanted <= led, "locktap(1) leads to all pages of commands and scripts", wanted - led)
    synopsis = plain(section_of(text, "SYNOPSIS"))
    for command in ("doctor", "prep", "sites", "run", "graph"):
        part = synopsis[synopsis.index(f".B locktap {command}\n"):].split("\n.br\n")[0]
        flags = set("".join(re.findall(r"(?<![\w-])-(\w+)", part)))
        flags |= set(STAP_OPTIONS) if "stap options" in part else set()
        for line in help_of(command).split("\n"):
            names = re.findall(r"(?<![\w-])-(?:-([a-z][a-z-]*)|(\w|\?))", (re.match(r" {2,6}(-.*?)(?: {2,}|$)", line) or [""])[0])
            names = {a or b for a, b in names}
            if names and not names & {"help", "usage", "version", "?"}:
                check(names & flags or any(f"--{n}" in part for n in names),
                      f"locktap(1): {' '.join(sorted(names))} of {command} is in the synopsis")
    block = section_of(text, "FILES").split("\n.nf\n")[1].split("\n.fi")[0].split("\n")
    check(len(block) >= 8 and all(line.startswith("/") for line in block),
          "locktap(1): FILES has files", block)
    json_keys = set(re.findall(r'object_\w+\(\s*cycle,\s*"(\w+)"', text_of(source + "/runtime/locktap/report_json.c")))
    told = set(re.findall(r"\w+", section_of(text, "REPORTS IN JSON")))
    check(len(json_keys) >= 2 and json_keys <= told, "locktap(1) has the keys of a cycle", json_keys - told)


def check_lists():
    """The lists of folders and of headers in the texts."""
    tree = text_of(source + "/README.md").split("\n## The tree\n")[1]
    for folder in FOLDERS.split("|"):
        check(f"\n| `{folder}/" in tree, f"README.md: {folder}/ is in the tree")
    rows = re.findall(r"^\| (lk_[^|]*) \|", text_of(source + "/CONTRIBUTING"), re.M)
    listed = [name.strip() for row in rows for name in row.split(",")]
    for path in glob.glob(source + "/runtime/kernel/*.h"):
        check(any(fnmatch.fnmatch(os.path.basename(path), name) for name in listed),
              f"CONTRIBUTING: {os.path.basename(path)} is in the table")


# --- --------------------------------------------------------------------------------------------

sizes = set(re.findall(r"^#ifndef (LOCKTAP_[A-Z]+)\b", "".join(
    text_of(p) for p in glob.glob(source + "/runtime/kernel/*.h")), re.M))
with open("chain.json", "w", encoding="utf-8") as out:
    json.dump({"locktap": 1, "report": "chain", "elapsed_ns": 1000000,
               "threads": [{"tid": 1, "comm": "a"}, {"tid": 2, "comm": "b"}],
               "locks": [{"id": "l", "kind": "mutex", "name": "m"}],
               "waits": [{"tid": 1, "lock": "l", "wait_ns": 1000}],
               "holds": [{"tid": 2, "lock": "l", "proven": True}]}, out)
with open("order.json", "w", encoding="utf-8") as out:
    json.dump({"locktap": 1, "report": "order",
               "locks": [{"id": "a", "kind": "mutex", "name": "a"}, {"id": "b", "kind": "mutex", "name": "b"}],
               "orders": [{"first": "a", "then": "b", "count": 1}]}, out)
for scratch in ("script.stp", "./job"):
    with open(scratch, "w", encoding="utf-8") as out:
        out.write("probe begin { }\n")

check_examples()
check_script_options()
check_command_pages()
check_sizes()
check_loss()
check_seen()
check_columns()
check_files()
check_references()
check_see_also()
check_main_page()
check_lists()
sys.exit(1 if failed else 0)
