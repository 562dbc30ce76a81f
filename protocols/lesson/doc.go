// Package lesson turns what a post-mortem teaches into changes that a program
// carries out (LES-1, LES-2). It is pure: no git, no clock, no network.
//
// # From a post-mortem
//
// Extract reads the section "Corrective Actions & Lessons Learned". Its items
// have two parts, each of which may go on over the next lines:
//
//  1. **Lesson:** What was learnt.
//     **Action:** add tool 'T' to protocol 'P'
//
// These actions are understood, letter for letter but for a capital at the
// beginning and a full stop at the end:
//
//   - add tool 'T' to protocol 'P'
//   - deprecate tool 'T' from protocol 'P'
//   - update rule 'R' in protocol 'P' to 'the new description'
//   - PROPOSE_CODE_CHANGE 'path', and below it a code block with a merge diff
//
// Any other action is kept as type none, and its reason says so. The task and the
// date are those of the lines **Task ID:** and **Date:** (or **Completion Date:**)
// above.
//
// # knowledge_core/lessons.jsonl
//
// One lesson is one line of JSON. Its id is made of what it says, so that the same
// post-mortem gives the same lessons again. Status and reason are all that may
// change in a line:
//
//	pending -> applied   carried out, in a commit of its own
//	pending -> failed    cannot be; the reason says why
//	noted                for readers only: action none
package lesson
