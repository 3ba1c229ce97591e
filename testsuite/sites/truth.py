#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the names of a kernel's lock calls with the kernel's source.

usage: truth.py SOURCE CALLS
       truth.py --files CALLS

CALLS is what `sites-query VMLINUX calls` prints.  A name is right if its last member,
or the variable, stands
  in the statement at the call's line;
  in what that uses, as the source defines it: macros and functions of the headers,
    of the same file and of the headers beside it, LEVELS deep;
  the same, for what the function assigns to a local variable in the statement;
  the same, at the line that an inlined function is called from, where the lock is
    one of its parameters.
Each name that is not right is listed, then one line tells how many there are.
--files lists the files that are needed, as tar takes them.
"""
import os
import re
import sys

LEVELS = 4
WORD = re.compile(r'[A-Za-z_]\w*')
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*', re.S)
DEFINE = re.compile(r'^[ \t]*#[ \t]*define[ \t]+(\w+)((?:[^\n]*\\\n)*[^\n]*)', re.M)
# A function's head begins in the first column and its body ends with a brace
# there, or in the same line.
FUNCTION = re.compile(r'^[a-z_][^;{}#=]*?\b(\w+)\s*\('
                      r'[^;{}#]*\)[^;{}#()]*\{(?:[^\n]*\}[ \t]*$|.*?^\})', re.M | re.S)
HEADERS = ('include', 'arch/x86/include')
PARTS = ('statement', 'definition', 'local variable', 'caller')


def blank(match):
    """Comments become spaces, so that lines keep their numbers."""
    return re.sub(r'[^\n]', ' ', match.group())


class Source:
    def __init__(self, top):
        self.top = top
        self.texts = {}
        self.definitions = {}
        self.headers = {}
        for folder in HEADERS:
            for path, _, names in os.walk(os.path.join(top, folder)):
                for name in names:
                    if name.endswith('.h'):
                        self.index(os.path.relpath(os.path.join(path, name), top), self.headers)

    def text(self, name):
        if name not in self.texts:
            try:
                with open(os.path.join(self.top, name), encoding='utf-8', errors='replace') as file:
                    self.texts[name] = COMMENT.sub(blank, file.read())
            except OSError:
                self.texts[name] = None
        return self.texts[name]

    def index(self, name, table):
        text = self.text(name)
        for pattern in (DEFINE, FUNCTION):
            for match in pattern.finditer(text or ''):
                table.setdefault(match.group(1), []).append(match.group())

    def local(self, name):
        """What a file defines, and the headers beside it."""
        if name not in self.definitions:
            table = self.definitions[name] = {}
            folder = os.path.dirname(name)
            self.index(name, table)
            for header in sorted(os.listdir(os.path.join(self.top, folder))):
                if header.endswith('.h') and not folder.startswith(HEADERS):
                    self.index(os.path.join(folder, header), table)
        return self.definitions[name]

    def define(self, name, word):
        return self.local(name).get(word) or self.headers.get(word, [])


def statement(lines, at):
    """The lines from `at' to the end of the statement."""
    text = ''
    for line in lines[at:at + 12]:
        text += line + '\n'
        if text.count('(') <= text.count(')') and re.search(r'[;{}]\s*$|\)\s*$', line):
            break
    return text


def before(lines, at):
    """The lines before `at' that belong to the same statement."""
    text = ''
    for line in reversed(lines[max(0, at - 8):at]):
        if not line.strip() or re.search(r'[;{}:]\s*\\?$', line) or line.startswith('#'):
            break
        text = line + '\n' + text
    return text


def function_at(lines, at):
    """The head and the lines so far of the function that a line is in."""
    first = at
    while first > 0 and not lines[first].startswith('{'):
        first -= 1
        if lines[first].startswith('}'):
            return '', []
    head = first - 1
    while head > 0 and lines[head - 1].strip() and not lines[head - 1].startswith(('}', '#')):
        head -= 1
    return '\n'.join(lines[head:first]), lines[first:at]


def uses(source, name, text, wanted):
    """Whether the text has the word, or what it uses is defined with it."""
    seen = set()
    for level in range(LEVELS + 1):
        words = set(WORD.findall(text))
        if wanted in words:
            return level
        text = ''
        for word in words - seen:
            text += ''.join(source.define(name, word))
        seen |= words
    return -1


def assignments(body, words):
    """The statements that give the words a value."""
    text = ''
    for at, line in enumerate(body):
        for word in WORD.findall(line):
            if word in words and re.search(r'\b%s\s*=[^=]|&%s\b' % (word, word), line):
                text += before(body, at) + statement(body, at)
                break
    return text


def check(source, file, line, wanted, chain):
    """Which of PARTS the name was seen in; '' if nowhere, None if there is no source."""
    text = source.text(file)
    lines = text.split('\n') if text else []
    at = int(line) - 1
    if not 0 <= at < len(lines):
        return None
    whole = before(lines, at) + statement(lines, at)
    level = uses(source, file, whole, wanted)
    if level >= 0:
        return PARTS[min(level, 1)]
    head, body = function_at(lines, at)
    words = set(WORD.findall(whole))
    for _ in range(2):
        assigned = assignments(body, words)
        if uses(source, file, assigned, wanted) >= 0:
            return PARTS[2]
        words |= set(WORD.findall(assigned))
    # A guard's functions are made by a macro that is in no function.
    if chain and (not head or words & set(WORD.findall(head))):
        _, place = chain[0].split('@')
        file, line = place.rsplit(':', 1)
        if check(source, file, line, wanted, chain[1:]):
            return PARTS[3]
    return ''


def calls_of(path):
    with open(path, encoding='utf-8') as file:
        for line in file:
            call = line.rstrip('\n').split('\t')
            yield call, [] if call[9] == '-' else call[9].split(';')


def list_files(path):
    files = set()
    for call, chain in calls_of(path):
        files.add(call[5])
        files |= {place.split('@')[1].rsplit(':', 1)[0] for place in chain}
    folders = {os.path.dirname(file) + '/*.h' for file in files if not file.startswith(HEADERS)}
    files = {file for file in files if not file.startswith(HEADERS + ('?', '/'))}
    print('\n'.join(sorted(files | folders | {folder + '/*.h' for folder in HEADERS})))


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    if sys.argv[1] == '--files':
        list_files(sys.argv[2])
        return 0
    source = Source(sys.argv[1])
    counts = dict.fromkeys(PARTS, 0)
    missing = wrong = 0
    for call, chain in calls_of(sys.argv[2]):
        if call[3] == '?':
            continue
        seen = check(source, call[5], call[6], WORD.findall(call[3])[-1], chain)
        if seen:
            counts[seen] += 1
        elif seen is None:
            missing += 1
            print('no source: ' + ' '.join(call))
        else:
            wrong += 1
            print('not seen: ' + ' '.join(call))
    right = sum(counts.values())
    print('%d names: %d right (%.2f %%), %d not seen, %d without source; seen in: %s' % (
        right + wrong + missing, right, 100 * right / max(1, right + wrong), wrong, missing,
        ', '.join('%s %d' % (part, counts[part]) for part in PARTS)))
    return 0


if __name__ == '__main__':
    sys.exit(main())
