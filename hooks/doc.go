// Package hooks is the room of what may enter the repository: receive judges and
// records a push, checks is what it is judged by, audit the record, fsck the proof
// that all is whole, install what puts the hooks there, and command what people do
// with them. This package itself holds the tests of the whole room, with real git and
// the real binaries.
package hooks
