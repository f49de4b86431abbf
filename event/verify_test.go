package event

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/keys"
)

var (
	signer   = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
	stranger = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{2}, ed25519.SeedSize))
)

func publicKey(k ed25519.PrivateKey) ed25519.PublicKey { return k.Public().(ed25519.PublicKey) }

func texts(records []Record) [][]byte {
	var out [][]byte
	for _, r := range records {
		out = append(out, r.Bytes)
	}
	return out
}

func stream(log [][]byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for _, data := range log {
			if !yield(data, nil) {
				return
			}
		}
	}
}

func verify(t testing.TB, log [][]byte, o VerifyOptions) Report {
	t.Helper()
	r, err := Verify(stream(log), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func headOf(records []Record) Head {
	last := records[len(records)-1]
	return Head{Exec: last.Exec, Seq: last.Seq, Digest: last.Digest}
}

func sign(t testing.TB, h Head, k ed25519.PrivateKey) []byte {
	t.Helper()
	data, err := SignHead(h, k)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestVerdicts(t *testing.T) {
	records := aRun(t)
	log, head := texts(records), headOf(records)
	trusted := []ed25519.PublicKey{publicKey(signer)}
	part := Head{Exec: "run", Seq: 5, Digest: records[4].Digest}
	for name, c := range map[string]struct {
		log     [][]byte
		options VerifyOptions
		want    string
		ended   bool
	}{
		"nothing to compare with": {log, VerifyOptions{}, "intact, unanchored, redacted", true},
		"the store's own head":    {log, VerifyOptions{Stored: &head}, "intact, unanchored, redacted", true},
		"anchored":                {log, VerifyOptions{Anchors: []Head{head}}, "intact, complete, redacted", true},
		"signed":                  {log, VerifyOptions{Signed: [][]byte{sign(t, head, signer)}, Trusted: trusted}, "intact, complete, redacted", true},
		"signed by a stranger":    {log, VerifyOptions{Signed: [][]byte{sign(t, head, stranger)}, Trusted: trusted}, "intact, unanchored, redacted", true},
		"signed in the middle": {
			log, VerifyOptions{Signed: [][]byte{sign(t, part, signer)}, Trusted: trusted},
			fmt.Sprintf("intact, vouched for up to event 5 of %d, redacted", head.Seq), true,
		},
		"a part, signed":     {log[:5], VerifyOptions{Signed: [][]byte{sign(t, part, signer)}, Trusted: trusted}, "intact, complete", false},
		"cut, head known":    {log[:5], VerifyOptions{Stored: &head}, fmt.Sprintf("broken at event 6: a head names event %d, and the log ends before", head.Seq), false},
		"another run's":      {log, VerifyOptions{Exec: "other"}, "broken at event 1: it belongs to another run", false},
		"empty":              {nil, VerifyOptions{}, "intact, unanchored", false},
		"empty, head known":  {nil, VerifyOptions{Anchors: []Head{head}}, fmt.Sprintf("broken at event 1: a head names event %d, and the log ends before", head.Seq), false},
		"head of other run":  {log, VerifyOptions{Anchors: []Head{{Exec: "other", Seq: head.Seq, Digest: head.Digest}}}, fmt.Sprintf("broken at event %d: a head names it as an event of another run", head.Seq), true},
		"nobody is trusted":  {log, VerifyOptions{Signed: [][]byte{sign(t, head, signer)}}, "intact, unanchored, redacted", true},
		"envelope is no one": {log, VerifyOptions{Signed: [][]byte{[]byte("{}")}, Trusted: trusted}, "intact, unanchored, redacted", true},
	} {
		r := verify(t, c.log, c.options)
		if got := r.Verdict(); got != c.want || r.Ended != c.ended || r.Intact != (r.Bad == nil) || r.Complete && r.Unanchored {
			t.Errorf("%s: %s, ended %t; want %s, %t", name, got, r.Ended, c.want, c.ended)
		}
	}
	r := verify(t, log, VerifyOptions{Signed: [][]byte{sign(t, head, stranger), sign(t, head, signer)}, Trusted: trusted})
	if !slices.Equal(r.Signers, []string{keys.ID(publicKey(signer))}) || len(r.Heads) != 1 || r.Heads[0].Index != 0 {
		t.Errorf("signers %q, problems %+v", r.Signers, r.Heads)
	}
	if r.Types[TypeEffectSettled] != 1 || r.Types[TypeNodeStarted] != 6 || r.Head != head {
		t.Errorf("counts %v, head %+v", r.Types, r.Head)
	}
}

// TestEverySingleMutation makes each single change to each event of a log and
// checks that the event is named and the verdict is right, with the head known
// in each of the three ways.
func TestEverySingleMutation(t *testing.T) {
	records := aRun(t)
	log, head := texts(records), headOf(records)
	n := uint64(len(log))
	ways := map[string]VerifyOptions{
		"stored":   {Stored: &head},
		"anchored": {Anchors: []Head{head}},
		"signed":   {Signed: [][]byte{sign(t, head, signer)}, Trusted: []ed25519.PublicKey{publicKey(signer)}},
	}
	for way, o := range ways {
		expect := func(what string, changed [][]byte, seq uint64) {
			t.Helper()
			r := verify(t, changed, o)
			if r.Intact || r.Complete || r.Bad == nil || r.Bad.Seq != seq {
				t.Fatalf("%s, %s: %s; want event %d named", way, what, r.Verdict(), seq)
			}
		}
		for i := range log {
			seq := uint64(i + 1)
			for at := range log[i] {
				changed := slices.Clone(log)
				changed[i] = bytes.Clone(log[i])
				changed[i][at] ^= 1 << (at % 8)
				expect(fmt.Sprintf("byte %d of event %d flipped", at, seq), changed, seq)
			}
			expect(fmt.Sprintf("event %d dropped", seq), slices.Delete(slices.Clone(log), i, i+1), seq)
			expect(fmt.Sprintf("event %d twice", seq), slices.Insert(slices.Clone(log), i, log[i]), seq+1)
			expect(fmt.Sprintf("cut before event %d", seq), log[:i], seq)
			for j := i + 1; j < len(log); j++ {
				changed := slices.Clone(log)
				changed[i], changed[j] = changed[j], changed[i]
				expect(fmt.Sprintf("events %d and %d swapped", seq, j+1), changed, seq)
			}
			changed := slices.Clone(log)
			changed[i] = changed[i][:len(changed[i])-1]
			expect(fmt.Sprintf("event %d cut short", seq), changed, seq)
			expect(fmt.Sprintf("event %d appended after the end", seq), append(slices.Clone(log), log[i]), n+1)
		}
	}
}

// rechain builds the log anew from the start, with one event changed, so that
// every link is right again.
func rechain(t *testing.T, records []Record, change func(*Event)) []Record {
	t.Helper()
	chain, err := NewChain(Head{Exec: "run"})
	if err != nil {
		t.Fatal(err)
	}
	var out []Record
	for _, r := range records {
		e, err := r.Decode()
		if err != nil {
			t.Fatal(err)
		}
		change(&e)
		made, err := chain.Append(e)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, made)
	}
	return out
}

func TestRechained(t *testing.T) {
	records := aRun(t)
	head := headOf(records)
	forged := rechain(t, records, func(e *Event) {
		if p, ok := e.Body.(*Resumed); ok {
			p.By = "mallory"
		}
	})
	log := texts(forged)
	if r := verify(t, log, VerifyOptions{}); !r.Intact || !r.Unanchored || r.Complete {
		t.Errorf("without a head: %s", r.Verdict())
	}
	forgedHead := headOf(forged)
	if r := verify(t, log, VerifyOptions{Stored: &forgedHead}); !r.Intact || !r.Unanchored || r.Complete {
		t.Errorf("with the head that the forger stored: %s", r.Verdict())
	}
	trusted := []ed25519.PublicKey{publicKey(signer)}
	for name, o := range map[string]VerifyOptions{
		"anchored":             {Anchors: []Head{head}},
		"signed":               {Signed: [][]byte{sign(t, head, signer)}, Trusted: trusted},
		"signed, and forged":   {Signed: [][]byte{sign(t, forgedHead, stranger), sign(t, head, signer)}, Trusted: trusted},
		"signed in the middle": {Signed: [][]byte{sign(t, Head{Exec: "run", Seq: 25, Digest: records[24].Digest}, signer)}, Trusted: trusted},
	} {
		if r := verify(t, log, o); r.Intact || r.Complete || r.Bad == nil || r.Bad.Code != BadDigest {
			t.Errorf("%s: %s", name, r.Verdict())
		}
	}
	other := verify(t, log, VerifyOptions{Signed: [][]byte{sign(t, forgedHead, stranger)}, Trusted: trusted})
	if !other.Unanchored || other.Complete || len(other.Heads) != 1 {
		t.Errorf("signed by the forger: %s", other.Verdict())
	}
}

func TestVerifyReaderError(t *testing.T) {
	broken := errors.New("disk on fire")
	log := texts(aRun(t))
	for cut := range 3 {
		_, err := Verify(func(yield func([]byte, error) bool) {
			for _, data := range log[:cut] {
				if !yield(data, nil) {
					return
				}
			}
			yield(nil, broken)
		}, VerifyOptions{})
		if !errors.Is(err, broken) {
			t.Errorf("after %d events: %v", cut, err)
		}
	}
}

func TestSignedHead(t *testing.T) {
	h := Head{Exec: "run", Seq: 1<<63 + 1, Digest: digestOf("x")}
	data := sign(t, h, signer)
	got, by, err := OpenHead(data, publicKey(stranger), publicKey(signer))
	if err != nil || got != h || !slices.Equal(by, []string{keys.ID(publicKey(signer))}) {
		t.Errorf("got %+v by %q, %v", got, by, err)
	}
	const want = `{"count":"9223372036854775809","digest":"` // RFC 8785, numbers as strings
	payload, _, err := keys.Open(data, HeadType, publicKey(signer))
	if err != nil || !strings.HasPrefix(string(payload), want) {
		t.Errorf("statement %s, %v", payload, err)
	}
	if _, err := SignHead(Head{Exec: "run"}, signer); err == nil {
		t.Error("signed an empty log")
	}
	d := artifact.Digest(digestOf("x")).String()
	for _, statement := range []string{
		`{}`, `[]`, `{"count":"1","digest":"` + d + `","exec":"run","seq":"2"}`, `{"count":1,"digest":"` + d + `","exec":"run","seq":1}`,
		`{"count":"0","digest":"` + d + `","exec":"run","seq":"0"}`, `{"count":"1","digest":"` + d + `","exec":"run","seq":"1"} `,
		`{"digest":"` + d + `","count":"1","exec":"run","seq":"1"}`, `{"count":"1","digest":"` + d + `","exec":"run","seq":"1","x":1}`,
		`{"count":"01","digest":"` + d + `","exec":"run","seq":"01"}`,
	} {
		data, err := keys.Seal(HeadType, []byte(statement), signer)
		if err != nil {
			t.Fatal(err)
		}
		if h, _, err := OpenHead(data, publicKey(signer)); err == nil {
			t.Errorf("%s: opened as %+v", statement, h)
		}
	}
}

// BenchmarkVerify checks chain, form, order and sequence of a log of whole
// steps with small patches.
func BenchmarkVerify(b *testing.B) {
	const events = 3001
	builder := &runBuilder{t: b, state: digestOf("0")}
	builder.chain, _ = NewChain(Head{Exec: "run"})
	builder.add("", &Started{Definition: samples()[0].Body.(*Started).Definition, State: builder.state, Method: MethodOSUser})
	for i := range (events - 1) / 3 {
		n := fmt.Sprintf("node-%d", i)
		builder.add(n, &NodeStarted{})
		builder.patch(n, fmt.Sprintf(`{"base_revision":%d,"operations":{"/count":{"Set":%d},"/text":{"Set":"some text of a usual length"}}}`, i, i))
		builder.add(n, &Routed{Outcome: OutcomeContinue, Route: "continue", To: "next"})
	}
	log := texts(builder.records)
	size := 0
	for _, data := range log {
		size += len(data)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		if r := verify(b, log, VerifyOptions{}); !r.Intact {
			b.Fatal(r.Verdict())
		}
	}
	b.ReportMetric(float64(b.N)*events/b.Elapsed().Seconds(), "events/s")
}

func BenchmarkAppend(b *testing.B) {
	e := samples()[2]
	chain, err := NewChain(Head{Exec: "run"})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := chain.Append(e); err != nil {
			b.Fatal(err)
		}
	}
}
