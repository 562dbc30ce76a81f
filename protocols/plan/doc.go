// Package plan reads, prints, checks and analyses plans (seed
// 002's FDC, CFDC, CSDC and plan registry) as functions of a tree: no git, no
// clock, no network.
//
// # Grammar
//
// A plan is UTF-8 text in one of two forms. One with a line `---` is in block
// form: `---` separates steps, a step's first line is a tool and its arguments,
// its other lines are its block, taken as they are:
//
//	# FSM: fdc
//	set_plan
//	Say hello.
//	---
//	plan_step_complete nothing is known yet
//	---
//	create_file_with_block docs/hello.md <<END
//	A line of
//	---
//	belongs to the block.
//	END
//	---
//	run_in_bash_session git ward task close --task-id D-1
//	---
//	submit
//
// A first line that ends in <<WORD lets the block run to the line WORD. Without
// a line `---` a plan is in line form: one step a line, no blocks.
//
// In both forms lines that begin with # before a step are comments. Those before
// the first step may say `# FSM: NAME` (fdc, which is the default, sub, research,
// or the path of a machine in main's tree) and `# Model: A` or `# Model: B`; a
// comment `# Evidence: ...` cites evidence for the step below it.
//
// for_each_file GLOB takes a body, one step a line, indented by two spaces a
// level, in which {file1} is the file of the outermost loop, {file2} that of the
// next, and so on:
//
//	for_each_file docs/**.md
//	  read_file {file1}
//
// Parse and String are inverse: what parses without an error prints to a text
// that parses to the same plan, and printing is idempotent.
//
// # Calls
//
// call_plan NAME runs a registered plan, or else the one at that path. A callee's
// machine is sub: its word takes the place of the call. A research plan is a
// cycle of its own and counts as one tool_exec. A name that ends in .udc is a
// program for the vm.
package plan
