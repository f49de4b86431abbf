package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newRoot builds the command tree.
func newRoot(r *runner) *cobra.Command {
	cobra.EnableCommandSorting = false
	cobra.MousetrapHelpText = ""
	version := false
	root := &cobra.Command{
		Use:   "writ COMMAND",
		Short: "a written warrant for AI agents: what they may know, what they may do",
		Long: "writ reads a knowledge.yaml (Knowledge Context Protocol) and decides, gate by gate and the same way " +
			"every time, which units an agent may load for a task. It runs agents under a pack that says what they may do, and keeps a " +
			"record of it that anybody can check. Every refusal has a reason, and every plan and run can be replayed.",
		Example: `writ plan "how do we deploy a release?" --manifest ./docs
writ why deploy-guide "how do we deploy a release?" --manifest ./docs
writ run refund.yaml --input '{"order": "o7"}'
writ runs --status suspended`,
		Annotations:       rootExits(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		Args:              cobra.ArbitraryArgs,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE: func(cmd *cobra.Command, args []string) error {
			if version {
				return (&versionOptions{runner: r}).run()
			}
			r.usage(cmd)
			return errUsageShown
		},
	}
	addCommands(root, r)
	keepFlagOrder(root)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { r.help(cmd) })
	root.SetFlagErrorFunc(r.flagError)
	root.SetOut(&r.out)
	root.SetErr(r.Err)
	root.Flags().BoolVar(&version, "version", false, "print the version")
	global := root.PersistentFlags()
	general := flagGroup{global, generalGroup}
	general.value(&r.color, "color", "WHEN", "never", "use colour: always, never or auto, the default: on a terminal, unless NO_COLOR is set")
	global.BoolP("help", "h", false, "print this help and do nothing else")
	root.PersistentPreRunE = func(*cobra.Command, []string) error { return r.checkColor() }
	mustComplete(root.RegisterFlagCompletionFunc("color", fixed("always", "never", "auto")))
	return root
}

// addCommands adds all commands, in the order in which the help shows them.
func addCommands(root *cobra.Command, r *runner) {
	addGroup(root, "knowledge", "Knowledge", newPlan(r), newWhy(r), newSearch(r), newUnit(r), newTimeline(r), newValidate(r), newDiff(r))
	addGroup(root, "runs", "Agents and their runs", newRun(r), newRuns(r), newApprovals(r), newResume(r), newWork(r), newCancel(r), newFork(r),
		newMigrate(r), newAbandon(r))
	addGroup(root, "record", "The record", newVerify(r), newReplay(r))
	addGroup(root, "authority", "What agents may do", newGraph(r), newPack(r))
	addGroup(root, "publish", "Publishing", newInit(r), newDiscover(r), newCoverage(r), newWatch(r), newSign(r), newTrust(r))
	help := newHelp(r, root)
	root.SetHelpCommand(help)
	addGroup(root, "more", "More", newKeygen(r), newVersion(r), newCompletion(r), help)
}

// addGroup adds commands that the help shows together.
func addGroup(root *cobra.Command, id, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: id, Title: title})
	for _, cmd := range commands {
		cmd.GroupID = id
	}
	root.AddCommand(commands...)
}

// rootExits lists the exit codes of all commands together.
func rootExits() map[string]string {
	notes := exits("good", "a negative verdict, or the command could not be carried out", wrongUsage)
	notes[exitNote] += suspendedNote
	return notes
}

// keepFlagOrder lets help keep the order in which flags were declared.
func keepFlagOrder(cmd *cobra.Command) {
	cmd.Flags().SortFlags = false
	for _, sub := range cmd.Commands() {
		keepFlagOrder(sub)
	}
}

func (r *runner) checkColor() error {
	switch r.color.text {
	case "auto", "always", "never":
		return nil
	case "":
		if !r.color.set {
			return nil
		}
	}
	return badValue("color", r.color.text, "is none of auto, always and never", "never")
}

// unknownCommand says that the first word is no command, if it is none.
func unknownCommand(root *cobra.Command, first string) error {
	if strings.HasPrefix(first, "-") || first == "help" || strings.HasPrefix(first, cobra.ShellCompRequestCmd) {
		return nil
	}
	var known []string
	for _, cmd := range root.Commands() {
		if cmd.Name() == first {
			return nil
		}
		known = append(known, cmd.Name())
	}
	if slices.Contains(laterCommands, first) {
		return usagef("Run `writ help` for the commands there are.", "the command %q is not in this version", first)
	}
	return usagef("Run `writ help` for the commands.", "unknown command %q%s", first, didYouMean(first, known, ""))
}

// laterCommands are commands of kcp-agent that this version does not have.
var laterCommands = []string{"ask", "remember", "recall", "mcp", "serve"}

// flagError turns what the flag parser says into words of our own. Help wins
// over anything that is wrong on the command line.
func (r *runner) flagError(cmd *cobra.Command, err error) error {
	if helpAsked(r.args) {
		return pflag.ErrHelp
	}
	hint := "Run `" + cmd.CommandPath() + " --help` for the flags."
	var unknown *pflag.NotExistError
	var missing *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		return unknownFlag(cmd, unknown, hint)
	case errors.As(err, &missing):
		return missingValue(missing.GetFlag())
	case errors.As(err, &invalid) && errors.Is(err, errLooksLikeFlag):
		return missingValue(invalid.GetFlag())
	case errors.As(err, &invalid):
		return usagef(hint, "--%s takes no value, or =true or =false; %q is neither", invalid.GetFlag().Name, invalid.GetValue())
	}
	return usagef(hint, "%v", err)
}

func helpAsked(args []string) bool {
	for _, arg := range args {
		switch arg {
		case "--":
			return false
		case "--help", "-h":
			return true
		}
	}
	return false
}

func unknownFlag(cmd *cobra.Command, e *pflag.NotExistError, hint string) error {
	typed := e.GetSpecifiedName()
	if short := e.GetSpecifiedShortnames(); short != "" {
		long := didYouMean(strings.SplitN(short, "=", 2)[0], flagNames(cmd), "--")
		if long == "" && cmd.HasParent() {
			hint = "A task that begins with a dash goes after two of them: " + cmd.CommandPath() + ` -- "-` + short + `"`
		}
		return usagef(hint, "unknown flag -%s%s", short, long)
	}
	if !cmd.HasParent() {
		return usagef("The command comes first: writ COMMAND [flags]", "unknown flag --%s before a command", typed)
	}
	suggestion := didYouMean(typed, flagNames(cmd), "--")
	if suggestion == "" {
		suggestion = flagElsewhere(cmd, typed)
	}
	return usagef(hint, "unknown flag --%s%s", typed, suggestion)
}

// flagElsewhere says which other command has the flag.
func flagElsewhere(cmd *cobra.Command, typed string) string {
	for _, other := range cmd.Root().Commands() {
		if other != cmd && other.LocalFlags().Lookup(typed) != nil {
			return "; it belongs to " + other.CommandPath()
		}
	}
	return ""
}

func missingValue(f *pflag.Flag) error {
	metavar, _ := pflag.UnquoteUsage(f)
	return usagef("", "--%s needs a value: --%s %s%s", f.Name, f.Name, metavar, exampleOf(f))
}

func exampleOf(f *pflag.Flag) string {
	if g, ok := f.Value.(*given); ok && g.example != "" {
		return ", such as --" + f.Name + " " + g.example
	}
	return ""
}

func flagNames(cmd *cobra.Command) []string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}

// badValue is a flag whose value does not parse.
func badValue(flag, value, problem, example string) error {
	return usagef("Write it like --"+flag+" "+example, "--%s: %q %s", flag, value, problem)
}
