// Package sandbox runs an agent on a repository, in a container that is fenced before it
// starts. The host's side of the fence has what an agent must not be trusted with: the git
// door, the gateway with the models' keys, and the judge of its claims. The parts are packages
// of their own; this one has the tests of all of them together.
package sandbox
