// Package forge says what passes between Ward and a forge's issues and requests, as pure
// functions of what was read there (FORGE-2, FORGE-3): the directive that an issue would
// become, the verb that a comment is, the status of a request's head, and a request's title
// and body. It knows no git, no clock and no network, and nobody's rights: who calls it looks
// those up, and makes the calls.
//
// What people and agents wrote comes in as diag.Untrusted. It goes out in three ways only: as
// the directive that Propose holds to the grammar of COMMS.md, or for people by Quote, Span
// and Plain. No other function writes such words into what a forge gets.
package forge
