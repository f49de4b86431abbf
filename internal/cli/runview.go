package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/store"
)

// runMark gives the mark of a status.
func runMark(s store.Status) span {
	switch s {
	case store.Terminated:
		return markGood
	case store.Failed, store.Abandoned:
		return markBad
	case store.Cancelled:
		return markWarn
	case store.Running:
		return in(cyan, "▸")
	}
	return in(yellow, "‖")
}

// write says what became of a run, and what lets it go on.
func (rep runReport) write(p *page) {
	p.blank()
	p.line(0, runMark(rep.Status), space, in(bold, string(rep.Status)), text("  "), name(plain, rep.Run))
	t := &table{indent: 2}
	if rep.Status == store.Terminated {
		t.add(cell(dim, "result"), spans(text(rep.Result.String())))
	}
	if rep.Error != "" {
		words := rep.Error
		if rep.Code != "" {
			words += " (" + rep.Code + ")"
		}
		t.add(cell(dim, "because"), spans(text(words)))
	}
	t.add(cell(dim, "used"), spans(text(usedWords(rep.Steps, rep.Tokens, rep.Cost))))
	t.add(cell(dim, "log"), spans(text(counted(rep.Events, "event")+" "), name(dim, rep.Head)))
	p.table(t)
	for _, w := range rep.Waits {
		p.blank()
		w.write(p, rep.Run)
	}
}

// write says what a run waits for and which commands let it go on.
func (w waitReport) write(p *page, run string) {
	command := func(line string) { p.hang(4, 6, name(cyan, line)) }
	switch w.For {
	case "approval":
		p.hang(2, 4, text("waits for an approval of "), name(bold, w.Name),
			text(fmt.Sprintf(": %d of %s, by %s or stronger%s", w.Have, counted(w.Need, "approver"), w.Method, untilWords(w.DueMS))))
		command("writ approvals show " + shellWord(run))
		for _, token := range w.Tokens {
			command("writ approvals approve " + shellWord(run) + " --as NAME --token " + token)
		}
		switch {
		case len(w.Tokens) > 1:
			p.hang(4, 6, in(dim, "Give each token to one approver; they are shown once and only their digests are kept."))
		case w.Tokens == nil:
			command("writ approvals approve " + shellWord(run) + map[string]string{
				"token": " --as NAME --token TOKEN", "key": " --key FILE",
			}[w.Method])
		}
	case "event":
		p.hang(2, 4, text("waits for the event "), name(bold, w.Name), text(" at "+w.Node))
		line := "writ resume " + shellWord(run) + " --event " + shellWord(w.Name)
		if w.Key != "" {
			line += " --key " + shellWord(w.Key)
		}
		command(line + " --payload JSON")
	case "effect":
		p.hang(2, 4, text("nobody knows whether "), name(bold, w.Name), text(" at "+w.Node+" happened; look, and say"))
		command("writ resume " + shellWord(run) + " --settle " + shellWord(w.Key) + " --result JSON")
		command("writ resume " + shellWord(run) + " --settle " + shellWord(w.Key) + " --failed TEXT")
	case "time":
		p.hang(2, 4, text("waits until "+timeText(w.DueMS)+"; then"))
		command("writ resume " + shellWord(run))
	case "input":
		p.hang(2, 4, text("waits for an input at "+w.Node+": "+w.Name))
		token := "TOKEN"
		if len(w.Tokens) > 0 {
			token = w.Tokens[0]
		}
		command("writ resume " + shellWord(run) + " --token " + token + " --input JSON")
	}
}

func untilWords(ms int64) string {
	if ms == 0 {
		return ""
	}
	return ", until " + timeText(ms)
}

// timeText gives a time of a log.
func timeText(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05Z") }

// shellWord quotes a word for a shell where it needs it.
func shellWord(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// writeValue writes a JSON value as indented text.
func writeValue(p *page, indent int, v artifact.Value) {
	data, err := artifact.Encode(v)
	if err != nil {
		data = v.AppendCompact(nil)
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		body := strings.TrimLeft(line, " ")
		p.line(indent+len(line)-len(body), name(plain, body))
	}
}
