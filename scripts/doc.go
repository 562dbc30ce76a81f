// Package scripts is what people and CI run of this tree: setting up, building, installing,
// packaging, testing. Its tests hold installation to what it promises: exact, atomic a
// file, undone without a trace (GET-1).
package scripts
