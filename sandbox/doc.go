// Package sandbox is the room in which an agent runs on a repository, in a container
// that is fenced before it starts. On the host's side of the fence stands what an
// agent may not be trusted with: the git door, the gateway with the models' keys,
// and the judge of what it claims. The room's parts are packages of their own, and
// this one holds the tests of all of them together.
package sandbox
