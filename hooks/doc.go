// Package hooks decides what may enter the repository: receive judges and records a push,
// checks has the rules, audit the records, fsck proves that all is whole, install puts the
// hooks in place, and command has the verbs. This package itself has the tests of the whole
// room, with real git and the real binaries.
package hooks
