// Package uow is the unit of work: its lifecycle, its journal's records, its
// policy and its budget ledger (seed 001), as pure functions. It
// knows no git, no clock and no network: bytes and records in, records and
// findings out.
//
// # Journal
//
// A unit D-1.2 (the second unit of directive D-1) is a chain of commits on
// refs/ward/uow/D-1.2. Each commit holds one file, uow.json, a Record: one for
// each step of the unit, be it a change of state, an iteration or a claim. A record names the hash of the record before it, and its own:
// SHA-256 over its canonical JSON (RFC 8785) without the member "hash". The file
// is exactly the canonical form, so that no byte of it can change unseen.
//
// # Steps
//
// The same function makes records and judges them: Advance takes the last record
// and an Input (what happens, who does it, why, when) and gives the next record
// or findings. Step judges a record that somebody else made by advancing with
// that record's own inputs and comparing. So the agent, the PM's commands and
// the host cannot read the rules in different ways.
//
// # What is hard and what is soft
//
// Iterations, claims and pushes are counted by the records themselves, and the
// host refuses a record beyond their totals: hard. Interactions are counted by
// the agent's own process and can only be believed: soft. Each iteration and each
// claim counts as one interaction at least, so that the pilot's pulse comes due
// in a bounded number of steps whatever the agent says.
package uow
