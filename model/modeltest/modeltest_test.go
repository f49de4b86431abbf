package modeltest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/writ-dev/writ/model"
)

func question(text string) model.Request {
	return model.Request{Model: "m", Messages: []model.Message{{Role: model.User, Text: text}}, MaxOutputTokens: 10}
}

func TestScript(t *testing.T) {
	p := New(
		Reply{Text: "one two three"},
		Reply{Chunks: []string{"a", "", "b"}, Usage: &model.Usage{InputTokens: 7, OutputTokens: 10}},
		Reply{Err: RateLimited},
	)
	p.Add(Reply{Text: "half", Err: Unavailable, Told: true}, Reply{Text: "half", Err: Unavailable}, Reply{NoUsage: true}, Reply{Stop: model.StopRefusal})
	var texts []string
	for c, err := range p.Generate(t.Context(), question("first")) {
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, c.Text)
	}
	if got := strings.Join(texts, "|"); got != "one |two |three|" {
		t.Errorf("chunks %s", got)
	}
	a, err := model.Collect(p.Generate(t.Context(), question("second")))
	if err != nil || a.Text != "ab" || a.Usage.InputTokens != 7 || a.Stop != model.StopLength {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err = model.Collect(p.Generate(t.Context(), question("q"))); err != RateLimited {
		t.Error(err)
	}
	if a, err = model.Collect(p.Generate(t.Context(), question("q"))); err != Unavailable || a.Text != "half" || a.Usage != (model.Usage{InputTokens: 1, OutputTokens: 2}) {
		t.Errorf("%+v, %v", a, err)
	}
	if a, err = model.Collect(p.Generate(t.Context(), question("q"))); err != Unavailable || a.Counted {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err = model.Collect(p.Generate(t.Context(), question("q"))); err == nil {
		t.Error("an answer without usage passes")
	}
	if a, err = model.Collect(p.Generate(t.Context(), question("q"))); err != nil || a.Stop != model.StopRefusal {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err = model.Collect(p.Generate(t.Context(), question("q"))); err == nil || err.Error() != "modeltest: the script has no reply to request 8" {
		t.Error(err)
	}
	if r := p.Requests(); len(r) != 8 || r[0].Messages[0].Text != "first" || r[1].Messages[0].Text != "second" || p.Left() != 0 {
		t.Errorf("requests %+v", r)
	}
	var invalid *model.Error
	if _, err = model.Collect(p.Generate(t.Context(), question(""))); !errors.As(err, &invalid) || len(p.Requests()) != 8 {
		t.Error(err)
	}
}

func TestAnswer(t *testing.T) {
	p := New()
	p.Answer = func(r model.Request) Reply { return Reply{Text: strings.ToUpper(r.Messages[0].Text)} }
	if a, err := model.Collect(p.Generate(t.Context(), question("loud"))); err != nil || a.Text != "LOUD" {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestHold(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	hold, started := make(chan struct{}), make(chan struct{})
	p := New(Reply{Text: "one two", Hold: hold, Started: started}, Reply{Text: "never"})
	done := make(chan error)
	var got string
	go func() {
		a, err := model.Collect(p.Generate(ctx, question("q")))
		got = a.Text
		done <- err
	}()
	<-started
	hold <- struct{}{}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) || got != "one " {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := model.Collect(p.Generate(ctx, question("q"))); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	closed := make(chan struct{})
	close(closed)
	p.Add(Reply{Text: "one two", Hold: closed})
	for range p.Generate(t.Context(), question("q")) {
		break // leaving the loop ends the request
	}
}
