// Package charter reads, checks, compiles and edits the protocols that govern
// the agent (PROT-1 to PROT-3). It is pure: bytes in, bytes and
// findings out; no git, no clock, no network.
//
// # Sources
//
// Below protocols/, at any depth, two kinds of file count:
//
//   - NAME.protocol.json holds one protocol:
//
//     {
//     "protocol_id": "plan-registry-001",
//     "description": "What it is for.",
//     "rules": [
//     {"rule_id": "...", "description": "...", "enforcement": "..."}
//     ],
//     "associated_tools": ["git ward plan register"],
//     "associated_artifacts": ["knowledge_core/plan_registry.json"]
//     }
//
//     The last two members are optional; an unknown member, one that stands twice,
//     a comment or an empty text is a finding. Protocol ids and rule ids are unique
//     in the whole tree, so that a lesson can name a rule.
//
//   - NAME.protocol.md holds prose about it, for people and models.
//
// # AGENTS.md
//
// AGENTS.md is Compile of these files and nothing else: a header, the prose in
// file order, then each protocol's JSON in a fenced block, as its file has it.
// The same sources always give the same bytes, so that a hand edit shows.
//
// # Where the rules are held
//
// docs/agent.md has the table, which TestCoverage makes of testdata/coverage.txt: it fails
// when nothing is said of a rule that Ward ships, or when what holds it, or its test, is
// gone.
package charter
