// Package comms parses and changes COMMS.md, the document in which the PM and the agent communicate,
// and checks what each of them may change (COMMS-1 to COMMS-4). Its functions are pure: no git, no
// clock, no network.
//
// # Grammar
//
// COMMS.md is read line by line. There is no Markdown parser, so that the PM,
// the agent and the hook cannot read one file in different ways.
//
//	# COMMS                                        first line that is not blank
//	any prose                                      the preamble
//	## Directives                                  once
//	### D-<n>: <title>                             a directive
//	any text, criteria, options
//	## Reports                                     once
//	### R-<n> <time> <D-n or -> <STATUS>           a report
//	any text
//	## Questions                                   at most once
//	### Q-<n> <time> <D-n or ->                    a question
//	any text
//
// An id <n> is a decimal from 1 to 999999999 without leading zeros; a time is
// RFC 3339 in UTC with whole seconds, as 2026-11-21T09:00:00Z.
//
// Two or three `#` at column 1, and no more, always make a heading. Code fences
// are not recognised: a fence that somebody forgot to close would swallow the
// headings below it, and with them directives. A line that must not be a heading
// is indented by four spaces; one to three spaces before such a heading are a
// finding, because Markdown viewers would show a heading where there is none.
// Lines with one `#` or with more than three are text. Between a section's
// heading and its first entry only blank lines may stand (comments belong in
// the preamble): text there belongs to nobody, and would vanish from every
// reader but the one who opens the file.
//
// # Directives
//
// In a directive two kinds of list item mean something, at column 1; all else is
// the goal:
//
//   - "- [ ] text (`command`)", also with [x] or [X], is an acceptance criterion;
//   - "- key: value" with one of Keys is an option.
//
// A criterion goes on over the lines right below it that are indented by two
// spaces or a tab and start no list item. The command is what stands between
// the last two backticks, when nothing but `)`, `.` or `).` follows them. A tick
// in the box means nothing: the verifier decides, not the box.
//
// A list item is an option when it starts with a word (letter or underscore,
// then letters, digits, `_` and `-`, at most 32), a colon and a space; an unknown
// word there is a finding, so that a misspelt `max_iteration` cannot silently
// lift a limit.
//
// "- after: D-3, D-7" makes a directive wait until those are closed; of two directives, the one with
// the higher "- priority: N" is worked on first. A directive that is waited for must be listed until
// the waiting one is closed, and cycles are findings: comms/after.
//
// # Text
//
// The file is UTF-8 with LF line ends. Control characters but tab, and invisible
// formatting characters (bidirectional overrides, tag characters, byte order
// marks; not the two joiners that scripts and emoji need) are findings: this
// file is part of every prompt, and what a PM cannot see must not be in it.
//
// The agent's text is either plain prose or indented by four spaces as a whole. Markdown then renders
// it as written, and nothing in it can hide or reorder what follows (comms/agent-text). Two exceptions
// are allowed: quotes and dashes, which some dialects render differently, and what a site generator
// replaces before it parses Markdown, even in code.
package comms
