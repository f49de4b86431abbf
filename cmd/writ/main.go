// Command writ gives an AI agent a written warrant: what it may know and do.
package main

import (
	"context"
	"io"
	"log"
	"os"
	"runtime/debug"
	"time"

	"golang.org/x/term"

	"github.com/writ-dev/writ/internal/cli"
)

// version is set by the linker.
var version string

// gcPercent lets a command, which lives for milliseconds, collect less often:
// a large manifest is read once and kept to the end.
const gcPercent = 400

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	log.SetOutput(io.Discard) // net/http reports a server's misbehaviour there
	out, errs := int(os.Stdout.Fd()), int(os.Stderr.Fd())
	width, _, _ := term.GetSize(out) // 0 when unknown
	os.Exit(cli.Run(context.Background(), os.Args[1:], cli.Streams{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		OutTerminal: term.IsTerminal(out) && obeysEscapes(out), Width: width,
		ErrTerminal: term.IsTerminal(errs) && obeysEscapes(errs),
		Env:         os.Getenv, Now: time.Now, Build: version,
	}))
}
