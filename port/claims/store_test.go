package claims

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/policy"
)

func openAt(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(path, "releases", StoreOptions{Now: at(1000)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// fill proposes, decides and commits.
func fill(t *testing.T, s *Store, n int) {
	t.Helper()
	for i := range n {
		p := proposal(t, fmt.Sprintf(`{"publish":"1.%d","even":%v}`, i, i%2 == 0))
		d := digestOf(t, p)
		if err := s.Propose(t.Context(), fmt.Sprintf("p%d", i), p); err != nil {
			t.Fatal(err)
		}
		for _, a := range []Approval{person(d, "ann", true), {Kind: ByPolicy, Graph: "releases", Decision: policy.Decision{Proposal: d, Approve: true}, ID: "r"}} {
			if err := s.Decide(t.Context(), a); err != nil {
				t.Fatal(err)
			}
		}
		all, err := s.Approvals(t.Context(), d)
		if err != nil || len(all) != 2 {
			t.Fatal(all, err)
		}
		if claim, err := s.Commit(t.Context(), fmt.Sprintf("c%d", i), p, all); err != nil || claim != fmt.Sprint(i+1) {
			t.Fatal(claim, err)
		}
	}
}

func readText(t *testing.T, s *Store, query string) string {
	t.Helper()
	v, err := s.Read(t.Context(), value(t, query))
	if err != nil {
		t.Fatal(err)
	}
	return v.String()
}

func TestJournalLasts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "claims.jsonl")
	s := openAt(t, path)
	fill(t, s, 3)
	want := readText(t, s, `{}`)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := openAt(t, path)
	if got := readText(t, again, `{}`); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	memory := NewMemory("releases", StoreOptions{Now: at(1000)})
	fill(t, memory, 3)
	if got := readText(t, memory, `{}`); got != want {
		t.Errorf("in memory %s, want %s", got, want)
	}
	if claim, err := again.Commit(t.Context(), "c1", proposal(t, `{"publish":"1.1","even":false}`), nil); err != nil || claim != "2" {
		t.Errorf("the same key again: %s, %v", claim, err)
	}
	_, err := Open(path, "other", StoreOptions{})
	var damaged *JournalError
	if !errors.As(err, &damaged) || damaged.Line != 1 {
		t.Errorf("another graph's journal: %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 && filepath.Separator == '/' {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if _, err := Open(t.TempDir(), "releases", StoreOptions{}); err == nil {
		t.Error("a folder is a journal")
	}
}

func TestQueries(t *testing.T) {
	s := NewMemory("releases", StoreOptions{Now: at(1000)})
	fill(t, s, 5)
	d := digestOf(t, proposal(t, `{"publish":"1.3","even":false}`))
	for query, want := range map[string]string{
		`{}`: "1,2,3,4,5 false", `{"limit":2}`: "1,2 true", `{"after":"3"}`: "4,5 false", `{"after":"1","limit":3}`: "2,3,4 true",
		`{"after":"99"}`: " false", `{"claim":"2"}`: "2 false", `{"proposal":"` + d.String() + `"}`: "4 false",
		`{"match":{"even":true}}`: "1,3,5 false", `{"match":{"even":true,"publish":"1.2"}}`: "3 false", `{"match":{"other":1}}`: " false",
		`{"match":{"even":true},"limit":3}`: "1,3,5 false", `{"match":{}}`: "1,2,3,4,5 false",
	} {
		v := value(t, readText(t, s, query))
		var names []string
		list, _ := v.Get("claims")
		for _, c := range list.Elements() {
			name, _ := c.Get("claim")
			names = append(names, name.Text())
		}
		more, _ := v.Get("more")
		if got := strings.Join(names, ",") + " " + more.String(); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	for query, part := range map[string]string{
		`[]`: "query", `{"x":1}`: "x", `{"limit":0}`: "from 1 to 1000", `{"limit":1001}`: "from 1 to 1000", `{"after":"x"}`: "write the name of a claim",
		`{"match":[]}`: "match", `{"claim":1}`: "claim",
	} {
		_, err := s.Read(t.Context(), value(t, query))
		expectError(t, err, "invalid", part)
	}
}

func TestStoreRefuses(t *testing.T) {
	s := NewMemory("releases", StoreOptions{})
	p := proposal(t, `{"a":1}`)
	d := digestOf(t, p)
	stranger := p
	stranger.Graph = "other"
	expectError(t, s.Propose(t.Context(), "k", stranger), "invalid", `the proposal is for "other"`)
	expectError(t, s.Propose(t.Context(), "k", proposal(t, `{"a":1e999}`)), "invalid", "")
	_, err := s.Commit(t.Context(), "k", stranger, []Approval{person(d, "ann", true)})
	expectError(t, err, "invalid", `the proposal is for "other"`)
	_, err = s.Commit(t.Context(), "k", p, nil)
	expectError(t, err, ClassApproval, "was not approved")
	_, err = s.Commit(t.Context(), "k", p, []Approval{person(artifact.Sum(nil), "ann", true)})
	expectError(t, err, ClassApproval, "about another change")
	_, err = s.Commit(t.Context(), "k", p, []Approval{person(d, "ann", false)})
	expectError(t, err, ClassApproval, "")
	expectError(t, s.Decide(t.Context(), person(d, "ann", true)), "invalid", "there is no proposal sha256:")
	for _, a := range []Approval{{Kind: ByRun, ID: "x"}, {Kind: "robot"}, {}} {
		a.Graph, a.Decision.Proposal = "releases", d
		expectError(t, s.Decide(t.Context(), a), ClassApproval, "cannot be given here")
	}
	expectError(t, s.Decide(t.Context(), Approval{Kind: ByPolicy, Graph: "releases"}), ClassApproval, "needs an id")
	other := person(d, "ann", true)
	other.Graph = "x"
	expectError(t, s.Decide(t.Context(), other), ClassApproval, `the decision is for "x"`)
	if _, err = s.Commit(t.Context(), "k", p, []Approval{person(d, "ann", true)}); err != nil {
		t.Error(err) // what was not proposed before is proposed with it
	}
	expectError(t, s.Decide(t.Context(), person(d, "bob", false)), "conflict", "was committed as claim 1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	expectError(t, s.Propose(ctx, "k9", p), graph.ClassCancelled, "")
}

// TestTornJournal cuts the journal after every byte: what is whole counts, and the
// journal goes on after it.
func TestTornJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "claims.jsonl")
	fill(t, openAt(t, path), 1)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut.jsonl")
	for n := range len(whole) {
		if err := os.WriteFile(cut, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(cut, "releases", StoreOptions{Now: at(1000)})
		if err != nil {
			t.Fatalf("after %d bytes: %v", n, err)
		}
		if lines := uint64(bytes.Count(whole[:n], []byte("\n"))); s.state.chain.seq != lines {
			t.Fatalf("after %d bytes: %d records, of %d lines", n, s.state.chain.seq, lines)
		}
		if n%50 == 0 {
			if err := s.Propose(t.Context(), "next", proposal(t, `{"next":true}`)); err != nil {
				t.Fatalf("after %d bytes: %v", n, err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s, err = Open(cut, "releases", StoreOptions{})
			if err != nil || s.state.keys["next"].Proposal.IsZero() {
				t.Fatalf("after %d bytes and a proposal: %v", n, err)
			}
		}
		_ = s.Close()
	}
}

// TestChangedJournal changes every byte but those of the last line, which nothing
// follows.
func TestChangedJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "claims.jsonl")
	fill(t, openAt(t, path), 1)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	last := bytes.LastIndexByte(whole[:len(whole)-1], '\n')
	changed := filepath.Join(t.TempDir(), "changed.jsonl")
	for i := range last {
		text := bytes.Clone(whole)
		text[i] ^= 1
		if err := os.WriteFile(changed, text, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(changed, "releases", StoreOptions{})
		var damaged *JournalError
		if !errors.As(err, &damaged) {
			t.Fatalf("byte %d, %q: %v", i, whole[i], err)
		}
		if s != nil {
			t.Fatal("a store with a damaged journal")
		}
	}
	s := openAt(t, path)
	if err := os.Truncate(path, 10); err != nil {
		t.Fatal(err)
	}
	var damaged *JournalError
	if err := s.Propose(t.Context(), "k", proposal(t, `{}`)); !errors.As(err, &damaged) {
		t.Errorf("a journal that became shorter: %v", err)
	}
}

// TestSharedJournal has several openers write at once, as processes do.
func TestSharedJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "claims.jsonl")
	const openers, each = 4, 8
	var all sync.WaitGroup
	for i := range openers {
		s := openAt(t, path)
		all.Go(func() {
			for k := range each {
				p := Proposal{Graph: "releases", Operation: artifact.IntValue(int64(k)), Justification: "race"}
				d, _ := p.Digest()
				_, err := s.Commit(context.Background(), fmt.Sprintf("%d-%d", i, k), p, []Approval{person(d, "ann", true)})
				var known *Error
				if err != nil && (!errors.As(err, &known) || known.Class != "conflict") {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	s := openAt(t, path)
	if len(s.state.claims) != each || s.state.chain.seq != 2*each {
		t.Errorf("%d claims in %d records", len(s.state.claims), s.state.chain.seq)
	}
}

func TestBrokenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "claims.jsonl")
	s := openAt(t, path)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	expectError(t, s.Propose(t.Context(), "k", proposal(t, `{}`)), "unavailable", "the journal cannot be locked")
	readOnly, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer readOnly.Close()
	s.journal.file = readOnly
	if err := s.Propose(t.Context(), "k", proposal(t, `{}`)); err == nil || len(s.state.order) != 0 {
		t.Errorf("%v, %d proposals", err, len(s.state.order))
	}
	big := NewMemory("releases", StoreOptions{})
	p := Proposal{Graph: "releases", Operation: artifact.StringValue(strings.Repeat("x", maxLine)), Justification: "x"}
	expectError(t, big.Propose(t.Context(), "k", p), "invalid", "of at most")
}
