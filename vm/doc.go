// Package vm is the UDC machine: four registers, flags, a tape without ends and
// a stack of plans, under limits that are exact to the instruction (UDC-2 to
// UDC-4). It is deterministic; only the wall clock and a cancelled context can
// make two runs of one plan differ, and the result then says so.
//
// # Three ways to execute, one meaning
//
// Machine.Step executes one instruction and is the definition of what it does.
// Machine.Run has two faster ways. In the decoded form common sequences are one
// operation (decode.go, fast.go). And what the machine did while its head stayed
// in a block of the tape is stored, and applied in one leap when the head enters a
// block with the same content in the same state (leap.go). An operation and a leap are charged as wholes, and only
// when the instructions left allow all of them; whatever cannot be done at once (an
// overflow, a tape at its limit, a CALL) is left to Step. So all ways end in the
// same state after the same number of instructions.
package vm
