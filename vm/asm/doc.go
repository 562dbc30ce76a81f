// Package asm is the text of UDC plans: it reads a `.udc` file into a Program,
// says all that is wrong with it, and prints a Program in its one canonical form
// (UDC-1). It is pure: bytes in, values and findings out.
//
// # Grammar
//
// A plan is read line by line:
//
//	line    = [ OPCODE { argument [ "," ] } ] [ "#" comment ]
//	literal = [ "+" | "-" ] digit { digit }        signed, 64 bits
//	string  = `"` { character | `\"` | `\\` | `\n` | `\t` } `"`   in CALL only
//
// Opcodes and registers (R0 to R3) are read in any case; labels, tools and plan
// names as they are written. A label is any word without space, comma, `#` and
// `"`; so `LABEL 7` and `LABEL R0` are labels. Arguments stand apart by spaces,
// tabs, or one comma. Table lists the opcodes.
//
// LABEL is no instruction: it names the instruction that follows it, or the end
// of the plan.
package asm
