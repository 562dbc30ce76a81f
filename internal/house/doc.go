// Package house holds the rules of the whole tree, as tests only: which way imports
// run, what lies at the top, what a small binary may link, that every package says its
// job and has tests beside it, that every requirement that is cited is in docs/spec.md,
// and that scripts/commands declares every program that is called.
package house
