// Package forge translates between Ward and a forge's issues and pull requests, as pure functions of
// what was read from the forge (FORGE-2, FORGE-3): from an issue to a directive, from a comment to a
// verb, from a verdict to the status of a request's head, and from a review to a request's title and
// body. It does not use git, a clock or a network, and does not check anybody's rights; its callers
// do.
//
// Text by people and agents comes in as diag.Untrusted. It leaves in only three ways: in the
// directive of Propose, which checks it by the grammar of COMMS.md, and for people through Quote,
// Span and Plain.
package forge
