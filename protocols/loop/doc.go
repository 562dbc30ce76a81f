// Package loop is the bounded loop (seed 003): its machine, its
// declaration, budgets, capsule, residuals, verdicts, certificates, learnings,
// evidence and exits, as pure functions over values; no git, no clock, no network.
//
// # Who decides what
//
// No agent certifies its own work. The agent declares (Declaration), works, and claims a commit.
// The host runs the criteria in its own containers and records each result as an Outcome. Judge
// makes the Verdict, one line of JSON in a note on the claimed commit. In the agent, Certify turns
// the verdict and the history into a Certificate, and Decide makes the decision of BUDGET_CHECK, in
// the order of 003, section 2.4.
//
// # Numbers
//
// Residuals and R_p are Residual values: exact decimals, written as JSON strings,
// or null for "not known", which is never zero and is compared with nothing.
//
// # Evidence
//
// Everything that a loop leaves is below evidence/D-n/loop/, under the names and
// schemas of 003, section 10. ParseEvidencePath says what a path is, and EvidencePath.Check reads
// it strictly; the directory schema holds the same forms as JSON Schema, for other tools.
package loop
