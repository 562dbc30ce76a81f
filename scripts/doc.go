// Package scripts is what people and CI run of this tree: setting up, building, installing,
// packaging, testing. Its tests hold installation to what it promises: exact, atomic a
// file, undone without a trace (GET-1); and the guard that every test runs behind to what it
// keeps out of reach (TEST-3), on any machine (TEST-4).
package scripts
