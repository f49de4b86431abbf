package event

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-dev/writ/artifact"
)

// Salt makes a digest that nobody can guess the content of: without the salt,
// trying likely values finds nothing. It is kept as a blob. Once that is deleted
// the digest proves nothing any more, and tells nothing either.
//
// The caller draws it from a random source that cannot be predicted, for one run
// or for one value. The zero Salt is refused.
type Salt [32]byte

// Ref gives the digest under which the salt's bytes are kept.
func (s Salt) Ref() artifact.Digest { return artifact.Sum(s[:]) }

// Digest gives the salted digest of data: HMAC-SHA-256 under the salt.
func (s Salt) Digest(data []byte) artifact.Digest {
	mac := hmac.New(sha256.New, s[:])
	mac.Write(data)
	return artifact.Digest(mac.Sum(nil))
}

// Recorded gives the Recorded of restricted bytes.
func (s Salt) Recorded(kind string, data []byte) Recorded {
	return Recorded{
		Kind: kind, Digest: s.Digest(data), Size: uint64(len(data)),
		Access: AccessRestricted, Salt: s.Ref(),
	}
}

// The documents that a redaction pointer can point into.
const (
	ScopeArgs   = "args"
	ScopeResult = "result"
	ScopeState  = "state"
)

// ParsePointer splits a typed redaction pointer, such as args:/user/token, into
// its scope and an RFC 6901 pointer.
func ParsePointer(s string) (scope, pointer string, err error) {
	scope, pointer, ok := strings.Cut(s, ":")
	if !ok || scope != ScopeArgs && scope != ScopeResult && scope != ScopeState {
		return "", "", fmt.Errorf("redaction pointer %.80q: want args:, result: or state: before it", s)
	}
	if pointer != "" && pointer[0] != '/' {
		return "", "", fmt.Errorf("redaction pointer %.80q: what follows %s: must begin with /", s, scope)
	}
	for i := range len(pointer) {
		if pointer[i] == '~' && (i+1 == len(pointer) || pointer[i+1] != '0' && pointer[i+1] != '1') {
			return "", "", fmt.Errorf("redaction pointer %.80q: ~ stands before 0 or 1 only", s)
		}
	}
	return scope, pointer, nil
}

// Redactor takes secrets out of documents before anything of them is hashed,
// and remembers the secrets, so that it finds them again where something echoes
// them. Redacting what is redacted changes nothing, so that a replay, which has
// nothing else, gives the same bytes. It belongs to one run and one goroutine.
type Redactor struct {
	salt     Salt
	pointers map[string][]string // by scope, sorted
	scrubber Scrubber
	secrets  int // that were learned
}

// minSecret is the length in bytes from which a redacted text is looked for
// elsewhere. Shorter ones occur by chance, and replacing them would garble what
// is not secret.
const minSecret = 6

// maxSecrets bounds what a redactor remembers.
const maxSecrets = 1024

// NewRedactor gives a redactor of typed pointers, see [ParsePointer].
func NewRedactor(salt Salt, pointers []string) (*Redactor, error) {
	if salt == (Salt{}) {
		return nil, fmt.Errorf("redactor: the salt is zero")
	}
	r := &Redactor{salt: salt, pointers: map[string][]string{}}
	for _, p := range pointers {
		scope, pointer, err := ParsePointer(p)
		if err != nil {
			return nil, err
		}
		r.pointers[scope] = append(r.pointers[scope], pointer)
	}
	for _, list := range r.pointers {
		slices.Sort(list)
	}
	return r, nil
}

// Redact gives a copy of a document of that scope which is fit to be stored: in
// the place of each value under a pointer stands {"redacted":"<salted digest>"},
// and known secrets elsewhere are replaced as in [Redactor.Text]. Pointers that
// lead nowhere are ignored. The answer says whether anything of the copy is
// redacted.
func (r *Redactor) Redact(scope string, v artifact.Value) (artifact.Value, bool, error) {
	redacted := false
	for _, pointer := range r.pointers[scope] {
		replaced, ok, err := r.replace(v, pointerTokens(pointer))
		if err != nil {
			return artifact.Value{}, false, err
		}
		v, redacted = replaced, redacted || ok
	}
	v, found := r.scrub(v, 0)
	return v, redacted || found, nil
}

// Learn remembers the texts and numbers of a value that is secret.
func (r *Redactor) Learn(secret artifact.Value) { r.learn(secret, 0) }

// Document redacts a document and gives what may be stored of it: its canonical
// text after redaction, and the Recorded of that text. The text commits to the
// secrets by their salted digests. A document of the class
// [AccessRestricted] has a salted digest itself.
func (r *Redactor) Document(scope, kind, access string, v artifact.Value) (Recorded, []byte, error) {
	safe, changed, err := r.Redact(scope, v)
	if err != nil {
		return Recorded{}, nil, err
	}
	kept, err := artifact.CanonicalRuntime(safe)
	if err != nil {
		return Recorded{}, nil, err
	}
	rec := NewRecorded(kind, access, kept)
	if access == AccessRestricted {
		rec = r.salt.Recorded(kind, kept)
	}
	rec.Redacted = changed
	return rec, kept, nil
}

// Text gives s with every known secret replaced by [Scrubbed]: the error of a port
// often quotes what it was given.
func (r *Redactor) Text(s string) string { return r.scrubber.Text(s) }

// isPlaceholder reports whether v stands for a value that was redacted.
func isPlaceholder(v artifact.Value) bool {
	digest, ok := v.Get("redacted")
	if !ok || len(v.Members()) != 1 {
		return false
	}
	_, err := artifact.ParseDigest(digest.Text())
	return err == nil
}

// replace follows tokens and puts a placeholder in the place of the value. The
// answer says whether one stands there.
func (r *Redactor) replace(v artifact.Value, tokens []string) (artifact.Value, bool, error) {
	if isPlaceholder(v) {
		return v, true, nil
	}
	if len(tokens) > artifact.MaxDepth {
		return v, false, nil
	}
	if len(tokens) == 0 {
		text, err := artifact.CanonicalRuntime(v)
		if err != nil {
			return v, false, err
		}
		r.Learn(v)
		placeholder := artifact.StringValue(r.salt.Digest(text).String())
		return artifact.ObjectValue(artifact.Member{Name: "redacted", Value: placeholder}), true, nil
	}
	child, ok := lookUp(v, tokens[0])
	if !ok {
		return v, false, nil
	}
	replaced, ok, err := r.replace(child, tokens[1:])
	if !ok || err != nil {
		return v, false, err
	}
	if v.Kind() == artifact.KindObject {
		return v.With(tokens[0], replaced), true, nil
	}
	elements := slices.Clone(v.Elements())
	i, _ := strconv.Atoi(tokens[0])
	elements[i] = replaced
	return artifact.ArrayValue(elements...), true, nil
}

// Pointed gives the values of a document of that scope to which typed pointers
// point.
func Pointed(pointers []string, scope string, v artifact.Value) ([]artifact.Value, error) {
	var list []artifact.Value
	for _, p := range pointers {
		in, pointer, err := ParsePointer(p)
		if err != nil {
			return nil, err
		}
		at, ok := v, in == scope
		for _, token := range pointerTokens(pointer) {
			if ok {
				at, ok = lookUp(at, token)
			}
		}
		if ok {
			list = append(list, at)
		}
	}
	return list, nil
}

func lookUp(v artifact.Value, token string) (artifact.Value, bool) {
	if v.Kind() == artifact.KindObject {
		return v.Get(token)
	}
	i, err := strconv.Atoi(token)
	if err != nil || i < 0 || i >= len(v.Elements()) || strconv.Itoa(i) != token {
		return artifact.Value{}, false
	}
	return v.Elements()[i], true
}

func pointerTokens(pointer string) []string {
	if pointer == "" {
		return nil
	}
	tokens := strings.Split(pointer[1:], "/")
	for i, t := range tokens {
		tokens[i] = strings.ReplaceAll(strings.ReplaceAll(t, "~1", "/"), "~0", "~")
	}
	return tokens
}

func (r *Redactor) learn(v artifact.Value, depth int) {
	if depth > artifact.MaxDepth {
		return
	}
	if text := v.Text(); len(text) >= minSecret && r.secrets < maxSecrets {
		r.secrets++
		r.scrubber.Learn(text)
	}
	for _, e := range v.Elements() {
		r.learn(e, depth+1)
	}
	for _, m := range v.Members() {
		r.learn(m.Value, depth+1)
	}
}

// scrub replaces known secrets in the texts and names of v, and numbers that are
// one. The answer says whether anything of it stands for a secret.
func (r *Redactor) scrub(v artifact.Value, depth int) (artifact.Value, bool) {
	if depth > artifact.MaxDepth {
		return v, false
	}
	changed := false
	switch v.Kind() {
	case artifact.KindString, artifact.KindNumber:
		text := r.Text(v.Text())
		if text == v.Text() {
			return v, strings.Contains(text, Scrubbed)
		}
		return artifact.StringValue(text), true
	case artifact.KindArray:
		elements := slices.Clone(v.Elements())
		for i := range elements {
			var found bool
			elements[i], found = r.scrub(elements[i], depth+1)
			changed = changed || found
		}
		if changed {
			return artifact.ArrayValue(elements...), true
		}
	case artifact.KindObject:
		members := slices.Clone(v.Members())
		for i, m := range members {
			value, found := r.scrub(m.Value, depth+1)
			name := r.Text(m.Name)
			members[i] = artifact.Member{Name: name, Value: value}
			changed = changed || found || strings.Contains(name, Scrubbed)
		}
		if changed {
			return artifact.ObjectValue(members...), true
		}
	}
	return v, false
}

// Contents gives the documents that a payload stands for, without those that it
// has not.
func Contents(p Payload) []Recorded {
	var list []Recorded
	add := func(r *Recorded) {
		if r != nil {
			list = append(list, *r)
		}
	}
	switch p := p.(type) {
	case *EffectRequested:
		add(&p.Args)
	case *EffectSettled:
		add(&p.Result)
	case *ApprovalStaged:
		add(&p.Shown)
	case *ApprovalDecided:
		add(p.Signature)
	case *Resumed:
		add(p.Input)
	case *EventReceived:
		add(&p.Payload)
	case *CallReturned:
		add(p.Result)
	case *Terminated:
		add(&p.Result)
	}
	return list
}

// hidden reports whether a payload stands for bytes that a salt hides.
func hidden(p Payload) bool {
	return slices.ContainsFunc(Contents(p), func(r Recorded) bool { return r.hidden() })
}
