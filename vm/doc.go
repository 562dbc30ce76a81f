// Package vm is the UDC machine: four registers, flags, a tape without ends and
// a stack of plans, under limits that are exact to the instruction (UDC-2 to
// UDC-4). It is deterministic; only the wall clock and a cancelled context can
// make two runs of one plan differ, and the result then says so.
//
// # Two ways to execute, one meaning
//
// Machine.Step executes one instruction and is the definition of what it does.
// Machine.Run goes through a decoded form in which common sequences are one
// operation (decode.go, fast.go). An operation is charged as a whole only when
// the instructions left allow all of it, and whatever cannot be done at once (an
// overflow, a tape at its limit, a CALL) is left to Step, so both ways end in the
// same state after the same number of instructions.
package vm
