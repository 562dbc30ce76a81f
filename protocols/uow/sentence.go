package uow

import "strings"

// Cause is why somebody has the next move: a row of the table of sentences.
type Cause string

// The causes. Those of a unit are picked by Record.Stand, those of a directive by
// review.Stand, those of a whole repository by who looks at it.
const (
	PausedByPM      Cause = "paused"
	WasEdited       Cause = "edited"
	NotBegun        Cause = "not begun"
	WasBegun        Cause = "begun"   // who works on it now: a journal does not say
	IsAtWork        Cause = "at work" // by its lease
	NobodyAtIt      Cause = "queued"  // it was begun, and nobody has its lease
	SignIsDue       Cause = "sign"
	HasQuestion     Cause = "question"
	WantsInclude    Cause = "include"
	NoCriterion     Cause = "no criterion"
	WantsApproval   Cause = "approval"
	StoppedByFile   Cause = "stop file"
	ResumesNow      Cause = "resumes"
	AdminMends      Cause = "admin"
	AdminMendsStill Cause = "admin, and retries"
	GivesUp         Cause = "gives up"
	RetriesAreSpent Cause = "retries"
	ServiceIsOut    Cause = "service"
	RetriesLater    Cause = "pause"
	DoesNotStart    Cause = "start"
	IsBlocked       Cause = "blocked"
	IsBlockedMute   Cause = "blocked, by nothing that it names"
	NoIterationLeft Cause = "blocked, with no iteration left"
	GivenUp         Cause = "given up"
	JournalChanged  Cause = "changed journal"
	Closes          Cause = "closes"
	IsOver          Cause = "over"

	PassesBesides Cause = "include, for paths"
	HeldBefore    Cause = "include, for nothing proves it"
	ProgramNamed  Cause = "program, by its name"
	JudgedNow     Cause = "judged"
	ReportsNow    Cause = "reports"
	ComesAfter    Cause = "after"
	LacksAnAnswer Cause = "answer"
	ReadyToTake   Cause = "ready"
	NotProved     Cause = "unproved"
	WasCancelled  Cause = "cancelled"
	NotProvedYet  Cause = "unproved, and nobody judged it"
	JudgedBefore  Cause = "unproved, judged for another text"
	ToolWasAway   Cause = "unproved for a missing program"

	JournalBroken Cause = "broken journal"
	HooksGone     Cause = "hooks"
	ProposalWaits Cause = "forge, a proposal"
	StaysBehind   Cause = "forge, a ref behind"
	ForgeIsAway   Cause = "forge, away"
	NotAtForge    Cause = "forge, one thing"
)

// A sentence says who has the next move, why (one clause), and the one command that makes it.
// {d} is the directive, {u} its unit, and {what} the details of the cause, as the caller gives
// them; a clause without {what} takes none. {admin} is what the admin does about a missing program.
type sentence struct {
	For          Party
	Why, Command string
}

// sentences are all that a person reads about waiting work, wherever it is shown: `git ward`,
// status, watch, pages, notify and COMMS.md use only these (FIRST-4).
var sentences = map[Cause]sentence{
	PausedByPM:      {ForYou, "it is paused", "git ward uow resume {u}"},
	WasEdited:       {ForAgent, "which takes up the directive as it was edited", ""},
	NotBegun:        {ForAgent, "which begins it when its turn comes", ""},
	WasBegun:        {ForAgent, "which has begun it", ""},
	IsAtWork:        {ForAgent, "which is at work", ""},
	NobodyAtIt:      {ForAgent, "which goes on with it when its turn comes", ""},
	SignIsDue:       {ForYou, "the policy wants you to confirm that it may go on", "git ward uow resume --pulse {u}"},
	HasQuestion:     {ForYou, "it has a question", "git ward uow approve {u}"},
	WantsInclude:    {ForYou, "only you can say whether its claim counts", "git ward include {d}"},
	NoCriterion:     {ForYou, "the directive does not say how to tell that it is done", "git ward directive edit {d}"},
	WantsApproval:   {ForYou, "it wants your approval before it goes on", "git ward uow approve {u}"},
	StoppedByFile:   {ForCause, "the file scratch/STOP stops it, and it goes on by itself once that is removed", "git pull --rebase && git rm scratch/STOP && git commit -m 'go on' scratch/STOP && git push"},
	ResumesNow:      {ForAgent, "which takes it up again by itself", ""},
	AdminMends:      {ForYou, "{what}", "git ward uow retry {u}"},
	AdminMendsStill: {ForYou, "{what}", "git ward uow retry --waive {u}"},
	GivesUp:         {ForAgent, "which gives it up: its retries are spent", ""},
	RetriesAreSpent: {ForYou, "its retries are spent", "git ward uow retry --waive {u}"},
	ServiceIsOut:    {ForCause, "a service that it needs does not answer, and it tries again by itself", "git ward uow retry {u}"},
	RetriesLater:    {ForCause, "it was interrupted, and tries again by itself after a pause", "git ward uow retry {u}"},
	DoesNotStart:    {ForYou, "the agent's new program was proved, and does not start", "git ward directive edit {d}"},
	IsBlocked:       {ForYou, "it is blocked: {what}", "git ward uow clarify {u}"},
	IsBlockedMute:   {ForYou, "it is blocked, and does not say by what", "git ward uow clarify {u}"},
	NoIterationLeft: {ForYou, "it is blocked, and no iteration is left", "git ward directive edit {d}"},
	GivenUp:         {ForYou, "it was given up, and nothing but your confirmation closes it", "git ward uow cancel --failed {u}"},
	JournalChanged:  {ForYou, "somebody changed its journal, and nothing but your confirmation closes it", "git ward uow cancel --failed {u}"},
	Closes:          {ForAgent, "which closes it", ""},
	IsOver:          {ForNobody, "it is over", ""},

	PassesBesides: {ForYou, "it passes only with changes that are not its work: {what}", "git ward include {d}"},
	HeldBefore:    {ForYou, "every criterion held before the work, so only you can say that it is done", "git ward include {d}"},
	ProgramNamed:  {ForYou, "the program {what} is missing where the commands run, until {admin}", "git ward uow retry {u}"},
	JudgedNow:     {ForHost, "which runs its criteria", ""},
	ReportsNow:    {ForAgent, "which reports on it", ""},
	ComesAfter:    {"", "to be closed first", ""}, // for the directives that come before
	LacksAnAnswer: {ForYou, "it lacks something, and waits for your answer", "git ward directive edit {d}"},
	ReadyToTake:   {ForYou, "the work is proved, and nobody has taken it", "git ward review {d}"},
	NotProved:     {ForYou, "it ended without proof: {what}", "git ward directive edit {d}"},
	WasCancelled:  {ForYou, "it was cancelled, and is not closed", "git ward directive edit {d}"},
	NotProvedYet:  {ForYou, "it ended, and no verdict proves it", "git ward directive edit {d}"},
	JudgedBefore:  {ForYou, "it ended, and was judged for another text of the directive only", "git ward directive edit {d}"},
	ToolWasAway:   {ForYou, "it could not be judged: {what}", "git ward uow fork {u}"},

	JournalBroken: {ForYou, "the journal of its unit cannot be read", "git ward fsck"},
	HooksGone:     {ForYou, "the repository has lost its hooks, and accepts any push", "git ward init --update"},
	ProposalWaits: {ForYou, "{d} is proposed as a directive, and a comment there starts it", "/ward approve {what}"},
	StaysBehind:   {ForYou, "{what} stays behind the forge", "git ward forge --once --dry-run"},
	ForgeIsAway:   {ForCause, "the forge is asked again by itself at {what}", "git ward forge --once"},
	NotAtForge:    {ForCause, "{what} does not go on at the forge, and is tried again at each look", "git ward forge --once"},
}

// Waiting is the sentence of a cause about a directive ("D-1"), its unit ("D-1.1", "" for
// none) and what it is about; what is cleaned, and on one line.
func (c Cause) Waiting(directive, unit, what string) Waiting {
	s := sentences[c]
	fill := strings.NewReplacer("{d}", directive, "{u}", unit, "{what}", what, "{admin}", NoTool.Mend(unit))
	return Waiting{For: s.For, Why: fill.Replace(s.Why), Command: fill.Replace(s.Command), Cause: c}
}
