package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

var shells = []string{"bash", "zsh", "fish", "powershell"}

func newCompletion(r *runner) *cobra.Command {
	return &cobra.Command{
		Use:   "completion " + strings.Join(shells, "|"),
		Short: "print a completion script for a shell",
		Long: "completion prints a script that completes commands, flags, fixed values and the unit ids of `writ why` and `writ unit`. " +
			"Load it in the shell's start-up file.",
		Example: `source <(writ completion bash)
writ completion zsh > "${fpath[1]}/_writ"
writ completion fish > ~/.config/fish/completions/writ.fish
writ completion powershell | Out-String | Invoke-Expression`,
		Annotations: exits("the script was printed", "", wrongUsage),
		ValidArgs:   shells,
		RunE: func(cmd *cobra.Command, words []string) error {
			if len(words) != 1 {
				return usagef("Write it like writ completion bash", "completion needs one shell: %s", strings.Join(shells, ", "))
			}
			root := cmd.Root()
			switch words[0] {
			case "bash":
				return root.GenBashCompletionV2(&r.out, true)
			case "zsh":
				return root.GenZshCompletion(&r.out)
			case "fish":
				return root.GenFishCompletion(&r.out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(&r.out)
			}
			return usagef("The shells are "+strings.Join(shells, ", ")+".", "unknown shell %q%s", words[0], didYouMean(words[0], shells, ""))
		},
	}
}

// fixed completes a flag that takes one of a few words.
func fixed(words ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
}

// mustComplete stops the program when a completion names a flag that does not
// exist: a mistake in this package, which every test would meet.
func mustComplete(err error) {
	if err != nil {
		panic(err)
	}
}
