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
// # Where the rules are enforced
//
// This table is made by TestCoverage of testdata/coverage.txt, which fails when a
// rule that Ward ships has no enforcement, or its place or its test is gone.
//
// The rule, the package that enforces it, and the test of that:
//
//	aorp-identity                        hooks/checks                                   hooks/testdata/replay.txtar
//	aorp-versioning                      hooks/checks                                   hooks/testdata/content.txtar
//	mandatory-fdc-start                  agent/orchestrator                             agent/cmd/ward-agent/testdata/plan.txtar
//	non-turing-completeness              protocols/plan                                 protocols/plan/parse_test.go
//	bounded-recursion                    protocols/plan                                 protocols/plan/testdata/calls.txtar
//	fsm-adherence                        protocols/plan                                 protocols/plan/testdata/grammar.txtar
//	l1-self-awareness                    agent/orient                                   hooks/testdata/orient.txtar
//	l2-repository-sync                   agent/orient                                   hooks/testdata/orient.txtar
//	l3-environmental-probing             agent/orient                                   hooks/testdata/orient.txtar
//	l4-deep-research-cycle               agent/command                                  hooks/testdata/orient.txtar
//	fdc-entry-point                      agent/task                                     agent/cmd/ward-agent/testdata/plan.txtar
//	fdc-state-transitions                hooks/checks                                   hooks/testdata/plans.txtar
//	phase1-deconstruction                agent/task                                     hooks/testdata/orient.txtar
//	phase2-planning                      agent/orchestrator                             agent/cmd/ward-agent/testdata/plan.txtar
//	phase3-execution                     agent/planrun                                  agent/planrun/planrun_test.go
//	phase4-post-mortem                   protocols/plan                                 protocols/plan/testdata/word.txtar
//	aorp-mandate                         agent/orchestrator                             agent/cmd/ward-agent/testdata/plan.txtar
//	rag-mandate                          agent/orient                                   hooks/testdata/orient.txtar
//	fdc-toolchain-mandate                protocols/plan                                 protocols/plan/parse_test.go
//	hierarchical-planning-via-call-plan  protocols/plan                                 agent/planrun/planrun_test.go
//	max-recursion-depth                  agent/planrun                                  agent/planrun/failures_test.go
//	registry-definition                  hooks/checks                                   hooks/testdata/plans.txtar
//	registry-first-resolution            protocols/plan                                 protocols/plan/testdata/calls.txtar
//	registry-management-tool             protocols/command                              hooks/testdata/plans.txtar
//	structured-lessons                   protocols/lesson                               hooks/testdata/content.txtar
//	programmatic-updates                 hooks/checks                                   hooks/testdata/replay.txtar
//	automated-orchestration              agent/correct                                  agent/correct/correct_test.go
//	programmatic-rule-refinement         protocols/charter                              hooks/testdata/lessons.txtar
//	autonomous-code-suggestion           protocols/lesson                               hooks/testdata/lessons.txtar
//	mandate-research-tools               agent/planrun                                  agent/planrun/web_test.go
//	structured-research-phases           protocols/plan                                 protocols/fsm/fsm_test.go
//	specialized-fsm                      protocols/fsm                                  protocols/fsm/fsm_test.go
//	executable-plans                     protocols/plan                                 protocols/plan/testdata/sound.txtar
//	l4-invocation                        agent/orchestrator                             agent/cmd/ward-agent/testdata/plan.txtar
package charter
