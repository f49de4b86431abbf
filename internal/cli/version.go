package cli

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

type versionOptions struct {
	*runner
	json bool
}

func newVersion(r *runner) *cobra.Command {
	o := &versionOptions{runner: r}
	cmd := &cobra.Command{
		Use:         "version",
		Short:       "print the version",
		Annotations: exits("the version was printed", "", wrongUsage),
		Args:        noWords,
		RunE:        func(*cobra.Command, []string) error { return o.run() },
	}
	flagGroup{cmd.Flags(), outputGroup}.boolean(&o.json, "json", "print it as JSON")
	return cmd
}

// buildInfo says what is running.
type buildInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitzero"`
	Modified bool   `json:"modified,omitzero"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func (o *versionOptions) run() error {
	b := buildInfo{Version: o.Build, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		if b.Version == "" {
			b.Version = info.Main.Version
		}
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Commit = s.Value
			case "vcs.modified":
				b.Modified = s.Value == "true"
			}
		}
	}
	if b.Version == "" {
		b.Version = "(devel)"
	}
	if o.json {
		return o.printDocument(b)
	}
	line := "writ " + b.Version
	if b.Commit != "" {
		line += " · commit " + abbreviated(b.Commit)
		if b.Modified {
			line += ", modified"
		}
	}
	o.out.WriteString(line + " · " + b.Go + " · " + b.Platform + "\n")
	return nil
}

// noWords refuses words after a command that takes none.
func noWords(cmd *cobra.Command, words []string) error {
	if len(words) > 0 {
		return usagef("Run `"+cmd.CommandPath()+" --help` for what it takes.", "%s takes no arguments: %q", cmd.Name(), words[0])
	}
	return nil
}
