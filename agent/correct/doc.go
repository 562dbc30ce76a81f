// Package correct carries lessons out in a clone (LES-2): it records what a
// post-mortem teaches, makes one commit of each pending lesson, and remembers
// what earlier directives learnt.
//
// A commit is made of the commit before it and the lesson alone, so that the hook
// can replay it. Its files go into the working tree first, then into the index,
// then the branch moves: killed at any point and started again, it goes on from
// the branch and makes the same commit once.
package correct
