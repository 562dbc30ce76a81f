// Package house has the rules of the whole tree, as tests only: which way imports run, what
// lies at the top, and what a small binary may link. Every package must say its job and have
// tests beside it, docs/spec.md must have every cited requirement, and scripts/commands must
// declare every program that is called.
package house
