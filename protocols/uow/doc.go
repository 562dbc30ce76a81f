// Package uow is the unit of work: its lifecycle, its journal's records, its policy and its budget ledger
// (seed 001), as pure functions over bytes and records, without git, a clock or a network.
//
// # Journal
//
// A unit D-1.2 (the second unit of directive D-1) is a chain of commits on
// refs/ward/uow/D-1.2. Each commit has one file, uow.json, with a Record of one step: a change of state,
// an iteration or a claim. A record has the hash of the record before it and its own hash: SHA-256 over
// its canonical JSON (RFC 8785) without the member "hash". The file is exactly the canonical form, so
// that every change of a byte is detected.
//
// # Steps
//
// One function makes records and checks them. Advance takes the last record and an Input (what happens,
// who does it, why, when) and returns the next record or findings. Step checks a record that somebody
// else made: it advances with that record's own inputs and compares. So the agent, the PM's commands and
// the host cannot interpret the rules differently.
//
// # What is hard and what is soft
//
// Limits of iterations, claims and pushes are hard: the records count them, and the host refuses a record
// beyond a total. Limits of interactions are soft: only the agent's own process counts them. Each
// iteration and each claim counts as at least one interaction, so that the pulse comes due after a
// bounded number of steps whatever the agent states.
package uow
