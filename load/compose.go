package load

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/writ-dev/writ/fetch"
	"github.com/writ-dev/writ/kcp"
)

// Bounds of a composition. A real one has a handful of includes.
const (
	maxIncludeDepth = 8   // includes of includes
	maxIncludes     = 256 // manifests that are read for one, over all levels
	maxComposeTime  = time.Minute
)

// composition is what the includes of one manifest share.
type composition struct {
	left      int // how many more manifests may be read
	bytesLeft int // and how many bytes of them
	unitsLeft int // and how many units of them may come together
}

// inclusion says for which include a manifest is read. Nil means for none.
type inclusion struct {
	shared *composition
	chain  []place // from the outermost manifest to the one that includes
}

// place is where a manifest was found: for a person, and as it is compared.
type place struct{ source, key string }

// compose replaces the manifest by what its composition makes of it. root bounds
// the files that are included; it is empty for a remote manifest.
func (l *Loaded) compose(ctx context.Context, root string, o Options) (*Loaded, error) {
	m := l.Manifest
	l.Parts = 1
	if m.Composition == nil || o.NoCompose {
		return l, nil
	}
	reading := ctx
	if o.inclusion == nil {
		var cancel context.CancelFunc
		reading, cancel = context.WithTimeout(ctx, maxComposeTime)
		defer cancel()
	}
	o.Root, o.inclusion = root, l.inclusion(o)
	var all []kcp.Included
	for i := range m.Composition.Includes {
		in := &m.Composition.Includes[i]
		part, included := l.include(reading, in, o)
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("%s: %w", l.Source, err)
		}
		if included.State != kcp.IncludeFailed {
			l.Parts += part.Parts
			l.Included = append(l.Included, Part{part.Source, part.Digest})
			l.Included = append(l.Included, part.Included...)
			l.takeOver(in, part)
		}
		all = append(all, included)
	}
	composed, findings := kcp.Compose(m, all)
	l.Manifest, l.Findings = composed, append(slices.Clip(l.Findings), findings...)
	return l, nil
}

// inclusion says for what the includes of this manifest are read.
func (l *Loaded) inclusion(o Options) *inclusion {
	here := placeFound(l.Source)
	if o.inclusion != nil {
		return &inclusion{o.inclusion.shared, append(slices.Clip(o.inclusion.chain), here)}
	}
	limit := o.MaxBytes
	if limit <= 0 {
		limit = kcp.DefaultMaxBytes
	}
	return &inclusion{&composition{left: maxIncludes, bytesLeft: limit, unitsLeft: kcp.DefaultMaxUnits - len(l.Manifest.Units)}, []place{here}}
}

// composeBelow composes a local manifest with files below the root of its area.
func (l *Loaded) composeBelow(ctx context.Context, a *area, o Options) (*Loaded, error) {
	if l.Manifest.Composition != nil && !o.NoCompose {
		if err := a.openDefault(); err != nil {
			return nil, refuse(Unreadable, l.Source, "cannot open the directory of the manifest: "+problemOf(err))
		}
	}
	return l.compose(ctx, a.path, o)
}

// takeOver reports the findings of an included manifest at its include. Errors
// are all kept.
func (l *Loaded) takeOver(in *kcp.Include, part *Loaded) {
	path := fmt.Sprintf("composition.includes[%d].source", in.Index)
	pos := l.Manifest.Position(path)
	l.Findings = slices.Clip(l.Findings)
	left := mostTakenOver
	for _, f := range part.Findings {
		if f.Severity != kcp.Error {
			if left--; left < 0 {
				continue
			}
		}
		if f.Pos.Line > 0 {
			f.Message = fmt.Sprintf("%s:%d:%d: %s", part.Source, f.Pos.Line, f.Pos.Column, f.Message)
		} else {
			f.Message = part.Source + ": " + f.Message
		}
		f.Path, f.Pos = path, pos
		l.Findings = append(l.Findings, f)
	}
	if left < 0 {
		l.Findings = append(l.Findings, kcp.Finding{Severity: kcp.Warning, Code: "findings-left-out", Where: "manifest", Path: path, Pos: pos,
			Message: fmt.Sprintf("%s has %d more findings; they are left out", part.Source, -left),
			Hint:    "validate the included manifest itself to see all of them"})
	}
}

// mostTakenOver bounds the warnings that one include adds.
const mostTakenOver = 20

// include reads one included manifest and says how far to believe it.
func (l *Loaded) include(ctx context.Context, in *kcp.Include, o Options) (*Loaded, kcp.Included) {
	failed := func(problem string) (*Loaded, kcp.Included) {
		return nil, kcp.Included{State: kcp.IncludeFailed, Problem: problem}
	}
	location := kcp.ResolveLocation(l.Source, in.Source.Value)
	switch shared := o.inclusion.shared; {
	case in.Source.Value == "":
		return failed("it has no source")
	case isRemote(l.Source) && !isRemote(location):
		return failed(errNotRemote.Error())
	case len(o.inclusion.chain) > maxIncludeDepth:
		return failed(fmt.Sprintf("includes lead more than %d manifests deep", maxIncludeDepth))
	case shared.left == 0:
		return failed(fmt.Sprintf("the composition has more than %d includes", maxIncludes))
	case shared.bytesLeft <= 0:
		return failed("the included manifests are too large together")
	default:
		shared.left--
	}
	part, err := Manifest(ctx, location, o.forInclude(in))
	var round *circle
	switch {
	case errors.As(err, &round):
		return nil, kcp.Included{State: kcp.IncludeFailed, Circular: true, Problem: round.Error()}
	case err != nil:
		return failed(err.Error())
	}
	o.inclusion.shared.unitsLeft -= len(part.Manifest.Units)
	if o.inclusion.shared.unitsLeft < 0 {
		return failed(fmt.Sprintf("the composition has more than %d units", kcp.DefaultMaxUnits))
	}
	included := kcp.Included{Manifest: part.Manifest}
	included.State, included.Problem = judge(in, part)
	if o.RequireSignature && included.State == kcp.IncludeUnverified {
		included.State, included.Problem = kcp.IncludeFailed, "a signature is required, and neither a manifest_hash nor an expected_signer vouches for it"
	}
	return part, included
}

// forInclude gives the options under which an include is read. The demands on
// the composing file's own signature are met by a hash as well, so judge decides
// on them; the trusted key vouches where a signer is expected. Signatures of
// includes are always checked, so that a plan and its replay see the same units.
func (o Options) forInclude(in *kcp.Include) Options {
	o.RequireSignature, o.NoVerify = false, false
	if in.ExpectedSigner.Value == "" {
		o.TrustKey = ""
	}
	o.MaxBytes = o.inclusion.limit(o.MaxBytes)
	return o
}

// limit gives how large the next included manifest may be. Zero stands for the
// default, which may exceed what is left once.
func (n *inclusion) limit(most int) int { return min(most, n.shared.bytesLeft) }

// judge holds an included manifest against what the include declares of it.
// Whatever is declared must hold. The problem names the field, what was expected
// and what is there.
func judge(in *kcp.Include, part *Loaded) (kcp.IncludeState, string) {
	if !in.Integrity {
		return kcp.IncludeUnverified, ""
	}
	if in.ManifestHash == nil && !in.ExpectedSigner.Set {
		return kcp.IncludeFailed, "integrity declares neither manifest_hash nor expected_signer"
	}
	state := kcp.IncludeUnverified
	if in.ManifestHash != nil {
		if problem := hashProblem(in.ManifestHash, part.Bytes); problem != "" {
			return kcp.IncludeFailed, problem
		}
		state = kcp.IncludeVerified
	}
	if !in.ExpectedSigner.Set {
		return state, ""
	}
	s := part.Signature
	want := "integrity.expected_signer: expected " + in.ExpectedSigner.Value + ", observed "
	switch {
	case s == nil:
		return kcp.IncludeFailed, want + "no check of the signature"
	case s.Status != kcp.Verified:
		return kcp.IncludeFailed, want + string(s.Status) + ": " + s.Detail
	case s.KeyID != in.ExpectedSigner.Value:
		return kcp.IncludeFailed, want + "a signature by " + nameOr(s.KeyID, "a key without key_id")
	case part.vouched:
		state = kcp.IncludeVerified
	}
	return state, ""
}

// hashProblem says how bytes differ from a declared hash. A hash that cannot be
// checked was declared so that other bytes are not used.
func hashProblem(h *kcp.ContentHash, data []byte) string {
	want := strings.ToLower(h.Value.Value)
	sum, err := hex.DecodeString(want)
	hash := fetch.NewHash(h.Algorithm.Value)
	if h.Malformed || hash == nil || err != nil || len(sum) != hash.Size() {
		return "integrity.manifest_hash: expected a digest that can be checked (sha256, sha384 or sha512, and hex), observed another value"
	}
	if got, _ := fetch.HashBytes(data, h.Algorithm.Value); got != want {
		return "integrity.manifest_hash: expected " + want + ", observed " + got
	}
	return ""
}

func nameOr(name, otherwise string) string {
	if name == "" {
		return otherwise
	}
	return name
}

// circle is an include that leads back to a manifest on the way to it.
type circle struct{ sources []string }

func (c *circle) Error() string {
	return "circular includes: " + strings.Join(c.sources, " includes ")
}

// enter refuses a manifest that is being composed already, and counts its bytes.
func (l *Loaded) enter(n *inclusion) error {
	if n == nil {
		return nil
	}
	n.shared.bytesLeft -= len(l.Bytes)
	found := placeFound(l.Source)
	at := slices.IndexFunc(n.chain, func(p place) bool { return p.key == found.key })
	if at < 0 {
		return nil
	}
	c := &circle{}
	for _, p := range n.chain[at:] {
		c.sources = append(c.sources, p.source)
	}
	c.sources = append(c.sources, l.Source)
	return c
}

// placeFound says where a manifest was found. Two spellings of one file are one
// place.
func placeFound(source string) place {
	if isRemote(source) {
		return place{source, kcp.ResolveLocation(source, source)}
	}
	key := source
	if absolute, err := filepath.Abs(source); err == nil {
		key = absolute
	}
	if real, err := filepath.EvalSymlinks(key); err == nil {
		key = real
	}
	return place{source, key}
}
