package federation_test

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/load"
)

// world is a web of manifests in memory. It counts what is asked for, and
// answers in an order of its own when several ask at once.
type world struct {
	pages     map[string]string // by URL: the text of a manifest
	redirects map[string]string

	mu      sync.Mutex
	asked   map[string]int
	reading int
	most    int // readers at once
}

func newWorld() *world {
	return &world{pages: map[string]string{}, redirects: map[string]string{}, asked: map[string]int{}}
}

var errGone = errors.New("404 Not Found")

// open is load.Manifest for this world.
func (w *world) open(ctx context.Context, location string, _ load.Options) (*load.Loaded, error) {
	w.count(location)
	defer func() {
		w.mu.Lock()
		w.reading--
		w.mu.Unlock()
	}()
	for range rand.N(20) {
		runtime.Gosched()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	source := location
	if to := w.redirects[source]; to != "" {
		source = to
	}
	text, ok := w.pages[source]
	if !ok {
		return nil, errGone
	}
	return parsed(source, text)
}

func parsed(source, text string) (*load.Loaded, error) {
	m, findings, err := kcp.Parse([]byte(text), source)
	if err != nil {
		return nil, err
	}
	unsigned := kcp.Verify([]byte(text), m.Signing, kcp.VerifyOptions{})
	return &load.Loaded{Manifest: m, Findings: findings, Bytes: []byte(text), Digest: artifact.Sum([]byte(text)),
		Source: source, Signature: &unsigned}, nil
}

func (w *world) count(location string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked[location]++
	w.reading++
	w.most = max(w.most, w.reading)
}

// requests gives what was asked for since the last time, in one line each.
func (w *world) requests() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []string
	for _, location := range slices.Sorted(maps.Keys(w.asked)) {
		list = append(list, fmt.Sprintf("%s x%d", location, w.asked[location]))
	}
	w.asked = map[string]int{}
	return list
}

// page writes a manifest with one unit about tides and the given references,
// each in YAML flow style.
func page(project, price string, refs ...string) string {
	payment := ""
	if price != "" {
		payment = `, payment: {methods: [{type: x402, price_per_request: "` + price + `", currency: USDC}]}`
	}
	text := "kcp_version: '0.32'\nproject: " + project + "\nversion: 1.2.0\nunits:\n" +
		"  - {id: tides, path: tides.md, intent: When is the tide high, scope: global, audience: [agent], triggers: [tide]" + payment + "}\n"
	if len(refs) > 0 {
		text += "manifests:\n"
	}
	for _, ref := range refs {
		text += "  - " + ref + "\n"
	}
	return text
}

// parseTree reads an artifact as a replay does.
func parseTree(text string) (artifact.Value, error) { return artifact.ParseValue([]byte(text)) }

// onlyRemote reads files as load does, and URLs in this world.
func onlyRemote(w *world) func(context.Context, string, load.Options) (*load.Loaded, error) {
	return func(ctx context.Context, location string, o load.Options) (*load.Loaded, error) {
		if strings.HasPrefix(location, "https://") {
			return w.open(ctx, location, o)
		}
		return load.Manifest(ctx, location, o)
	}
}

// signed adds a signature of its own key. It is one of the text before it, so it
// never matches.
func signed(text string) string {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	encode := base64.StdEncoding.EncodeToString
	return text + "signing: {scheme: ed25519, public_key: \"" + encode(key.Public().(ed25519.PublicKey)) +
		"\", signature: \"" + encode(ed25519.Sign(key, []byte(text))) + "\"}\n"
}
